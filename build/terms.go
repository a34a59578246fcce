package build

import (
	"bytes"
	"encoding/json"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// signing are the compliance checks without which a standard client signs nothing, or signs what nobody takes.
var signing = []string{
	"payload_captured", "accepts_present", "payto_conformant", "payto_shape", "price_present", "price_sane", "asset_declared",
	"network_caip2", "scheme_declared", "x402_version_current", "eip712_domain_extra", "version_channel_coherent",
}

// evidence is what each active endpoint has shown, read again from what was kept.
func evidence(f *postgres.ServiceFacts, now time.Time) []x402.Evidence {
	var rows []x402.Evidence
	for _, e := range f.Endpoints {
		if !site.Active(e.FirstSeenAt, e.LastPaidAt, now) {
			continue
		}
		rows = append(rows, shownBy(f, &e))
	}
	return rows
}

// termsOf is what is known of each active endpoint beyond the contract; shown is their evidence.
func termsOf(f *postgres.ServiceFacts, shown []x402.Evidence, now time.Time) []site.Terms {
	terms := []site.Terms{}
	for _, e := range f.Endpoints {
		if !site.Active(e.FirstSeenAt, e.LastPaidAt, now) {
			continue
		}
		t := site.Terms{Reason: unsignable(e, shown[len(terms)])}
		t.Signable = t.Reason == ""
		for _, p := range current(e.Prices) {
			t.Prices = append(t.Prices, site.PricingTerms{Since: site.NewTime(p.Since), Extra: extra(p)})
		}
		terms = append(terms, t)
	}
	return terms
}

// extra is what a price says beyond its columns, as received, where that is an object.
func extra(p postgres.Price) json.RawMessage {
	if p.Extra == nil {
		return nil
	}
	text := json.RawMessage(*p.Extra)
	if inside, is := bytes.CutPrefix(bytes.TrimSpace(text), []byte("{")); !is || bytes.HasPrefix(bytes.TrimSpace(inside), []byte("}")) || !json.Valid(text) {
		return nil
	}
	return text
}

// unsignable says what keeps a standard client from signing a payment for an endpoint, which it names; "" for nothing.
func unsignable(e postgres.EndpointFacts, shown x402.Evidence) string {
	switch {
	case e.Verdict == nil:
		return shown.Endpoint + ": not asked yet"
	case *e.Verdict != "paid":
		return shown.Endpoint + ": its latest answer was " + *e.Verdict
	case len(current(e.Prices)) == 0:
		return shown.Endpoint + ": no price is known"
	}
	return x402.FirstFailure(shown, signing)
}
