package postgrestest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { Main(m) }

func TestNewDatabase(t *testing.T) {
	t.Parallel()
	c, err := pgx.Connect(context.Background(), NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	c.Close(context.Background())
}
