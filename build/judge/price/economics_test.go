package price

import (
	"testing"

	"tollbook/site"
)

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
