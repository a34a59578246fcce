package money

import (
	"slices"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// Network is the part of a network's page about payments.
type Network struct {
	Coverage *site.NetworkCoverage // nil unless the network is measured
	Bars     chart.Bars
	Rows     []NetworkRow       // by volume
	Tokens   []site.MatrixToken // settled in 30 days

	Prices *site.NetworkPrices // nil without a price
}

// NetworkRow is a facilitator on a network.
type NetworkRow struct {
	site.NetworkFacilitator
	Change string // "" if it is not known
	Most   bool   // no other one on the network grew as much
}

// NewNetwork returns the part about payments on a network.
func NewNetwork(s *site.Snapshot, network *site.Network, calendar *chart.Calendar) *Network {
	body, id := &Network{Prices: network.Prices}, network.ID
	for i := range s.Coverage.Networks {
		if n := &s.Coverage.Networks[i]; n.NetworkCAIP2 == id && n.Measured {
			body.Coverage, body.Rows = n, newRows(n)
			body.Bars = chart.NewBars(chart.Volume, n.Timeseries, calendar, n.MeasuredSince)
		}
	}
	for _, t := range s.Matrix.Settled {
		if t.NetworkCAIP2 == id {
			body.Tokens = append(body.Tokens, t)
		}
	}
	return body
}

// newRows returns the facilitators of a network, and marks the one that grew most.
func newRows(n *site.NetworkCoverage) []NetworkRow {
	rows := make([]NetworkRow, len(n.Facilitators))
	most := 1.0
	for i, f := range n.Facilitators {
		rows[i] = NetworkRow{NetworkFacilitator: f, Change: change(f.Trend30dVsPrev30d)}
		if f.Trend30dVsPrev30d != nil {
			most = max(most, *f.Trend30dVsPrev30d)
		}
	}
	for i := range rows {
		ratio := rows[i].Trend30dVsPrev30d
		rows[i].Most = ratio != nil && most > 1 && *ratio == most
	}
	return rows
}

// change returns a ratio as a difference in percent, "" for an unknown one.
func change(ratio *float64) string {
	switch {
	case ratio == nil:
		return ""
	case *ratio < 1:
		return "−" + display.Percent(new(100*(1-*ratio)))
	}
	return "+" + display.Percent(new(100*(*ratio-1)))
}

// Growth is a network with the facilitator that grew most there.
type Growth struct {
	Network, Key string
	Most         *NetworkRow // nil if none grew, or that is not known
}

// ListGrowth returns the measured networks with a settlement in 60 days, in the order of coverage. page returns the key
// of a network's page.
func ListGrowth(s *site.Snapshot, page func(id string) string) []Growth {
	var list []Growth
	for i := range s.Coverage.Networks {
		n := &s.Coverage.Networks[i]
		if len(n.Facilitators) == 0 {
			continue
		}
		g := Growth{Network: n.Name, Key: page(n.NetworkCAIP2)}
		rows := newRows(n)
		if k := slices.IndexFunc(rows, func(r NetworkRow) bool { return r.Most }); k >= 0 {
			g.Most = &rows[k]
		}
		list = append(list, g)
	}
	return list
}
