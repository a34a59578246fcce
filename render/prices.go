package render

import (
	"encoding/json"
	"math/big"

	"tollbook/render/money"
	"tollbook/render/service"
	"tollbook/site"
	"tollbook/site/display"
)

// recordedPrice returns the price that changed most in a record, as an event without its time, and false if no price of
// it can be compared.
func recordedPrice(s *site.Snapshot, r *site.ChangeRecord, network func(caip2 string) money.Chip) (homeEvent, bool) {
	var summary site.PriceSummary
	if json.Unmarshal(r.Summary, &summary) != nil {
		return homeEvent{}, false
	}
	var most homeEvent
	distance, found := 0.0, false
	for i := range summary.PriceChanges {
		event, ratio := priceEvent(detailOf(s, r.Slug), &summary.PriceChanges[i])
		if ratio == nil {
			continue
		}
		f, _ := ratio.Float64()
		if d := money.Distance(f); !found || d > distance {
			event.Network = network(summary.PriceChanges[i].Network)
			most, distance, found = event, d, true
		}
	}
	return most, found
}

// priceEvent words the change of a price, and returns the ratio of the new one to the old one. The ratio is nil if they
// are equal or cannot be compared.
func priceEvent(d *site.ServiceDetail, c *site.PriceChange) (homeEvent, *big.Rat) {
	before, ok := money.ParseAmount(c.OldPrice)
	after, ok2 := money.ParseAmount(c.NewPrice)
	if !ok || !ok2 || d == nil || before == "0" || after == "0" || before == after ||
		money.IsMeaningless(d, c.Network, c.AssetName, c.NewPrice) {
		return homeEvent{}, nil
	}
	ratio := new(big.Rat).Quo(after.Rational(), before.Rational())
	e := homeEvent{Note: money.PriceChange(ratio), ChangeLine: service.ChangeLine{
		What: display.Line(c.Endpoint, display.MaxName), Trend: money.Trend(c.OldPrice, c.NewPrice)}}
	u := money.UnitsOf(d)
	e.Old, e.OldTitle = u.Price(c.Network, c.AssetName, c.OldPrice)
	e.New, e.NewTitle = u.Price(c.Network, c.AssetName, c.NewPrice)
	if now := priceNow(d, c); now != "" && now != c.NewPrice {
		text, _ := u.Price(c.Network, c.AssetName, now)
		e.Note += "; now " + text
	}
	return e, ratio
}

// priceNow returns what the endpoint of a change asks for now, in atomic units; "" if it asks for several amounts or for
// none. It differs from the new price of the newest record for up to an hour, because a service has one record of a
// kind an hour.
func priceNow(d *site.ServiceDetail, c *site.PriceChange) (now string) {
	for i := range d.Endpoints {
		e := &d.Endpoints[i]
		if e.Method+" "+e.Path != c.Endpoint {
			continue
		}
		for _, p := range e.Pricing {
			if p.NetworkCAIP2 == nil || *p.NetworkCAIP2 != c.Network || p.AssetName != c.AssetName || p.Price == now {
				continue
			}
			if now != "" {
				return ""
			}
			now = p.Price
		}
	}
	return now
}
