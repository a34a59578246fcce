package main

import (
	"encoding/json"
	"math/big"
	"strings"
)

// The names of a row's price and of its recipient that services use, in the order in which they count.
var (
	amountNames = []string{"amount", "maxAmountRequired", "maxAmount", "price"}
	payToNames  = []string{"payTo", "pay_to", "payToAddress", "recipient", "treasury", "address"}
)

// row is one payment option, an object in accepts.
type row struct {
	members object
	scheme  string
	written string // the network as the service writes it
	network string // its CAIP-2 id, "" if it is not recognised
	asset   string // as the service writes it
	amount  string // a whole number of atomic units without leading zeros, "" if it is none
	price   string // the amount as the service writes it, with a number in plain decimals
	payTo   string
	source  string // the name of the member that contains the recipient
	place   string // accept for the row, element for elsewhere
	timeout *int
	extra   object
}

// readRow reads a row, and the recipient from the envelope if the row has none.
func readRow(members, top object) row {
	r := row{members: members, scheme: scalar(members["scheme"]), written: scalar(members["network"])}
	r.network, _ = resolveNetwork(r.written)
	r.asset = scalar(members["asset"])
	if inner, ok := members["asset"].(object); ok {
		_, value := firstMember(inner, []string{"address", "mint", "id"})
		r.asset = scalar(value)
	}
	_, price := firstMember(members, amountNames)
	switch value := price.(type) {
	case json.Number:
		r.price = plainNumber(value)
	case string:
		r.price = value
	}
	r.amount = wholeNumber(strings.TrimSpace(r.price))
	if r.isIssued() {
		r.amount = issuedAmount(strings.TrimSpace(r.price))
	}
	if r.source, r.payTo = recipient(members); r.payTo != "" {
		r.place = "accept"
	} else {
		r.place = "element"
		if r.source, r.payTo = recipient(top); r.payTo == "" {
			resource, _ := top["resource"].(object)
			if r.source, r.payTo = recipient(resource); r.payTo == "" {
				r.place = ""
			}
		}
	}
	r.timeout = seconds(members["maxTimeoutSeconds"])
	r.extra, _ = members["extra"].(object)
	if text, ok := members["extra"].(string); ok {
		r.extra, _ = parse(text).(object)
	}
	return r
}

// recipient returns the first recipient of an object: a text, or an object with an address.
func recipient(members object) (name, text string) {
	for _, name := range payToNames {
		switch value := members[name].(type) {
		case string:
			if strings.TrimSpace(value) != "" {
				return name, value
			}
		case object:
			if text := scalar(value["address"]); text != "" {
				return name, text
			}
		}
	}
	return "", ""
}

// isUnpayable reports whether money sent to the recipient would be lost.
func (r *row) isUnpayable() bool { return r.payTo != "" && !r.isPayable() }

// isPayable reports whether the recipient passes payto_shape, a wrong EIP-55 checksum aside.
func (r *row) isPayable() bool {
	if namespaceOf(r.network) == "eip155" && checkAccount(r.network, r.payTo) == faultChecksum {
		return r.payToNorm() != r.assetNorm()
	}
	return payToShape(r, 0)
}

// usable reports whether a row is a way to pay. An issued currency of the XRP Ledger needs its issuer.
func (r *row) usable() bool {
	return r.scheme != "" && r.network != "" && r.asset != "" && r.amount != "" && r.isPayable() &&
		(!r.isIssued() || checkAccount(r.network, r.issuer()) == "")
}

// issuer returns the account that issues an XRP Ledger currency: extra.issuer, else what follows the asset's code.
func (r *row) issuer() string {
	if issuer := r.text("issuer"); issuer != "" {
		return issuer
	}
	if i := strings.LastIndexAny(r.asset, ".:+/"); i >= 0 {
		return r.asset[i+1:]
	}
	return ""
}

// variable reports whether the amount is a maximum.
func (r *row) variable() bool {
	return r.scheme == "upto" || r.scheme == "batch-settlement" && namespaceOf(r.network) == "eip155"
}

// isIssued reports whether the asset is an issued currency of the XRP Ledger, whose amounts are decimal text.
func (r *row) isIssued() bool {
	return namespaceOf(r.network) == "xrpl" && r.asset != "" && r.asset != "XRP"
}

func (r *row) assetNorm() string { return normalAddress(r.network, r.asset) }
func (r *row) payToNorm() string { return normalAddress(r.network, r.payTo) }

// text returns a member of extra that is a string.
func (r *row) text(name string) string {
	text, _ := r.extra[name].(string)
	return text
}

// dollars returns the price in dollars, nil if the asset is not worth a dollar.
func (r *row) dollars() *big.Rat {
	asset, ok := lookupAsset(r)
	if !ok || asset.Peg != "USD" {
		return nil
	}
	value, ok := new(big.Rat).SetString(r.amount)
	if !ok {
		return nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(asset.Decimals)), nil)
	return value.Quo(value, new(big.Rat).SetInt(unit))
}

// firstMember returns the first of some members that is present and not null.
func firstMember(members object, names []string) (string, any) {
	for _, name := range names {
		if value := members[name]; value != nil {
			return name, value
		}
	}
	return "", nil
}

// scalar returns a string without outer blanks, or a number as written.
func scalar(value any) string {
	switch value := value.(type) {
	case string:
		return strings.TrimSpace(value)
	case json.Number:
		return value.String()
	}
	return ""
}

// maxDigits is the length of the largest amount, that of a 256-bit integer.
const maxDigits = 78

// wholeNumber returns digits without leading zeros, "" for other text.
func wholeNumber(text string) string {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return ""
	}
	if text = strings.TrimLeft(text, "0"); text == "" {
		return "0"
	}
	if len(text) > maxDigits {
		return ""
	}
	return text
}

// issuedAmount returns a decimal value of at most 16 digits on either side of the point in its shortest form, "" for
// other text.
func issuedAmount(text string) string {
	value, ok := new(big.Rat).SetString(text)
	if !ok || !matchesWhole(`[0-9]{1,16}(\.[0-9]{1,16})?`, text) {
		return ""
	}
	return decimalText(value)
}

// plainNumber writes a JSON number without exponent and needless zeros: 1e4 is 10000 and 2.0 is 2.
func plainNumber(number json.Number) string {
	value, ok := new(big.Rat).SetString(number.String())
	if !ok {
		return ""
	}
	text := value.FloatString(2 * maxDigits)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// seconds reads a number of seconds, also as text.
func seconds(value any) *int {
	text := scalar(value)
	if number, ok := value.(json.Number); ok {
		text = plainNumber(number)
	}
	number, ok := new(big.Int).SetString(text, 10)
	if !ok || number.Sign() < 0 || number.BitLen() > 31 || strings.HasPrefix(text, "+") {
		return nil
	}
	n := int(number.Int64())
	return &n
}

const caip2Form = `[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}`

// resolveNetwork returns the CAIP-2 id of a network as a service writes it, "" if it is not recognised. It reports
// whether the network is in the table.
func resolveNetwork(text string) (id string, listed bool) {
	if namespace, reference, ok := strings.Cut(text, ":"); ok {
		text = strings.ToLower(namespace) + ":" + reference
	}
	if row, ok := lookupNetwork(text); ok {
		return row.ID, true
	}
	if id, ok := tables.aliases[strings.ToLower(text)]; ok {
		return id, true
	}
	if matchesWhole(caip2Form, text) {
		return text, false
	}
	return "", false
}
