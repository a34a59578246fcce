package facts

import (
	"encoding/json"
	"slices"
	"strings"

	"tollbook/site/jsontext"
	"tollbook/site/rail"
)

// Price is a price as a document declares it. It is never shown as the price.
type Price struct {
	Mode      string   // fixed, dynamic, offer, or "" for none
	Currency  string   // as written; "" for US dollars by convention
	Amount    string   // decimal text; base units in an offer
	Min, Max  string   // of a dynamic price
	Protocols []string // such as x402 and mpp, in lower case, as listed; empty for none
	Offers    []Offer  // alternative ways to pay, in the order of the document
}

// Offer is one way to pay that a document declares.
type Offer struct {
	Protocol string // x402 or mpp, or as the document names it
	Method   string // of MPP, such as tempo and stripe; the scheme of x402, such as exact
	Intent   string // of MPP, such as charge and session; "" for none
	Network  string // as written; "" for none
	Currency string // token address or currency, as written; "" for none
	Amount   string // in base units; "" for a dynamic price, which the document writes as null
}

// maxOffers is the most offers of an operation that are read.
const maxOffers = rail.MaxOffers

// readPrice reads the forms of x-payment-info: a price object with a mode, the flat form, MPP's offers, one offer
// without a list, which equals a list of one, and offers or rows of x402.
func readPrice(info object) *Price {
	p := &Price{Protocols: readProtocols(info.Get("protocols"))}
	for _, raw := range first(info.list("offers"), maxOffers) {
		p.addOffer(objectOf(raw), "")
	}
	if len(p.Offers) == 0 && (info.Has("intent") || info.Has("method") && info.Has("amount")) {
		p.addOffer(info, "")
	}
	for _, of := range []object{info, info.child(rail.X402)} {
		for _, raw := range first(of.list("accepts"), maxOffers) {
			p.addOffer(objectOf(raw), rail.X402)
		}
	}
	for _, raw := range first(info.list("protocols"), maxOffers) {
		for _, m := range first(objectOf(raw).Object, maxOffers) {
			if o := objectOf(m.Value); o.Has("amount") && len(info.list("offers")) == 0 {
				p.addOffer(o, strings.ToLower(clipAmount(m.Key)))
			}
		}
	}
	if info.Has(rail.X402) {
		p.name(rail.X402)
	}
	if from := info.child("price"); !from.isAbsent() {
		p.setTerms(from, from.text("amount"))
	} else if len(p.Offers) == 0 {
		p.setTerms(info, info.text("price", "amount"))
	}
	if len(p.Offers) > 0 && p.Mode == "" {
		p.setOffers()
	}
	return p
}

// setTerms sets the price that an object states itself.
func (p *Price) setTerms(from object, amount string) {
	p.Amount, p.Currency = clipAmount(amount), clipAmount(from.text("currency"))
	p.Mode = strings.ToLower(clipAmount(from.text("mode", "pricingMode")))
	p.Min, p.Max = clipAmount(from.text("min", "minPrice")), clipAmount(from.text("max", "maxPrice"))
	if p.Mode == "" && p.Amount != "" {
		p.Mode = "fixed"
	}
}

// setOffers sets the price from the first offer with an amount. It is dynamic if no offer has one.
func (p *Price) setOffers() {
	p.Mode = "dynamic"
	for _, o := range p.Offers {
		if o.Amount != "" {
			p.Mode, p.Currency, p.Amount = "offer", o.Currency, o.Amount
			return
		}
	}
	p.Currency = p.Offers[0].Currency
}

// addOffer adds an offer. Without a protocol it is one of MPP, unless it has the form of x402.
func (p *Price) addOffer(o object, protocol string) {
	if o.isAbsent() || len(p.Offers) >= maxOffers {
		return
	}
	offer := Offer{
		Protocol: protocol, Method: strings.ToLower(clipAmount(o.text("method"))),
		Intent: strings.ToLower(clipAmount(o.text("intent"))), Network: clipAmount(o.text("network")),
		Currency: clipAmount(o.text("currency", "asset")), Amount: clipAmount(o.text("amount", "maxAmountRequired")),
	}
	named := strings.ToLower(clipAmount(o.text("protocol")))
	scheme := strings.ToLower(clipAmount(o.text("scheme")))
	isX402 := strings.HasPrefix(offer.Method, rail.X402) || scheme == "exact" || scheme == "upto"
	switch {
	case protocol != "":
	case named != "":
		offer.Protocol = named
	case isX402:
		offer.Protocol = rail.X402
	default:
		offer.Protocol = rail.MPP
	}
	if offer.Protocol == rail.X402 && scheme != "" {
		offer.Method = scheme
	}
	p.Offers = append(p.Offers, offer)
	p.name(offer.Protocol)
}

// name adds a protocol.
func (p *Price) name(protocol string) {
	if !slices.Contains(p.Protocols, protocol) {
		p.Protocols = append(p.Protocols, protocol)
	}
}

// isFree reports whether the price is fixed at zero, in every offer.
func (p *Price) isFree() bool {
	if len(p.Offers) > 0 {
		return !slices.ContainsFunc(p.Offers, func(o Offer) bool { return !isZero(o.Amount) })
	}
	return p.Mode != "dynamic" && p.Max == "" && isZero(p.Amount)
}

// clipAmount cuts a stranger's text of a price.
func clipAmount(s string) string { return cleanText(s, 100) }

// isZero reports whether a text says that something costs nothing: a zero, perhaps with a currency, or "free".
func isZero(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "free" {
		return true
	}
	digits := strings.Trim(text, "$€£ abcdefghijklmnopqrstuvwxyz") // "$0.00", "0 USDC"
	return strings.Contains(digits, "0") && strings.Trim(digits, "0.") == ""
}

// readProtocols reads names of protocols: a list of names, a list of objects keyed by name, or one name.
func readProtocols(raw json.RawMessage) []string {
	var names []string
	add := func(name string) {
		if name = strings.ToLower(cleanText(name, 40)); name != "" && len(names) < maxOffers {
			names = append(names, name)
		}
	}
	if s := scalar(raw); s != "" {
		add(s)
		return names
	}
	list := jsontext.List(raw)
	if list == nil {
		list = []json.RawMessage{raw}
	}
	for _, entry := range first(list, maxOffers) {
		if s := scalar(entry); s != "" {
			add(s)
			continue
		}
		for _, name := range objectOf(entry).keys() {
			add(name)
		}
	}
	return names
}

// otherProtocols are names of ways to be paid that have no 402 which Tollbook reads. A name that is in no list may be a
// payment method of MPP, a network or a transport, and says nothing.
var otherProtocols = []string{"acp", "ap2", "ucp", "x401", "skyfire", "kyapay", "nevermined", "nvm", "paypal",
	"api-key", "apikey", "api_key", "subscription", "invoice"}

// isPayable reports whether one of the named protocols may be read, or none is named.
func isPayable(names []string) bool {
	return len(names) == 0 ||
		slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(otherProtocols, name) })
}
