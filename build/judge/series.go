package judge

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// priceSpan is a time in which the prices of an endpoint stayed the same.
type priceSpan struct {
	since, until    time.Time // until is zero for current prices
	lowest, highest site.Decimal
}

// newPricePoints returns the days on which a service set prices, oldest first. Each has the lowest and highest price
// that an active endpoint asked at any time of the day.
func newPricePoints(f *postgres.ServiceFacts) []site.PricePoint {
	spans := listPriceSpans(f)
	points := make([]site.PricePoint, len(f.PriceDays))
	for i, d := range f.PriceDays {
		begin, end := d.Day, d.Day.Add(24*time.Hour)
		p := site.PricePoint{Date: d.Day.UTC().Format(time.DateOnly), Changes: d.Moved}
		for _, s := range spans {
			if !s.since.Before(end) || !s.until.IsZero() && !s.until.After(begin) {
				continue
			}
			p.MinPriceUSD = minDecimal(p.MinPriceUSD, s.lowest)
			if p.MaxPriceUSD == nil || s.highest.Compare(*p.MaxPriceUSD) > 0 {
				p.MaxPriceUSD = &s.highest
			}
		}
		points[i] = p
	}
	return points
}

// listPriceSpans returns the spans with prices of a known value in USD. A span without an end ends when its endpoint
// becomes inactive.
func listPriceSpans(f *postgres.ServiceFacts) []priceSpan {
	endpoints := make(map[[16]byte]*postgres.EndpointFacts, len(f.Endpoints))
	for i := range f.Endpoints {
		endpoints[f.Endpoints[i].ID] = &f.Endpoints[i]
	}
	var spans []priceSpan
	for _, p := range f.PriceSpans {
		lowest, ok := toUSD(p, p.Lowest)
		highest, ok2 := toUSD(p, p.Highest)
		if !ok || !ok2 {
			continue
		}
		s := priceSpan{since: p.Since, lowest: lowest, highest: highest}
		if p.Until != nil {
			s.until = *p.Until
		} else if e := endpoints[p.EndpointID]; e != nil {
			s.until = site.ActiveUntil(e.FirstSeenAt, e.LastPaidAt)
		}
		spans = append(spans, s)
	}
	return spans
}

// toUSD returns an amount of a span in dollars, and false if the asset has no known value.
func toUSD(p postgres.PriceSpan, amount string) (site.Decimal, bool) {
	usd, ok := newRequirement(&postgres.Price{NetworkCAIP2: p.NetworkCAIP2, Asset: p.Asset, Amount: amount}).PriceUSD()
	if !ok {
		return "", false
	}
	d, err := site.ParseDecimal(usd)
	return d, err == nil
}

// newScorePoints returns the scores of a service's days with a counted check, oldest first.
func newScorePoints(f *postgres.ServiceFacts) []site.ScorePoint {
	points, times := make([]site.ScorePoint, len(f.DaySums)), make([]int, len(f.DaySums))
	// f.PriceDays[first:last] are the days with prices of the 30 days that end with d. On changed of them a price
	// changed.
	first, last, changed := 0, 0, 0
	for i, d := range f.DaySums {
		var t checkCounter
		t.add(&postgres.Rollup{Start: d.Day, Counted: d.Counted, Up: d.Up, Timed: d.Timed, ResponseMS: d.ResponseMS})
		points[i] = site.ScorePoint{Date: site.NewTime(d.Day).Day(), UptimePercentage: t.percent(),
			AvgResponseTimeMS: t.averageInto(&times[i])}
		for ; last < len(f.PriceDays) && !f.PriceDays[last].Day.After(d.Day); last++ {
			changed += min(1, f.PriceDays[last].Moved)
		}
		for ; first < last && f.PriceDays[first].Day.Before(d.Day.AddDate(0, 0, 1-stabilityDays)); first++ {
			changed -= min(1, f.PriceDays[first].Moved)
		}
		if last > 0 {
			s := site.Round2(float64(stabilityDays-changed) / stabilityDays)
			if i > 0 && points[i-1].PriceStability != nil && *points[i-1].PriceStability == s {
				points[i].PriceStability = points[i-1].PriceStability
			} else {
				points[i].PriceStability = &s
			}
		}
	}
	return points
}
