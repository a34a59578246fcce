package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

// openMemory opens a database, and answers what asks it for a column of text.
func openMemory(t *testing.T) (*postgres.DB, func(sql string) []string) {
	t.Helper()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	conn := postgrestest.Connect(t, dsn)
	return db, func(sql string) []string {
		t.Helper()
		rows, err := conn.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return texts
	}
}

// TestLateChecks records checks of a sealed hour, which are late or come from a clock that was set back. They are
// stored once after the sealed hours, however often they are sent, and get numbers.
func TestLateChecks(t *testing.T) {
	t.Parallel()
	db, m := openMemory(t)
	ctx := t.Context()
	due := acme(t, db)
	tell := func(visits ...checks.Visit) {
		t.Helper()
		if err := db.RecordVisits(ctx, visits); err != nil {
			t.Fatal(err)
		}
	}
	seal := func(now time.Time) {
		t.Helper()
		if err := db.SealLogs(ctx, now, 0); err != nil {
			t.Fatal(err)
		}
	}
	sealed := start.Truncate(time.Hour).Add(2 * time.Hour)
	tell(visit(due[0], start), visit(due[0], start.Add(time.Hour)))
	seal(sealed.Add(time.Minute))
	late, later := visit(due[0], start.Add(time.Minute)), visit(due[0], sealed.Add(time.Minute))
	tell(late, later)
	tell(late)
	tell(later, late)
	seal(sealed.Add(3 * time.Hour))
	tell(late)
	want := []string{start.Format(time.TimeOnly), start.Add(time.Hour).Format(time.TimeOnly),
		sealed.Format(time.TimeOnly), sealed.Add(time.Minute).Format(time.TimeOnly)}
	if diff := cmp.Diff(want,
		m(`SELECT to_char(checked_at, 'HH24:MI:SS') FROM checks ORDER BY checked_at`)); diff != "" {
		t.Errorf("times of checks (-want +got):\n%s", diff)
	}
	if got := m(
		`SELECT rows::text FROM log_positions WHERE service_id = 0 UNION ALL SELECT sum(checks)::text
			FROM check_hours`); fmt.Sprint(got) != "[4 4]" {
		t.Errorf("numbers given, and checks rolled up by hour: %s, want 4 of each", got)
	}
}

// TestSealNoFurtherThanChecks checks that a clock that is years ahead seals no hours in which checks will come.
func TestSealNoFurtherThanChecks(t *testing.T) {
	t.Parallel()
	db, m := openMemory(t)
	ctx := t.Context()
	due := acme(t, db)
	if err := db.RecordVisits(ctx, []checks.Visit{visit(due[0], start)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.SealLogs(ctx, start.AddDate(12, 0, 0), 0); err != nil {
			t.Fatal(err)
		}
	}
	want := start.Truncate(time.Hour).Add(time.Hour).Format(time.DateTime)
	if got := m(`SELECT to_char(through, 'YYYY-MM-DD HH24:MI:SS') FROM log_seal`); fmt.Sprint(got) != "["+want+"]" {
		t.Errorf("sealed through %s, want %s", got, want)
	}
}

// TestRestartLateDelays checks that delays by a clock that was an hour ahead start again now, and that other due times
// stay.
func TestRestartLateDelays(t *testing.T) {
	t.Parallel()
	db, m := openMemory(t)
	ctx := t.Context()
	if err := db.AddListings(ctx, []postgres.Listing{listing("acme"), listing("bolt"), listing("cove"),
		listing("dome")}); err != nil {
		t.Fatal(err)
	}
	if err := db.OfferSteps(ctx, []postgres.Step{{Name: "build", Period: 15 * time.Minute},
		{Name: "index", Period: 15 * time.Minute}}, start); err != nil {
		t.Fatal(err)
	}
	if err := db.FinishStep(ctx, "build", start.Add(time.Hour), start.Add(61*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := db.FinishStep(ctx, "index", start.Add(-time.Minute), start); err != nil {
		t.Fatal(err)
	}
	at := func(d time.Duration) string { return start.Add(d).Format("'2006-01-02 15:04:05Z'") }
	for _, sql := range []string{
		`UPDATE service_states SET last_checked_at = ` + at(time.Hour) + `, next_check_at = ` + at(75*time.Minute) +
			` FROM services WHERE id = service_id AND slug = 'acme'`,
		// seldom asked
		`UPDATE service_states SET last_checked_at = ` + at(-time.Minute) + `, next_check_at = ` + at(24*time.Hour) +
			` FROM services WHERE id = service_id AND slug = 'bolt'`,
		// taken since
		`UPDATE service_states SET last_checked_at = ` + at(time.Hour) + `, next_check_at = ` + at(2*time.Minute) +
			` FROM services WHERE id = service_id AND slug = 'cove'`,
		// never visited
		`UPDATE service_states SET next_check_at = ` + at(3*time.Minute) +
			` FROM services WHERE id = service_id AND slug = 'dome'`,
		`INSERT INTO hosts (host, next_at, refilled_at, held_by, held_until)
			VALUES ('ahead', now() + interval '1 hour', now(), NULL, now()),
			('now', now() + interval '1 second', now() + interval '1 hour', NULL, now())`,
		`INSERT INTO river_job (id, args, kind, max_attempts, queue, state, scheduled_at)
			VALUES (1, '{}', 'visit', 3, 'q', 'available', now() + interval '1 hour'),
			(2, '{}', 'visit', 3, 'q', 'retryable', now() + interval '5 minutes')`,
		`INSERT INTO river_leader (name, leader_id, elected_at, expires_at)
			VALUES ('default', 'gone', now() + interval '1 hour', now() + interval '61 minutes')`,
	} {
		m(sql)
	}
	for range 2 {
		if err := db.RestartLateDelays(ctx, start); err != nil {
			t.Fatal(err)
		}
	}
	got := m(`
		SELECT slug || ' ' || extract(epoch FROM next_check_at - ` + at(0) + `::timestamptz)::int / 60
		FROM services JOIN service_states ON service_id = id
		UNION ALL SELECT name || ' ' || extract(epoch FROM began_at - ` + at(0) + `::timestamptz)::int / 60 FROM steps
		UNION ALL SELECT 'host ' || host FROM hosts
		UNION ALL SELECT 'job ' || id || CASE WHEN scheduled_at > now() THEN ' later' ELSE ' now' END FROM river_job
		UNION ALL SELECT 'leader ' || leader_id FROM river_leader
		ORDER BY 1`)
	want := []string{"acme 15", "bolt 1440", "build 0", "cove 2", "dome 3", "host now", "index -1", "job 1 now",
		"job 2 later"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("minutes from now (-want +got):\n%s", diff)
	}
}

// TestClocksUpdate checks that setting either clock in either direction is reported once, and that a small correction
// is not.
func TestClocksUpdate(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		name          string
		own, database time.Duration // by which they are set
		want          bool
	}{
		{"neither", 0, 0, false},
		{"corrected", 20 * time.Second, -20 * time.Second, false},
		{"own forth", time.Hour, 0, true},
		{"own back", -time.Hour, 0, true},
		{"database forth over a day's end", 0, time.Hour, true},
		{"database back", 0, -time.Hour, true},
		{"both", time.Hour, time.Hour, true},
	} {
		var c postgres.Clocks
		if c.Update(begin, begin.Add(time.Hour)) {
			t.Errorf("%s: clocks that differ count as set at the first look", tt.name)
		}
		if got := c.Update(begin.Add(tt.own), begin.Add(time.Hour+tt.database)); got != tt.want {
			t.Errorf("%s: set %t, want %t", tt.name, got, tt.want)
		}
		if c.Update(begin.Add(tt.own), begin.Add(time.Hour+tt.database)) {
			t.Errorf("%s: noticed twice", tt.name)
		}
	}
}
