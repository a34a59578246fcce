package price

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres/checks"
)

// Weeks has the recorded lowest prices of services by week. A day that is not over does not count, so that a week that
// is over stays as it is, but for services that come, go or move to another category.
type Weeks struct {
	today, first time.Time // first is the Monday of the first week
	services     []weekPrices
}

// weekPrices are the recorded lowest prices of the ith service, the last of each week; "" for a week without one.
type weekPrices struct {
	i        int
	category string
	prices   [site.PriceWeeks]site.Decimal
}

// NewWeeks returns the weeks as of now, without services.
func NewWeeks(now time.Time) *Weeks {
	today := now.UTC().Truncate(24 * time.Hour)
	return &Weeks{today: today, first: site.WeekOf(today).AddDate(0, 0, -7*(site.PriceWeeks-1))}
}

// Add adds the ith service with what was recorded of it, oldest first.
func (w *Weeks) Add(category string, i int, recorded []checks.Assessment) {
	s := weekPrices{i: i, category: category}
	isEmpty := true
	for _, a := range recorded {
		if a.MinPriceUSD == nil || a.Day.Before(w.first) || !a.Day.Before(w.today) {
			continue
		}
		if price, err := site.ParseDecimal(*a.MinPriceUSD); err == nil {
			s.prices[int(a.Day.Sub(w.first)/(7*24*time.Hour))], isEmpty = price, false
		}
	}
	if !isEmpty {
		w.services = append(w.services, s)
	}
}

// Medians returns the weeks of each category in which an operator has a vote, oldest first. operators has a number for
// the operator of each service.
func (w *Weeks) Medians(operators []int) map[string][]site.CategoryWeek {
	of := map[string][]site.CategoryWeek{}
	for k := range site.PriceWeeks {
		m := NewMarket()
		for j := range w.services {
			s := &w.services[j]
			if price := s.prices[k]; price != "" {
				m.AddPrices(s.category, s.i, price, IsPlausible(&price), nil)
			}
		}
		m.Sort(operators)
		for category, p := range m.lowest {
			if p.median != "" {
				of[category] = append(of[category], site.CategoryWeek{MedianUSD: p.median, OperatorCount: len(p.votes),
					Week: w.first.AddDate(0, 0, 7*k).Format(time.DateOnly)})
			}
		}
	}
	return of
}
