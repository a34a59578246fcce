package mcp

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

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

	network string // network of the request, whose price a row contains
}

// sizes are tried in order until a result is small enough.
var sizes = []size{
	{name: 64, text: 160, rows: 25}, {name: 48, text: 80, rows: 10}, {name: 24, text: 40, rows: 5},
	{name: 12, text: 20, rows: 1}, {name: 12, text: 12},
}

// compacts returns the compact form of a route's response, by the route's name: the members that an agent needs to
// choose, in short texts and lists. A route without an entry has one form only.
var compacts = map[string]func([]byte, size) (any, error){
	searchRoute:    compactOf(compactSearch),
	"best":         compactOf(compactBest),
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

// compactOne is a compact response with one object.
type compactOne[T any] struct {
	Data T `json:"data"`
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
