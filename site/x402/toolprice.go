package x402

import (
	"encoding/json"
	"slices"
	"strings"
)

// The names under which entries of tools/list say that a call costs something, in lower case, without the part before a
// slash and without separators. No specification is final: agents-x402 has paymentRequired and priceUSD in _meta, and
// others copy these names or write an object.
var (
	paidNames  = []string{"paymenthint", "paymentrequired", "payment", "pricing", "price", "cost", "x402"}
	priceNames = []string{"priceusd", "amountusd", "usd", "price", "amount", "cost"}
)

// ToolPrice reads an entry of tools/list. It reports whether the entry names the tool as paid, and the price in decimal
// dollars that it states, "" for none. It reads the entry, its annotations and its _meta.
func ToolPrice(entry json.RawMessage) (isPaid bool, usd string) {
	list, _ := members(entry)
	tool := object(list)
	for _, place := range []object{tool.child("_meta"), tool.child("annotations"), tool} {
		for _, m := range place[:min(len(place), maxRows)] {
			paid, price := readToolPrice(plainName(m.Key), m.Value)
			isPaid = isPaid || paid
			if usd == "" {
				usd = price
			}
		}
	}
	return isPaid, usd
}

// readToolPrice reads one member of an entry.
func readToolPrice(name string, value json.RawMessage) (isPaid bool, usd string) {
	if e, ok := readEnvelope(value, ChannelMCP, "json"); ok && len(e.Accepts) > 0 { // the terms themselves
		price, _ := e.Accepts[0].PriceUSD()
		return true, price
	}
	switch {
	case name == "priceusd":
		usd = dollarAmount(value, true)
	case !slices.Contains(paidNames, name):
		return false, ""
	case string(value) == "true":
		return true, ""
	default:
		usd = dollarAmount(value, false)
		isPaid = kind(value) == '{' && !isFree(value)
	}
	if usd == "0" {
		usd = ""
	}
	return isPaid || usd != "", usd
}

// isFree reports whether an object states a price of zero, or that no payment is required.
func isFree(value json.RawMessage) bool {
	list, _ := members(value)
	for _, m := range list[:min(len(list), maxRows)] {
		switch name := plainName(m.Key); {
		case slices.Contains(priceNames, name) && strings.Trim(scalar(m.Value), "$0.") == "" && scalar(m.Value) != "":
			return true
		case (name == "required" || name == "paymentrequired" || name == "paid") && string(m.Value) == "false":
			return true
		}
	}
	return false
}

// dollarAmount returns a price in dollars: text with a dollar sign, or an object with an amount and the currency USD. A
// bare number counts where the name says that it is in dollars.
func dollarAmount(value json.RawMessage, inDollars bool) string {
	switch kind(value) {
	case '0':
		if inDollars {
			return decimalAmount(numberText(value))
		}
	case '"':
		text := strings.TrimSpace(unquote(value))
		if inDollars || strings.HasPrefix(text, "$") {
			return declaredAmount(text)
		}
	case '{':
		list, _ := members(value)
		o := object(list)
		inDollars = strings.EqualFold(o.text("currency"), "usd")
		for _, m := range o[:min(len(o), maxRows)] {
			name := plainName(m.Key)
			if usd := dollarAmount(m.Value, inDollars || strings.HasSuffix(name, "usd")); kind(m.Value) != '{' &&
				slices.Contains(priceNames, name) && usd != "" {
				return usd
			}
		}
	}
	return ""
}

// plainName returns the last part of a key in lower case, without separators: agents-x402/priceUSD is priceusd.
func plainName(key string) string {
	key = key[strings.LastIndexByte(key, '/')+1:]
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
}
