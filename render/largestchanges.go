package render

import (
	"cmp"
	"encoding/json"
	"math/big"
	"slices"
	"time"

	"tollbook/render/amount"
	"tollbook/site"
	"tollbook/site/display"
)

// Limits of the largest changes on the home page.
const (
	maxLargestChanges  = 5
	largestChangesDays = 7
	minChangePayments  = 20 // in 30 days; with fewer payments a trend may be chance
)

// volumeChange is a service whose daily volume of 7 days differs from that of 30.
type volumeChange struct {
	Slug, Name string
	Volume     *site.Decimal // of 30 days
	Way, Text  string
	trend      float64
}

// priceChange is a price that changed.
type priceChange struct {
	Slug, Name string
	changeLine
	Percent string // "+25%"
	ratio   float64
}

// largestVolumeChanges returns the services whose volume changed most, up or down, the largest change first.
func (e *Renderer) largestVolumeChanges() []volumeChange {
	var largest []volumeChange
	for i := range e.snapshot.Services {
		l := &e.snapshot.Services[i]
		t := &l.Trend
		if t.Trend7dVs30d == nil || t.TxCount30d == nil || *t.TxCount30d < minChangePayments {
			continue
		}
		m := volumeChange{Slug: l.Item.Slug, Name: l.Item.Name, Volume: t.VolumeUSD30d, trend: *t.Trend7dVs30d}
		if m.Way, m.Text = amount.VolumeTrend(t.Trend7dVs30d); m.trend <= 0 {
			m.Text = "no volume in 7 days"
		}
		if m.Way != "" {
			largest = append(largest, m)
		}
	}
	slices.SortStableFunc(largest, func(a, b volumeChange) int {
		return cmp.Or(cmp.Compare(amount.Distance(b.trend), amount.Distance(a.trend)), cmp.Compare(a.Slug, b.Slug))
	})
	return largest[:min(maxLargestChanges, len(largest))]
}

// largestPriceChanges returns the prices that changed most over the last days, one for each service, the largest change
// first. It combines all changes of a price: one that changed and changed back is left out.
func (e *Renderer) largestPriceChanges() []priceChange {
	type key struct{ slug, endpoint, network, asset string }
	type span struct {
		name     string
		old, new string // atomic
	}
	spans := map[key]*span{}
	var order []key
	since := e.snapshot.Now.Add(-largestChangesDays * 24 * time.Hour)
	for _, r := range e.snapshot.Changes.Feed { // newest first
		var s site.PriceSummary
		if r.Type != site.PriceChanged || r.ObservedAt.Before(since) || json.Unmarshal(r.Summary, &s) != nil {
			continue
		}
		for _, p := range s.PriceChanges {
			k := key{r.Slug, p.Endpoint, p.Network, p.AssetName}
			if spans[k] == nil {
				spans[k] = &span{name: r.Name, new: p.NewPrice}
				order = append(order, k)
			}
			spans[k].old = p.OldPrice
		}
	}
	bySlug := map[string]priceChange{} // by slug
	for _, k := range order {
		s := spans[k]
		before, ok := amount.Parse(s.old)
		after, ok2 := amount.Parse(s.new)
		l := e.service(k.slug)
		if !ok || !ok2 || l == nil || l.ListingDetail == nil || before == "0" || after == "0" || before == after ||
			amount.IsMeaningless(&l.Detail, k.network, k.asset, s.new) {
			continue
		}
		m := priceChange{Slug: k.slug, Name: s.name,
			changeLine: changeLine{What: display.Line(k.endpoint, display.MaxName), Network: e.network(k.network),
				Trend: amount.Trend(s.old, s.new)}}
		ratio := new(big.Rat).Quo(after.Rational(), before.Rational())
		m.ratio, _ = ratio.Float64()
		m.Percent = amount.Change(ratio)
		u := amount.UnitsOf(&l.Detail)
		m.Old, m.OldTitle = u.Price(k.network, k.asset, s.old)
		m.New, m.NewTitle = u.Price(k.network, k.asset, s.new)
		if other, ok := bySlug[k.slug]; !ok || amount.Distance(m.ratio) > amount.Distance(other.ratio) {
			bySlug[k.slug] = m
		}
	}
	largest := make([]priceChange, 0, len(bySlug))
	for _, m := range bySlug {
		largest = append(largest, m)
	}
	slices.SortFunc(largest, func(a, b priceChange) int {
		return cmp.Or(cmp.Compare(amount.Distance(b.ratio), amount.Distance(a.ratio)), cmp.Compare(a.Slug, b.Slug))
	})
	return largest[:min(maxLargestChanges, len(largest))]
}
