//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// TestPostgresFailover kills a primary, promotes its synchronous standby, and later restarts the old primary. A server
// that receives submissions and a worker that visits use one DATABASE_URL with both servers. Both continue without
// help. Each acknowledged submission is stored once, and readers notice nothing.
func TestPostgresFailover(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	ctx := t.Context()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "free") }))
	t.Cleanup(shop.Close)
	dir := memoryDir(t)
	first := &testServer{dir: filepath.Join(dir, "a")}
	first.start(t)
	env := []string{"DATABASE_URL=" + first.DSN()}
	var list []string
	for i := range 5 {
		list = append(list,
			fmt.Sprintf(
				`{"service_name":"S%d","description":"d","url":"http://%s/s%d","category":"AI","endpoints":["GET /x"]}`,
				i, shop.Listener.Addr(), i))
	}
	ran(t, env, "services", "import", writeFile(t, "list.json", []byte("["+strings.Join(list, ",")+"]")))
	data := filepath.Join(dir, "data")
	ran(t, env, "build", "--data", data)

	second := first.standby(t, filepath.Join(dir, "b"))
	dsn := "postgres:///" + private.Database +
		"?user=postgres&sslmode=disable&port=5432,5432&target_session_attrs=read-write&host=" + first.socket(t) + "," +
		second.socket(t)
	env = []string{"DATABASE_URL=" + dsn}
	base, serve := serving(t, env, data, "--serve-trusted-proxies", "127.0.0.1", "--serve-rate-limit", "0",
		"--serve-max-pending", "0")
	work := command(t, env, "work", "--crawl-allow-private", shop.Listener.Addr().String(), "--crawl-host-gap",
		"1ms").start(t)
	work.await(t, "Working")

	var ids []string
	sent := 0
	take := func(what string) {
		t.Helper()
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			sent++
			code, id, err := submit(base, fmt.Sprintf("n%d", sent), fmt.Sprintf("2001:db8:%x::1", sent))
			if err == nil && code == http.StatusCreated {
				ids = append(ids, id)
				return
			}
			if err != nil || code < 500 || time.Now().After(deadline) {
				t.Fatalf("%s no submission is taken: %d, %v\n%s", what, code, err, serve.said())
			}
		}
	}
	count := func(s *testServer, sql string) int {
		t.Helper()
		n, err := strconv.Atoi(query(t, s.DSN(), sql))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	visits := func(s *testServer, what string) {
		t.Helper()
		before := count(s, `SELECT count(*)::text FROM checks`)
		query(t, s.DSN(), `UPDATE service_states SET next_check_at = now()`)
		for deadline := time.Now().Add(patience); count(s, `SELECT count(*)::text FROM checks`) < before+
			len(list); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s not all services are visited:\n%s", what, work.said())
			}
		}
	}
	visits(first, "before any fault")
	for range 20 {
		take("before any fault")
	}

	first.kill(t)
	if a := get(t, base+"/v1/stats"); a.status != http.StatusOK {
		t.Errorf("without a database a reader gets %d", a.status)
	}
	query(t, second.DSN(), `SELECT pg_promote()::text`)
	take("after the failover")
	visits(second, "after the failover")

	if err := second.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	second.start(t)
	take("after a restart")
	visits(second, "after a restart")

	got := strings.Split(query(t, second.DSN(), `SELECT string_agg(id::text, ' ') FROM inbox`), " ")
	there := map[string]int{}
	for _, id := range got {
		there[id]++
	}
	for _, id := range ids {
		if there[id] != 1 {
			t.Errorf("submission %s was acknowledged and is there %d times", id, there[id])
		}
	}
	if n := count(second,
		`SELECT count(*)::text FROM (SELECT service_id FROM checks GROUP BY service_id, checked_at HAVING `+
			`count(*) > 1) AS twice`); n != 0 {
		t.Errorf("%d checks stand twice", n)
	}
	for name, p := range map[string]*program{"serve": serve, "work": work} {
		select {
		case <-p.exited:
			t.Errorf("%s ended:\n%s", name, p.said())
		default:
			p.interrupt(t, os.Interrupt)
		}
	}
	if !t.Failed() {
		t.Logf(
			"figures: a failover to a standby and a restart of Postgres survived by serve and work; 0 of %d "+
				"acknowledged submissions lost or doubled", len(ids))
	}
}

// testServer is a private Postgres that a test uses as one of two.
type testServer struct {
	*private.Server
	dir      string
	settings []string
}

func (s *testServer) start(t *testing.T) {
	t.Helper()
	var err error
	s.Server, err = private.Start(t.Context(), private.Options{Dir: s.dir, Throwaway: true, Settings: s.settings})
	if err != nil {
		t.Fatal(err)
	}
	running := s.Server
	t.Cleanup(func() { _ = running.Stop(context.Background()) })
}

// socket returns the folder of the server's socket.
func (s *testServer) socket(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("host")
}

// standby creates a synchronous standby of a server.
func (s *testServer) standby(t *testing.T, dir string) *testServer {
	t.Helper()
	socket := s.socket(t)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", s.dir, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	follower := &testServer{dir: dir, settings: []string{"primary_conninfo=host=" + socket + " user=postgres",
		"hot_standby=on"}}
	signal := filepath.Join(dir, "data", "standby.signal")
	if err := os.WriteFile(signal, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chown", "--reference="+filepath.Join(dir, "data", "PG_VERSION"),
		signal).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.settings = []string{"synchronous_commit=on", "synchronous_standby_names=*"}
	s.start(t)
	// The server of root is another user's, so the standby needs a way to the folder of the primary's socket.
	for _, open := range []string{filepath.Dir(s.dir), s.dir} {
		if err := os.Chmod(open, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	follower.start(t)
	return follower
}

// kill ends the server's first process with SIGKILL. The other processes notice and end.
func (s *testServer) kill(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	kill(t, pid)
	select {
	case <-s.Done():
	case <-time.After(patience):
		t.Fatal("a killed Postgres goes on")
	}
}
