package price

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// TestWeeks checks which recorded prices count in which week, and that an operator has one vote.
func TestWeeks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC) // a Wednesday
	recorded := func(prices ...string) (list []checks.Assessment) {
		for i := 0; i < len(prices); i += 2 {
			day, err := time.Parse(time.DateOnly, prices[i])
			if err != nil {
				t.Fatal(err)
			}
			a := checks.Assessment{Day: day}
			if prices[i+1] != "" {
				a.MinPriceUSD = &prices[i+1]
			}
			list = append(list, a)
		}
		return list
	}
	w := NewWeeks(now)
	w.Add("Data", 0, recorded("2026-05-31", "9", "2026-06-01", "0.5", "2026-11-16", "0.03", "2026-11-22", "0.01",
		"2026-11-23", "", "2026-11-25", "7"))
	w.Add("Data", 1, recorded("2026-11-22", "0.02", "2026-11-23", "0.02"))
	w.Add("Data", 2, recorded("2026-11-20", "0.04", "2026-11-21", "NaN"))
	w.Add("Data", 3, recorded("2026-11-22", "0.00001"))
	w.Add("AI", 4, recorded("2026-11-24", "1", "2026-11-25", "2"))
	w.Add("AI", 5, recorded("2026-11-25", "2"))
	want := map[string][]site.CategoryWeek{
		"Data": {{Week: "2026-06-01", MedianUSD: "0.5", OperatorCount: 1},
			{Week: "2026-11-16", MedianUSD: "0.03", OperatorCount: 2},
			{Week: "2026-11-23", MedianUSD: "0.02", OperatorCount: 1}},
		"AI": {{Week: "2026-11-23", MedianUSD: "1", OperatorCount: 1}},
	}
	if diff := cmp.Diff(want, w.Medians([]int{0, 0, 2, 3, 4, 5})); diff != "" {
		t.Errorf("medians (-want +got):\n%s", diff)
	}
}
