// This part of the package selects what the start page shows: what changed in a day, the services that are the
// cheapest and the most used of their categories, the newest services and the volume of all facilitators.
//
// It must never know a route or a template.

package render

import (
	"cmp"
	"math/big"
	"slices"
	"sort"
	"time"

	"tollbook/render/chart"
	"tollbook/render/money"
	"tollbook/site"
)

// Limits of the page.
const (
	maxEvents        = 8
	maxOfKind        = 3 // events of one kind
	maxPrevious      = 3 // changes that are shown if nothing happened
	maxNewest        = 5
	maxCategories    = 8 // with a pick
	maxOthers        = 24
	maxNetworks      = 12
	maxVolumeChanges = 5
)

const window = 24 * time.Hour

// minTrendPayments is the number of payments in 30 days without which a trend may be chance.
const minTrendPayments = 20

// homePage is what the start page shows.
type homePage struct {
	Stats         site.AggregateStats
	Sentence      string     // the status of all services; "" without a service
	LastCheck     *site.Time // of any service
	Good          int        // services that are safe to pay
	Day           homeDay
	Newest        []*site.ServiceListItem // without those that must not be paid
	Picks         []homeCategory          // with the cheapest service of each; the largest category first
	Others        []homeGroup             // categories without a pick
	More          int                     // categories that are not shown
	Networks      []homeGroup
	Settled       *site.Decimal // volume of 30 days; nil if no network is measured
	Bars          chart.Bars    // volume by day
	VolumeChanges []volumeChange
}

// homeGroup is a category or a network with a page.
type homeGroup struct {
	Name, Key string
	Services  int
}

// homeCategory is a category with its picks.
type homeCategory struct {
	homeGroup
	Cheapest, MostUsed *homePick
}

// homePick is a service that is picked, and the network of its price.
type homePick struct {
	*site.Pick
	On money.Chip
}

// volumeChange is a service whose daily volume of 7 days differs from that of 30.
type volumeChange struct {
	Slug, Name string
	Volume     *site.Decimal // of 30 days
	Way, Text  string
	trend      float64
}

// homeWords are the groups of the start page, and functions that word networks and records.
type homeWords struct {
	Categories, Networks []homeGroup // the largest first
	Network              func(caip2 string) money.Chip
	Code                 func(abbreviation string) money.Chip
	Change               func(*site.ChangeRecord) homeEvent // the newest record of a service
	Since                func(networks []string) *site.Time
}

// newHome returns the page of a snapshot.
func newHome(s *site.Snapshot, cal *chart.Calendar, w homeWords) *homePage {
	p := &homePage{Stats: s.Stats, Sentence: describeChange(&s.Status), Day: newDay(s, w),
		VolumeChanges: largestVolumeChanges(s, nil)}
	p.Networks = w.Networks[:min(maxNetworks, len(w.Networks))]
	if len(s.Checks.Newest) > 0 {
		p.LastCheck = &s.Checks.Newest[0].CheckedAt
	}
	for _, item := range s.ListedItems() {
		if item.AdviceLevel == site.AdviceGood {
			p.Good++
		}
		if item.AdviceLevel != site.AdviceDoNotPay {
			p.Newest = append(p.Newest, item)
		}
	}
	site.Sort(p.Newest, site.OrderNewest)
	p.Newest = p.Newest[:min(maxNewest, len(p.Newest))]
	p.addCategories(s.Tags, w)
	if points, measured := money.Total(s); len(measured) > 0 {
		p.Settled = &s.Coverage.Volume30d.Raw.VolumeUSD
		p.Bars = chart.NewBars(chart.Volume, points, cal, w.Since(measured))
	}
	return p
}

// addCategories adds the categories, apart those without a pick.
func (p *homePage) addCategories(tags []site.Tag, w homeWords) {
	pick := func(of *site.Pick) *homePick {
		if of == nil {
			return nil
		}
		return &homePick{of, w.Code(of.Network)}
	}
	for _, g := range w.Categories {
		at := slices.IndexFunc(tags, func(t site.Tag) bool { return t.Tag == g.Name })
		switch {
		case at >= 0 && (tags[at].Cheapest != nil || tags[at].MostUsed != nil) && len(p.Picks) < maxCategories:
			p.Picks = append(p.Picks, homeCategory{g, pick(tags[at].Cheapest), pick(tags[at].MostUsed)})
		case len(p.Others) < maxOthers:
			p.Others = append(p.Others, g)
		default:
			p.More++
		}
	}
}

// largestVolumeChanges returns the services whose volume changed most, up or down, the largest change first. Those with
// less than the floor in 30 days are left out; nil is no floor.
func largestVolumeChanges(s *site.Snapshot, floor *big.Rat) []volumeChange {
	var largest []volumeChange
	for _, l := range s.Listed() {
		t := &l.Trend
		if t.Trend7dVs30d == nil || t.TxCount30d == nil || *t.TxCount30d < minTrendPayments ||
			floor != nil && (t.VolumeUSD30d == nil || t.VolumeUSD30d.Rational().Cmp(floor) < 0) {
			continue
		}
		m := volumeChange{Slug: l.Item.Slug, Name: l.Item.Name, Volume: t.VolumeUSD30d, trend: *t.Trend7dVs30d}
		if m.Way, m.Text = money.VolumeTrend(t.Trend7dVs30d); m.trend <= 0 {
			m.Text = "none in 7 days"
		}
		if m.Way != "" {
			largest = append(largest, m)
		}
	}
	slices.SortStableFunc(largest, func(a, b volumeChange) int {
		return cmp.Or(cmp.Compare(money.Distance(b.trend), money.Distance(a.trend)), cmp.Compare(a.Slug, b.Slug))
	})
	return largest[:min(maxVolumeChanges, len(largest))]
}

// detailOf returns what the snapshot knows of a service's prices, nil for nothing.
func detailOf(s *site.Snapshot, slug string) *site.ServiceDetail {
	i := sort.Search(len(s.Services), func(i int) bool { return s.Services[i].Item.Slug >= slug })
	if i == len(s.Services) || s.Services[i].Item.Slug != slug || s.Services[i].ListingDetail == nil {
		return nil
	}
	return &s.Services[i].Detail
}
