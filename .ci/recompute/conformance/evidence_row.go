package conformance

import (
	"encoding/json"
	"math/big"
	"strings"

	"tollbook/.ci/recompute/snapshot"
)

// The names of a row's price and of its recipient that services use, in the order in which they count.
var (
	amountNames = []string{"amount", "maxAmountRequired", "maxAmount", "price"}
	payToNames  = []string{"payTo", "pay_to", "payToAddress", "recipient", "treasury", "address"}
)

// Row is one payment option, an object in accepts.
type Row struct {
	members object
	Scheme  string
	written string // the network as the service writes it
	Network string // its CAIP-2 id, "" if it is not recognised
	Asset   string // as the service writes it
	Amount  string // a whole number of atomic units without leading zeros, "" if it is none
	price   string // the amount as the service writes it, with a number in plain decimals
	PayTo   string
	Source  string // the name of the member that contains the recipient
	Place   string // accept for the row, element for elsewhere
	Timeout *int
	extra   object
}

// readRow reads a row, and the recipient from the envelope if the row has none.
func readRow(members, top object) Row {
	r := Row{members: members, Scheme: scalar(members["scheme"]), written: scalar(members["network"])}
	r.Network, _ = resolveNetwork(r.written)
	r.Asset = scalar(members["asset"])
	if inner, ok := members["asset"].(object); ok {
		_, value := firstMember(inner, []string{"address", "mint", "id"})
		r.Asset = scalar(value)
	}
	_, price := firstMember(members, amountNames)
	switch value := price.(type) {
	case json.Number:
		r.price = plainNumber(value)
	case string:
		r.price = value
	}
	r.Amount = wholeNumber(strings.TrimSpace(r.price))
	if r.isIssued() {
		r.Amount = issuedAmount(strings.TrimSpace(r.price))
	}
	if r.Source, r.PayTo = recipient(members); r.PayTo != "" {
		r.Place = "accept"
	} else {
		r.Place = "element"
		if r.Source, r.PayTo = recipient(top); r.PayTo == "" {
			resource, _ := top["resource"].(object)
			if r.Source, r.PayTo = recipient(resource); r.PayTo == "" {
				r.Place = ""
			}
		}
	}
	r.Timeout = seconds(members["maxTimeoutSeconds"])
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

// IsUnpayable reports whether money sent to the recipient would be lost.
func (r *Row) IsUnpayable() bool { return r.PayTo != "" && !r.isPayable() }

// isPayable reports whether the recipient passes payto_shape, a wrong EIP-55 checksum aside.
func (r *Row) isPayable() bool {
	if NamespaceOf(r.Network) == "eip155" && CheckAccount(r.Network, r.PayTo) == faultChecksum {
		return r.payToNorm() != r.AssetNorm()
	}
	return payToShape(r, 0)
}

// Usable reports whether a row is a way to pay. An issued currency of the XRP Ledger needs its issuer.
func (r *Row) Usable() bool {
	return r.Scheme != "" && r.Network != "" && r.Asset != "" && r.Amount != "" && r.isPayable() &&
		(!r.isIssued() || CheckAccount(r.Network, r.issuer()) == "")
}

// issuer returns the account that issues an XRP Ledger currency: extra.issuer, else what follows the asset's code.
func (r *Row) issuer() string {
	if issuer := r.text("issuer"); issuer != "" {
		return issuer
	}
	if i := strings.LastIndexAny(r.Asset, ".:+/"); i >= 0 {
		return r.Asset[i+1:]
	}
	return ""
}

// variable reports whether the amount is a maximum.
func (r *Row) variable() bool {
	return r.Scheme == "upto" || r.Scheme == "batch-settlement" && NamespaceOf(r.Network) == "eip155"
}

// isIssued reports whether the asset is an issued currency of the XRP Ledger, whose amounts are decimal text.
func (r *Row) isIssued() bool {
	return NamespaceOf(r.Network) == "xrpl" && r.Asset != "" && r.Asset != "XRP"
}

func (r *Row) AssetNorm() string { return NormalAddress(r.Network, r.Asset) }
func (r *Row) payToNorm() string { return NormalAddress(r.Network, r.PayTo) }

// text returns a member of extra that is a string.
func (r *Row) text(name string) string {
	text, _ := r.extra[name].(string)
	return text
}

// Dollars returns the price in dollars, nil if the asset is not worth a dollar.
func (r *Row) Dollars() *big.Rat {
	asset, ok := LookupAsset(r)
	if !ok || asset.Peg != "USD" {
		return nil
	}
	value, ok := new(big.Rat).SetString(r.Amount)
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
	return snapshot.DecimalText(value)
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
	if row, ok := LookupNetwork(text); ok {
		return row.ID, true
	}
	if id, ok := Tables.aliases[strings.ToLower(text)]; ok {
		return id, true
	}
	if matchesWhole(caip2Form, text) {
		return text, false
	}
	return "", false
}
