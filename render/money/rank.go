package money

import (
	"cmp"
	"slices"

	"tollbook/render/chart"
	"tollbook/site"
)

// Row is a facilitator in the list.
type Row struct {
	*site.FacilitatorDetail
	Rank                int // from 1, in the order of the page
	Spark               string
	Growth7d, Growth30d string // "" if it is not known
}

// NewRow returns the row of a facilitator, without its rank.
func NewRow(f *site.FacilitatorDetail, cal *chart.Calendar) Row {
	return Row{FacilitatorDetail: f, Spark: chart.Spark(f.Timeseries, cal),
		Growth7d: change(f.Trend7dVsPrev7d), Growth30d: change(f.Trend30dVsPrev30d)}
}

// SortRows sorts facilitators, which are by volume, and numbers them. Those whose growth is not known are last.
func SortRows(rows []Row, order string) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		x, y := a.growth(order), b.growth(order)
		if x == nil || y == nil {
			return asInt(x == nil) - asInt(y == nil)
		}
		return cmp.Compare(*y, *x)
	})
	for i := range rows {
		rows[i].Rank = i + 1
	}
}

// growth returns the figure that an order compares, nil if there is none.
func (r *Row) growth(order string) *float64 {
	switch order {
	case site.OrderGrowth7d:
		return r.Trend7dVsPrev7d
	case site.OrderGrowth30d:
		return r.Trend30dVsPrev30d
	}
	return nil
}

func asInt(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// orderTexts are the orders of the list in words.
var orderTexts = map[string]string{
	site.OrderVolume:    "largest volume of 30 days first",
	site.OrderGrowth7d:  "fastest growth in 7 days first",
	site.OrderGrowth30d: "fastest growth in 30 days first",
}

// OrderText returns an order in words.
func OrderText(order string) string { return orderTexts[order] }

// Title returns the title of the list in an order.
func Title(order string) string {
	if order == site.OrderVolume {
		return "Facilitators"
	}
	return "Facilitators, " + orderTexts[order]
}

// Head is the head of a column. Those with an order are links.
type Head struct {
	Label, Sort, Href string
	Num               bool
	Aria              string // "descending" for the column that orders the list
}

// NewHeads returns the heads of the list in an order. href returns the URL of the list in another order.
func NewHeads(order string, href func(order string) string) []Head {
	heads := []Head{{Label: "Facilitator"}, {Label: "Volume, 30 days", Num: true, Sort: site.OrderVolume},
		{Label: "Last 90 days"}, {Label: "Growth, 7 days", Num: true, Sort: site.OrderGrowth7d},
		{Label: "Growth, 30 days", Num: true, Sort: site.OrderGrowth30d}, {Label: "Settlements, 30 days", Num: true},
		{Label: "Volume, all time", Num: true}, {Label: "Last settlement"}}
	for i := range heads {
		if h := &heads[i]; h.Sort != "" {
			h.Href = href(h.Sort)
			if h.Sort == order {
				h.Aria = "descending"
			}
		}
	}
	return heads
}

// Sorted returns the heads with an order.
func Sorted(heads []Head) []Head {
	return slices.DeleteFunc(slices.Clone(heads), func(h Head) bool { return h.Sort == "" })
}
