package mcp

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/display"
)

// A compact result has at most rowBytes for each row, and at least minResult bytes. A client pays for each byte of a
// result with space in its model's context.
const (
	rowBytes  = 400
	minRows   = 10
	minResult = minRows * rowBytes
)

// size limits the texts and lists of a compact result. Texts are measured in bytes of JSON.
type size struct {
	name int // names of services and facilitators
	text int // descriptions, paths, reasons
	rows int // rows of the summary, and of each list within a row
}

// sizes are tried in order until a result is small enough.
var sizes = []size{{64, 160, 25}, {48, 80, 10}, {24, 40, 5}, {12, 20, 1}, {12, 12, 0}}

// compacts returns the compact form of a route's response, by the route's name: the members that an agent needs to
// choose, in short texts and lists. A route without an entry has one form only.
var compacts = map[string]func([]byte, size) (any, error){
	"services":     compactOf(compactServices),
	"service":      compactOf(compactService),
	"changes":      compactOf(compactChanges),
	"facilitators": compactOf(compactFacilitators),
	"facilitator":  compactOf(compactFacilitator),
	"networks":     compactOf(compactNetworks),
	"coverage":     compactOf(compactCoverage),

	comparisonRoute: compactOf(compactComparison),
}

// compactOf decodes a body of type T and returns its compact form.
func compactOf[T any](view func(*T, size) any) func([]byte, size) (any, error) {
	return func(body []byte, limit size) (any, error) {
		var v T
		if err := json.Unmarshal(body, &v); err != nil {
			return nil, fmt.Errorf("parse the response: %w", err)
		}
		return view(&v, limit), nil
	}
}

// compactList is a compact response with rows. Meta is that of the API.
type compactList[T any] struct {
	Data []T `json:"data"`
	Meta any `json:"meta,omitempty"`
}

func (l compactList[T]) rowCount() int { return len(l.Data) }

// maxBytes returns the maximum length of a compact result with this data in bytes.
func maxBytes(data any) int {
	if list, ok := data.(interface{ rowCount() int }); ok {
		return max(minResult, list.rowCount()*rowBytes)
	}
	return minResult
}

// rowsOf returns the compact form of each row.
func rowsOf[T, R any](rows []T, view func(*T) R) []R {
	list := make([]R, len(rows))
	for i := range rows {
		list[i] = view(&rows[i])
	}
	return list
}

// first returns the first rows of a list, at least one, and the number of further rows.
func (z size) first(n int) (shown, more int) {
	shown = min(n, max(z.rows, 1))
	return shown, n - shown
}

// networks returns the first networks of a list in a row.
func (z size) networks(list []string) (shown []string, more int) {
	n := min(len(list), max(min(z.rows, 4), 1))
	return list[:n], len(list) - n
}

// cut returns a text on one line of at most limit bytes of JSON, and an ellipsis if it was longer.
func cut(s string, limit int) string {
	s = display.Line(s, limit)
	end, used := 0, 0 // the longest beginning that leaves space for an ellipsis
	for i, r := range s {
		if used += jsonLength(r); used > limit {
			return s[:end] + "…"
		}
		if used <= limit-len("…") {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}

// jsonLength returns the number of bytes of a visible character in the SDK's JSON.
func jsonLength(r rune) int {
	switch r {
	case '<', '>', '&', '\u2028', '\u2029':
		return len(`\u003c`)
	case '"', '\\':
		return 2
	}
	return utf8.RuneLen(r)
}

// cutOrNull is cut for a text that may be absent.
func cutOrNull(s *string, limit int) string {
	if s == nil {
		return ""
	}
	return cut(*s, limit)
}

// serviceRow is a compact row of a list of services.
type serviceRow struct {
	Slug         string        `json:"slug"`
	Name         string        `json:"name"`
	PriceUSD     *site.Decimal `json:"price_usd"` // of the endpoint; without one, the lowest of the service
	Networks     []string      `json:"networks"`
	MoreNetworks int           `json:"more_networks,omitempty"`
	Status       string        `json:"status"`
	Uptime24h    *float64      `json:"uptime_24h,omitempty"`
	Risk         string        `json:"risk"`
	RiskReason   string        `json:"risk_reason,omitempty"`
}

func compactServices(v *site.List[site.ServiceListItem, json.RawMessage], limit size) any {
	return compactList[serviceRow]{Meta: v.Meta, Data: rowsOf(v.Data, func(s *site.ServiceListItem) serviceRow {
		row := serviceRow{Slug: s.Slug, Name: cut(s.Name, limit.name), PriceUSD: s.MinPriceUSD, Status: s.Status,
			Uptime24h: s.Uptime24h, Risk: s.RiskLevel, RiskReason: cutOrNull(s.RiskReason, limit.text)}
		row.Networks, row.MoreNetworks = limit.networks(s.Networks)
		return row
	})}
}
