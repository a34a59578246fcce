package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// signingChecks are the compliance checks without which a standard client signs nothing, or signs what nobody takes.
var signingChecks = []string{
	"payload_captured", "accepts_present", "payto_conformant", "payto_shape", "price_present", "price_sane",
	"asset_declared",
	"network_caip2", "scheme_declared", "x402_version_current", "eip712_domain_extra", "version_channel_coherent",
}

// activeCaptures is what each active endpoint has shown, read again from what was kept.
func activeCaptures(f *postgres.ServiceFacts, now time.Time) []x402.Evidence {
	var rows []x402.Evidence
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			rows = append(rows, readCapture(f, e))
		}
	}
	return rows
}

// listReasons say of each active endpoint what keeps a standard client from paying it, "" for nothing; shown is their
// evidence, got what it says of them together.
func listReasons(f *postgres.ServiceFacts, shown []x402.Evidence, got complianceResult, now time.Time) []string {
	signs := !slices.ContainsFunc(got.Checks, func(c x402.Check) bool {
		return !c.Pass && slices.Contains(signingChecks, c.ID)
	})
	list := make([]string, 0, len(shown))
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			list = append(list, unsignableReason(e, &shown[len(list)], signs))
		}
	}
	return list
}

// newTerms is what is known of each active endpoint beyond the contract.
func newTerms(f *postgres.ServiceFacts, reasons []string, now time.Time) []site.Terms {
	terms := []site.Terms{}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !site.IsActive(e.FirstSeenAt, e.LastPaidAt, now) {
			continue
		}
		t := site.Terms{Reason: reasons[len(terms)]}
		t.Signable = t.Reason == ""
		for _, p := range currentPrices(e.Prices) {
			t.Prices = append(t.Prices, site.PricingTerms{Since: site.NewTime(p.Since), Extra: priceExtra(p)})
		}
		terms = append(terms, t)
	}
	return terms
}

// priceExtra is what a price says beyond its columns, as received, where that is an object.
func priceExtra(p postgres.Price) string {
	if p.Extra == nil {
		return ""
	}
	if inside, is := strings.CutPrefix(strings.TrimSpace(*p.Extra), "{"); !is ||
		strings.HasPrefix(strings.TrimSpace(inside), "}") || !json.Valid([]byte(*p.Extra)) {
		return ""
	}
	return *p.Extra
}

// unsignableReason says what keeps a standard client from signing a payment for an endpoint, which it names; "" for
// nothing. signs says that all endpoints together pass signing.
func unsignableReason(e *postgres.EndpointFacts, shown *x402.Evidence, signs bool) string {
	switch {
	case e.Verdict == nil:
		return shown.Endpoint + ": not asked yet"
	case *e.Verdict != "paid":
		return shown.Endpoint + ": its latest answer was " + *e.Verdict
	case len(currentPrices(e.Prices)) == 0:
		return shown.Endpoint + ": no price is known"
	}
	if v := shown.Captured.Envelope; signs && v != nil && len(v.Accepts) > 0 {
		return "" // rules look at each endpoint by itself, and none failed
	}
	return x402.FirstFailure(*shown, signingChecks)
}
