package render

import (
	"fmt"
	"math"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// Limits of the settlements of a service.
const (
	tractionVia    = 8
	tractionShared = 8
)

// settlements contains the settlements of a service as pages show them.
type settlements struct {
	*site.Traction
	Measured            bool
	Any                 bool // at least one settlement was seen
	Bars                chart.Bars
	Via                 []settledBy
	MoreVia             int
	Shared              []site.SharedWithItem
	MoreShared          int
	Top, Top3           string
	Trend, TrendText    string // "up", "down" or ""; the ratio as text
	VolumeURL, BuyerURL string
}

type settledBy struct {
	site.SettledVia
	Name string
	Key  string // key of its page
}

// settlements returns the settlements of a service.
func (e *ServiceRenderer) settlements(l *site.Listing) settlements {
	t := &l.Detail.Assessment.Traction
	s := settlements{
		Traction: t, Measured: t.Status == site.TractionMeasured,
		VolumeURL: e.pages.href(seriesKey("volume", l.Detail.Slug)),
		BuyerURL:  e.pages.href(seriesKey("buyers", l.Detail.Slug)),
	}
	if !s.Measured {
		return s
	}
	s.Any = t.TxCountAllTime != nil && *t.TxCountAllTime > 0
	s.Bars = chart.NewBars(l.Volume, e.calendar, e.measuredSince(t.MeasuredNetworks))
	s.Top, s.Top3 = display.Share(t.TopBuyerShare30d), display.Share(t.Top3BuyersShare30d)
	s.Trend, s.TrendText = trendText(t.Trend7dVs30d)
	for _, v := range t.SettledViaDetail[:min(len(t.SettledViaDetail), tractionVia)] {
		row := settledBy{SettledVia: v, Name: v.ID}
		if said, ok := e.shared.Facilitators[v.ID]; ok {
			row.Name, row.Key = display.Name(said), facilitatorKey(v.ID)
		}
		s.Via = append(s.Via, row)
	}
	s.MoreVia = len(t.SettledViaDetail) - len(s.Via)
	s.Shared = t.SharedWithServices[:min(len(t.SharedWithServices), tractionShared)]
	s.MoreShared = t.SharedWith - len(s.Shared)
	return s
}

// trendText compares the average day of the last 7 days with that of the last 30: "+13%". The direction is "up", "down"
// or "" for a change of up to 5%.
func trendText(trend *float64) (way, text string) {
	if trend == nil {
		return "", ""
	}
	text = changePercent(*trend)
	switch {
	case *trend > 1.05:
		return "up", text
	case *trend < .95:
		return "down", text
	}
	return "", text
}

// changePercent returns how far a ratio is from 1, in percent: "+13%", "−5%", "0%".
func changePercent(ratio float64) string {
	switch percent := int64(math.Round((ratio - 1) * 100)); {
	case percent > 0:
		return "+" + display.Number(percent) + "%"
	default:
		return display.Number(percent) + "%"
	}
}

// seriesKey returns the key of a whole series.
func seriesKey(route, slug string) string {
	return site.Query{Route: site.ByName(route), Slug: slug}.Key()
}

// SharedText returns a sentence with the number of services that share the recipients.
func (s settlements) SharedText() string {
	if s.SharedWith == 1 {
		return "Shares a recipient with 1 other service"
	}
	return fmt.Sprintf("Shares recipients with %s other services", display.Number(int64(s.SharedWith)))
}
