package price

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// pricesOf returns a sorted list of prices, each of another operator.
func pricesOf(list ...site.Decimal) *priceList {
	p, operators := newPriceList(), make([]int, len(list))
	for i, price := range list {
		operators[i] = i
		p.add(i, price, IsPlausible(&price))
	}
	p.sort(operators)
	return p
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	fiveOf := []site.Decimal{"0.5", "0.01", "2", "0.001", "0.01"}
	five := pricesOf(fiveOf...)
	for _, c := range []struct {
		price site.Decimal
		want  *float64
	}{
		{"0.001", new(0.0)}, {"0.01", new(25.0)}, {"0.5", new(75.0)}, {"2", new(100.0)},
	} {
		if diff := cmp.Diff(c.want, five.percentile(&c.price, slices.Index(fiveOf, c.price))); diff != "" {
			t.Errorf("percentile of %s (-want +got):\n%s", c.price, diff)
		}
	}
	if got := pricesOf("0.01").percentile(new(site.Decimal("0.01")), 0); got != nil {
		t.Errorf("percentile of the only price = %v, want null", *got)
	}
	if got := five.percentile(nil, 0); got != nil {
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
		{"50 times the mean of two medians", pricesOf("0.01", "0.01", "0.01", "0.02", "0.02", "1"), price("0.75"), true},
		{"less than that", pricesOf("0.01", "0.01", "0.01", "0.02", "0.02", "1"), price("0.749999"), false},
		{"among four", pricesOf("0.01", "0.02", "0.03", "1"), price("1000"), false},
		{"prices that are not plausible", pricesOf("0.00009", "0.00009", "0.00009", "0.00009", "1"), price("1"), false},
	} {
		if got := test.prices.isOutlier(test.price); got != test.want {
			t.Errorf("%s: outlier %v, want %v", test.name, got, test.want)
		}
	}
}

// TestDecoysMoveNothing checks that twelve listings of one operator, whatever they ask for, move no median by more than
// one vote and make no price of others unusual. A decoy beside a dear endpoint is no cheap service.
func TestDecoysMoveNothing(t *testing.T) {
	t.Parallel()
	honest := []site.Decimal{"0.005", "0.01", "0.02", "0.02", "0.05", "0.1"}
	for _, c := range []struct {
		name           string
		decoy, highest site.Decimal
		plausible      *site.Decimal
		median         site.Decimal
		operators      int
	}{
		{"below what is plausible", "0.00001", "0.00001", nil, "0.02", 6},
		{"plausible", "0.0001", "0.0001", new(site.Decimal("0.0001")), "0.02", 7},
		{"a cheap route beside a dear one", "0.000001", "50", new(site.Decimal("50")), "0.02", 7},
	} {
		m, operators := NewMarket(), []int{}
		for i, usd := range honest {
			m.Add("Verification", i, &Offer{Lowest: &usd, Highest: &usd, Plausible: &usd})
			operators = append(operators, i)
		}
		for range 12 {
			m.Add("Verification", len(operators), &Offer{Lowest: &c.decoy, Highest: &c.highest, Plausible: c.plausible})
			operators = append(operators, len(honest))
		}
		m.Sort(operators)
		got := m.Distributions()["Verification"]
		if got.MedianUSD != c.median || got.OperatorCount != c.operators || got.ServiceCount != 18 {
			t.Errorf("%s: median %s of %d operators and %d services, want %s of %d and 18", c.name, got.MedianUSD,
				got.OperatorCount, got.ServiceCount, c.median, c.operators)
		}
		for i, usd := range honest {
			if r := m.Rank("Verification", i, &Offer{Lowest: &usd, Highest: &usd}); r.Outlier != nil {
				t.Errorf("%s: $%s is unusual beside a median of $%s", c.name, usd, *r.Outlier)
			}
		}
	}
}
