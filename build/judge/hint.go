package judge

import (
	"time"

	"tollbook/site/hint"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/x402"
)

// hintFacts returns what is known, for their hints, of the judged endpoints of a service and of those that could not be
// probed.
func hintFacts(f *postgres.ServiceFacts, result complianceResult, now time.Time) (list []hint.Facts) {
	next := 0
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		var capture x402.Captured
		switch {
		case e.IsActive(now) || result.noneActive:
			capture, next = result.captures[next].Captured, next+1
		case !isUnprobeable(e):
			continue
		}
		list = append(list, newHintFacts(f, e, capture))
	}
	return list
}

// newHintFacts returns what is known of an endpoint. capture is of its newest response with terms.
func newHintFacts(f *postgres.ServiceFacts, e *postgres.EndpointFacts, capture x402.Captured) hint.Facts {
	x := hint.Facts{Endpoint: methodOf(e) + " " + e.Path, URL: f.BaseURL + e.Path, Method: methodOf(e)}
	if v := e.Envelope; v != nil {
		x.AnsweredURL, x.Header, x.Body, x.Captured = v.URL, v.Header, v.Body, capture
		for _, o := range readOffers(x.Endpoint, e) {
			x.Offers = append(x.Offers, o.Offer)
		}
		addTry(&x, v.Exchange, v.URL, &v.StatusCode)
	}
	for _, r := range []*checks.Response{e.Conclusive, e.Inconclusive} {
		if r != nil {
			addTry(&x, r.Exchange, r.URL, r.StatusCode)
		}
	}
	if f.Site != nil && f.Site.Browser != nil && f.Site.Browser.Endpoint == e.ID {
		b := &f.Site.Browser.Browser
		if x.Browser = b; b.Bare != nil {
			x.Bare = &hint.Try{Text: b.BareText, Status: b.Bare.Status}
		}
	}
	return x
}

// addTry adds a stored request as the one without input, or the one with the declared example.
func addTry(x *hint.Facts, e checks.Exchange, address string, status *int) {
	if status == nil || e.Method == "" || e.Method != x.Method {
		return
	}
	try := hint.NewTry(e.Method, address, e.RequestBody, *status)
	if hint.HasInput(x.URL, address, e.RequestBody) {
		x.Example = &try
	} else {
		x.Bare = &try
	}
}
