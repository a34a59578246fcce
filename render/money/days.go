package money

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// Days contains the volume of all facilitators by UTC day: a chart of all networks, a chart of the same kind
// for each measured network, and one table for all of them.
type Days struct {
	Bars     chart.Bars // of all networks
	Networks []NetworkDays
	Rows     []DayRow // days with a settlement, oldest first
	Idle     []Chip   // measured, without a settlement in 90 days
}

// NetworkDays is the chart of a network.
type NetworkDays struct {
	On     Chip
	Bars   chart.Bars
	Volume site.Decimal // of the 90 days
	Share  string       // of all networks' volume, in percent
	Count  int64
}

// DayRow is a row of the table: the volume of each network on a day, "" without any.
type DayRow struct {
	ISO, Date, Total string
	Volumes          []string
}

// maxNetworkCharts limits the charts; networks with the least volume have none.
const maxNetworkCharts = 12

// NewDays returns the charts of the measured networks, the largest volume first. named returns how pages show a
// network, and since the first instant from which the volume of networks is known.
func NewDays(networks []site.NetworkCoverage, cal *chart.Calendar, named func(caip2 string) Chip,
	since func(networks []string) *site.Time) Days {
	var m Days
	sums := map[string]site.VolumePoint{} // by date
	var measured []string
	all := new(big.Rat)
	for i := range networks {
		n := &networks[i]
		if !n.Measured || n.IsMainnet != nil && !*n.IsMainnet {
			continue
		}
		measured = append(measured, n.NetworkCAIP2)
		if len(n.Timeseries) == 0 {
			m.Idle = append(m.Idle, named(n.NetworkCAIP2))
			continue
		}
		on := named(n.NetworkCAIP2)
		one, sum := NetworkDays{On: on, Bars: chart.NewBars("Volume on "+on.Label+" by UTC day", n.Timeseries,
			cal, n.MeasuredSince)}, new(big.Rat)
		for _, p := range n.Timeseries {
			sum.Add(sum, p.VolumeUSD.Rational())
			one.Count += p.TxCount
			day := sums[p.Date]
			sums[p.Date] = site.VolumePoint{Date: p.Date,
				VolumeUSD: site.DecimalOf(new(big.Rat).Add(cmp.Or(day.VolumeUSD, "0").Rational(),
					p.VolumeUSD.Rational())), TxCount: day.TxCount + p.TxCount}
		}
		one.Volume = site.DecimalOf(sum)
		all.Add(all, sum)
		m.Networks = append(m.Networks, one)
	}
	slices.SortStableFunc(m.Networks, func(a, b NetworkDays) int {
		return cmp.Or(b.Volume.Compare(a.Volume), cmp.Compare(a.On.Title, b.On.Title))
	})
	m.Networks = m.Networks[:min(len(m.Networks), maxNetworkCharts)]
	for i := range m.Networks {
		if all.Sign() > 0 {
			part, _ := new(big.Rat).Quo(m.Networks[i].Volume.Rational(), all).Float64()
			m.Networks[i].Share = display.Percent(new(100 * part))
		}
	}
	points := make([]site.VolumePoint, 0, len(sums))
	for _, p := range sums {
		points = append(points, p)
	}
	slices.SortFunc(points, func(a, b site.VolumePoint) int { return cmp.Compare(a.Date, b.Date) })
	m.Bars = chart.NewBars(chart.Volume, points, cal, since(measured))
	m.rows(points)
	return m
}

// rows adds the days of all charts as a table.
func (m *Days) rows(points []site.VolumePoint) {
	by := make([]map[string]string, len(m.Networks))
	for i, n := range m.Networks {
		by[i] = map[string]string{}
		for _, d := range n.Bars.Days {
			by[i][d.ISO] = d.Exact
		}
	}
	for _, p := range points {
		date, err := time.Parse(time.DateOnly, p.Date)
		if err != nil {
			continue
		}
		row := DayRow{ISO: site.NewTime(date).String(), Date: date.Format(display.DayLayout),
			Total: display.Dollars(p.VolumeUSD)}
		for i := range m.Networks {
			row.Volumes = append(row.Volumes, by[i][row.ISO])
		}
		m.Rows = append(m.Rows, row)
	}
}
