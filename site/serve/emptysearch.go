package serve

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

// emptyPath is where the operator reads EmptySearches, beside /metrics.
const emptyPath = "/empty-searches"

// Limits of EmptySearches: how many texts are counted, and how often a text must be searched until it is shown. A rare
// text may be about the person who typed it.
const (
	maxEmpty = 1000
	minEmpty = 3
)

// EmptySearches counts the texts for which a search found no service, in memory, since the process began. It knows the
// text and how often it was searched, and neither who did nor when. A nil *EmptySearches counts nothing.
type EmptySearches struct {
	since  site.Time
	mu     sync.Mutex
	counts map[string]int64
	others int64 // searches for texts that came when maxEmpty were counted
}

// NewEmptySearches returns counts that begin at an instant.
func NewEmptySearches(now time.Time) *EmptySearches {
	return &EmptySearches{since: site.NewTime(now), counts: map[string]int64{}}
}

// emptyReport is the response of emptyPath.
type emptyReport struct {
	Since    site.Time     `json:"since"`
	Searches []emptySearch `json:"searches"` // with at least minEmpty searches, most first
	Others   int64         `json:"others"`   // searches for all other texts
}

type emptySearch struct {
	Text  string `json:"text"` // in small letters, with single blanks
	Count int64  `json:"count"`
}

// add counts a search without a result.
func (e *EmptySearches) add(text string) {
	text = strings.ToLower(display.Line(text, routes.MaxText))
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, counted := e.counts[text]; text == "" || !utf8.ValidString(text) || !counted && len(e.counts) >= maxEmpty {
		e.others++
		return
	}
	e.counts[text]++
}

// report returns what was counted.
func (e *EmptySearches) report() emptyReport {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := emptyReport{Since: e.since, Searches: []emptySearch{}, Others: e.others}
	for text, n := range e.counts {
		if n < minEmpty {
			r.Others += n
			continue
		}
		r.Searches = append(r.Searches, emptySearch{text, n})
	}
	slices.SortFunc(r.Searches, func(a, b emptySearch) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Text, b.Text))
	})
	return r
}

// countEmpty counts a search by its response, a page of results. Filters do not matter: what nothing matches with them
// may match without them, so a search with filters is not counted.
func (h *handler) countEmpty(q routes.Query, results *body) {
	if h.empty == nil || q.Route == nil || q.Route.Rule != routes.RuleFind || q.Text("q") == "" ||
		q.ListKey() != q.Unfiltered().ListKey() {
		return
	}
	if total, err := results.rows(q.Route.Framing); err == nil && total == 0 {
		h.empty.add(q.Text("q"))
	}
}
