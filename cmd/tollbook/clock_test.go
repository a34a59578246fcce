package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/build"
	"tollbook/cmd/tollbook/run"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// step is the size of a clock step. It is not quite an hour, so that no two times are equal to the microsecond.
const step = time.Hour - 7*time.Second

// TestClockSteps checks a directory whose clock is set an hour forward, back, or forward and back, across midnight too.
// It continues to visit every quarter of an hour, builds and prunes. No check or change is lost or stored twice, and
// each has a number. No snapshot is older than its facts or the one before.
func TestClockSteps(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	noon, midnight := time.Date(2026, 11, 20, 12, 20, 0, 0, time.UTC), time.Date(2026, 11, 20, 23, 20, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		begin time.Time // start of the hour before the first step
		steps []time.Duration
	}{
		{"forth", noon, []time.Duration{step}},
		{"back", noon, []time.Duration{-step}},
		{"forth and back", noon, []time.Duration{step, -step}},
		{"back over a day's end", midnight, []time.Duration{-step}},
		{"forth over a day's end and back", midnight.Add(-time.Hour), []time.Duration{step, -step}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newSteppedDirectory(t, tt.begin)
			d.hour(t)
			for _, by := range tt.steps {
				d.step(t, by)
				d.hour(t)
			}
			d.hour(t)
			d.holds(t)
		})
	}
}

// steppedDirectory is a directory whose programs use a clock that the test sets.
type steppedDirectory struct {
	*postgres.DB
	dsn     string
	now     time.Time
	crawler *crawl.Crawler
	folder  *output.Folder
	data    string
	visits  int
	built   string // built_at of the current snapshot
}

// steppedServices is the number of services of a stepped directory.
const steppedServices = 3

func newSteppedDirectory(t *testing.T, now time.Time) *steppedDirectory {
	t.Helper()
	var requests atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprintf(w,
			`{"x402Version":1,"accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"%d","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"resource":"http://x","description":"d","extra":{"name":"USD Coin","version":"2"}}]}`, 1000+requests.Add(1))
	}))
	t.Cleanup(shop.Close)
	dsn := postgrestest.NewDatabase(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	data := t.TempDir()
	d := &steppedDirectory{DB: db, dsn: dsn, now: now, data: data}
	if d.folder, err = output.OpenFolder(filepath.Join(data, "public")); err != nil {
		t.Fatal(err)
	}
	var listings []postgres.Listing
	for i := range steppedServices {
		slug := "s" + strconv.Itoa(i)
		listings = append(listings, postgres.Listing{
			Slug: slug, Name: slug, Description: "d", BaseURL: fmt.Sprintf("http://%s/%s", shop.Listener.Addr(), slug),
			Category: "AI", Source: "imported:file",
			CreatedAt: now, Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/x"}},
		})
	}
	if err := db.AddListings(t.Context(), listings); err != nil {
		t.Fatal(err)
	}
	d.crawler = crawl.New(db, crawl.Options{
		Now: func() time.Time { return d.now }, Rand: func() float64 { return 0.5 }, HostGap: time.Millisecond,
		Hourly: -1, Logger: slog.New(slog.DiscardHandler),
	}, probe.Options{Guard: &probe.Guard{AllowPrivate: []string{shop.Listener.Addr().String()}}})
	t.Cleanup(d.crawler.Close)
	return d
}

// step sets all clocks. The database's clock can't be set, so the test changes the times that the database wrote.
func (d *steppedDirectory) step(t *testing.T, by time.Duration) {
	t.Helper()
	d.now = d.now.Add(by)
	query(t, d.dsn,
		fmt.Sprintf(
			`UPDATE hosts SET next_at = next_at - interval '%[1]d s', refilled_at = refilled_at - interval `+
				`'%[1]d s', held_until = held_until - interval '%[1]d s'`, int(by.Seconds())))
	d.round(t, map[bool]int{true: steppedServices}[by > 0]) // after a step back, no service is due yet
	d.build(t)
}

// round visits the services that are due.
func (d *steppedDirectory) round(t *testing.T, want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := d.crawler.Round(ctx)
	if err != nil {
		t.Fatalf("%s: %v", d.now.Format(time.TimeOnly), err)
	}
	if r.Visits != want {
		t.Errorf("%s: %d visits, want %d", d.now.Format(time.TimeOnly), r.Visits, want)
	}
	d.visits += r.Visits
}

// build builds a snapshot and deletes old data.
func (d *steppedDirectory) build(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := build.Run(ctx, d.DB, d.folder, build.Options{Now: d.now, Every: 15 * time.Minute,
		LogDelay: run.LogDelay, Site: render.Site{BaseURL: "https://tollbook.example"}})
	if err != nil {
		t.Fatalf("%s: %v", d.now.Format(time.TimeOnly), err)
	}
	c, err := d.folder.Checkpoint()
	if err != nil || c.Snapshot != b.Snapshot {
		t.Errorf("%s: %s is current, want %s, which was built: %v", d.now.Format(time.TimeOnly), c.Snapshot, b.Snapshot,
			err)
	}
	newest := query(t, d.dsn, `SELECT to_char(greatest(max(last_checked_at), max(created_at)) AT TIME ZONE 'UTC',
		'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM service_states JOIN services ON id = service_id`)
	if c.BuiltAt < newest || c.BuiltAt < d.built {
		t.Errorf("%s: built_at is %s, want no earlier than the newest fact, %s, and the snapshot before, %s",
			d.now.Format(time.TimeOnly), c.BuiltAt, newest, d.built)
	}
	d.built = c.BuiltAt
	if _, err := run.Prune(d.folder, d.now, b.Needed); err != nil {
		t.Fatal(err)
	}
}

// hour advances the clock by an hour and builds.
func (d *steppedDirectory) hour(t *testing.T) {
	t.Helper()
	for range 4 {
		d.now = d.now.Add(15 * time.Minute)
		d.round(t, steppedServices)
	}
	d.build(t)
	ran(t, nil, "verify", filepath.Join(d.data, "public"))
}

// holds checks the invariants at the end.
func (d *steppedDirectory) holds(t *testing.T) {
	t.Helper()
	if err := d.SealLogs(t.Context(), d.now.Add(2*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	visits := strconv.Itoa(d.visits)
	for _, tt := range []struct{ what, sql, want string }{
		{"checks", `SELECT count(*)::text FROM checks`, visits},
		{"checks rolled up by hour", `SELECT sum(checks)::text FROM check_hours`, visits},
		{"checks rolled up by day", `SELECT sum(checks)::text FROM check_days`, visits},
		{"numbers of the log of checks", `SELECT rows::text FROM log_positions WHERE service_id = 0`, visits},
		{"numbers of the services' logs", `SELECT sum(rows)::text FROM log_positions WHERE service_id <> 0`, visits},
		{"sets of prices", `SELECT count(*)::text FROM prices`, visits},
		{"endpoints with two prices at once",
			`SELECT count(*)::text FROM (SELECT FROM prices WHERE until IS NULL GROUP BY endpoint_id HAVING ` +
				`count(*) <> 1) AS p`, "0"},
		{"changes without a number", `SELECT count(*)::text FROM changes WHERE number IS NULL`, "0"},
		{"changes beyond those that have numbers",
			`SELECT (count(*) - (SELECT rows FROM change_positions WHERE service_id = 0 AND type = ''))::text ` +
				`FROM changes`, "0"},
		{"services that are put off",
			`SELECT count(*)::text FROM service_states WHERE next_check_at > last_checked_at + interval '15 minutes'`,
			"0"},
	} {
		if got := query(t, d.dsn, tt.sql); got != tt.want {
			t.Errorf("%s %s, want %s", got, tt.what, tt.want)
		}
	}
}
