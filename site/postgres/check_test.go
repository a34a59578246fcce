package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// texts is the one column of text of a query.
func texts(t *testing.T, conn *pgx.Conn, query string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestRecordVisitsStoresChecks compares stored checks with a plain INSERT of the same values, at both limits of every
// type.
func TestRecordVisitsStoresChecks(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	ctx := t.Context()
	due := acme(t, db)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx,
		`CREATE TEMP TABLE inserted (LIKE checks); ALTER TABLE inserted DROP number, DROP service_number`); err != nil {
		t.Fatal(err)
	}
	var visits []checks.Visit
	for i, change := range []func(*checks.Check){
		func(*checks.Check) {},
		func(c *checks.Check) {
			c.Counted, c.Status, c.StatusCode, c.ResponseTimeMS, c.UncountedReason = false, nil, nil, nil, new("auth")
		},
		func(c *checks.Check) { c.Status, c.ErrorMessage, c.IsUp = new("offline"), new(""), false },
		func(c *checks.Check) {
			c.ErrorMessage = new("ändert \\N\t\"sich\",\n✓" + strings.Repeat("x", 100_000))
		}, // more than is sent at once
		func(c *checks.Check) { c.StatusCode, c.ResponseTimeMS = new(math.MaxInt32), new(0) },
		func(c *checks.Check) { c.StatusCode, c.EndpointsFound = new(math.MinInt32), math.MaxInt32 },
		func(c *checks.Check) { c.ConsecutiveFailures = math.MaxInt32; c.ID = uuid.Max },
		func(c *checks.Check) { c.CheckedAt = c.CheckedAt.Add(999_999_999 * time.Nanosecond) },
		func(c *checks.Check) { c.IntervalS = math.MaxInt32 },
		func(c *checks.Check) { c.Vantage = new("fra1") },
		func(c *checks.Check) { c.CheckedAt = c.CheckedAt.In(time.FixedZone("", 9*60*60)) },
		func(c *checks.Check) { c.CheckedAt = time.Date(1999, 12, 31, 23, 59, 59, 1000, time.UTC) },
	} {
		v := visit(due[0], start.Add(time.Duration(i)*time.Minute))
		change(&v.Check)
		visits = append(visits, v)
		c := v.Check
		if _, err := conn.Exec(ctx, `INSERT INTO inserted VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
			c.ServiceID, c.CheckedAt, c.ID, c.Counted,
			c.Status, c.IsUp, c.StatusCode, c.ResponseTimeMS, c.EndpointsFound, c.ErrorMessage,
			c.ConsecutiveFailures, c.UncountedReason, c.IntervalS, c.Vantage); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.RecordVisits(ctx, visits); err != nil {
		t.Fatal(err)
	}
	const stored = `
		SELECT (service_id, checked_at, id, counted, status, is_up, status_code, response_time_ms, endpoints_found,
			error_message, consecutive_failures, uncounted_reason, interval_s, vantage)::text
		FROM checks ORDER BY checked_at`
	want, got := texts(t, conn, `SELECT i::text FROM inserted i ORDER BY checked_at`), texts(t, conn, stored)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}

	// A value out of range is an error, and nothing of its batch is stored.
	late := []checks.Visit{visit(due[0], start.Add(time.Hour)), visit(due[0], start.Add(2*time.Hour))}
	late[1].Check.StatusCode = new(math.MaxInt32 + 1)
	if err := db.RecordVisits(ctx, late); err == nil || !strings.Contains(err.Error(), "2147483648") {
		t.Errorf("keeping status code 2147483648: %v", err)
	}
	if got := texts(t, conn, stored); len(got) != len(visits) {
		t.Errorf("%d checks are kept after a batch that is none, want %d", len(got), len(visits))
	}
}

// TestRollupsAreSumsOfChecks records checks in any order, in small and large batches, repeated, and twice in one batch.
// Each counts once, and hours and days are their sums.
func TestRollupsAreSumsOfChecks(t *testing.T) {
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
	r := rand.New(rand.NewPCG(4020, 402))
	var visits []checks.Visit
	const rounds = 200
	for i := range rounds {
		for _, s := range due {
			v := visit(s, start.Add(time.Duration(i)*15*time.Minute+time.Duration(r.IntN(1000))*time.Microsecond))
			v.Check.ResponseTimeMS = new(100 + r.IntN(3)*r.IntN(2000))
			switch r.IntN(10) {
			case 0:
				v.Check.Counted = false
			case 1:
				v.Check.IsUp, v.Check.ResponseTimeMS = false, nil
			}
			visits = append(visits, v)
		}
	}
	// The first of all starts the logs: what is before would get another time, and with it another place among the
	// sums.
	if err := db.RecordVisits(ctx, visits[:1]); err != nil {
		t.Fatal(err)
	}
	repeated := append(append([]checks.Visit{}, visits...), visits[:100]...)
	r.Shuffle(len(repeated), func(i, j int) { repeated[i], repeated[j] = repeated[j], repeated[i] })
	for len(repeated) > 0 {
		n := min(1+r.IntN(120), len(repeated))
		batch := repeated[:n]
		if r.IntN(2) == 0 {
			batch = append(append([]checks.Visit{}, batch...), batch[r.IntN(n)])
		}
		if err := db.RecordVisits(ctx, batch); err != nil {
			t.Fatal(err)
		}
		repeated = repeated[n:]
	}
	open := sumsRead(t, db)
	for i, s := range due {
		if diff := cmp.Diff(runsOf(s.ID, visits), open[i].Runs); diff != "" {
			t.Errorf("runs of failed checks (-want +got):\n%s", diff)
		}
	}
	for _, hours := range []int{7, 24, rounds} { // in parts, the last of which is over before the last check
		if err := db.SealLogs(ctx, start.Add(time.Duration(hours)*time.Hour), 0); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(open, sumsRead(t, db)); diff != "" {
			t.Errorf("what a reader sees, all hours open and %d hours sealed (-want +got):\n%s", hours, diff)
		}
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if got := texts(t, conn, `SELECT count(*) || ' of ' || count(DISTINCT id) FROM checks`); got[0] != fmt.Sprintf(
		"%d of %[1]d", len(visits)) {
		t.Errorf("%s checks are kept, want %d", got[0], len(visits))
	}
	const sums = `count(*), count(*) FILTER (WHERE counted), count(*) FILTER (WHERE counted AND is_up),
		count(response_time_ms) FILTER (WHERE counted), coalesce(sum(response_time_ms) FILTER (WHERE counted), 0)`
	end := start.Add(rounds * 15 * time.Minute)
	for _, period := range []struct {
		name, table, rows string
		to                time.Time
	}{
		{"hour", "check_hours", `(service_id, hour, checks, counted, up, timed, response_ms)`, end},
		{"day", "check_days", `(service_id, day::timestamptz, checks, counted, up, timed, response_ms)`, end},
	} {
		want := texts(t, conn, `SELECT (service_id, date_trunc($1, checked_at), `+sums+
			`)::text FROM checks WHERE checked_at < $2 GROUP BY service_id, date_trunc($1, checked_at) ORDER BY 1`,
			period.name, period.to)
		got := texts(t, conn, `SELECT `+period.rows+`::text FROM `+period.table+` ORDER BY 1`)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("sums by %s (-want +got):\n%s", period.name, diff)
		}
	}
	want := map[string][]int64{}
	for _, v := range visits {
		key := fmt.Sprintf("%d %s", v.Check.ServiceID, v.Check.CheckedAt.Format(time.DateOnly))
		if want[key] == nil {
			want[key] = make([]int64, site.HistogramBuckets)
		}
		if v.Check.Counted && v.Check.ResponseTimeMS != nil {
			want[key][site.HistogramBucket(*v.Check.ResponseTimeMS)]++
		}
	}
	if diff := cmp.Diff(want, histograms(t, conn)); diff != "" {
		t.Errorf("histograms of days (-want +got):\n%s", diff)
	}
}

// TestRecordVisitsInParallel records many visits in parts. Each is stored once, even if it is repeated, mixed with new
// ones, or twice in one list. Visits to an erased service are dropped.
func TestRecordVisitsInParallel(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	ctx := t.Context()
	names := []string{"acme", "bolt", "cask", "dome", "echo", "fern", "gone"}
	var listings []postgres.Listing
	for _, name := range names {
		listings = append(listings, listing(name))
	}
	if err := db.AddListings(ctx, listings); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", start, time.Minute, len(names))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.EraseService(ctx, "gone", "anna", "", start); err != nil {
		t.Fatal(err)
	}
	const rounds = 120
	var visits []checks.Visit
	for i := range rounds {
		for _, s := range due {
			visits = append(visits, visit(s, start.Add(time.Duration(i)*20*time.Minute)))
		}
	}
	r := rand.New(rand.NewPCG(4, 2))
	first := visits[:90*len(names)]
	// some known, some new, and some of these twice
	again := append(append([]checks.Visit{}, visits[10*len(names):]...), visits[100*len(names):]...)
	r.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
	for _, list := range [][]checks.Visit{first, again, visits} {
		if err := db.RecordVisits(ctx, list); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	checkStored := func(when string) {
		t.Helper()
		var want []string
		for _, s := range due {
			if s.Slug != "gone" {
				want = append(want, fmt.Sprintf("%d %d %d", s.ID, rounds, rounds))
			}
		}
		got := texts(t, conn,
			`SELECT service_id || ' ' || count(*) || ' ' || count(DISTINCT id) FROM checks GROUP BY service_id
				ORDER BY service_id`)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("service, checks and different ones, %s (-want +got):\n%s", when, diff)
		}
	}
	checkStored("all hours open")
	if err := db.SealLogs(ctx, start.Add(20*time.Hour), 0); err != nil {
		t.Fatal(err)
	}
	if err := db.RecordVisits(ctx, visits); err != nil {
		t.Fatal(err)
	}
	checkStored("told again after half of the hours are sealed")
}

// sumsRead is what a build reads of roll-ups two days after start.
func sumsRead(t *testing.T, db *postgres.DB) (sums []postgres.ServiceFacts) {
	t.Helper()
	err := db.Read(t.Context(), func(r *postgres.Reader) error {
		f, err := r.Facts(t.Context(), start.Add(50*time.Hour), time.Minute)
		if err != nil {
			return err
		}
		for _, s := range f.Services {
			sums = append(sums, postgres.ServiceFacts{
				Facts: checks.Facts{Runs: s.Runs,
					Hours: s.Hours, Days: s.Days, DaySums: s.DaySums, TotalChecks: s.TotalChecks},
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// runsOf returns the runs of failed checks among visits to a service, in their order.
func runsOf(id int64, visits []checks.Visit) (runs []checks.FailureRun) {
	var before checks.Check
	inRun := false
	var began time.Time // after the last success
	for _, v := range visits {
		c := v.Check
		if c.ServiceID != id || !c.Counted {
			continue
		}
		if inRun && c.CheckedAt.Truncate(time.Millisecond).After(before.KnownUntil()) {
			runs[len(runs)-1].EndedAt, inRun = new(before.KnownUntil()), false
			runs[len(runs)-1].EndsInGap = true
		}
		if began.IsZero() || before.IsUp {
			began = c.CheckedAt
		}
		if n := len(runs) - 1; inRun {
			gap := c.CheckedAt.Truncate(time.Millisecond).Sub(before.CheckedAt.Truncate(time.Millisecond))
			runs[n].LongestGap = max(runs[n].LongestGap, gap.Milliseconds())
			if c.IsUp {
				runs[n].EndedAt, inRun = &c.CheckedAt, false
			} else {
				runs[n].LastAt, runs[n].Last = c.CheckedAt, checks.Failure{StatusCode: c.StatusCode, Message: c.ErrorMessage}
				runs[n].Checks++
			}
		} else if !c.IsUp {
			what := checks.Failure{StatusCode: c.StatusCode, Message: c.ErrorMessage}
			runs = append(runs, checks.FailureRun{ServiceID: id, FirstAt: c.CheckedAt, LastAt: c.CheckedAt,
				Checks: 1, BeganAt: began, First: what, Last: what})
			inRun = true
		}
		before = c
	}
	return runs
}

// histograms are those of days, by service and day.
func histograms(t *testing.T, conn *pgx.Conn) map[string][]int64 {
	t.Helper()
	got := map[string][]int64{}
	rows, err := conn.Query(t.Context(), `SELECT service_id || ' ' || day, histogram FROM check_days`)
	if err != nil {
		t.Fatal(err)
	}
	var key string
	var histogram []int64
	if _, err := pgx.ForEachRow(rows, []any{&key, &histogram}, func() error {
		got[key] = append([]int64{}, histogram...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// TestLogsStartOnce lets two transactions store the first checks ever at once. The second one moves checks from before
// the start of the logs to the first open time, like all late checks.
func TestLogsStartOnce(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	ctx := t.Context()
	due := acme(t, db)
	first, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close(context.WithoutCancel(ctx))
	through := start.Truncate(time.Hour).Add(3 * time.Hour)
	tx, err := first.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO log_seal (through, retained_since) VALUES ($1, $2)`, through,
		start.Truncate(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 1)
	go func() { errs <- db.RecordVisits(ctx, []checks.Visit{visit(due[0], start)}) }()
	for waits, until := false, time.Now().Add(3*time.Minute); !waits; {
		if err := tx.QueryRow(ctx,
			`SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND transactionid IS NOT NULL
				AND pid <> pg_backend_pid()
			AND pid IN (SELECT pid FROM pg_stat_activity
				WHERE datname = current_database()))`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(until) {
			t.Fatal("the second does not wait for the first")
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	if got, want := texts(t, first, `SELECT (extract(epoch FROM checked_at)::bigint)::text FROM checks`),
		[]string{fmt.Sprint(through.Unix())}; !slices.Equal(got, want) {
		t.Errorf("the check is kept at %s, want %s, where the logs begin", got, want)
	}
}

// TestNegativeTimeIsRefused checks that no source of facts can store a response time below zero.
func TestNegativeTimeIsRefused(t *testing.T) {
	t.Parallel()
	db := open(t)
	v := visit(acme(t, db)[0], start)
	v.Check.ResponseTimeMS = new(-131)
	err := db.RecordVisits(t.Context(), []checks.Visit{v})
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "23514" {
		t.Errorf("a response time of -131 ms is stored: %v, want check_violation", err)
	}
}
