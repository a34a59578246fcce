package x402

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"tollbook/site/invisible"
)

// The keys of a price and of a recipient that services use, in the order in which they are tried.
var (
	amountKeys = []string{"amount", "maxAmountRequired", "maxAmount", "price"}
	payToKeys  = []string{"payTo", "pay_to", "payToAddress", "recipient", "treasury", "address"}
)

// maxScalar is the largest length in bytes of a network, an address or an amount. Raw has the whole text.
const maxScalar = 512

// readRequirement reads one row of accepts. It never fails: a field that it cannot read is empty, with a defect.
func readRequirement(row object, raw json.RawMessage, top object, version int, d *defects) Requirement {
	r := Requirement{Raw: raw, members: row, Scheme: scalar(row.get("scheme"))}
	if r.Scheme == "" {
		d.add(schemeMissing)
	}
	r.readNetwork(row, version, d)
	r.readAsset(row, d)
	r.readAmount(row, version, d)
	r.readPayTo(row, top, d)
	r.readTimeout(row, d)
	r.readExtra(row, d)
	r.AssetName = r.Symbol()
	if r.issuedCurrency() && r.issuer() == "" {
		d.add(issuerMissing)
	}
	if version == 1 && kind(row.get("outputSchema")) == 'n' {
		d.add(outputSchemaNull)
	}
	if version == 1 && isText(row.get("resource")) && !isAbsolute(row.get("resource")) {
		d.add(resourceRelative)
	}
	if version >= 2 && !absent(row.get("outputSchema")) {
		d.add(outputSchemaInV2)
	}
	if version >= 2 && !absent(row.get("extensions")) {
		d.add(extensionsInRow)
	}
	return r
}

// scalar reads a string or number as text without outer blanks, "" for anything else.
func scalar(raw json.RawMessage) string {
	switch kind(raw) {
	case '"':
		return cut(strings.TrimSpace(unquote(raw)), maxScalar)
	case '0':
		return cut(string(raw), maxScalar)
	}
	return ""
}

// cut returns at most n bytes of s, as whole characters. White space becomes plain spaces. Invisible characters become
// U+FFFD, so that an address that contains one stays invalid.
func cut(s string, n int) string {
	if len(s) <= n && isPrinted(s) {
		return s
	}
	if len(s) > n {
		s = s[:n]
	}
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case invisible.Is(r) || r == '\u200c' || r == '\u200d':
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

func (r *Requirement) readNetwork(row object, version int, d *defects) {
	r.Network = scalar(row.get("network"))
	if r.Network == "" {
		d.add(networkMissing)
		return
	}
	var ok bool
	r.NetworkCAIP2, ok = ResolveNetwork(r.Network)
	switch {
	case r.NetworkCAIP2 == "":
		d.add(networkUnresolved, r.Network)
	case !ok:
		d.add(networkUnknown, r.Network)
	}
	if version >= 2 && r.NetworkCAIP2 != "" && !properNetwork(r.Network) {
		d.add(networkNickname, r.Network)
	}
}

func (r *Requirement) readAmount(row object, version int, d *defects) {
	key, raw := firstOf(row, amountKeys)
	if raw == nil {
		d.add(amountMissing)
		return
	}
	if key != amountKeyOf(version) {
		d.add(amountKey, key)
	}
	switch kind(raw) {
	case '0':
		d.add(amountNumber, string(raw))
		if r.AmountRaw = numberText(raw); r.AmountRaw == "" {
			r.AmountRaw = cut(string(raw), maxScalar)
		}
	case '"':
		r.AmountRaw = cut(unquote(raw), maxScalar)
	default:
		r.AmountRaw = cut(string(raw), maxScalar)
	}
	text := strings.TrimSpace(r.AmountRaw)
	if text != r.AmountRaw {
		d.add(amountSpaced)
	}
	if r.issuedCurrency() {
		if r.Amount = decimalAmount(text); r.Amount == "" {
			d.add(amountNotDecimal, text)
		}
		return
	}
	switch r.Amount = integerAmount(text); {
	case r.Amount == "":
		d.add(amountNotInteger, text)
	case r.Amount != text:
		d.add(amountZeros, text)
	}
}

// issuedCurrency reports whether the asset is an XRP Ledger currency other than XRP. Such a currency has no atomic
// unit: its amounts are values in decimal text.
func (r Requirement) issuedCurrency() bool {
	return AddressNamespace(r.NetworkCAIP2) == "xrpl" && r.Asset != "" && r.Asset != "XRP"
}

// amountKeyOf returns the key of the price in a version of the protocol.
func amountKeyOf(version int) string {
	if version == 1 {
		return "maxAmountRequired"
	}
	return "amount"
}

func (r *Requirement) readAsset(row object, d *defects) {
	raw := row.get("asset")
	if list, ok := members(raw); ok {
		d.add(assetObject)
		_, raw = firstOf(object(list), []string{"address", "mint", "id"})
	}
	r.Asset = scalar(raw)
	if r.Asset == "" {
		d.add(assetMissing)
		return
	}
	r.AssetNorm = NormalizeAddress(r.NetworkCAIP2, r.Asset)
	if isTicker(r.NetworkCAIP2, r.Asset) {
		d.add(assetTicker, r.Asset)
	}
}

// isTicker reports whether an asset is a symbol on a network where assets are addresses.
func isTicker(network, asset string) bool {
	switch AddressNamespace(network) {
	case "eip155", "solana", "aptos", "stellar", "tron", "starknet", "near":
	default:
		return false
	}
	return len(asset) <= 8 && strings.Trim(asset,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.$₮") == ""
}

// readPayTo finds the recipient in the row, then elsewhere in the envelope.
func (r *Requirement) readPayTo(row, top object, d *defects) {
	location := "accept"
	key, text := recipient(row, d)
	if text == "" {
		location = "element"
		if key, text = recipient(top, d); text == "" {
			list, _ := members(top.get("resource"))
			key, text = recipient(list, d)
		}
	}
	if text == "" {
		d.add(payToMissing)
		return
	}
	if key != "payTo" {
		d.add(payToKey, key)
	}
	if location == "element" {
		d.add(payToElsewhere, key)
	}
	r.PayTo, r.PayToSource, r.PayToLocation = text, key, location
	r.PayToNorm = NormalizeAddress(r.NetworkCAIP2, text)
}

// recipient returns the first non-empty recipient in an object under any of its names.
func recipient(o object, d *defects) (key, text string) {
	for _, key := range payToKeys {
		raw := o.get(key)
		if list, ok := members(raw); ok {
			if text := scalar(object(list).get("address")); text != "" {
				d.add(payToObject, key)
				return key, text
			}
		}
		if text, ok := stringValue(raw); ok && strings.TrimSpace(text) != "" {
			return key, cut(text, maxScalar)
		}
	}
	return "", ""
}

// maxSeconds is the largest timeout, which fits into 32 bits. Batch settlement uses up to 30 days.
const maxSeconds = 1<<31 - 1

func (r *Requirement) readTimeout(row object, d *defects) {
	raw := row.get("maxTimeoutSeconds")
	var text string
	switch kind(raw) {
	case 0, 'n':
		d.add(timeoutMissing)
		return
	case '0':
		text = numberText(raw)
	case '"':
		text = strings.TrimSpace(unquote(raw))
		d.add(timeoutText, text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxSeconds {
		d.add(timeoutInvalid, string(raw))
		return
	}
	seconds := int(n)
	r.MaxTimeoutSeconds = &seconds
}

func (r *Requirement) readExtra(row object, d *defects) {
	raw := row.get("extra")
	if text, ok := stringValue(raw); ok {
		if depth([]byte(text)) <= maxDepth && kind(json.RawMessage(text)) == '{' && json.Valid([]byte(text)) {
			d.add(extraText)
			raw = json.RawMessage(strings.TrimSpace(text))
		}
	}
	switch kind(raw) {
	case 0, 'n':
	case '{':
		r.Extra = raw
	default:
		d.add(extraInvalid)
	}
}

// PriceUSD returns the price in dollars as exact decimal text ("0.01"), without exponent and without needless zeros. It
// returns false for assets that are not in the table or not pegged to the dollar, and without an amount.
func (r Requirement) PriceUSD() (string, bool) {
	a, ok := r.assetOf()
	if !ok || a.Peg != "USD" {
		return "", false
	}
	switch {
	case r.Amount == "":
		return "", false
	case a.Issuer != "": // an issued currency, whose amount is the value itself
		return r.Amount, true
	}
	return shiftPoint(r.Amount, a.Decimals), true
}

// Variable reports whether the amount is a maximum instead of the price: upto settles the amount used, and batch
// settlement on an EVM chain accepts vouchers up to the amount. Batch settlement on Solana has a maximum where the
// server signs the vouchers, and a price where the client does. On Cloudflare's credit rail the price is fixed.
func (r Requirement) Variable() bool {
	switch r.Scheme {
	case "upto":
		return true
	case "batch-settlement":
		switch AddressNamespace(r.NetworkCAIP2) {
		case "eip155":
			return true
		case "solana":
			return r.serverSigns()
		}
	}
	return false
}
