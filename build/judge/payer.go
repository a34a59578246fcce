// This file judges who can pay by the options of endpoints, and what a buyer needs first, as the newest responses show.
//
// Its judgments are functions of facts. It must never know a price.

package judge

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"tollbook/build/judge/price"
	"tollbook/site"
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
		payers := x402.PayersOf(*capture)
		prices := price.Current(e.Prices)
		for k := range of.X402Pricing() {
			if k >= len(prices) {
				break
			}
			want := price.Requirement(&prices[k])
			if row := slices.IndexFunc(env.Accepts, want.SameOffer); row >= 0 && row < len(payers) {
				of.Pricing[k].PayableBy = NewPayableBy(payers[row], e.Envelope.Header, env.Channel)
			}
		}
	}
}

// NewPayableBy returns the published form of who can pay by an option of a response with these headers, whose offer is
// in this channel.
func NewPayableBy(p x402.Payers, h http.Header, channel x402.Channel) site.PayableBy {
	of := price.NewPayableBy(p)
	of.Browser = browserReads(h, channel)
	return of
}

// browserReads reports whether a page of another origin can read an offer, as the response's CORS headers say. It
// returns false if they allow some origin but do not expose the header of the offer, and nil if nothing is known: a
// request without an origin often has an answer without these headers.
func browserReads(h http.Header, channel x402.Channel) *bool {
	if h.Get("Access-Control-Allow-Origin") == "" || channel != x402.ChannelHeader {
		return nil
	}
	exposed := strings.ToLower(strings.Join(h.Values("Access-Control-Expose-Headers"), ","))
	if strings.Contains(exposed, "*") || strings.Contains(exposed, "payment-required") {
		return nil
	}
	return new(false)
}
