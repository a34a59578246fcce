package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// TestPartitionIsCreatedOnce lets two processes find the partition of a day missing before either may create it.
func TestPartitionIsCreatedOnce(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	lock, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close(t.Context())
	if _, err := lock.Exec(t.Context(), `SELECT pg_advisory_lock(hashtext('tollbook checks'))`); err != nil {
		t.Fatal(err)
	}
	var crawlers [2]*postgres.DB
	for i := range crawlers {
		crawlers[i], err = postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer crawlers[i].Close()
	}
	due := acme(t, crawlers[0])
	ended := make(chan error, len(crawlers))
	for i, db := range crawlers {
		v := visit(due[0], start.Add(time.Duration(i)*time.Second))
		go func() { ended <- db.RecordVisits(t.Context(), []checks.Visit{v}) }()
	}
	for waiting := 0; waiting < len(crawlers); {
		select {
		case err := <-ended:
			t.Fatalf("a visit did not wait for the lock: %v", err)
		default:
		}
		err := lock.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := lock.Exec(t.Context(), `SELECT pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	for range crawlers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
