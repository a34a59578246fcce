package render

import (
	"encoding/json"
	"math/big"
	"time"

	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

// priceKey identifies a price.
type priceKey struct{ slug, endpoint, network, asset string }

// priceSpan is what a price was and is, in atomic units.
type priceSpan struct{ old, new string }

// netPrices returns the price of each service that changed most since an instant, as an event without its time. It
// combines all changes of a price: one that changed and changed back is left out.
func netPrices(s *site.Snapshot, since time.Time, network func(caip2 string) money.Chip) map[string]homeEvent {
	spans, order := priceSpans(s.Changes.Feed, since)
	bySlug, distance := map[string]homeEvent{}, map[string]float64{}
	for _, k := range order {
		event, ratio := netPrice(detailOf(s, k.slug), k, spans[k])
		if ratio == nil {
			continue
		}
		f, _ := ratio.Float64()
		if d := money.Distance(f); bySlug[k.slug].Note == "" || d > distance[k.slug] {
			event.Network = network(k.network)
			bySlug[k.slug], distance[k.slug] = event, d
		}
	}
	return bySlug
}

// priceSpans returns the first and the last value of each price that changed, and the prices in the order of records.
func priceSpans(records []*site.ChangeRecord, since time.Time) (map[priceKey]*priceSpan, []priceKey) {
	spans := map[priceKey]*priceSpan{}
	var order []priceKey
	for _, r := range records { // newest first
		var s site.PriceSummary
		if r.Type != site.PriceChanged || r.ObservedAt.Before(since) || json.Unmarshal(r.Summary, &s) != nil {
			continue
		}
		for _, p := range s.PriceChanges {
			k := priceKey{r.Slug, p.Endpoint, p.Network, p.AssetName}
			if spans[k] == nil {
				spans[k] = &priceSpan{new: p.NewPrice}
				order = append(order, k)
			}
			spans[k].old = p.OldPrice
		}
	}
	return spans, order
}

// netPrice words the change of a price, and returns the ratio of the new one to the old one. The ratio is nil if they
// are equal or cannot be compared.
func netPrice(d *site.ServiceDetail, k priceKey, s *priceSpan) (homeEvent, *big.Rat) {
	before, ok := money.ParseAmount(s.old)
	after, ok2 := money.ParseAmount(s.new)
	if !ok || !ok2 || d == nil || before == "0" || after == "0" || before == after ||
		money.IsMeaningless(d, k.network, k.asset, s.new) {
		return homeEvent{}, nil
	}
	ratio := new(big.Rat).Quo(after.Rational(), before.Rational())
	e := homeEvent{homeLine: homeLine{What: display.Line(k.endpoint, display.MaxName), Trend: money.Trend(s.old, s.new)},
		Note: money.PriceChange(ratio)}
	u := money.UnitsOf(d)
	e.Old, e.OldTitle = u.Price(k.network, k.asset, s.old)
	e.New, e.NewTitle = u.Price(k.network, k.asset, s.new)
	return e, ratio
}
