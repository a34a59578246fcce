package judge

import (
	"strings"
	"testing"
	"time"

	"tollbook/site/x402"
)

func TestUnsignableReason(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, r := range x402.Rules() {
		ids[r.ID] = true
	}
	for _, id := range signingChecks {
		if !ids[id] {
			t.Errorf("signingChecks has %s, which is no rule", id)
		}
	}
	for verdict, want := range map[string]string{"": "GET /x: not asked yet",
		"open": "GET /x: its latest answer was open", "paid": "GET /x: no price is known"} {
		e := newPricedEndpoint()
		if e.Verdict = &verdict; verdict == "" {
			e.Verdict = nil
		}
		if got := unsignableReason(&e, &x402.Evidence{Endpoint: "GET /x"}, true); got != want {
			t.Errorf("verdict %q: %q, want %q", verdict, got, want)
		}
	}
	// If all endpoints together pass, an endpoint passes if it has payment terms.
	e, verdict := newPricedEndpoint(newPrice("100", alice, *ago(time.Hour), nil)), "paid"
	e.Verdict = &verdict
	for body, want := range map[string]string{
		`{"x402Version":1,"accepts":[{"scheme":"exact"}]}`: "", `{"x402Version":1,"accepts":[]}`: "GET /x: ",
		`{}`: "GET /x: ",
	} {
		shown := &x402.Evidence{Endpoint: "GET /x",
			Captured: x402.Capture(x402.Answer{Status: 402, Body: []byte(body)})}
		if got := unsignableReason(&e, shown, true); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
