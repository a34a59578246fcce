package sample

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
)

// sharedHistories are the histories before start, computed once for all tests.
var sharedHistories = sync.OnceValue(func() []load.History { return Histories(start) })

func historyOf(t *testing.T, slug string) load.History {
	t.Helper()
	for _, h := range sharedHistories() {
		if h.Slug == slug {
			return h
		}
	}
	t.Fatalf("no history of %s", slug)
	return load.History{}
}

func TestHistoriesAreDeterministic(t *testing.T) {
	t.Parallel()
	for i, again := range Histories(start) {
		if !reflect.DeepEqual(sharedHistories()[i], again) { // cmp would take a minute
			t.Errorf("two calls differ about %s", again.Slug)
		}
	}
	var slugs, want []string
	for _, h := range sharedHistories() {
		slugs = append(slugs, h.Slug)
	}
	for _, l := range Listings(start, 0) {
		want = append(want, l.Slug)
	}
	if diff := cmp.Diff(want, slugs); diff != "" {
		t.Errorf("histories are not those of the listings (-want +got):\n%s", diff)
	}
}

// TestHistoriesAtOddStarts begins the world at dates that are difficult for calendars.
func TestHistoriesAtOddStarts(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"2026-11-21T00:00:00Z", "2026-11-21T23:59:59.999Z", "2028-02-29T00:00:00.001Z",
		"2026-03-29T03:30:00+02:00"} {
		begin, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		h := bySlug("tidewater-weather").history(begin, rawDays)
		today := begin.UTC().Truncate(day)
		if n := len(h.Days); n != historyDays-rawDays-1 || !h.Days[0].Start.Equal(today.Add(-89*day)) ||
			!h.Days[n-1].Start.Equal(today.Add(-8*day)) {
			t.Errorf("%s: %d days from %v", at, n, h.Days[0].Start)
		}
		if first := h.Checks[0].CheckedAt; first.Truncate(day) != today.Add(-7*day) {
			t.Errorf("%s: the first check is at %v", at, first)
		}
	}
}

func TestDaysAndChecksCoverTheWindow(t *testing.T) {
	t.Parallel()
	today := start.Truncate(day)
	young, gapped := 0, 0
	for _, h := range sharedHistories() {
		s := bySlug(h.Slug)
		created := s.created(start)
		days := map[time.Time]int{}
		for i, d := range h.Days {
			if i > 0 && !d.Start.After(h.Days[i-1].Start) || d.Start != d.Start.Truncate(day) {
				t.Errorf("%s: day %v after %v", h.Slug, d.Start, h.Days[max(0, i-1)].Start)
			}
			days[d.Start] = d.Checks
		}
		for i, c := range h.Checks {
			if i > 0 && !c.CheckedAt.After(h.Checks[i-1].CheckedAt) || !c.CheckedAt.Before(start) ||
				c.CheckedAt != c.CheckedAt.Truncate(time.Millisecond) {
				t.Errorf("%s: check at %v", h.Slug, c.CheckedAt)
			}
			days[c.CheckedAt.Truncate(day)]++
		}
		if created.After(today.Add(-89 * day)) {
			young++
		}
		for n := range historyDays {
			at := today.Add(-time.Duration(n) * day)
			inGap := slices.ContainsFunc(s.Gaps, func(g [2]int) bool { return n <= g[0] && n >= g[1] })
			switch got := days[at]; {
			case inGap || at.Add(day).Before(created):
				if got != 0 {
					t.Errorf("%s: %d checks on %v, in a gap or before it was listed", h.Slug, got, at)
				}
				if inGap {
					gapped++
				}
			case n > 0 && !at.Before(created) && s.Temper == "calm" && (got < 88 || got > 104):
				t.Errorf("%s: %d checks on %v, want about 96", h.Slug, got, at)
			}
		}
	}
	if young < 10 || gapped < 5 {
		t.Errorf("%d services younger than the window, %d days in gaps: want more", young, gapped)
	}
}

func TestRollupsAddUp(t *testing.T) {
	t.Parallel()
	for _, h := range sharedHistories() {
		for _, d := range h.Days {
			var counted int64
			var low, high float64 // bounds of the sum by the histogram
			for i, n := range d.Histogram {
				counted += n
				low += float64(n) * math.Exp2(float64(i)/4)
				high += float64(n) * math.Exp2(float64(i+1)/4)
			}
			if len(d.Histogram) != site.HistogramBuckets || int(counted) != d.Timed {
				t.Errorf("%s on %v: histogram of %d buckets counts %d, timed %d", h.Slug, d.Start, len(d.Histogram),
					counted, d.Timed)
			}
			if d.Up > d.Counted || d.Timed > d.Counted || d.Counted > d.Checks || d.UpMS > d.KnownMS ||
				d.Checks == 0 && d.KnownMS == 0 {
				t.Errorf("%s on %v: %d checks, %d counted, %d up, %d timed", h.Slug, d.Start, d.Checks, d.Counted, d.Up,
					d.Timed)
			}
			if sum := float64(d.ResponseMS); sum < low-float64(counted) || sum > high+float64(counted) {
				t.Errorf("%s on %v: %d ms do not fit the histogram's %.0f to %.0f", h.Slug, d.Start, d.ResponseMS, low,
					high)
			}
		}
	}
}

// TestDaysAreSumsOfChecks computes the history again with every check. The days must be the sums of these checks.
func TestDaysAreSumsOfChecks(t *testing.T) {
	t.Parallel()
	for _, slug := range []string{"tidewater-weather", "riverbend-hydrology", "scholium-feeds", "almanac-places"} {
		h := historyOf(t, slug)
		all := bySlug(slug).history(start, historyDays).Checks
		if diff := cmp.Diff(h.Checks, all[len(all)-len(h.Checks):]); diff != "" {
			t.Errorf("%s: the checks differ (-want +got):\n%.2000s", slug, diff)
		}
		spans := checks.Spans(all, h.Checks[0].CheckedAt.Truncate(day))
		got := h.Days
		for len(got) > 0 {
			want := checks.Rollup{Start: got[0].Start, Histogram: make([]int64, site.HistogramBuckets)}
			for ; all[0].CheckedAt.Truncate(day).Equal(want.Start); all = all[1:] {
				c := all[0]
				want.Checks++
				if c.Counted && c.IsUp {
					want.Up++
				}
				if c.Counted {
					want.Counted++
				}
				if c.Counted && c.ResponseTimeMS != nil {
					want.Timed++
					want.ResponseMS += int64(*c.ResponseTimeMS)
					want.Histogram[site.HistogramBucket(*c.ResponseTimeMS)]++
				}
			}
			for _, span := range spans {
				want.AddSpan(span, day)
			}
			if diff := cmp.Diff(want, got[0]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", slug, diff)
			}
			got = got[1:]
		}
		if len(all) != len(h.Checks) {
			t.Errorf("%s: %d checks after the days, want %d", slug, len(all), len(h.Checks))
		}
	}
}

func TestChecksAreConsistent(t *testing.T) {
	t.Parallel()
	ids := map[uuid.UUID]bool{}
	for _, h := range sharedHistories() {
		for i, c := range h.Checks {
			if ids[c.ID] || c.ID == uuid.Nil {
				t.Errorf("%s: id %v is nil or a duplicate", h.Slug, c.ID)
			}
			ids[c.ID] = true
			if c.Counted && c.Status == nil {
				t.Fatalf("%s at %v: counted without a status", h.Slug, c.CheckedAt)
			}
			if c.Status != nil && c.IsUp != (*c.Status != site.StatusOffline) {
				t.Errorf("%s at %v: %s, up %v", h.Slug, c.CheckedAt, *c.Status, c.IsUp)
			}
			online, asks := c.Counted && *c.Status == site.StatusOnline, 402
			if bySlug(h.Slug).Behaviour == "mcp" {
				asks = 200 // with an error as the result of the tool
			}
			if online && (c.EndpointsFound == 0 || *c.StatusCode != asks || c.ErrorMessage != nil ||
				c.ResponseTimeMS == nil) {
				t.Errorf("%s at %v: online with %+v", h.Slug, c.CheckedAt, c)
			}
			if c.StatusCode == nil != (c.ResponseTimeMS == nil) {
				t.Errorf("%s at %v: a status without a time or the reverse", h.Slug, c.CheckedAt)
			}
			if c.ResponseTimeMS != nil && *c.ResponseTimeMS < 0 {
				t.Errorf("%s at %v: a response time of %d ms", h.Slug, c.CheckedAt, *c.ResponseTimeMS)
			}
			if i == 0 {
				continue
			}
			before := h.Checks[i-1].ConsecutiveFailures
			want := before
			if c.Counted && c.IsUp {
				want = 0
			} else if c.Counted {
				want = before + 1
			}
			if c.ConsecutiveFailures != want {
				t.Errorf("%s at %v: %d failures after %d", h.Slug, c.CheckedAt, c.ConsecutiveFailures, before)
			}
		}
	}
}

// TestHistoriesOfServices compares the histories of single services with their entries in cast.toml.
func TestHistoriesOfServices(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		slug, status string
		failures     [2]int // at least, at most
		message      string
	}{
		{"tidewater-weather", site.StatusOnline, [2]int{0, 0}, ""},
		// a day of 96, six of 24, then daily
		{"millstone-grain", site.StatusOffline, [2]int{200, 320}, "connection refused"},
		{"glasswing-census", site.StatusOffline, [2]int{110, 170}, "timed out after 15 s"},
		{"oldgate-sanctions", site.StatusOffline, [2]int{90, 150}, "TLS: certificate has expired or is not yet valid"},
		{"windlass-transcode", site.StatusOffline, [2]int{30, 50}, "answers 500 Internal Server Error"},
		{"hourglass-cron", site.StatusOffline, [2]int{220, 330}, "deployment is disabled"},
		{"attic-archive", site.StatusOffline, [2]int{220, 330}, "answers 404 Not Found"},
		{"candlewick-images", site.StatusDegraded, [2]int{0, 0}, ""},
		{"larkspur-recipes", site.StatusDegraded, [2]int{0, 0}, "without asking for payment"},
		{"cabinet-essays", site.StatusDegraded, [2]int{0, 0}, "HTML page"},
		{"scholium-feeds", site.StatusOnline, [2]int{0, 0}, ""},     // it asks for payment over MPP
		{"quarrel-dictionary", site.StatusOnline, [2]int{0, 0}, ""}, // over L402
		{"pennyfarthing-tax", site.StatusDegraded, [2]int{0, 0}, "no option can be paid; row 1: the price"},
		// status of the last conclusive check
		{"weighbridge-facts", site.StatusOnline, [2]int{0, 0}, "answers 429 Too Many Requests"},
		{"lamplighter-domains", site.StatusOnline, [2]int{0, 0}, "a bot filter answered"},
	} {
		checks := historyOf(t, test.slug).Checks
		c := checks[len(checks)-1]
		message := ""
		if c.ErrorMessage != nil {
			message = *c.ErrorMessage
		}
		if *c.Status != test.status || c.ConsecutiveFailures < test.failures[0] ||
			c.ConsecutiveFailures > test.failures[1] {
			t.Errorf("%s ends %s after %d failures, want %s after %v", test.slug, *c.Status, c.ConsecutiveFailures,
				test.status, test.failures)
		}
		if !strings.Contains(message, test.message) || (message == "") != (test.message == "") {
			t.Errorf("%s ends with %q, want %q", test.slug, message, test.message)
		}
	}
	turns := 0
	checks := historyOf(t, "riverbend-hydrology").Checks
	for i := 1; i < len(checks); i++ {
		if checks[i].IsUp != checks[i-1].IsUp {
			turns++
		}
	}
	if turns < len(checks)/5 {
		t.Errorf("the flapping service changed %d times in %d checks", turns, len(checks))
	}
}

// TestHistoriesAreVaried checks that the histories have every kind of day that pages must show.
func TestHistoriesAreVaried(t *testing.T) {
	t.Parallel()
	perfect, broken, changes := 0, 0, map[string]int{}
	status := map[string]int{}
	for _, h := range sharedHistories() {
		for _, d := range h.Days {
			if d.Up == d.Counted {
				perfect++
			} else {
				broken++
			}
		}
		for _, c := range h.Changes {
			changes[c.Type]++
		}
		if c := h.Checks[len(h.Checks)-1]; c.Status != nil {
			status[*c.Status]++
		}
	}
	if perfect < 3000 || broken < 200 {
		t.Errorf("%d days without an outage, %d with one", perfect, broken)
	}
	for kind, n := range map[string]int{site.PriceChanged: 5, site.SchemaChanged: 3, site.PayToChanged: 2} {
		if changes[kind] < n {
			t.Errorf("%d records of %s, want %d at least", changes[kind], kind, n)
		}
	}
	if status[site.StatusOnline] < 40 || status[site.StatusDegraded] < 4 || status[site.StatusOffline] < 4 {
		t.Errorf("at the start: %v", status)
	}
}
