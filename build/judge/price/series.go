package price

import (
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
)

// span is a time in which the prices of an endpoint stayed the same.
type span struct {
	since, until    time.Time // until is zero for current prices
	lowest, highest site.Decimal
}

// Points returns the days on which a service set prices, oldest first. Each has the lowest and highest price
// that an active endpoint asked at any time of the day.
func Points(f *postgres.ServiceFacts) []site.PricePoint {
	spans := listSpans(f)
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

// listSpans returns the spans with prices of a known value in USD. A span without an end ends when its endpoint
// becomes inactive.
func listSpans(f *postgres.ServiceFacts) []span {
	endpoints := make(map[[16]byte]*postgres.EndpointFacts, len(f.Endpoints))
	for i := range f.Endpoints {
		endpoints[f.Endpoints[i].ID] = &f.Endpoints[i]
	}
	var spans []span
	for _, p := range f.PriceSpans {
		lowest, ok := toUSD(p, p.Lowest)
		highest, ok2 := toUSD(p, p.Highest)
		if !ok || !ok2 {
			continue
		}
		s := span{since: p.Since, lowest: lowest, highest: highest}
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
	usd, ok := Requirement(&postgres.Price{NetworkCAIP2: p.NetworkCAIP2, Asset: p.Asset, Amount: amount}).PriceUSD()
	if !ok {
		return "", false
	}
	d, err := site.ParseDecimal(usd)
	return d, err == nil
}
