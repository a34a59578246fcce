package postgrestest

import (
	"compress/gzip"
	"context"
	"io"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Connect returns a connection to a database, for tests that read and change rows directly. It is closed at the test's
// end.
func Connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// Restore makes a database of a packed SQL file, and returns its URL.
func Restore(t testing.TB, path string) (dsn string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	sql, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	dsn = NewDatabase(t)
	if _, err := Connect(t, dsn).Exec(t.Context(), string(sql)); err != nil {
		t.Fatalf("restore %s: %v", path, err)
	}
	return dsn
}
