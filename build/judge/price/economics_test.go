package price

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
)

func TestStability(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, c := range []struct {
		name string
		f    *postgres.ServiceFacts
		want *float64
	}{
		{"no prices", newService(), nil},
		{"no change", newService(newPricedEndpoint(newPrice("100", alice, *ago(60 * day), nil))), new(1.0)},
		{"one change",
			newService(newPricedEndpoint(newPrice("100", alice, *ago(60 * day), ago(3*day)),
				newPrice("200", alice, *ago(3 * day), nil))),
			new(0.97)},
		{"a change before the 30 days",
			newService(newPricedEndpoint(newPrice("100", alice, *ago(60 * day), ago(40*day)),
				newPrice("200", alice, *ago(40 * day), nil))),
			new(1.0)},
		{"the same two amounts are no change", newService(newPricedEndpoint(
			newPrice("100", alice, *ago(60 * day), ago(3*day)), newPrice("200", alice, *ago(60 * day), ago(3*day)),
			newPrice("200", bob, *ago(3 * day), nil), newPrice("100", bob, *ago(3 * day), nil))), new(1.0)},
		{"another recipient is no change",
			newService(newPricedEndpoint(newPrice("100", alice, *ago(60 * day), ago(3*day)),
				newPrice("100", bob, *ago(3 * day), nil))),
			new(1.0)},
	} {
		if diff := cmp.Diff(c.want, stability(c.f, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	one := Offer{distinct: map[site.Decimal]bool{"1": true}}
	two := Offer{distinct: map[site.Decimal]bool{"1": true, "2": true}}
	for _, test := range []struct {
		offer Offer
		free  bool
		want  string
	}{
		{one, false, "flat"},
		{one, true, "flat"},
		{two, false, "tiered"},
		{Offer{distinct: two.distinct, rows: 2, variable: 2}, false, "per-token"},
		{Offer{rows: 1, variable: 1}, false, "per-token"},
		{Offer{}, true, "free"},
		{Offer{}, false, "unknown"},
	} {
		if got := model(&test.offer, test.free); got != test.want {
			t.Errorf("%+v, free %v: %s, want %s", test.offer, test.free, got, test.want)
		}
	}
}
