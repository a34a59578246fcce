// This file judges who can pay by the options of endpoints, and what a buyer needs first, as the newest responses show.
//
// Its judgments are functions of facts. It must never know a price.

package judge

import (
	"slices"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
	"tollbook/site/hint"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// addPayers completes who can pay by each option of active endpoints over x402. captures are those of the active
// endpoints. An option that the newest response does not make keeps what its own terms say.
func addPayers(endpoints []site.Endpoint, f *postgres.ServiceFacts, captures []x402.Evidence, now time.Time) {
	at := 0
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !e.IsActive(now) {
			continue
		}
		capture, of := &captures[at], &endpoints[at]
		at++
		env := capture.Captured.Envelope
		if env == nil || e.Envelope == nil {
			continue
		}
		payers, browser := x402.PayersOf(*capture), browserCanPay(f, e, capture.Captured)
		prices := price.Current(e.Prices)
		for k := range of.X402Pricing() {
			if k >= len(prices) {
				break
			}
			want := price.Requirement(&prices[k])
			if row := slices.IndexFunc(env.Accepts, want.SameOffer); row >= 0 && row < len(payers) {
				of.Pricing[k].PayableBy = price.NewPayableBy(payers[row])
				of.Pricing[k].PayableBy.Browser = browser
			}
		}
	}
}

// browserCanPay reports whether a page of any site can pay an endpoint, nil if the endpoint was not asked as a browser
// asks.
func browserCanPay(f *postgres.ServiceFacts, e *postgres.EndpointFacts, capture x402.Captured) *bool {
	if f.Site == nil || f.Site.Browser == nil || f.Site.Browser.Endpoint != e.ID {
		return nil
	}
	facts := newHintFacts(f, e, capture)
	can, _ := hint.CanBrowserPay(&facts)
	return can
}
