package sample

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/polls"
	"tollbook/site/x402"
)

// TestFacilitatorsAnnounce asks each facilitator over TLS what it settles. It must answer as in its newest poll of the
// past, except its latency.
func TestFacilitatorsAnnounce(t *testing.T) {
	t.Parallel()
	_, c := startWorld(t)
	start := time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)
	past := Polls(start)
	if len(past) != polledDays*5 {
		t.Fatalf("%d polls of %d days, want those of 5 facilitators", len(past), polledDays)
	}
	for _, want := range past[len(past)-5:] {
		resp, body, err := do(t, c, "GET", want.URL+"/supported", "")
		if err != nil {
			t.Fatal(err)
		}
		got := polls.Poll{FacilitatorID: want.FacilitatorID, URL: want.URL, At: want.At, NextAt: want.NextAt,
			Supported: polls.Response{Outcome: polls.Answered, Code: &resp.StatusCode},
			Health:    want.Health, Detail: want.Detail}
		if resp.StatusCode != http.StatusOK {
			got.Supported.Outcome = polls.Status
		} else if answer, err := x402.ReadSupported([]byte(body)); err != nil || answer.Skipped > 0 {
			t.Errorf("%s: %d entries skipped, error %v", want.URL, answer.Skipped, err)
		} else {
			got.Announce(answer)
		}
		want.Supported.Latency = nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-poll +answer):\n%s", want.URL, diff)
		}
		resp, _, err = do(t, c, "GET", want.URL+"/health", "")
		if err != nil || resp.StatusCode != *want.Health.Code {
			t.Errorf("GET %s/health: %v, %v, want %d", want.URL, resp, err, *want.Health.Code)
		}
	}
	for _, f := range facilitators() {
		if bySlug(f.host()) != nil {
			t.Errorf("%s has the host of a service", f.ID)
		}
	}
}
