package conformance

import (
	"math/big"
	"slices"
	"strings"

	"tollbook/.ci/recompute/snapshot"
)

// Offer is one way to pay over another protocol than x402, read from the headers of a 402.
type Offer struct {
	protocol, scheme     string
	network, caip2       string // caip2 is "" if the network has no CAIP-2 id
	asset, amount, payTo string
	timeout              *int
	Variable             bool // the amount is the price of a unit or a limit
	failed               map[string]bool
}

// railCheck is one check of a protocol, as the methodology lists it.
type railCheck struct {
	id, expected string
	fatal        bool // an offer that fails it cannot be paid
}

// railProtocols are the protocols in their published order.
var railProtocols = []string{"mpp", "l402", "crawler-price"}

// readRailChecks reads the tables of the checks of each protocol.
func readRailChecks(methodology string) map[string][]railCheck {
	checks := map[string][]railCheck{}
	for _, protocol := range railProtocols {
		_, table, _ := strings.Cut(methodology, "\n| Check of `"+protocol+"` |")
		table, _, _ = strings.Cut(table, "\n\n")
		for _, line := range strings.Split(table, "\n")[min(2, strings.Count(table, "\n")):] {
			cells := strings.Split(strings.Trim(line, "| "), " | ")
			if len(cells) == 3 {
				checks[protocol] = append(checks[protocol],
					railCheck{strings.Trim(cells[0], "`"), cells[1], cells[2] == "no payment"})
			}
		}
	}
	return checks
}

// Usable reports whether the offer can be paid.
func (o *Offer) Usable() bool {
	return !slices.ContainsFunc(Tables.railChecks[o.protocol],
		func(c railCheck) bool { return c.fatal && o.failed[c.id] })
}

// maxOffers is the largest number of offers that are read from one response.
const maxOffers = 16

// readOffers returns the offers in a response, by protocol and then in the order received.
func readOffers(a *answer) (list []Offer) {
	if a == nil || a.Status != 402 {
		return nil
	}
	for _, value := range a.header("Www-Authenticate") {
		if len(value) > maxHeader {
			continue
		}
		for _, c := range readChallenges(value) {
			switch scheme := strings.ToLower(c.scheme); {
			case len(list) == maxOffers:
			case scheme == "payment":
				list = append(list, readMPP(a, c.params))
			case scheme == "l402" || scheme == "lsat":
				list = addL402(list, readL402(a, c.params, scheme == "lsat"))
			}
		}
	}
	if values := a.header("Crawler-Price"); len(values) > 0 {
		list = append(list[:min(len(list), maxOffers-1)], readCrawlerPrice(values))
	}
	for i := range list {
		list[i].failed["transport_https"] = !a.verified || !strings.HasPrefix(a.finalURL(), "https://")
	}
	slices.SortStableFunc(list, func(a, b Offer) int {
		return slices.Index(railProtocols, a.protocol) - slices.Index(railProtocols, b.protocol)
	})
	return list
}

// Offers returns the offers in the newest response of an endpoint that asks for payment.
func (p *Probed) Offers() []Offer {
	if p.Answer != nil && p.Answer.Status == 402 {
		return readOffers(p.Answer)
	}
	return readOffers(p.Graded)
}

// finalURL returns the URL that answered.
func (a *answer) finalURL() string {
	if n := len(a.redirects); n > 0 {
		return a.redirects[n-1]
	}
	return a.url
}

// addL402 adds an offer, unless the same one is in the list under the other name of the scheme. The current name wins.
func addL402(list []Offer, o Offer) []Offer {
	isOld := o.failed["scheme_current"]
	i := slices.IndexFunc(list, func(p Offer) bool {
		return p.protocol == "l402" && p.amount == o.amount && p.payTo == o.payTo && p.caip2 == o.caip2 &&
			p.failed["scheme_current"] != isOld
	})
	if i < 0 {
		return append(list, o)
	}
	if !isOld {
		list[i] = o
	}
	return list
}

// readCrawlerPrice reads the values of the crawler-price header, of which the first one counts.
func readCrawlerPrice(values []string) Offer {
	o := Offer{protocol: "crawler-price", scheme: "crawl", network: "cloudflare",
		failed: map[string]bool{"price_single": len(values) > 1}}
	text := strings.TrimSpace(values[0])
	if !matchesWhole(`[A-Z]{3} [0-9]{1,16}(\.[0-9]{1,16})?`, text) {
		o.failed["price_form"] = true
		return o
	}
	o.asset, o.amount = text[:3], issuedAmount(text[4:])
	o.failed["price_positive"] = o.amount == "0"
	return o
}

// bitcoin is the network on which bitcoins have a value.
const bitcoin = "bip122:000000000019d6689c085ae165831e93"

// dollars returns what the amount is worth, nil if that is unknown, with the name of the asset.
func (o *Offer) dollars() (name string, usd *big.Rat) {
	row := Row{Network: o.caip2, Asset: o.asset, Amount: o.amount}
	switch {
	case NamespaceOf(o.caip2) == "bip122":
		return "BTC", nil
	case o.caip2 == "" && o.protocol == "mpp" && strings.EqualFold(o.asset, "usd"):
		row.Network, row.Asset = "cloudflare:402", "USD" // in cents
	case o.caip2 == "" && o.protocol == "crawler-price" && o.asset == "USD":
		usd, _ := new(big.Rat).SetString(o.amount)
		return o.asset, usd
	case o.caip2 == "" && matchesWhole(`[A-Za-z]{3}`, o.asset):
		return strings.ToUpper(o.asset), nil
	}
	name = "UNKNOWN"
	if asset, ok := LookupAsset(&row); ok {
		name = asset.Symbol
	}
	return name, row.Dollars()
}

// Pricing returns the offer as a price of an endpoint, without what its calls cost.
func (o *Offer) Pricing() map[string]any {
	name, usd := o.dollars()
	n, isListed := LookupNetwork(o.caip2)
	test := isListed && !n.Mainnet || NamespaceOf(o.caip2) == "bip122" && o.caip2 != bitcoin
	p := map[string]any{
		"scheme": o.scheme, "network": o.network, "network_caip2": snapshot.TextOrNull(o.caip2),
		"asset_address":      PublishedAddress(o.caip2, o.asset),
		"asset_address_norm": NormalAddress(o.caip2, o.asset), "asset_name": name,
		"price": o.amount, "price_usd": nil, "pay_to": PublishedAddress(o.caip2, o.payTo), "max_timeout_seconds": nil,
		"protocol": o.protocol, "testnet": test, "price_caveat": PriceCaveat(test, usd), "settled": nil,
	}
	if usd != nil && !test {
		p["price_usd"] = snapshot.DecimalText(usd)
	}
	if o.timeout != nil {
		p["max_timeout_seconds"] = *o.timeout
	}
	return p
}

// PriceCaveat says why a price does not count, nil if it does.
func PriceCaveat(isTest bool, usd *big.Rat) any {
	switch {
	case isTest:
		return "test network"
	case usd == nil:
		return "no known value in dollars"
	case usd.Sign() == 0:
		return "the amount is 0"
	case usd.Cmp(big.NewRat(1000, 1)) > 0:
		return "more than $1000 a call"
	}
	return nil
}
