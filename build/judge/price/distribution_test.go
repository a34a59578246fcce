package price

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

func TestDistributions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prices, want string }{
		{"0.01", "1 of 0.01: 0.01-0.02 1"},
		{"0.001 0.002 0.002 0.0199 0.02",
			"5 of 0.002: 0.001-0.002 1, 0.002-0.005 2, 0.005-0.01 0, 0.01-0.02 1, 0.02-0.05 1"},
		{"0.000000001 0.0001", "2 of 0.0001: -0.0001 1, 0.0001-0.0002 1"},
		{"499.99 500 1000", "3 of 500: 200-500 1, 500- 2"},
	} {
		m := NewMarket()
		operators := []int{}
		for price := range strings.FieldsSeq(c.prices) {
			d, i := site.Decimal(price), len(operators)
			m.Add("Data", i, &Offer{Lowest: &d, Highest: &d, Plausible: IsPlausible(&d)})
			operators = append(operators, i)
		}
		m.Add("Other", len(operators), &Offer{}) // without a price
		m.Sort(append(operators, len(operators)))
		all := m.Distributions()
		if all["Other"] != nil {
			t.Errorf("%s: a category without prices has a distribution", c.prices)
		}
		if diff := cmp.Diff(c.want, describe(all["Data"])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.prices, diff)
		}
	}
}

func describe(p *site.CategoryPrices) string {
	var classes []string
	bound := func(d *site.Decimal) string {
		if d == nil {
			return ""
		}
		return string(*d)
	}
	for _, c := range p.Classes {
		classes = append(classes, fmt.Sprintf("%s-%s %d", bound(c.FromUSD), bound(c.BelowUSD), c.ServiceCount))
	}
	return fmt.Sprintf("%d of %s: %s", p.ServiceCount, p.MedianUSD, strings.Join(classes, ", "))
}
