//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// TestPostgresFaultsUnderACrawl checks that a crawl fails with a reason if Postgres is read-only, has no free
// connection, or restarts. Due services stay due, and the next crawl visits each once.
func TestPostgresFaultsUnderACrawl(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "free") }))
	t.Cleanup(shop.Close)
	ctx := context.Background()
	options := private.Options{Dir: t.TempDir(), Throwaway: true,
		Settings: []string{"max_connections=20", "autovacuum=off"}}
	s, err := private.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Stop(ctx) }()
	env := []string{"DATABASE_URL=" + s.DSN()}
	list := fmt.Sprintf(
		`[{"service_name":"Acme","description":"d","url":"http://%s","category":"AI","endpoints":["GET /x"]}]`,
		shop.Listener.Addr())
	ran(t, env, "services", "import", writeFile(t, "list.json", []byte(list)))
	crawl := func() (code int, stderr string) {
		code, _, stderr = tollbook(t, env, "crawl", "--once", "--crawl-allow-private", shop.Listener.Addr().String(),
			"--crawl-host-gap", "1ms")
		return code, stderr
	}
	fails := func(what, want string) {
		t.Helper()
		if code, stderr := crawl(); code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, want 1 and %q:\n%s", what, code, want, stderr)
		}
	}
	query(t, s.DSN(), `ALTER DATABASE tollbook SET default_transaction_read_only = on`)
	fails("read-only", "read-only transaction")
	query(t, s.DSNFor("postgres"), `ALTER DATABASE tollbook RESET default_transaction_read_only`)

	var taken []*pgx.Conn
	for {
		conn, err := pgx.Connect(ctx, s.DSNFor("postgres"))
		if err != nil {
			break
		}
		taken = append(taken, conn)
	}
	fails("no connection left", "too many clients")
	for _, conn := range taken {
		conn.Close(ctx)
	}

	if err := s.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	fails("away", "connect")
	if s, err = private.Start(ctx, options); err != nil {
		t.Fatal(err)
	}
	env[0] = "DATABASE_URL=" + s.DSN()
	if n := query(t, s.DSN(), `SELECT count(*)::text FROM checks`); n != "0" {
		t.Errorf("%s checks of crawls that failed", n)
	}
	if code, stderr := crawl(); code != 0 {
		t.Errorf("after all of it: exit %d\n%s", code, stderr)
	}
	if n := query(t, s.DSN(), `SELECT count(*)::text FROM checks`); n != "1" {
		t.Errorf("%s checks, want 1", n)
	}
}
