package sample

import (
	"encoding/json"
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
	"tollbook/site/postgres"
	"tollbook/site/postgres/load"
	"tollbook/site/x402"
)

// past0 is the history before start, made once for all tests.
var past0 = sync.OnceValue(func() []load.History { return Histories(start) })

func historyOf(t *testing.T, slug string) load.History {
	t.Helper()
	for _, h := range past0() {
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
		if !reflect.DeepEqual(past0()[i], again) { // cmp takes a minute for these
			t.Errorf("two calls differ about %s", again.Slug)
		}
	}
	var slugs, want []string
	for _, h := range past0() {
		slugs = append(slugs, h.Slug)
	}
	for _, l := range Listings(start, 0) {
		want = append(want, l.Slug)
	}
	if diff := cmp.Diff(want, slugs); diff != "" {
		t.Errorf("histories are not those of the listings (-want +got):\n%s", diff)
	}
}

// TestHistoriesAtOddStarts begins the world at times that have tripped calendars before.
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
	for _, h := range past0() {
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
	for _, h := range past0() {
		for _, d := range h.Days {
			var counted int64
			var low, high float64 // bounds of the sum that the histogram allows
			for i, n := range d.Histogram {
				counted += n
				low += float64(n) * math.Exp2(float64(i)/4)
				high += float64(n) * math.Exp2(float64(i+1)/4)
			}
			if len(d.Histogram) != site.HistogramBuckets || int(counted) != d.Timed {
				t.Errorf("%s on %v: histogram of %d buckets counts %d, timed %d", h.Slug, d.Start, len(d.Histogram),
					counted, d.Timed)
			}
			if d.Up > d.Counted || d.Timed > d.Counted || d.Counted > d.Checks || d.Checks == 0 {
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

// TestDaysAreSumsOfChecks walks again and keeps every check: the days must be what they add up to.
func TestDaysAreSumsOfChecks(t *testing.T) {
	t.Parallel()
	for _, slug := range []string{"tidewater-weather", "riverbend-hydrology", "scholium-feeds", "almanac-places"} {
		h := historyOf(t, slug)
		all := bySlug(slug).history(start, historyDays).Checks
		if diff := cmp.Diff(h.Checks, all[len(all)-len(h.Checks):]); diff != "" {
			t.Errorf("%s: the checks differ (-want +got):\n%.2000s", slug, diff)
		}
		got := h.Days
		for len(got) > 0 {
			want := postgres.Rollup{Start: got[0].Start, Histogram: make([]int64, site.HistogramBuckets)}
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
	for _, h := range past0() {
		for i, c := range h.Checks {
			if ids[c.ID] || c.ID == uuid.Nil {
				t.Errorf("%s: id %v is nil or twice there", h.Slug, c.ID)
			}
			ids[c.ID] = true
			if c.Counted && c.Status == nil {
				t.Fatalf("%s at %v: counted without a status", h.Slug, c.CheckedAt)
			}
			if c.Status != nil && c.IsUp != (*c.Status != site.StatusOffline) {
				t.Errorf("%s at %v: %s, up %v", h.Slug, c.CheckedAt, *c.Status, c.IsUp)
			}
			online := c.Counted && *c.Status == site.StatusOnline
			if online && (c.EndpointsFound == 0 || *c.StatusCode != 402 || c.ErrorMessage != nil ||
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

// TestStoriesOfServices holds what single services did to what cast.toml says of them.
func TestStoriesOfServices(t *testing.T) {
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
		{"scholium-feeds", site.StatusDegraded, [2]int{0, 0}, "another protocol"},
		{"pennyfarthing-tax", site.StatusDegraded, [2]int{0, 0}, "no option states all of a whole amount"},
		{"weighbridge-facts", site.StatusOnline, [2]int{0, 0}, "answers 429 Too Many Requests"}, // what it last was
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
		t.Errorf("the flapping service turned %d times in %d checks", turns, len(checks))
	}
}

// TestHistoriesAreVaried wants every kind of day that pages must be able to draw.
func TestHistoriesAreVaried(t *testing.T) {
	t.Parallel()
	perfect, broken, changes := 0, 0, map[string]int{}
	status := map[string]int{}
	for _, h := range past0() {
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

// line is one position of an endpoint's set of prices.
type line struct {
	id       uuid.UUID
	position int
}

func TestPricesAreContinuous(t *testing.T) {
	t.Parallel()
	for _, h := range past0() {
		sets := map[uuid.UUID]map[time.Time]*time.Time{} // since -> until of each endpoint's sets
		rows := map[line]time.Time{}
		for _, p := range h.Prices {
			if sets[p.EndpointID] == nil {
				sets[p.EndpointID] = map[time.Time]*time.Time{}
			}
			if until, ok := sets[p.EndpointID][p.Since]; ok && !equalTimes(until, p.Until) {
				t.Errorf("%s: rows of the set of %v end apart", h.Slug, p.Since)
			}
			sets[p.EndpointID][p.Since] = p.Until
			key := line{p.EndpointID, p.Position}
			if end, ok := rows[key]; ok && p.Since.Before(end) {
				t.Errorf("%s: position %d overlaps at %v", h.Slug, p.Position, p.Since)
			}
			if p.Until != nil {
				rows[key] = *p.Until
				if !p.Until.After(p.Since) {
					t.Errorf("%s: a price from %v to %v", h.Slug, p.Since, *p.Until)
				}
			}
			if p.Amount == "" || p.PayTo == "" || p.Asset == "" || p.NetworkCAIP2 == nil ||
				p.Until == nil && p.Since.After(start) {
				t.Errorf("%s: unusable price %+v", h.Slug, p)
			}
		}
		for id, set := range sets {
			current := 0
			for since, until := range set {
				if until == nil {
					current++
				} else if _, ok := set[*until]; !ok {
					t.Errorf("%s: nothing follows the prices of %v at %v (%s)", h.Slug, since, *until, id)
				}
			}
			if current != 1 {
				t.Errorf("%s: %d current sets of %s", h.Slug, current, id)
			}
		}
	}
}

func equalTimes(a, b *time.Time) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Equal(*b)
}

// TestEndpointsMatchTheWorld compares what history says an endpoint asks with what the world answers at the start.
func TestEndpointsMatchTheWorld(t *testing.T) {
	t.Parallel()
	for _, h := range past0() {
		s := bySlug(h.Slug)
		if len(h.Endpoints) != len(s.endpoints) {
			t.Errorf("%s: %d endpoints, want %d", h.Slug, len(h.Endpoints), len(s.endpoints))
			continue
		}
		for i, e := range s.endpoints {
			got := h.Endpoints[i]
			if got.Method != e.declared || got.Path != e.path || got.FirstSeenAt.Before(s.created(start)) {
				t.Errorf("%s: %s %s first seen %v", h.Slug, got.Method, got.Path, got.FirstSeenAt)
			}
			found := s.look(s.Behaviour, e, start)
			if found.verdict != paid || behaviours[s.Behaviour].varies && s.Behaviour != "flapping" {
				continue
			}
			if got.LastPaidAt == nil || start.Sub(*got.LastPaidAt) > time.Hour {
				t.Errorf("%s: %s is paid at the start, in history last at %v", h.Slug, e.key(), got.LastPaidAt)
				continue
			}
			if *got.Fingerprint != found.envelope.Fingerprint() {
				t.Errorf("%s: %s has another fingerprint at the start", h.Slug, e.key())
			}
			var want, current []postgres.Price
			id := postgres.EndpointID(h.Slug, e.declared, e.path)
			for position, r := range found.envelope.Accepts {
				if r.Usable() {
					want = append(want, priceOf(id, time.Time{}, position, r, found.envelope.Version))
				}
			}
			for _, p := range h.Prices {
				if p.EndpointID == id && p.Until == nil {
					p.Since = time.Time{}
					current = append(current, p)
				}
			}
			if diff := cmp.Diff(want, current); diff != "" {
				t.Errorf("%s: %s costs otherwise at the start (-want +got):\n%s", h.Slug, e.key(), diff)
			}
		}
	}
}

func TestServicesThatCannotBePaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		slug   string
		prices int  // rows that somebody could pay by, were they not in the wrong place
		asked  bool // it said something
	}{
		{"larkspur-recipes", 0, false},
		{"hedgerow-games", 0, false},
		{"pennyfarthing-tax", 0, true},
		{"cabinet-essays", 1, true},
	} {
		h := historyOf(t, test.slug)
		e := h.Endpoints[0]
		if len(h.Prices) != test.prices || e.LastPaidAt != nil || (e.Fingerprint != nil) != test.asked {
			t.Errorf("%s: %d prices, last paid %v, fingerprint %v", test.slug, len(h.Prices), e.LastPaidAt,
				e.Fingerprint)
		}
	}
}

// record is a change record with its parts decoded.
type record struct {
	postgres.Change
	Schema site.SchemaSummary
	Price  site.PriceSummary
	PayTo  site.PayToSummary
	Old    []site.SnapshotEntry
	New    []site.SnapshotEntry
}

func decode(t *testing.T, c postgres.Change) record {
	t.Helper()
	r := record{Change: c}
	summary := map[string]any{site.SchemaChanged: &r.Schema, site.PriceChanged: &r.Price,
		site.PayToChanged: &r.PayTo}[c.Type]
	for text, into := range map[*json.RawMessage]any{&c.Summary: summary, &c.OldSnapshot: &r.Old,
		&c.NewSnapshot: &r.New} {
		if err := json.Unmarshal(*text, into); err != nil {
			t.Fatalf("decode %s: %v", *text, err)
		}
	}
	return r
}

// priceAt is what an endpoint asked on a network at a time, by the rows of prices.
func priceAt(h load.History, endpoint, network string, at time.Time) (amounts, payTos []string) {
	s := bySlug(h.Slug)
	for _, e := range s.endpoints {
		if e.key() != endpoint {
			continue
		}
		for _, p := range h.Prices {
			if p.EndpointID == postgres.EndpointID(h.Slug, e.declared, e.path) && *p.NetworkCAIP2 == network &&
				!p.Since.After(at) && (p.Until == nil || p.Until.After(at)) {
				amounts, payTos = append(amounts, p.Amount), append(payTos, p.PayTo)
			}
		}
	}
	return amounts, payTos
}

func TestChangesAgreeWithPrices(t *testing.T) {
	t.Parallel()
	for _, h := range past0() {
		last := map[string]time.Time{}
		for _, c := range h.Changes {
			r := decode(t, c)
			if before := last[c.Type]; c.ObservedAt.Sub(before) < folding || !c.ObservedAt.Before(start) {
				t.Errorf("%s: %s at %v, the one before at %v", h.Slug, c.Type, c.ObservedAt, before)
			}
			last[c.Type] = c.ObservedAt
			if len(r.Schema.SchemaAdded)+len(r.Schema.SchemaRemoved)+len(r.Price.PriceChanges)+
				len(r.PayTo.PayToAdded) == 0 {
				t.Errorf("%s: %s at %v says nothing", h.Slug, c.Type, c.ObservedAt)
			}
			for _, p := range r.Price.PriceChanges {
				amounts, _ := priceAt(h, p.Endpoint, p.Network, c.ObservedAt)
				if !slices.Contains(amounts, p.NewPrice) || p.OldPrice == p.NewPrice {
					t.Errorf("%s: %s cost %s from %v on by the record, %v by the rows", h.Slug, p.Endpoint, p.NewPrice,
						c.ObservedAt, amounts)
				}
			}
			for _, e := range r.New {
				amounts, payTos := priceAt(h, e.Endpoint, e.Network, c.ObservedAt)
				if !slices.Contains(amounts, e.Price) || !slices.ContainsFunc(payTos, func(to string) bool {
					return site.Abbreviate(to) == e.PayTo
				}) {
					t.Errorf("%s: at %v the snapshot has %s for %s on %s, the rows %v to %v", h.Slug, c.ObservedAt,
						e.Endpoint, e.Price, e.Network, amounts, payTos)
				}
			}
			for _, to := range r.PayTo.PayToAdded {
				if !slices.ContainsFunc(r.New, func(e site.SnapshotEntry) bool { return e.PayTo == to }) {
					t.Errorf("%s: %s was added, but is not in the new snapshot", h.Slug, to)
				}
			}
		}
	}
}

// TestChangesAreWorded holds one record of each type to the contract's words.
func TestChangesAreWorded(t *testing.T) {
	t.Parallel()
	first := func(slug, kind string) record {
		for _, c := range historyOf(t, slug).Changes {
			if c.Type == kind {
				return decode(t, c)
			}
		}
		t.Fatalf("%s has no record of %s", slug, kind)
		return record{}
	}
	price := first("lychgate-email", site.PriceChanged)
	want := site.PriceSummary{PriceChanges: []site.PriceChange{{
		Network: "eip155:8453", Endpoint: "GET /check", NewPrice: "1500", OldPrice: "1000", AssetName: "USDC",
	}}}
	if diff := cmp.Diff(want, price.Price); diff != "" {
		t.Errorf("price_changed (-want +got):\n%s", diff)
	}
	schema := first("weathervane-signals", site.SchemaChanged)
	extra := `{"feePayer":"8ys275XU2RyYiEoVDDt3gb7DEGD987vuCH1QqBbdoX16"}`
	const tail = " exact solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v USDC 2  "
	if diff := cmp.Diff(site.SchemaSummary{
		SchemaAdded:    []string{"GET /signals" + tail + "300 " + extra, "GET /signals/all" + tail + "300 " + extra},
		SchemaRemoved:  []string{"GET /signals" + tail + "60 " + extra, "GET /signals/all" + tail + "60 " + extra},
		EndpointsAdded: []string{}, EndpointsRemoved: []string{},
	}, schema.Schema); diff != "" {
		t.Errorf("schema_changed (-want +got):\n%s", diff)
	}
	added := first("harborlight-search", site.SchemaChanged)
	if diff := cmp.Diff([]string{"POST /v1/search/deep"}, added.Schema.EndpointsAdded); diff != "" {
		t.Errorf("endpoints added (-want +got):\n%s", diff)
	}
	if len(added.New)-len(added.Old) != 3 || !strings.Contains(added.Schema.SchemaAdded[0], "USD%20Coin") {
		t.Errorf("%d entries became %d, by the line %s", len(added.Old), len(added.New), added.Schema.SchemaAdded[0])
	}
	moved := first("inkwell-vision", site.PayToChanged)
	s := bySlug("inkwell-vision")
	entry := moved.New[0]
	wantEntry := site.SnapshotEntry{
		Asset: s.endpoints[0].rails[0].asset.Address, Extra: textOrNull(`{"name":"USD Coin","version":"2"}`),
		PayTo: site.Abbreviate(s.endpoints[0].rails[0].recipient(s.Slug, 0)), Price: "12000", Scheme: "exact",
		Network:  "eip155:8453",
		Endpoint: "POST /describe", MimeType: textOrNull("application/json"),
		Resource:  textOrNull("https://inkwell-vision.sample.test/describe"),
		AssetName: "USDC", X402Version: 2, MaxTimeoutSeconds: &s.endpoints[0].timeout,
	}
	if diff := cmp.Diff(wantEntry, entry); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if len(moved.PayTo.PayToAdded) != 1 || len(moved.PayTo.PayToRemoved) != 1 {
		t.Errorf("payto_changed: %+v", moved.PayTo) // one address for both EVM networks
	}
	if x402.CheckAddress("eip155:8453", entry.PayTo) == nil {
		t.Error("the snapshot's recipient is in full")
	}
}

func TestAddedEndpointIsYoung(t *testing.T) {
	t.Parallel()
	h := historyOf(t, "harborlight-search")
	created := bySlug("harborlight-search").created(start)
	for _, e := range h.Endpoints {
		if isNew := e.Path == "/v1/search/deep"; e.FirstSeenAt.Equal(created) == isNew {
			t.Errorf("%s was first seen at %v, the service at %v", e.Path, e.FirstSeenAt, created)
		}
	}
}
