package price

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
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

func TestOutlier(t *testing.T) {
	t.Parallel()
	five := pricesOf("0.01", "0.01", "0.02", "0.03", "1")
	price := func(d site.Decimal) *site.Decimal { return &d }
	for _, test := range []struct {
		name   string
		prices *priceList
		price  *site.Decimal
		want   bool
	}{
		{"no price", five, nil, false},
		{"49 times the median", five, price("0.999999"), false},
		{"50 times the median", five, price("1"), true},
		{"50 times the upper of two medians", pricesOf("0.01", "0.01", "0.01", "0.02", "0.02", "1"), price("1"), true},
		{"among four", pricesOf("0.01", "0.02", "0.03", "1"), price("1000"), false},
		{"a median of nothing", pricesOf("0", "0", "0", "0", "1"), price("1"), false},
	} {
		if got := test.prices.isOutlier(test.price); got != test.want {
			t.Errorf("%s: outlier %v, want %v", test.name, got, test.want)
		}
	}
}
