package postgres_test

import (
	"testing"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
)

// TestRescueJobs checks that a worker with its lock keeps its running job, and that the job of a dead worker becomes
// available.
func TestRescueJobs(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	conn := postgrestest.Connect(t, dsn)
	for _, worker := range []string{"alive", "dead", "new"} {
		began := "1 hour"
		if worker == "new" {
			began = "0"
		}
		if _, err := conn.Exec(t.Context(), `
			INSERT INTO river_job (state, attempt, max_attempts, attempted_at, kind, attempted_by, args)
			VALUES ('running', 1, 25, now() - $2::interval, $1, ARRAY['first', $1], '{}')`, worker, began); err != nil {
			t.Fatal(err)
		}
	}
	sign, err := db.LockWorker(t.Context(), "alive")
	if err != nil {
		t.Fatal(err)
	}
	rescue := func(want int64, states string) {
		t.Helper()
		n, err := db.RescueJobs(t.Context(), time.Minute)
		if err != nil || n != want {
			t.Errorf("%d jobs rescued, error %v, want %d", n, err, want)
		}
		var got string
		if err := conn.QueryRow(t.Context(),
			`SELECT string_agg(kind || ' ' || state, ', ' ORDER BY kind) FROM river_job`).Scan(&got); err != nil ||
			got != states {
			t.Errorf("jobs are %q, want %q, error %v", got, states, err)
		}
	}
	rescue(1, "alive running, dead available, new running")
	if _, err := sign.Check(t.Context()); err != nil {
		t.Error(err)
	}
	sign.Release()
	for { // the server notices in its own time
		var held int
		if err := conn.QueryRow(t.Context(),
			`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2
				AND database = (SELECT oid FROM pg_database
				WHERE datname = current_database())`).Scan(&held); err != nil {
			t.Fatal(err)
		}
		if held == 0 {
			break
		}
	}
	rescue(1, "alive available, dead available, new running")
}
