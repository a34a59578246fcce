package render

import (
	"cmp"
	"math/big"
	"slices"
	"time"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// networkCharts contains the volume of all facilitators by UTC day: a chart of all networks, a chart of the same kind
// for each measured network, and one table for all of them.
type networkCharts struct {
	Bars     chart.Bars // of all networks
	Networks []networkChart
	Rows     []networkDay // days with a settlement, oldest first
	Idle     []chip       // measured, without a settlement in 90 days
}

// networkChart is the chart of a network.
type networkChart struct {
	On     chip
	Bars   chart.Bars
	Volume site.Decimal // of the 90 days
	Share  string       // of all networks' volume, in percent
	Count  int64
}

// networkDay is a row of the table: the volume of each network on a day, "" without any.
type networkDay struct {
	ISO, Date, Total string
	Volumes          []string
}

// maxNetworkCharts limits the charts; networks with the least volume have none.
const maxNetworkCharts = 12

// networkCharts returns the charts of the measured networks, the largest volume first.
func (e *Renderer) networkCharts() networkCharts {
	var m networkCharts
	sums := map[string]site.VolumePoint{} // by date
	var measured []string
	all := new(big.Rat)
	for i := range e.snapshot.Coverage.Networks {
		n := &e.snapshot.Coverage.Networks[i]
		if !n.Measured || n.IsMainnet != nil && !*n.IsMainnet {
			continue
		}
		measured = append(measured, n.NetworkCAIP2)
		if len(n.Timeseries) == 0 {
			m.Idle = append(m.Idle, e.network(n.NetworkCAIP2))
			continue
		}
		on := e.network(n.NetworkCAIP2)
		one, sum := networkChart{On: on, Bars: chart.NewBars("Volume on "+on.Label+" by UTC day", n.Timeseries,
			e.calendar, n.MeasuredSince)}, new(big.Rat)
		for _, p := range n.Timeseries {
			sum.Add(sum, display.Rational(p.VolumeUSD))
			one.Count += p.TxCount
			day := sums[p.Date]
			sums[p.Date] = site.VolumePoint{Date: p.Date,
				VolumeUSD: display.DecimalOf(new(big.Rat).Add(display.Rational(cmp.Or(day.VolumeUSD, "0")),
					display.Rational(p.VolumeUSD))), TxCount: day.TxCount + p.TxCount}
		}
		one.Volume = display.DecimalOf(sum)
		all.Add(all, sum)
		m.Networks = append(m.Networks, one)
	}
	slices.SortStableFunc(m.Networks, func(a, b networkChart) int {
		return cmp.Or(b.Volume.Compare(a.Volume), cmp.Compare(a.On.Title, b.On.Title))
	})
	m.Networks = m.Networks[:min(len(m.Networks), maxNetworkCharts)]
	for i := range m.Networks {
		if all.Sign() > 0 {
			part, _ := new(big.Rat).Quo(display.Rational(m.Networks[i].Volume), all).Float64()
			m.Networks[i].Share = display.Percent(new(100 * part))
		}
	}
	points := make([]site.VolumePoint, 0, len(sums))
	for _, p := range sums {
		points = append(points, p)
	}
	slices.SortFunc(points, func(a, b site.VolumePoint) int { return cmp.Compare(a.Date, b.Date) })
	m.Bars = chart.NewBars(chart.Volume, points, e.calendar, e.measuredSince(measured))
	m.rows(points)
	return m
}

// rows adds the days of all charts as a table.
func (m *networkCharts) rows(points []site.VolumePoint) {
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
		row := networkDay{ISO: site.NewTime(date).String(), Date: date.Format(display.DayLayout),
			Total: display.Dollars(p.VolumeUSD)}
		for i := range m.Networks {
			row.Volumes = append(row.Volumes, by[i][row.ISO])
		}
		m.Rows = append(m.Rows, row)
	}
}
