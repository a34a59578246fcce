package judge

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tollbook/build/judge/price"
	"tollbook/build/judge/request"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// signingChecks are the compliance checks that a standard client depends on: if one fails, the client signs no payment
// or one that is refused.
var signingChecks = []string{
	"payload_captured", "accepts_present", "payto_conformant", "payto_shape", "price_present", "price_sane",
	"asset_declared",
	"network_caip2", "scheme_declared", "x402_version_current", "eip712_domain_extra", "version_channel_coherent",
}

// activeCaptures returns the capture of each active endpoint.
func activeCaptures(f *postgres.ServiceFacts, now time.Time) []x402.Evidence {
	var rows []x402.Evidence
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; e.IsActive(now) {
			rows = append(rows, readCapture(f, e))
		}
	}
	return rows
}

// listReasons returns for each active endpoint why a standard client cannot pay it, "" if it can. captures are those of
// the active endpoints, and result is the result of their checks.
func listReasons(f *postgres.ServiceFacts, captures []x402.Evidence, result complianceResult, now time.Time) []string {
	allPass := !slices.ContainsFunc(result.Checks, func(c x402.Check) bool {
		return !c.Pass && slices.Contains(signingChecks, c.ID)
	})
	list := make([]string, 0, len(captures))
	for i := range f.Endpoints {
		if e := &f.Endpoints[i]; e.IsActive(now) {
			list = append(list, unsignableReason(e, &captures[len(list)], allPass))
		}
	}
	return list
}

// newTerms returns, for each active endpoint, what is known of its payment beyond the contract. isAdvised says that
// nothing about the service as a whole speaks against paying it.
func newTerms(f *postgres.ServiceFacts, captures []x402.Evidence, reasons []string, isAdvised bool,
	now time.Time) []site.Terms {
	terms := []site.Terms{}
	for i := range f.Endpoints {
		e := &f.Endpoints[i]
		if !e.IsActive(now) {
			continue
		}
		t := site.Terms{Reason: reasons[len(terms)]}
		t.Signable = t.Reason == ""
		if e.Envelope != nil {
			t.InputSchema = e.Envelope.Exchange.InputSchema
		}
		t.Fields, t.MoreFields = requestFields(e, &captures[len(terms)], t.InputSchema)
		unpayable, _ := judgeRows(&captures[len(terms)])
		t.Payable = isAdvised && len(unpayable) == 0 && e.Verdict != nil && *e.Verdict == "paid"
		for _, p := range price.Current(e.Prices) {
			t.Prices = append(t.Prices, site.PricingTerms{Since: site.NewTime(p.Since), Extra: priceExtra(p)})
		}
		terms = append(terms, t)
	}
	return terms
}

// requestFields returns the fields of an endpoint's request, and the number of those that are left out.
func requestFields(e *postgres.EndpointFacts, capture *x402.Evidence, schema string) ([]site.RequestField, int) {
	var envelope json.RawMessage
	if v := capture.Captured.Envelope; v != nil {
		envelope = v.Raw
	}
	return request.Fields(envelope, schema, e.Path)
}

// priceExtra returns the extra object of a price as received, "" if it is empty or no object.
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

// unsignableReason returns why a standard client cannot sign a payment for an endpoint, "" if it can. allPass says that
// all endpoints together pass signingChecks.
func unsignableReason(e *postgres.EndpointFacts, capture *x402.Evidence, allPass bool) string {
	switch {
	case e.Verdict == nil:
		return capture.Endpoint + ": not asked yet"
	case *e.Verdict != "paid":
		return capture.Endpoint + ": its latest answer was " + *e.Verdict
	}
	hasPrice := len(price.Current(e.Prices)) > 0
	if v := capture.Captured.Envelope; hasPrice && allPass && v != nil && len(v.Accepts) > 0 {
		return "" // checks look at each endpoint separately, and none failed
	}
	if reason := x402.FirstFailure(*capture, signingChecks); hasPrice ||
		reason != "" && capture.Captured.Envelope != nil {
		return reason
	}
	return capture.Endpoint + ": no price is known"
}
