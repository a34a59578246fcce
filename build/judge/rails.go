// This file judges what services offer over other protocols than x402: the published form of their prices, and their
// grades by the checks of each protocol's own specification.
//
// Its judgments are functions of facts. It must never know a price over x402, nor what was paid.

package judge

import (
	"net/http"
	"slices"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// railEntries returns the published form of the stored offers of an endpoint. variable says whether an amount is not
// the price of a call.
func railEntries(offers []checks.Offer) (entries []site.PricingEntry, variable bool) {
	for _, o := range offers {
		if !slices.Contains(rail.Protocols, o.Protocol) {
			continue // no crawl stores another one
		}
		entries = append(entries, newEntry(rail.Terms(o)))
		variable = variable || o.Variable
	}
	return entries, variable
}

func newEntry(t rail.Terms) site.PricingEntry {
	v := t.Value()
	p := site.PricingEntry{
		Protocol: t.Protocol, Scheme: t.Scheme, Network: t.Network, AssetAddress: t.Asset,
		AssetAddressNorm: t.AssetNorm(), AssetName: v.AssetName, Price: t.Amount, PayTo: t.PayTo,
		MaxTimeoutSeconds: t.MaxTimeoutSeconds, Testnet: v.Testnet, PayableBy: price.NewPayableBy(t.Payers()),
	}
	if v.PriceUSD != "" {
		p.PriceUSD = &v.PriceUSD
	}
	if id := t.NetworkCAIP2; id != "" {
		p.NetworkCAIP2 = &id
		p.AssetAddress, p.PayTo = x402.SpellAddress(id, t.Asset), x402.SpellAddress(id, t.PayTo)
	}
	return p
}

// readOffers returns the offers in the newest response of an endpoint that asks for payment over such a protocol, for
// its checks. name is the endpoint's, such as "GET /x".
func readOffers(name string, e *postgres.EndpointFacts) (list []rail.Listed) {
	var a rail.Answer
	switch v, c := e.Envelope, e.Conclusive; {
	case c != nil && c.StatusCode != nil && mayOffer(*c.StatusCode, c.URL):
		a = rail.Answer{Status: *c.StatusCode, Header: c.Header, Body: c.Body, URL: c.URL, TLSVerified: c.TLSVerified,
			ReceivedAt: c.ReceivedAt}
	case v != nil && mayOffer(v.StatusCode, v.URL):
		a = rail.Answer{Status: v.StatusCode, Header: v.Header, Body: v.Body, URL: v.URL, TLSVerified: v.TLSVerified,
			ReceivedAt: v.ReceivedAt}
	}
	for _, o := range rail.Read(a) {
		list = append(list, rail.Listed{Endpoint: name, Offer: o})
	}
	return list
}

// mayOffer reports whether a response may contain offers: a 402, or the result of an MCP tool.
func mayOffer(status int, address string) bool {
	return status == http.StatusPaymentRequired || x402.ToolOf(address) != ""
}

// PublishOffers returns the published form of the verdicts on a service's offers.
func PublishOffers(verdicts []rail.Compliance) []site.Rail {
	list := []site.Rail{}
	for _, c := range verdicts {
		r := site.Rail{Protocol: c.Protocol, Grade: c.Grade, GradeReason: invisible.Replace(c.Reason), Passed: c.Passed,
			Total: len(c.Results)}
		for _, k := range c.Results {
			check := site.RailCheck{ID: k.ID, Label: k.Label, Pass: k.Pass}
			if !k.Pass {
				check.Reason, check.Expected, check.Mend = new(invisible.Replace(k.Reason)), new(k.Expected),
					new(k.Mend)
			}
			r.Checks = append(r.Checks, check)
		}
		list = append(list, r)
	}
	return list
}
