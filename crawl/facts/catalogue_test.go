package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/source"
)

// catalogue is a facilitator's catalogue with the quirks of real ones. Rows are numbered URLs.
type catalogue struct {
	rows     int
	most     int         // rows a page, whatever limit is requested
	short    int         // number of rows that every third page lacks
	shift    bool        // whether a new row is inserted at the front after each page
	total    bool        // whether pages state the total
	ignore   bool        // whether offset is ignored
	fail     map[int]int // request number: status
	after    string      // Retry-After of failures
	requests int
}

func (s *catalogue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests++
	if status := s.fail[s.requests]; status != 0 {
		if s.after != "" {
			w.Header().Set("Retry-After", s.after)
		}
		w.WriteHeader(status)
		return
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	if s.ignore {
		offset = 0
	}
	end := offset + min(limit, s.most)
	if s.requests%3 == 2 {
		end -= s.short
	}
	type row struct {
		Resource string `json:"resource"`
		Type     string `json:"type"`
	}
	items := []row{}
	for i := max(0, offset); i < min(end, s.rows); i++ {
		items = append(items, row{fmt.Sprintf("https://api.example.com/%d", s.rows-i), "http"}) // newest first
	}
	page := map[string]any{"x402Version": 2, "items": items}
	if s.total {
		page["pagination"] = map[string]int{"limit": limit, "offset": offset, "total": s.rows}
	}
	if s.shift && s.requests < 4 {
		s.rows++
	}
	json.NewEncoder(w).Encode(page)
}

// TestCataloguePages checks that every row of the beginning is read despite the quirks of pagination.
func TestCataloguePages(t *testing.T) {
	t.Parallel()
	second := time.Second
	for _, c := range []struct {
		name      string
		catalogue catalogue
		want      int // expected rows, the oldest ones
		requests  int
		waits     []time.Duration
	}{
		{"total", catalogue{rows: 250, most: 100, total: true}, 250, 3, nil},
		{"no total", catalogue{rows: 250, most: 100}, 250, 4, nil},
		{"empty", catalogue{most: 100}, 0, 1, nil},
		{"small pages", catalogue{rows: 45, most: 20, total: true}, 45, 3, nil},
		{"short pages", catalogue{rows: 250, most: 100, short: 30, total: true}, 250, 3, nil},
		{"short pages without total", catalogue{rows: 400, most: 100, short: 99}, 400, 7, nil},
		{"shifting rows", catalogue{rows: 250, most: 100, shift: true, total: true}, 250, 3, nil},
		{"offset ignored", catalogue{rows: 250, most: 100, ignore: true}, 100, 4, nil},
		{"offset ignored with a total", catalogue{rows: 1000, most: 100, ignore: true, total: true}, 100, 4, nil},
		{"busy", catalogue{rows: 150, most: 100, total: true, fail: map[int]int{1: 429, 2: 503, 4: 429}}, 150, 5,
			[]time.Duration{second, 2 * second, second}},
		{"busy and says so", catalogue{rows: 50, most: 100, total: true, after: "7", fail: map[int]int{1: 429}}, 50, 2,
			[]time.Duration{7 * second}},
		{"busy for minutes", catalogue{rows: 50, most: 100, total: true, after: "300", fail: map[int]int{1: 429}}, 50,
			2, []time.Duration{300 * second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := c.catalogue
			_, f := newTown(t, map[string]http.Handler{"facilitator.test": &s})
			var waits []time.Duration
			pages := 0
			items, err := f.FetchCatalogue(t.Context(), "http://facilitator.test/discovery/resources?type=http",
				func(_ context.Context, d time.Duration) error {
					waits = append(waits, d)
					return nil
				}, func(int, int) { pages++ })
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, i := range items {
				if names[i.URL] {
					t.Errorf("%s is returned twice", i.URL)
				}
				names[i.URL] = true
			}
			missing := 0
			for i := c.catalogue.rows; i > c.catalogue.rows-c.want; i-- {
				if !names[fmt.Sprintf("https://api.example.com/%d", i)] {
					missing++
				}
			}
			if missing != 0 || s.requests != c.requests || !slices.Equal(waits, c.waits) {
				t.Errorf("%d items, %d missing; %d requests, want %d; waits %v, want %v", len(items), missing,
					s.requests, c.requests, waits, c.waits)
			}
			if pages == 0 && c.want > 0 {
				t.Error("page was not called")
			}
		})
	}
}

// TestCatalogueGivesUp checks that reading ends after pauses of 1 to 32 seconds, at once for errors that waiting can't
// solve or that last longer than a reader waits, and when the context ends.
func TestCatalogueGivesUp(t *testing.T) {
	t.Parallel()
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	days := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "86400")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	hangUp := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	big := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"items": [`)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	})
	for _, c := range []struct {
		name  string
		h     http.Handler
		waits int
		want  string
	}{
		{"busy for ever", status(429), 6, "the answer is 429"},
		{"busy for days", days, 0, "the answer is 429 and asks to wait 24h0m0s"},
		{"no such catalogue", status(404), 0, "the answer is 404"},
		{"key needed", status(401), 0, "the answer is 401"},
		{"no catalogue", pages{"/": page}, 0, "does not have the expected shape"},
		{"a page without end", big, 0, "the answer is larger than 16 MiB"},
		{"no answer", hangUp, 3, "EOF"},
	} {
		_, f := newTown(t, map[string]http.Handler{"facilitator.test": c.h})
		waits := 0
		_, err := f.FetchCatalogue(t.Context(), "http://facilitator.test/",
			func(context.Context, time.Duration) error { waits++; return nil }, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || waits != c.waits {
			t.Errorf("%s: error %v after %d waits, want %q after %d", c.name, err, waits, c.want, c.waits)
		}
	}
	_, f := newTown(t, map[string]http.Handler{"facilitator.test": status(503)})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := f.FetchCatalogue(ctx, "http://facilitator.test/",
		func(context.Context, time.Duration) error { cancel(); return ctx.Err() }, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

// TestSellersOrder checks that the order of a catalogue's rows does not change the result.
func TestSellersOrder(t *testing.T) {
	t.Parallel()
	items := []source.Row{
		{URL: "https://b.example.com/1", Service: "B"}, {URL: "http://a.example.com/x", Tags: []string{"AI"}},
		{URL: "https://b.example.com/1", Method: "POST", Service: "C"},
		{URL: "https://a.example.com/y", Description: "Y"}, {URL: "http://b.example.com/2", Service: "D"},
	}
	for i := range items {
		items[i].Type = source.HTTP
	}
	want := GroupSellers(items)
	slices.Reverse(items)
	if diff := cmp.Diff(want, GroupSellers(items)); diff != "" || len(want) != 2 ||
		want[0].BaseURL != "https://a.example.com" || len(want[1].Endpoints) != 3 {
		t.Errorf("%+v\n(-one order +the other):\n%s", want, diff)
	}
}
