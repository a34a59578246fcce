package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

func open(t *testing.T) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), template.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

var start = time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)

func listing(slug string) postgres.Listing {
	return postgres.Listing{
		Slug: slug, Name: slug, Description: "d", BaseURL: "https://" + slug + ".test", Category: "AI",
		Source:    "imported:file",
		CreatedAt: start, Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/a"}, {Path: "/b"}},
	}
}

// acme lists one service, and takes it for a visit at the start.
func acme(t *testing.T, db *postgres.DB) []postgres.DueService {
	t.Helper()
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("acme")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(t.Context(), "", start, time.Minute, 1)
	if err != nil {
		t.Fatal(err)
	}
	return due
}

func visit(service postgres.DueService, at time.Time) checks.Visit {
	online, ms := "online", 120
	return checks.Visit{
		Check: checks.Check{
			ServiceID: service.ID, CheckedAt: at, ID: uuid.NewSHA1(uuid.Nil, []byte(service.Slug+at.String())),
			Counted: true,
			Status:  &online, IsUp: true, StatusCode: new(402), ResponseTimeMS: &ms, EndpointsFound: 1,
		},
		NextCheckAt: at.Add(15 * time.Minute),
	}
}

func TestAddListingsAllOrNone(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("acme")}); err != nil {
		t.Fatal(err)
	}
	err := db.AddListings(t.Context(), []postgres.Listing{listing("bolt"), listing("acme")})
	if !errors.Is(err, postgres.ErrListed) {
		t.Errorf("listing acme twice = %v, want ErrListed", err)
	}
	all, err := db.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var slugs []string
	for _, s := range all {
		slugs = append(slugs, s.Slug)
	}
	if diff := cmp.Diff([]string{"acme"}, slugs); diff != "" {
		t.Errorf("listed services (-want +got):\n%s", diff)
	}
}

func TestDueLeases(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("acme"), listing("bolt"),
		listing("cove")}); err != nil {
		t.Fatal(err)
	}
	take := func(at time.Time, limit int) (slugs []string) {
		due, err := db.TakeServices(t.Context(), "", at, time.Minute, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range due {
			slugs = append(slugs, fmt.Sprintf("%s %d", d.Slug, len(d.Endpoints)))
		}
		return slugs
	}
	got := [][]string{take(start, 2), take(start, 2), take(start, 2), take(start.Add(time.Minute), 5)}
	want := [][]string{{"acme 2", "bolt 2"}, {"cove 2"}, nil, {"acme 2", "bolt 2", "cove 2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("services taken (-want +got):\n%s", diff)
	}
}

// TestLogNumbers records 250 quarter-hourly checks of a service and compares every block and window of its log with the
// plain list.
func TestLogNumbers(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	if err := db.AddListings(ctx, []postgres.Listing{listing("acme"), listing("bolt")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", start, time.Minute, 2)
	if err != nil {
		t.Fatal(err)
	}
	const n = 250
	var visits []checks.Visit
	for i := range n {
		at := start.Add(time.Duration(i) * 15 * time.Minute)
		visits = append(visits, visit(due[0], at), visit(due[1], at.Add(time.Second)))
	}
	if err := db.RecordVisits(ctx, visits); err != nil {
		t.Fatal(err)
	}
	if err := db.RecordVisits(ctx, visits[:40]); err != nil {
		t.Fatalf("telling visits twice: %v", err)
	}
	now := visits[len(visits)-1].Check.CheckedAt.Add(time.Minute)
	if err := db.SealLogs(ctx, now, time.Second); err != nil {
		t.Fatal(err)
	}
	var facts *postgres.Facts
	packed := map[int64]map[int64][]checks.Check{}
	err = db.Read(ctx, func(r *postgres.Reader) error {
		if facts, err = r.Facts(ctx, now, time.Second); err != nil {
			return err
		}
		hours, err := r.PackHours(ctx)
		if err != nil {
			return err
		}
		for _, h := range hours {
			err := r.Pack(ctx, h, func(b checks.PackBlock) error {
				if packed[b.ServiceID] == nil {
					packed[b.ServiceID] = map[int64][]checks.Check{}
				}
				packed[b.ServiceID][b.Block] = b.Rows
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		id   int64
		log  checks.LogFacts
		keep func(i int) bool
	}{
		{"all services", 0, facts.Log, func(int) bool { return true }},
		{"acme", due[0].ID, facts.Services[0].Log, func(i int) bool { return i%2 == 0 }},
	} {
		var want []uuid.UUID
		for i, v := range visits {
			if c.keep(i) {
				want = append(want, v.Check.ID)
			}
		}
		if int64(len(want)) != c.log.Next || c.log.First != 0 {
			t.Errorf("%s: log has rows %d to %d, want 0 to %d", c.name, c.log.First, c.log.Next, len(want))
		}
		got := make([]uuid.UUID, len(want))
		for _, b := range c.log.Blocks {
			for i, row := range packed[c.id][b.Block] {
				got[b.Block*100+int64(i)] = row.ID
			}
		}
		for i, row := range c.log.Tail {
			got[c.log.Next-int64(len(c.log.Tail))+int64(i)] = row.ID
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: rows of packs and tail (-want +got):\n%s", c.name, diff)
		}
	}
	var back *postgres.Facts
	err = db.Read(ctx, func(r *postgres.Reader) error {
		// a clock was put back: what is sealed keeps its numbers
		back, err = r.Facts(ctx, now.Add(-3*time.Hour), time.Second)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range back.Services[0].Log.Tail {
		number := back.Services[0].Log.Next - int64(len(back.Services[0].Log.Tail)) + int64(i)
		if want := visits[2*number].Check.ID; row.ID != want {
			t.Errorf("before the seal: row %d is %s, want %s", number, row.ID, want)
		}
	}
	acme := facts.Services[0]
	if acme.TotalChecks != n {
		t.Errorf("total checks = %d, want %d", acme.TotalChecks, n)
	}
	sum := 0
	for _, d := range acme.Days {
		sum += d.Up
	}
	if sum != n {
		t.Errorf("daily roll-ups hold %d, want %d", sum, n)
	}
}

// TestRetainUnderAWrongClock checks that the checks of site.LogDays days stay, whatever the clock and the times of
// checks.
func TestRetainUnderAWrongClock(t *testing.T) {
	t.Parallel()
	const days = 40
	db, m := openMemory(t)
	ctx := t.Context()
	due := acme(t, db)
	visits := func(days ...int) {
		t.Helper()
		var list []checks.Visit
		for _, day := range days {
			list = append(list, visit(due[0], start.AddDate(0, 0, day)),
				visit(due[0], start.AddDate(0, 0, day).Add(time.Hour)))
		}
		if err := db.RecordVisits(ctx, list); err != nil {
			t.Fatal(err)
		}
	}
	for day := range days {
		visits(day)
	}
	for _, tt := range []struct {
		about   string
		visited []int // days after the start
		now     int   // likewise
		checks  string
	}{
		{"a year ahead, and nothing is seen", nil, days + 365, "31 from 2026-11-10"},
		{"a year ahead, and it is again an hour later", nil, days + 365, "31 from 2026-11-10"},
		{"a year ahead, and services are visited", []int{days + 365}, days + 365, "31 from 2026-11-11"},
		{"set right: what is seen now counts at the end of what was numbered", []int{days}, days, "31 from 2026-11-11"},
	} {
		visits(tt.visited...)
		now := start.AddDate(0, 0, tt.now).Add(2 * time.Hour)
		if err := db.SealLogs(ctx, now, 0); err != nil {
			t.Fatal(err)
		}
		if err := db.Retain(ctx, now); err != nil {
			t.Fatal(err)
		}
		if got := m(
			`SELECT count(DISTINCT checked_at::date) || ' from ' || min(checked_at)::date FROM checks`); fmt.Sprint(
			got) != "["+tt.checks+"]" {
			t.Errorf("%s: days of checks %s, want %s", tt.about, got, tt.checks)
		}
	}
}

func TestRetain(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx := t.Context()
	due := acme(t, db)
	var visits []checks.Visit
	for i := range 40 * 24 {
		visits = append(visits, visit(due[0], start.Add(time.Duration(i)*time.Hour)))
	}
	if err := db.RecordVisits(ctx, visits); err != nil {
		t.Fatal(err)
	}
	now := start.Add(40 * 24 * time.Hour)
	if err := db.SealLogs(ctx, now, time.Minute); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.Retain(ctx, now); err != nil {
			t.Fatal(err)
		}
	}
	var facts *postgres.Facts
	if err := db.Read(ctx, func(r *postgres.Reader) (err error) {
		facts, err = r.Facts(ctx, now, time.Minute)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	written := 0
	for _, v := range visits {
		if !v.Check.CheckedAt.Before(now.Truncate(24*time.Hour).AddDate(0, 0, -30)) {
			written++
		}
	}
	log := facts.Services[0].Log
	got := []int64{log.First, log.Next, facts.Services[0].TotalChecks, int64(log.Blocks[0].Block)}
	want := []int64{960 - int64(written), 960, 960, log.First / 100}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first, next, total, first block (-want +got):\n%s", diff)
	}
}
