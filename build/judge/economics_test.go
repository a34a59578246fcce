package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
)

// pricesOf returns a sorted list of prices.
func pricesOf(list ...site.Decimal) *priceList {
	p := newPriceList()
	for _, price := range list {
		p.add(price)
	}
	p.sort()
	return p
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	five := pricesOf("0.5", "0.01", "2", "0.001", "0.01")
	for _, c := range []struct {
		price site.Decimal
		want  *float64
	}{
		{"0.001", new(0.0)}, {"0.01", new(25.0)}, {"0.5", new(75.0)}, {"2", new(100.0)},
	} {
		if diff := cmp.Diff(c.want, five.percentile(&c.price)); diff != "" {
			t.Errorf("percentile of %s (-want +got):\n%s", c.price, diff)
		}
	}
	if got := pricesOf("0.01").percentile(new(site.Decimal("0.01"))); got != nil {
		t.Errorf("percentile of the only price = %v, want null", *got)
	}
	if got := five.percentile(nil); got != nil {
		t.Errorf("percentile of no price = %v, want null", *got)
	}
}

func TestPriceStability(t *testing.T) {
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
		if diff := cmp.Diff(c.want, priceStability(c.f, now)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestPriceModel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		offer offer
		free  bool
		want  string
	}{
		{offer{distinct: 1}, false, "flat"},
		{offer{distinct: 1}, true, "flat"},
		{offer{distinct: 2}, false, "tiered"},
		{offer{distinct: 2, variable: true}, false, "per-token"},
		{offer{variable: true}, false, "per-token"},
		{offer{}, true, "free"},
		{offer{}, false, "unknown"},
	} {
		if got := priceModel(&test.offer, test.free); got != test.want {
			t.Errorf("%+v, free %v: %s, want %s", test.offer, test.free, got, test.want)
		}
	}
}
