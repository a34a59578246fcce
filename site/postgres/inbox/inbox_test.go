package inbox_test

import (
	"context"
	"testing"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
)

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err == nil {
		db.Close()
	}
	return err
})

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) *postgres.DB {
	t.Helper()
	return openAt(t, template.Database(t))
}

func openAt(t *testing.T, dsn string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}
