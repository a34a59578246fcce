package render

import (
	"encoding/json"
	"strings"

	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

// change is a change record as pages show it.
type change struct {
	Slug, Name string
	ObservedAt site.Time
	Kind       string // the type of the record, "" for an unknown one
	Label      string
	Lines      []changeLine
	More       int // number of lines that are not shown
}

// changeLine is a difference of an endpoint on a network. Either Old or New may be "".
type changeLine struct {
	What     string     // "GET /quote", or "3 endpoints"
	Network  money.Chip // without a label if it does not apply
	Old, New string
	OldTitle string // the exact value if Old is shortened or converted
	NewTitle string
	Trend    string // "up", "down", or "" for prices that cannot be compared
}

// serviceChangeLines limits the lines of a record.
const serviceChangeLines = 12

var changeLabels = map[string]string{
	site.PriceChanged:   "Price",
	site.PayToChanged:   "Recipient",
	site.SchemaChanged:  "Payment options",
	site.SourceListed:   "Listed",
	site.SourceDropped:  "Dropped",
	site.GradeChanged:   "Grade",
	site.VerdictChanged: "Verdict",
}

// change words a record. A record whose summary cannot be read has no lines; it is shown nevertheless, because
// something changed.
func (e *ServiceRenderer) change(r *site.ChangeRecord, u money.Units) change {
	c := change{Slug: r.Slug, Name: r.Name, ObservedAt: r.ObservedAt, Label: "Changed"}
	if label := changeLabels[r.Type]; label != "" {
		c.Kind, c.Label = r.Type, label
	}
	switch r.Type {
	case site.PriceChanged:
		c.Lines = e.priceLines(r.Summary, u)
		c.More = omittedFrom(r.Summary)
	case site.PayToChanged:
		c.Lines = e.recipientLines(r.Summary)
		c.More = omittedFrom(r.Summary)
	case site.SchemaChanged:
		c.Lines = e.schemaLines(r.Summary)
		c.More = omittedFrom(r.Summary)
	default:
		for _, l := range differenceLines(r) {
			c.Lines = append(c.Lines, changeLine{What: l.What, Old: l.Old, New: l.New})
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

// short returns the change with at most limit lines.
func (c change) short(limit int) change {
	if len(c.Lines) > limit {
		c.Lines, c.More = c.Lines[:limit], c.More+len(c.Lines)-limit
	}
	return c
}

func (e *ServiceRenderer) priceLines(summary json.RawMessage, u money.Units) []changeLine {
	var s site.PriceSummary
	if json.Unmarshal(summary, &s) != nil {
		return nil
	}
	var lines []changeLine
	for _, p := range s.PriceChanges {
		l := changeLine{What: display.Line(p.Endpoint, display.MaxName), Network: e.network(p.Network),
			Trend: money.Trend(p.OldPrice, p.NewPrice)}
		l.Old, l.OldTitle = u.Price(p.Network, p.AssetName, p.OldPrice)
		l.New, l.NewTitle = u.Price(p.Network, p.AssetName, p.NewPrice)
		lines = append(lines, l)
	}
	return lines
}

// recipientLines returns one line for all endpoints with the same change on a network.
func (e *ServiceRenderer) recipientLines(summary json.RawMessage) []changeLine {
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
	var lines []changeLine
	var endpoints []int // of each line
	at := map[[3]string]int{}
	for _, c := range s.PayToChanges {
		l := changeLine{What: display.Line(c.Endpoint, display.MaxName), Network: e.network(c.Network)}
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

func (e *ServiceRenderer) schemaLines(summary json.RawMessage) []changeLine {
	var s site.SchemaSummary
	if json.Unmarshal(summary, &s) != nil {
		return nil
	}
	var lines []changeLine
	for _, endpoint := range s.EndpointsAdded {
		lines = append(lines, changeLine{What: display.Line(endpoint, display.MaxName), New: "endpoint added"})
	}
	for _, endpoint := range s.EndpointsRemoved {
		lines = append(lines, changeLine{What: display.Line(endpoint, display.MaxName), Old: "endpoint removed"})
	}
	for _, line := range s.SchemaAdded {
		l := e.schemaLine(line)
		l.New, l.NewTitle = l.Old, l.OldTitle
		l.Old, l.OldTitle = "", ""
		lines = append(lines, l)
	}
	for _, line := range s.SchemaRemoved {
		lines = append(lines, e.schemaLine(line))
	}
	return lines
}

// schemaLine parses "<METHOD> <path> <scheme> <network> <asset> <assetName> …". Old of the result is the way to pay.
func (e *ServiceRenderer) schemaLine(s string) changeLine {
	f := strings.SplitN(s, " ", 7)
	if len(f) < 6 {
		return changeLine{Old: display.Line(s, display.MaxName)}
	}
	return changeLine{
		What: display.Line(f[0]+" "+f[1], display.MaxName), Network: e.network(f[3]),
		Old: display.Line(f[2]+" in "+display.Asset(f[5]), display.MaxName), OldTitle: display.Line(s, display.MaxLine),
	}
}
