package pull_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/site"
	"tollbook/site/leaktest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/postgres/sources"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

// catalogues is a server of sources: /<name> answers as a facilitator's /discovery/resources, page by page.
type catalogues struct {
	mu     sync.Mutex
	rows   map[string][]int // numbers of resources, by source
	status map[string]int   // of a source that is down
	page   func(name string, offset int)
	urls   map[string][]string // instead of rows
}

// ServeHTTP implements http.Handler.
func (c *catalogues) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[1:]
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	c.mu.Lock()
	rows, status, page := c.rows[name], c.status[name], c.page
	c.mu.Unlock()
	if page != nil {
		page(name, offset)
	}
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	items := []map[string]any{}
	for _, n := range rows[min(offset, len(rows)):min(offset+limit, len(rows))] {
		items = append(items, map[string]any{
			"type": "http", "resource": resourceURL(n), "serviceName": fmt.Sprintf("Service %d of %s", n/10, name),
			"description": "from " + name, "method": "GET",
		})
	}
	for _, u := range c.urls[name][min(offset, len(c.urls[name])):] {
		items = append(items, map[string]any{"type": "http", "resource": u, "method": "GET"})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"x402Version": 2, "items": items, "pagination": map[string]int{"limit": limit, "offset": offset,
			"total": len(rows) + len(c.urls[name])},
	})
}

// set replaces the resources of a source.
func (c *catalogues) set(name string, rows []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows[name], c.status[name] = rows, 0
}

// resourceURL returns the URL of a resource; ten resources are on one host.
func resourceURL(n int) string { return fmt.Sprintf("https://api%d.seller.dev/r%d", n/10, n) }

// numbers returns the numbers from first to before end.
func numbers(first, end int) []int {
	list := make([]int, 0, end-first)
	for n := first; n < end; n++ {
		list = append(list, n)
	}
	return list
}

// world is a directory with sources.
type world struct {
	*catalogues
	db     *postgres.DB
	conn   *pgx.Conn
	puller *pull.Puller
	now    time.Time
	waits  []time.Duration     // pauses between two attempts
	new    func() *pull.Puller // another process
}

// newWorld returns a directory whose sources answer as facilitators do.
func newWorld(t *testing.T, rows map[string][]int, take string) *world {
	t.Helper()
	c := &catalogues{rows: rows, status: map[string]int{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	var list []pull.Source
	for name := range rows {
		s := newSource(name, "x402-discovery", server.URL+"/"+name)
		s.Take = take
		list = append(list, s)
	}
	w := newDirectory(t, list)
	w.catalogues = c
	return w
}

// newSource returns a source of which everything is listed.
func newSource(name, kind, address string) pull.Source {
	return pull.Source{Source: sources.Source{Name: name, Kind: kind, Address: address}, Enabled: true,
		Period: 6 * time.Hour, Take: pull.TakeAll, Trust: true}
}

// newDirectory returns a directory with sources. It may visit their addresses, and hosts of this machine that are
// named.
func newDirectory(t *testing.T, list []pull.Source, allowed ...string) *world {
	t.Helper()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for _, s := range list {
		u, err := url.Parse(s.Address)
		if err != nil {
			t.Fatal(err)
		}
		allowed = append(allowed, u.Host)
	}
	w := &world{db: db, conn: postgrestest.Connect(t, dsn), now: time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return w.now }
	w.new = func() *pull.Puller {
		v := crawl.New(db, crawl.Options{HostGap: time.Nanosecond, Hourly: -1, Now: clock, NoContact: true},
			probe.Options{Guard: &probe.Guard{AllowPrivate: allowed}})
		t.Cleanup(v.Close)
		return pull.New(db.Sources, v, pull.Options{Sources: list, Now: clock,
			Wait: func(ctx context.Context, d time.Duration) error {
				w.waits = append(w.waits, d)
				return ctx.Err()
			}})
	}
	w.puller = w.new()
	return w
}

// pull reads a source and compares the report.
func (w *world) pull(t *testing.T, want pull.Report) {
	t.Helper()
	got, err := w.puller.Pull(t.Context(), want.Source)
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(time.Minute)
	if n := got.Reasons.Total(); n != got.Skipped {
		t.Errorf("report of %s: %d entries are skipped, with reasons for %d", want.Source, got.Skipped, n)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(pull.Report{}, "Bytes", "Pages", "Reasons")); diff != "" {
		t.Errorf("report of %s (-want +got)\n%s", want.Source, diff)
	}
}

// count returns the number of rows of a query.
func (w *world) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	if err := w.conn.QueryRow(t.Context(), "SELECT count(*) FROM "+sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// five are five sources: b shares 20 resources with a, c shares 10 with b, d is a part of a, e shares none.
func five() map[string][]int {
	return map[string][]int{"a": numbers(0, 60), "b": numbers(40, 100), "c": numbers(90, 130), "d": numbers(0, 10),
		"e": numbers(200, 250)}
}

func accepted(name string, rows int, c sources.Counts, services, endpoints int) pull.Report {
	c.Resources = rows
	return pull.Report{Source: name, Outcome: sources.Accepted, Rows: rows, Counts: c, Services: services,
		Endpoints: endpoints}
}

// pullFive reads the five sources for the first time.
func pullFive(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, five(), pull.TakeAll)
	w.pull(t, accepted("a", 60, sources.Counts{New: 60}, 6, 0))
	w.pull(t, accepted("b", 60, sources.Counts{New: 40, Merged: 20}, 4, 0))
	w.pull(t, accepted("c", 40, sources.Counts{New: 30, Merged: 10}, 3, 0))
	w.pull(t, accepted("d", 10, sources.Counts{Merged: 10}, 0, 0))
	w.pull(t, accepted("e", 50, sources.Counts{New: 50}, 5, 0))
	return w
}

// TestUnionOfFiveSources checks the exact counts of what is new, merged and dropped.
func TestUnionOfFiveSources(t *testing.T) {
	t.Parallel()
	w := pullFive(t)
	if n := w.count(t, "endpoints"); n != 180 {
		t.Errorf("%d endpoints, want 180", n)
	}
	if n := w.count(t, "services WHERE name LIKE 'Service % of a'"); n != 6 {
		t.Errorf("%d services are named by the source that listed them first, want 6", n)
	}
	if n := w.count(t, "changes"); n != 0 {
		t.Errorf("%d change records of first answers, want 0", n)
	}

	for name, rows := range five() { // the same again
		w.pull(t, accepted(name, len(rows), sources.Counts{}, 0, 0))
	}
	if n := w.count(t, "source_resources"); n != 220 {
		t.Errorf("%d listed resources after the second pull, want 220", n)
	}

	w.set("b", numbers(50, 100)) // 10 fewer
	w.pull(t, accepted("b", 50, sources.Counts{Dropped: 10, Records: 1}, 0, 0))
	if n := w.count(t, "changes WHERE type = 'dropped' AND summary->>'source' = 'b'"); n != 1 {
		t.Errorf("%d dropped records, want 1: all are of one service", n)
	}
	f, err := sources.Read(t.Context(), w.conn)
	if err != nil {
		t.Fatal(err)
	}
	b, day := f.Sources[1], time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	drops := f.Drops[b.ID]
	if diff := cmp.Diff([]sources.Day{{Date: day, Listed: 60, Dropped: 10}}, f.Days[b.ID]); diff != "" ||
		len(drops) != 10 || drops[0].Endpoint != "GET /r40" || len(f.Drops) != 1 {
		t.Errorf("dropped %v (-want +got)\n%s", f.Drops, diff)
	}
	if n := len(b.Pulls); n != 3 || b.Pulls[2].Status == nil || *b.Pulls[2].Status != http.StatusOK {
		t.Errorf("%d pulls, the newest %+v; want 3 with status 200", n, b.Last)
	}
	w.set("b", append(numbers(40, 100), 300)) // they come back, with a new one
	w.pull(t, accepted("b", 61, sources.Counts{New: 1, Merged: 10, Records: 2}, 1, 0))
	var summary string
	if err := w.conn.QueryRow(t.Context(), `SELECT summary - 'answer' FROM changes WHERE type = 'listed'
		ORDER BY id DESC LIMIT 1`).Scan(&summary); err != nil {
		t.Fatal(err)
	}
	if want := `{"since": "2026-11-01T10:11:00.000Z", "listed": 1, "source": "b", "dropped": 0, ` +
		`"endpoint": "GET /r300", "listed_endpoints": ["GET /r300"], "dropped_endpoints": []}`; summary != want {
		t.Errorf("summary of the newest record %s, want %s", summary, want)
	}
	if n := w.count(t, "endpoints"); n != 181 {
		t.Errorf("%d endpoints, want 181: a source removes none", n)
	}
}

// TestAliases checks that sources may name one host with and without www., with any scheme and port: its resources are
// one, below one service, and a second pull changes nothing.
func TestAliases(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": {}, "b": {}, "c": {}}, pull.TakeAll)
	w.urls = map[string][]string{
		"a": {"https://www.seller.dev/quote"},
		"b": {"http://seller.dev:80/quote", "https://seller.dev/search", "https://www.buyer.dev/x",
			"https://buyer.dev/y"},
		"c": {"https://WWW.seller.dev/search?q=1", "https://www.api.seller.dev/quote"}, // another host
	}
	w.pull(t, accepted("a", 1, sources.Counts{New: 1}, 1, 0))
	w.pull(t, accepted("b", 4, sources.Counts{New: 3, Merged: 1}, 1, 1))
	w.pull(t, accepted("c", 2, sources.Counts{New: 1, Merged: 1}, 1, 0))
	for name, rows := range map[string]int{"a": 1, "b": 4, "c": 2} {
		w.pull(t, accepted(name, rows, sources.Counts{}, 0, 0))
	}
	rows, err := w.conn.Query(t.Context(), `SELECT base_url || ' ' || string_agg(path, ' ' ORDER BY path) FROM services
		JOIN endpoints ON service_id = services.id GROUP BY base_url ORDER BY base_url`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"https://buyer.dev /x /y", "https://www.api.seller.dev /quote",
		"https://www.seller.dev /quote /search"}, got); diff != "" {
		t.Errorf("services with endpoints (-want +got)\n%s", diff)
	}
	f, err := sources.Read(t.Context(), w.conn)
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, list := range f.ListedBy {
		for _, l := range list {
			by = append(by, fmt.Sprintf("%s %d", l.Source, l.Resources))
		}
	}
	slices.Sort(by)
	if diff := cmp.Diff([]string{"a 1", "b 2", "b 2", "c 1", "c 1"}, by); diff != "" {
		t.Errorf("who lists how many resources of a service (-want +got)\n%s", diff)
	}
}

// TestSourceThatAlternates checks that resources that a source dropped are deleted after 90 days, and that no change
// record is lost. So a source that drops and lists the same ones for ever takes limited space.
func TestSourceThatAlternates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": numbers(0, 10)}, pull.TakeAll)
	w.pull(t, accepted("a", 10, sources.Counts{New: 10}, 1, 0))
	for range 60 { // of four days
		w.now = w.now.Add(2 * 24 * time.Hour)
		w.set("a", numbers(0, 8))
		w.pull(t, accepted("a", 8, sources.Counts{Dropped: 2, Records: 1}, 0, 0))
		w.now = w.now.Add(2 * 24 * time.Hour)
		w.set("a", numbers(0, 10))
		if _, err := w.puller.Pull(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.count(t, "source_resources"); n < 10+2*22 || n > 10+2*23 {
		t.Errorf("%d rows are stored after 240 days, want those of 90 days: 54 to 56", n)
	}
	if n := w.count(t, "changes WHERE type = 'dropped'"); n != 60 {
		t.Errorf("%d dropped records, want 60", n)
	}
	f, err := sources.Read(t.Context(), w.conn)
	if err != nil {
		t.Fatal(err)
	}
	left := 0 // the deleted rows counted as listed and as dropped
	for _, d := range f.Days[f.Sources[0].ID] {
		left += d.Listed - d.Dropped
	}
	if left != 10 {
		t.Errorf("the days sum up to %d resources, want 10", left)
	}
}

// TestMovedService checks that a row of a host that a service moved to is an endpoint of that service. The source is in
// the service's listed_by, its changes are recorded there, and a second pull changes nothing.
func TestMovedService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": {}, "b": {}}, pull.TakeAll)
	w.urls = map[string][]string{"a": {"https://old.seller.dev/x"}, "b": {"https://buyer.dev/x"}}
	w.pull(t, accepted("a", 1, sources.Counts{New: 1}, 1, 0))
	w.pull(t, accepted("b", 1, sources.Counts{New: 1}, 1, 0))
	if _, err := w.conn.Exec(t.Context(), `
		INSERT INTO envelopes (endpoint_id, received_at, method, url, status_code, header, body, truncated,
			tls_verified, sha256, exchange)
		SELECT id, now(), 'GET', 'https://new.seller.dev/x', 402, '{}', '', false, true, '',
			'{"moved_host": "new.seller.dev"}'
		FROM endpoints WHERE service_id = (SELECT id FROM services WHERE base_url = 'https://old.seller.dev')`,
	); err != nil {
		t.Fatal(err)
	}
	w.urls["b"] = []string{"https://buyer.dev/x", "https://new.seller.dev/x", "https://new.seller.dev/y"}
	w.pull(t, accepted("b", 3, sources.Counts{New: 2, Records: 1}, 0, 1))
	w.pull(t, accepted("b", 3, sources.Counts{}, 0, 0))
	w.urls["b"] = w.urls["b"][:2]
	w.pull(t, accepted("b", 2, sources.Counts{Dropped: 1, Records: 1}, 0, 0))
	want := []string{"old-seller-dev dropped GET /y", "old-seller-dev listed GET /x"}
	got := w.rows(t, `SELECT slug || ' ' || type || ' ' || (summary->>'endpoint') FROM changes
		JOIN services s ON s.id = service_id ORDER BY 1`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("change records (-want +got)\n%s", diff)
	}
	f, err := sources.Read(t.Context(), w.conn)
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, list := range f.ListedBy {
		for _, l := range list {
			by = append(by, fmt.Sprintf("%s %d", l.Source, l.Resources))
		}
	}
	slices.Sort(by)
	if diff := cmp.Diff([]string{"a 1", "b 1", "b 1"}, by); diff != "" {
		t.Errorf("who lists how many resources of a service (-want +got)\n%s", diff)
	}
}

// TestSourceThatIsDown checks that it drops nothing, is asked again later and later, and goes on where it was.
func TestSourceThatIsDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": numbers(0, 30)}, pull.TakeAll)
	w.pull(t, accepted("a", 30, sources.Counts{New: 30}, 3, 0))
	for i, pause := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute} {
		w.status["a"] = []int{http.StatusInternalServerError, http.StatusNotFound, http.StatusOK + 4}[i]
		began := w.now
		w.pull(t, pull.Report{Source: "a", Outcome: sources.Failed, Counts: sources.Counts{Resources: 30},
			Error: fmt.Sprintf("page 1: the answer is %d", w.status["a"])})
		state, err := w.db.Sources.Find(t.Context(), "a")
		if s := state.Last.Status; s == nil || *s != w.status["a"] {
			t.Errorf("after failure %d: status %v is stored, want %d", i+1, s, w.status["a"])
		}
		if err != nil || !state.DueAt.Equal(began.Add(pause)) || state.Listed != 30 {
			t.Errorf("after failure %d: due at %s, %d listed, error %v; want due at %s, 30 listed", i+1, state.DueAt,
				state.Listed, err, began.Add(pause))
		}
	}
	w.set("a", numbers(0, 29))
	w.pull(t, accepted("a", 29, sources.Counts{Dropped: 1, Records: 1}, 0, 0))
}

// TestShrunkAnswerIsHeldBack checks that it counts only once the operator or a larger answer confirms it.
func TestShrunkAnswerIsHeldBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": numbers(0, 50)}, pull.TakeAll)
	w.pull(t, accepted("a", 50, sources.Counts{New: 50}, 5, 0))
	held := pull.Report{Source: "a", Outcome: sources.Held, Rows: 24, Counts: sources.Counts{Resources: 50}}
	w.set("a", numbers(0, 24))
	w.pull(t, held)
	w.pull(t, held)
	if n := w.count(t, "source_resources WHERE until IS NOT NULL"); n != 0 {
		t.Errorf("%d resources were dropped, want 0", n)
	}
	w.set("a", numbers(0, 25)) // half is believed
	w.pull(t, accepted("a", 25, sources.Counts{Dropped: 25, Records: 3}, 0, 0))
	state, err := w.db.Sources.Find(t.Context(), "a")
	if err != nil || state.Held != nil {
		t.Fatalf("held back %v, error %v; want nothing held back", state.Held, err)
	}
	if _, err := w.db.Sources.AcceptHeld(t.Context(), state, "ann", w.now); !errors.Is(err, sources.ErrNotHeld) {
		t.Errorf("accept without an answer held back: %v, want ErrNotHeld", err)
	}

	w.set("a", []int{})
	w.pull(t, pull.Report{Source: "a", Outcome: sources.Held, Counts: sources.Counts{Resources: 25}})
	if state, err = w.db.Sources.Find(t.Context(), "a"); err != nil || state.Held == nil {
		t.Fatalf("held back %v, error %v; want an answer held back", state.Held, err)
	}
	got, err := w.db.Sources.AcceptHeld(t.Context(), state, "ann", w.now)
	if diff := cmp.Diff(sources.Counts{Dropped: 25, Records: 3}, got); err != nil || diff != "" {
		t.Errorf("accept: error %v (-want +got)\n%s", err, diff)
	}
	if n := w.count(t, "source_staged"); n != 0 {
		t.Errorf("%d staged resources, want 0", n)
	}
}

// TestAlternatingAnswers checks that an answer that replaces more than half of what a source listed is held back,
// though it has as many resources, and however often it comes. An answer that replaces a third is believed. It adds one
// change record to a service, and a limited number in all.
func TestAlternatingAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": {}}, pull.TakeNone)
	if err := w.db.AddListings(t.Context(), []postgres.Listing{{Slug: "victim", Name: "Victim", Description: "d",
		BaseURL: "https://victim.dev", Category: "AI", Source: "imported:file", CreatedAt: w.now,
		Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/x"}}}}); err != nil {
		t.Fatal(err)
	}
	const rows = 2000
	set := func(first int) {
		w.urls = map[string][]string{}
		for n := range rows {
			w.urls["a"] = append(w.urls["a"], fmt.Sprintf("https://victim.dev/r%05d", first+n))
		}
	}
	set(0)
	w.pull(t, accepted("a", rows, sources.Counts{New: rows}, 0, 0))
	for range 3 {
		set(rows)
		w.pull(t, pull.Report{Source: "a", Outcome: sources.Held, Rows: rows, Counts: sources.Counts{Resources: rows}})
		state, err := w.db.Sources.Find(t.Context(), "a")
		if err != nil || state.Held == nil || state.Held.Missing == nil || *state.Held.Missing != rows {
			t.Fatalf("held back %+v, error %v; want an answer that lacks %d resources", state.Held, err, rows)
		}
		set(0)
		w.pull(t, accepted("a", rows, sources.Counts{}, 0, 0))
	}
	if n := w.count(t, "changes"); n != 0 {
		t.Errorf("%d change records of answers that were held back, want 0", n)
	}

	const third = rows / 3
	set(third)
	w.pull(t, accepted("a", rows, sources.Counts{New: third, Dropped: third, Records: 1}, 0, 0))
	var summary site.SourceSummary
	var kind string
	if err := w.conn.QueryRow(t.Context(), `SELECT type, summary FROM changes`).Scan(&kind, &summary); err != nil {
		t.Fatal(err)
	}
	if kind != site.SourceListed || summary.Listed != third || summary.Dropped != third ||
		len(summary.ListedEndpoints) != 10 || len(summary.DroppedEndpoints) != 10 ||
		summary.DroppedEndpoints[0] != "GET /r00000" || summary.Endpoint != fmt.Sprintf("GET /r%05d", rows) {
		t.Errorf("record %s %+v, want %d listed and dropped, ten of each named", kind, summary, third)
	}
}

// TestRecordsOfOnePull checks that one pull adds at most 1,000 change records.
func TestRecordsOfOnePull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": numbers(0, 10_500)}, pull.TakeAll)
	w.pull(t, accepted("a", 10_500, sources.Counts{New: 10_500}, 1050, 0))
	var rest []int
	for n := range 10_500 {
		if n%10 != 0 {
			rest = append(rest, n)
		}
	}
	w.set("a", rest)
	w.pull(t, accepted("a", len(rest), sources.Counts{Dropped: 1050, Records: 1000}, 0, 0))
}

// TestKillBetweenPages checks that a pull that died between two pages leaves nothing, and that the next one is whole.
func TestKillBetweenPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": numbers(0, 350)}, pull.TakeAll)
	ctx, kill := context.WithCancel(t.Context())
	w.page = func(_ string, offset int) {
		if offset == 200 {
			kill()
		}
	}
	if _, err := w.puller.Pull(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Fatalf("killed pull: %v, want canceled", err)
	}
	if n := w.count(t, "source_resources") + w.count(t, "services"); n != 0 {
		t.Errorf("%d resources and services after a killed pull, want 0", n)
	}
	w.mu.Lock()
	w.page = nil
	w.mu.Unlock()
	if err := w.puller.PullDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, "source_resources"); n != 350 {
		t.Errorf("%d resources, want 350", n)
	}
	if n := w.count(t, "source_pulls"); n != 1 {
		t.Errorf("%d pulls, want 1: the killed one is no pull", n)
	}
}

// TestTwoProcesses checks that one of two processes pulls a source, and that two sources that name the same new
// services list each once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string][]int{"a": numbers(0, 200), "b": numbers(0, 200)}, pull.TakeAll)
	began, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.page = func(name string, _ int) {
		if name == "a" {
			once.Do(func() { close(began) })
			<-goOn
		}
	}
	first := make(chan error, 1)
	go func() { first <- w.puller.PullDue(t.Context()) }()
	<-began
	other := w.new()
	if _, err := other.Pull(t.Context(), "a"); !errors.Is(err, pull.ErrBusy) {
		t.Errorf("second process: %v, want ErrBusy", err)
	}
	second := make(chan error, 1)
	go func() { second <- other.PullDue(t.Context()) }()
	close(goOn)
	if err := errors.Join(<-first, <-second); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, "services"); n != 20 {
		t.Errorf("%d services, want 20", n)
	}
	if n := w.count(t, "endpoints"); n != 200 {
		t.Errorf("%d endpoints, want 200", n)
	}
	if n := w.count(t, "source_resources WHERE until IS NULL"); n != 400 {
		t.Errorf("%d listed resources, want 400", n)
	}
}
