package service

import (
	"fmt"

	"tollbook/render/chart"
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

// Limits of the settlements of a service.
const (
	tractionVia    = 8
	tractionShared = 8
)

// Settlements contains the settlements of a service as pages show them.
type Settlements struct {
	*site.Traction
	Measured         bool
	Any              bool // at least one settlement was seen
	Bars             chart.Bars
	Via              []settledBy
	MoreVia          int
	Shared           []site.SharedWithItem
	MoreShared       int
	Top, Top3        string
	Trend, TrendText string // "up", "down" or ""; the ratio as text
}

type settledBy struct {
	site.SettledVia
	Name string
	Key  string // key of its page
}

// NewSettlements returns the settlements of a service, and the volume of all days as months. page returns the key of a
// facilitator's page.
func NewSettlements(l *site.Listing, volume []site.VolumePoint, d Directory, calendar *chart.Calendar,
	page func(id string) string) Settlements {
	t := &l.Detail.Assessment.Traction
	s := Settlements{Traction: t, Measured: t.Status == site.TractionMeasured}
	if !s.Measured {
		return s
	}
	s.Any = t.TxCountAllTime != nil && *t.TxCountAllTime > 0
	since := d.MeasuredSince(t.MeasuredNetworks)
	s.Bars = chart.NewBars(chart.Volume, l.Volume, calendar, since)
	s.Bars.Months = chart.NewVolumeMonths(volume, calendar, since)
	s.Top, s.Top3 = display.Share(t.TopBuyerShare30d), display.Share(t.Top3BuyersShare30d)
	s.Trend, s.TrendText = money.VolumeTrend(t.Trend7dVs30d)
	for _, v := range t.SettledViaDetail[:min(len(t.SettledViaDetail), tractionVia)] {
		row := settledBy{SettledVia: v, Name: v.ID}
		if said, ok := d.Facilitators[v.ID]; ok {
			row.Name, row.Key = display.Name(said), page(v.ID)
		}
		s.Via = append(s.Via, row)
	}
	s.MoreVia = len(t.SettledViaDetail) - len(s.Via)
	s.Shared = t.SharedWithServices[:min(len(t.SharedWithServices), tractionShared)]
	s.MoreShared = t.SharedWith - len(s.Shared)
	return s
}

// SharedText returns a sentence with the number of services that share the recipients.
func (s Settlements) SharedText() string {
	if s.SharedWith == 1 {
		return "Shares a recipient with 1 other service"
	}
	return fmt.Sprintf("Shares recipients with %s other services", display.Number(int64(s.SharedWith)))
}
