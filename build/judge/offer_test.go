package judge

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

func TestFindPayToChanges(t *testing.T) {
	t.Parallel()
	const carol = "0x3333333333333333333333333333333333333333"
	moved, older := *ago(48 * time.Hour), *ago(40 * 24 * time.Hour)
	f := newService(newPricedEndpoint(newPrice("100", bob, moved, nil)))
	record := func(at time.Time, changes ...site.RecipientChange) checks.Change {
		text, err := json.Marshal(site.PayToSummary{PayToChanges: changes})
		if err != nil {
			t.Fatal(err)
		}
		return checks.Change{Type: site.PayToChanged, ObservedAt: at, Summary: text}
	}
	beside := site.RecipientChange{Network: base, Endpoint: "GET /a", NewPayTo: new(carol)}
	f.Moves = []checks.Change{
		record(moved, beside,
			site.RecipientChange{Network: base, Endpoint: "GET /b", OldPayTo: new(alice), NewPayTo: new(bob)}),
		record(older, beside), {ObservedAt: older, Summary: json.RawMessage("{}")},
	}
	want := []site.PayToChange{
		{NetworkCAIP2: base, Endpoint: "GET /a", NewPayTo: new(carol), ObservedAt: site.NewTime(moved)},
		{NetworkCAIP2: base, Endpoint: "GET /b", OldPayTo: new(alice), NewPayTo: new(bob),
			ObservedAt: site.NewTime(moved)},
		{NetworkCAIP2: base, Endpoint: "GET /a", NewPayTo: new(carol), ObservedAt: site.NewTime(older)},
	}
	if diff := cmp.Diff(want, findPayToChanges(f)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	s := judgeAll(&postgres.Facts{Services: []postgres.ServiceFacts{*f}}, now)
	if risk := s.Services[0].Detail.Assessment.Risk; risk.Level != site.RiskDanger ||
		risk.Flags[0].Code != "pay_to_changed" {
		t.Errorf("risk of a recipient changed two days ago = %+v, want danger by pay_to_changed", risk)
	}
}

func TestFindDivergence(t *testing.T) {
	t.Parallel()
	since := *ago(time.Hour)
	of := func(payTo string) postgres.EndpointFacts {
		return newPricedEndpoint(newPrice("100", payTo, since, nil))
	}
	got := newOffer(newService(of(alice), of(alice), of(bob)), now)
	want := &site.PayToDivergence{NetworkCAIP2: base, Expected: []string{alice},
		Observed: []string{bob}, FirstSeenAt: site.NewTime(since)}
	if diff := cmp.Diff(want, got.endpoints[2].PayToDivergence); diff != "" {
		t.Errorf("divergence of the third (-want +got):\n%s", diff)
	}
	if got.endpoints[0].PayToDivergence != nil {
		t.Errorf("divergence of the first = %+v, want null", got.endpoints[0].PayToDivergence)
	}
	if got := newOffer(newService(of(alice), of(bob)), now); got.endpoints[1].PayToDivergence != nil {
		t.Errorf("divergence of two endpoints = %+v, want none", got.endpoints[1].PayToDivergence)
	}
}

func TestOfferIgnoresInactiveEndpoints(t *testing.T) {
	t.Parallel()
	old := newPricedEndpoint(newPrice("1", alice, *ago(500 * time.Hour), nil))
	old.FirstSeenAt, old.LastPaidAt = *ago(900 * time.Hour), ago(14*24*time.Hour)
	got := newOffer(newService(old, newPricedEndpoint(newPrice("100", alice, *ago(time.Hour), nil))), now)
	if len(got.endpoints) != 1 || *got.prices.Lowest != "0.0001" {
		t.Errorf("offer has %d endpoints from %s, want 1 from 0.0001", len(got.endpoints), *got.prices.Lowest)
	}
}
