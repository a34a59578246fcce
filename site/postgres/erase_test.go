package postgres_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

// openNamed is open, with the database's address.
func openNamed(t *testing.T) (*postgres.DB, string) {
	t.Helper()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, dsn
}

// numbers is the one column of a query.
func numbers(t *testing.T, dsn, query string) []int64 {
	t.Helper()
	conn := postgrestest.Connect(t, dsn)
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestVisitOfErasedService checks that results for a service that was erased meanwhile are dropped, and that other
// results of the same batch are stored.
func TestVisitOfErasedService(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	ctx := t.Context()
	if err := db.AddListings(ctx, []postgres.Listing{listing("acme"), listing("bolt"), listing("cask")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", start, time.Minute, 3)
	if err != nil {
		t.Fatal(err)
	}
	visits := make([]checks.Visit, len(due))
	for i, s := range due {
		visits[i] = visit(s, start)
		visits[i].Changes = []checks.Change{record(s.ID, site.PriceChanged, start, i)}
	}
	if err := db.EraseService(ctx, due[1].Slug, "anna", "", start); err != nil {
		t.Fatal(err)
	}
	if err := db.RecordVisits(ctx, visits); err != nil {
		t.Fatal(err)
	}
	if err := db.RecordVisits(ctx, visits[1:2]); err != nil { // nothing else is told
		t.Fatal(err)
	}
	look := postgres.SiteVisit{
		ServiceID: due[1].ID, Slug: due[1].Slug, At: start, NextAt: start.Add(time.Hour),
		Add: []postgres.ListedEndpoint{{Path: "/new"}},
	}
	if err := db.RecordSite(ctx, look); err != nil {
		t.Fatal(err)
	}
	if err := db.SealLogs(ctx, start.Add(2*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	want := []int64{due[0].ID, due[2].ID}
	for _, table := range []string{"checks", "check_hours", "changes"} {
		if diff := cmp.Diff(want, numbers(t, dsn, "SELECT service_id FROM "+table+" ORDER BY 1")); diff != "" {
			t.Errorf("services in %s (-want +got):\n%s", table, diff)
		}
	}
}

// TestEraseAmongVisits checks that an erasure during visits happens before or after each batch, and that none fails.
func TestEraseAmongVisits(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	ctx := t.Context()
	const n = 24
	var list []postgres.Listing
	for i := range n {
		list = append(list, listing("s"+string(rune('a'+i))))
	}
	if err := db.AddListings(ctx, list); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", start, time.Minute, n)
	if err != nil {
		t.Fatal(err)
	}
	erased := make(chan error, 1)
	go func() {
		for i := 0; i < n; i += 2 {
			if err := db.EraseService(ctx, due[i].Slug, "anna", "", start); err != nil {
				erased <- err
				return
			}
		}
		erased <- nil
	}()
	const rounds = 20
	for round := range rounds {
		visits := make([]checks.Visit, n)
		for i, s := range due {
			visits[i] = visit(s, start.Add(time.Duration(round)*time.Minute))
		}
		if err := db.RecordVisits(ctx, visits); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-erased; err != nil {
		t.Fatal(err)
	}
	if err := db.SealLogs(ctx, start.Add(2*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, dsn, `SELECT sum(checks)::bigint FROM check_hours`); got[0] != n/2*rounds {
		t.Errorf("%d checks of services that stayed, want %d", got[0], n/2*rounds)
	}
}

// TestEraseErrors checks that the error messages of a service are erased in open and sealed hours, and that those of
// other services stay.
func TestEraseErrors(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	ctx := t.Context()
	if err := db.AddListings(ctx, []postgres.Listing{listing("acme"), listing("bolt")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", start, time.Minute, 2)
	if err != nil {
		t.Fatal(err)
	}
	var visits []checks.Visit
	for hour := range 3 {
		for i, s := range due {
			for n, message := range []string{"of both", "of " + s.Slug} {
				v := visit(s, start.Add(time.Duration(hour)*time.Hour+time.Duration(2*i+n)*time.Minute))
				v.Check.ErrorMessage = &message
				visits = append(visits, v)
			}
		}
	}
	if err := db.RecordVisits(ctx, visits); err != nil {
		t.Fatal(err)
	}
	if err := db.SealLogs(ctx, start.Add(time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	if err := db.EraseService(ctx, "bolt", "anna", "", start); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	want := []string{"1 of acme", "1 of acme", "1 of acme", "1 of both", "1 of both", "1 of both", "2", "2", "2", "2",
		"2", "2"}
	if diff := cmp.Diff(want,
		texts(t, conn, `SELECT service_id || coalesce(' ' || error_message, '') FROM checks ORDER BY 1`)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
