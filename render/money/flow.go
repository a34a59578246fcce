// Package money makes what pages say of money: prices and how they changed, what facilitators announce and settle, who
// pays whom, and volume by network. It must never know a route or a template.
package money

import (
	"fmt"
	"math/big"
	"strconv"

	"tollbook/site"
	"tollbook/site/display"
)

// Sizes of the picture of a flow, in units of its viewBox.
const (
	flowWidth  = 1000
	flowStep   = 260 // from the left side of a column to that of the next
	flowBar    = 14  // width of a node
	flowHeight = 380 // of all settlements
	flowGap    = 20  // between nodes, so that labels do not overlap
	flowTop    = 34  // below the titles of the columns
	flowLabel  = 22  // characters of a name beside its node
)

// Flow is the body of the page of who pays whom.
type Flow struct {
	*site.Flow
	Attributed string // percentage of the volume that listed services received; "" if there is none
	Services   int    // listed services and shared recipients that were paid
	Picture    *FlowPicture
	Stages     []FlowStage
}

// FlowStage is a table: the links from one column to the next.
type FlowStage struct {
	ID, Title string
	Of, To    string // columns, in the singular
	Groups    []FlowGroup
}

// FlowGroup contains the links from a node.
type FlowGroup struct {
	From FlowName
	Rows []FlowRow
}

// FlowRow is a link to a node.
type FlowRow struct {
	To     FlowName
	Volume site.Decimal
	Share  string // percentage of all volume; "" without volume
	Count  int64
}

// FlowName is the name of a node in a table.
type FlowName struct {
	Text    string
	Title   string // the whole address of a shared recipient
	Key     string // key of its page, "" without
	Quiet   bool   // it stands for several nodes or for none
	Numbers string // of members or payers, in words
}

// FlowPicture is the picture of a flow: bars in columns, and bands between them. Heights are shares of the volume.
type FlowPicture struct {
	Width, Height int
	Columns       []FlowColumn
	Bars          []FlowBar
	Bands         []FlowBand
	Summary       string
}

// FlowColumn is the title of a column.
type FlowColumn struct {
	X     int
	Title string
}

// FlowBar is a node.
type FlowBar struct {
	X, Width, TextX  int
	Y, Height, TextY string
	Name, Amount     string // beside the bar
	Title            string
	Quiet            bool
}

// FlowBand is a link.
type FlowBand struct {
	Path, Title string
	Quiet       bool
}

// titles are the titles of columns, in the singular and in the plural.
var titles = map[string][2]string{
	site.FlowFacilitator: {"Facilitator", "Facilitators"},
	site.FlowNetwork:     {"Network", "Networks"},
	site.FlowCategory:    {"Category", "Categories"},
	site.FlowService:     {"Service", "Services"},
}

// FlowWords are what a page knows of the nodes of a flow.
type FlowWords struct {
	Page   func(n *site.FlowNode) string // key of the node's page, "" without one
	Payers func(n *site.FlowNode) string // how many paid in 30 days, in words; "" if that is not known
}

// NewFlow returns the body of the page.
func NewFlow(f *site.Flow, w FlowWords) Flow {
	body := Flow{Flow: f}
	total := new(big.Rat)
	if f.VolumeUSD30d != nil {
		total = f.VolumeUSD30d.Rational()
	}
	nodes := map[string]*site.FlowNode{}
	attributed := new(big.Rat)
	for i := range f.Nodes {
		n := &f.Nodes[i]
		nodes[n.ID] = n
		if n.Column != site.FlowService || n.Kind == site.FlowUnattributed {
			continue
		}
		attributed.Add(attributed, n.VolumeUSD30d.Rational())
		if body.Services++; n.Kind == site.FlowOthers {
			body.Services += n.MemberCount - 1
		}
	}
	body.Attributed = share(attributed, total)
	for i, to := range site.FlowColumns[1:] {
		from := site.FlowColumns[i]
		stage := FlowStage{ID: "to-" + to, Title: titles[from][1] + " to " + lower(titles[to][1]),
			Of: lower(titles[from][0]), To: titles[to][0]}
		last := ""
		for _, l := range f.Links {
			a, b := nodes[l.From], nodes[l.To]
			if a == nil || b == nil || a.Column != from {
				continue
			}
			if a.ID != last {
				stage.Groups, last = append(stage.Groups, FlowGroup{From: newName(a, w)}), a.ID
			}
			group := &stage.Groups[len(stage.Groups)-1]
			group.Rows = append(group.Rows, FlowRow{newName(b, w), l.VolumeUSD30d,
				share(l.VolumeUSD30d.Rational(), total), l.TxCount30d})
		}
		if len(stage.Groups) > 0 {
			body.Stages = append(body.Stages, stage)
		}
	}
	if total.Sign() > 0 {
		body.Picture = newPicture(f, nodes, total, w)
	}
	return body
}

// lower returns a title in lower case, which is ASCII.
func lower(title string) string { return string(title[0]|' ') + title[1:] }

// share returns the percentage of a part, "" if the whole is zero.
func share(part, whole *big.Rat) string {
	if whole.Sign() == 0 {
		return ""
	}
	percent, _ := new(big.Rat).Mul(new(big.Rat).Quo(part, whole), big.NewRat(100, 1)).Float64()
	return display.Percent(&percent)
}

func newName(n *site.FlowNode, w FlowWords) FlowName {
	name := FlowName{Text: display.Name(n.Name), Key: w.Page(n), Numbers: w.Payers(n)}
	switch {
	case n.Kind == site.FlowShared && n.Column == site.FlowService:
		name.Text, name.Title = display.Short(n.Name), n.Name
		name.Numbers = "shared by " + display.Plural(int64(n.MemberCount), "service", "services")
	case n.Kind == site.FlowOthers:
		name.Quiet, name.Text = true, label(n)
	case n.Kind != n.Column:
		name.Quiet = true
	}
	return name
}

// label returns the name of a node beside its bar.
func label(n *site.FlowNode) string {
	switch {
	case n.Kind == site.FlowShared && n.Column == site.FlowService:
		return display.Short(n.Name)
	case n.Kind == site.FlowOthers:
		return display.Number(int64(n.MemberCount)) + " others"
	}
	return display.Line(display.Name(n.Name), flowLabel)
}

// newPicture places bars from the top of each column in the order of nodes, and bands in the order of links.
func newPicture(f *site.Flow, nodes map[string]*site.FlowNode, total *big.Rat, w FlowWords) *FlowPicture {
	p := &FlowPicture{Width: flowWidth}
	height := func(d site.Decimal) float64 {
		part, _ := new(big.Rat).Quo(d.Rational(), total).Float64()
		return part * flowHeight
	}
	left, right := map[string]float64{}, map[string]float64{} // where the next band of a node begins
	bottom := 0.0
	for i, column := range site.FlowColumns {
		p.Columns = append(p.Columns, FlowColumn{i * flowStep, titles[column][1]})
		y := float64(flowTop)
		for k := range f.Nodes {
			n := &f.Nodes[k]
			if n.Column != column {
				continue
			}
			h := height(n.VolumeUSD30d)
			p.Bars = append(p.Bars, FlowBar{X: i * flowStep, Width: flowBar, TextX: i*flowStep + flowBar + 6,
				Y: decimal(y), Height: decimal(max(h, 1)), TextY: decimal(y + max(h/2, 1) + 4),
				Name: label(n), Amount: display.Cents(n.VolumeUSD30d), Title: describe(n, w),
				Quiet: n.Kind == site.FlowOthers || n.Kind == site.FlowUnattributed})
			left[n.ID], right[n.ID] = y, y
			y += h + flowGap
		}
		bottom = max(bottom, y)
	}
	p.Height = int(bottom)
	for _, l := range f.Links {
		a, b := nodes[l.From], nodes[l.To]
		if a == nil || b == nil {
			continue
		}
		h, column := height(l.VolumeUSD30d), 0
		for site.FlowColumns[column] != a.Column {
			column++
		}
		x1, x2 := column*flowStep+flowBar, (column+1)*flowStep
		p.Bands = append(p.Bands, FlowBand{Path: band(x1, x2, right[a.ID], left[b.ID], max(h, .5)),
			Title: fmt.Sprintf("%s to %s: %s in %s", label(a), label(b), display.Cents(l.VolumeUSD30d),
				display.Plural(l.TxCount30d, "settlement", "settlements")),
			Quiet: b.Kind == site.FlowUnattributed || b.Kind == site.FlowOthers})
		right[a.ID] += h
		left[b.ID] += h
	}
	p.Summary = fmt.Sprintf("%s of 30 days from facilitators over networks and categories to services. The tables "+
		"below have the same figures.", display.Cents(*f.VolumeUSD30d))
	return p
}

// describe returns the title of a bar.
func describe(n *site.FlowNode, w FlowWords) string {
	text := fmt.Sprintf("%s: %s in %s", display.Name(n.Name), display.Cents(n.VolumeUSD30d),
		display.Plural(n.TxCount30d, "settlement", "settlements"))
	if payers := w.Payers(n); payers != "" {
		text += ", " + payers
	}
	return text
}

// band returns the path of a band of height h, from y1 at x1 to y2 at x2.
func band(x1, x2 int, y1, y2, h float64) string {
	half := strconv.Itoa((x1 + x2) / 2)
	a, b := strconv.Itoa(x1), strconv.Itoa(x2)
	curve := func(y1, y2 float64, to string) string {
		return "C" + half + " " + decimal(y1) + " " + half + " " + decimal(y2) + " " + to + " " + decimal(y2)
	}
	return "M" + a + " " + decimal(y1) + curve(y1, y2, b) + "V" + decimal(y2+h) + curve(y2+h, y1+h, a) + "z"
}

// decimal returns a coordinate with one decimal.
func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
