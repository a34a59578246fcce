package judge

import (
	"strings"
	"testing"
	"time"

	"tollbook/site/x402"
)

func TestSigning(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, r := range x402.Rules() {
		ids[r.ID] = true
	}
	for _, id := range signingChecks {
		if !ids[id] {
			t.Errorf("%s is no rule", id)
		}
	}
	for verdict, want := range map[string]string{"": "GET /x: not asked yet",
		"open": "GET /x: its latest answer was open", "paid": "GET /x: no price is known"} {
		e := priced()
		if e.Verdict = &verdict; verdict == "" {
			e.Verdict = nil
		}
		if got := unsignableReason(&e, &x402.Evidence{Endpoint: "GET /x"}, true); got != want {
			t.Errorf("verdict %q: %q, want %q", verdict, got, want)
		}
	}
	// What all pass together each passes that has terms, and no other.
	e, verdict := priced(price("100", alice, *ago(time.Hour), nil)), "paid"
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
