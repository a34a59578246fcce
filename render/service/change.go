package service

import (
	"encoding/json"
	"strings"

	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

// Change is a change record as pages show it.
type Change struct {
	Slug, Name string
	ObservedAt site.Time
	Kind       string // the type of the record, "" for an unknown one
	Label      string
	Lines      []ChangeLine
	More       int // number of lines that are not shown
}

// ChangeLine is a difference of an endpoint on a network. Either Old or New may be "".
type ChangeLine struct {
	What     string     // "GET /quote", or "3 endpoints"
	Network  money.Chip // without a label if it does not apply
	Old, New string
	OldTitle string // the exact value if Old is shortened or converted
	NewTitle string
	Trend    string // "up", "down", or "" for prices that cannot be compared
}

// ChangeLines limits the lines of a record on a page.
const ChangeLines = 12

var changeLabels = map[string]string{
	site.PriceChanged:   "Price",
	site.PayToChanged:   "Recipient",
	site.SchemaChanged:  "Payment options",
	site.SourceListed:   "Listed",
	site.SourceDropped:  "Dropped",
	site.GradeChanged:   "Grade",
	site.VerdictChanged: "Verdict",
}

// NewChange words a record of a service whose prices have the units u. A record whose summary cannot be read has no
// lines; it is shown nevertheless, because something changed.
func NewChange(r *site.ChangeRecord, u money.Units, networks money.NetworkNames) Change {
	c := Change{Slug: r.Slug, Name: r.Name, ObservedAt: r.ObservedAt, Label: "Changed"}
	if label := changeLabels[r.Type]; label != "" {
		c.Kind, c.Label = r.Type, label
	}
	switch r.Type {
	case site.PriceChanged:
		c.Lines = priceLines(r.Summary, u, networks)
		c.More = omittedFrom(r.Summary)
	case site.PayToChanged:
		c.Lines = recipientLines(r.Summary, networks)
		c.More = omittedFrom(r.Summary)
	case site.SchemaChanged:
		c.Lines = schemaLines(r.Summary, networks)
		c.More = omittedFrom(r.Summary)
	default:
		for _, l := range differenceLines(r) {
			c.Lines = append(c.Lines, ChangeLine{What: l.What, Old: l.Old, New: l.New})
		}
	}
	return c
}

// omittedFrom returns how many differences a summary leaves out.
func omittedFrom(summary json.RawMessage) int {
	var s struct{ Omitted site.Omitted }
	if json.Unmarshal(summary, &s) != nil {
		return 0
	}
	return max(0, s.Omitted.Differences)
}

// Short returns the change with at most limit lines.
func (c Change) Short(limit int) Change {
	if len(c.Lines) > limit {
		c.Lines, c.More = c.Lines[:limit], c.More+len(c.Lines)-limit
	}
	return c
}

func priceLines(summary json.RawMessage, u money.Units, networks money.NetworkNames) []ChangeLine {
	var s site.PriceSummary
	if json.Unmarshal(summary, &s) != nil {
		return nil
	}
	var lines []ChangeLine
	for _, p := range s.PriceChanges {
		l := ChangeLine{What: display.Line(p.Endpoint, display.MaxName), Network: networks.Chip(p.Network),
			Trend: money.Trend(p.OldPrice, p.NewPrice)}
		l.Old, l.OldTitle = u.Price(p.Network, p.AssetName, p.OldPrice)
		l.New, l.NewTitle = u.Price(p.Network, p.AssetName, p.NewPrice)
		lines = append(lines, l)
	}
	return lines
}

// recipientLines returns one line for all endpoints with the same change on a network.
func recipientLines(summary json.RawMessage, networks money.NetworkNames) []ChangeLine {
	var s site.PayToSummary
	if json.Unmarshal(summary, &s) != nil {
		return nil
	}
	short := func(address *string) (text, title string) {
		if address == nil {
			return "", ""
		}
		return display.Line(site.Abbreviate(*address), display.MaxName), display.Line(*address, display.MaxLine)
	}
	var lines []ChangeLine
	var endpoints []int // of each line
	at := map[[3]string]int{}
	for _, c := range s.PayToChanges {
		l := ChangeLine{What: display.Line(c.Endpoint, display.MaxName), Network: networks.Chip(c.Network)}
		l.Old, l.OldTitle = short(c.OldPayTo)
		l.New, l.NewTitle = short(c.NewPayTo)
		k := [3]string{c.Network, l.OldTitle, l.NewTitle}
		if i, ok := at[k]; ok {
			endpoints[i]++
			lines[i].What = display.Plural(int64(endpoints[i]), "endpoint", "endpoints")
			continue
		}
		at[k] = len(lines)
		lines, endpoints = append(lines, l), append(endpoints, 1)
	}
	return lines
}

func schemaLines(summary json.RawMessage, networks money.NetworkNames) []ChangeLine {
	var s site.SchemaSummary
	if json.Unmarshal(summary, &s) != nil {
		return nil
	}
	var lines []ChangeLine
	for _, endpoint := range s.EndpointsAdded {
		lines = append(lines, ChangeLine{What: display.Line(endpoint, display.MaxName), New: "endpoint added"})
	}
	for _, endpoint := range s.EndpointsRemoved {
		lines = append(lines, ChangeLine{What: display.Line(endpoint, display.MaxName), Old: "endpoint removed"})
	}
	for _, line := range s.SchemaAdded {
		l := schemaLine(line, networks)
		l.New, l.NewTitle = l.Old, l.OldTitle
		l.Old, l.OldTitle = "", ""
		lines = append(lines, l)
	}
	for _, line := range s.SchemaRemoved {
		lines = append(lines, schemaLine(line, networks))
	}
	return lines
}

// schemaLine parses "<METHOD> <path> <scheme> <network> <asset> <assetName> …". Old of the result is the way to pay.
func schemaLine(s string, networks money.NetworkNames) ChangeLine {
	f := strings.SplitN(s, " ", 7)
	if len(f) < 6 {
		return ChangeLine{Old: display.Line(s, display.MaxName)}
	}
	return ChangeLine{
		What: display.Line(f[0]+" "+f[1], display.MaxName), Network: networks.Chip(f[3]),
		Old: display.Line(f[2]+" in "+display.Asset(f[5]), display.MaxName), OldTitle: display.Line(s, display.MaxLine),
	}
}
