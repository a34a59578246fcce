//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// killedDirectory is a directory on its own private Postgres whose programs are killed one after the other. It records
// what they acknowledged before.
type killedDirectory struct {
	data      string
	shop      string // host and port of all services; each raises its price with every visit
	submitted []string
	servers   int
	checks    int // stored for more than a second before a kill
	changes   int // stored for more than a second before a kill
	kills     map[string]int
}

// TestKilledAnywhere kills crawl, index, build, serve with submissions, up, work, mcp, and their private Postgres with
// SIGKILL at random moments. Each time the next program starts without help, the publication verifies, and no
// acknowledged data is lost or stored twice. TestPublishKilled kills publishers. TOLLBOOK_TEST_KILLS sets the number of
// kills.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	rounds := 14 // without those of TestPublishKilled
	if n, err := strconv.Atoi(os.Getenv("TOLLBOOK_TEST_KILLS")); err == nil {
		rounds = n
	}
	n := newNodes(t)
	want := func() map[string]string { // the result of an undisturbed indexer
		if code, _, stderr := n.once(t, n.env); code != 0 {
			t.Fatalf("index: exit %d\n%s", code, stderr)
		}
		return sums(t, n.env)
	}()
	d := newKilledDirectory(t, n)
	victims := []func(*testing.T, []string){d.crawl, d.submit, d.build, d.index, d.up, d.work, d.mcp}
	for i := range rounds {
		victims[i%len(victims)](t, n.rpc)
		d.holds(t)
	}
	d.finish(t, n, want)
	if !t.Failed() {
		t.Logf(
			"figures: %d kills survived %v; of %d submissions acknowledged, %d checks and %d changes kept for a "+
				"second 0 lost, 0 doubled; snapshots verified %d times",
			rounds, d.kills, len(d.submitted), d.checks, d.changes, rounds+1)
	}
}

func newKilledDirectory(t *testing.T, n *nodes) *killedDirectory {
	t.Helper()
	var requests atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/x") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprintf(w,
			`{"x402Version":1,"accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"%d","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"resource":"http://x","description":"d","extra":{"name":"USD Coin","version":"2"}}]}`, 1000+requests.Add(1))
	}))
	t.Cleanup(shop.Close)
	d := &killedDirectory{data: memoryDir(t), shop: shop.Listener.Addr().String(), kills: map[string]int{}}
	var list []map[string]any
	for i := range 40 {
		list = append(list, map[string]any{"service_name": fmt.Sprintf("S%02d", i), "description": "d",
			"url": fmt.Sprintf("http://%s/s%02d", d.shop, i), "category": "AI", "endpoints": []string{"GET /x"}})
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	ran(t, nil, "services", "import", writeFile(t, "list.json", data), "--data", d.data)
	ran(t, nil, "facilitators", "import", n.list, "--data", d.data)
	ran(t, nil, "build", "--data", d.data)
	return d
}

// query starts the private server as any program would, and passes a connection to f.
func (d *killedDirectory) query(t *testing.T, f func(*pgx.Conn)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := private.Start(ctx, private.Options{Dir: filepath.Join(d.data, "postgres")})
	if err != nil {
		t.Fatalf("what a killed program left needs a hand: %v", err)
	}
	defer func() {
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	}()
	conn, err := pgx.Connect(ctx, s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	f(conn)
}

// kill ends the program alone, its Postgres alone, or both at once with SIGKILL. If a program continues without its
// Postgres, kill runs again, to show that Postgres is back. Then it kills the program.
func (d *killedDirectory) kill(t *testing.T, name string, p *program, again func()) {
	t.Helper()
	below := serverProcesses(d.data)
	how := rand.IntN(3)
	if len(below) == 0 {
		how = 0
	}
	switch how {
	case 0:
		kill(t, p.Process.Pid)
	case 1:
		name += "'s Postgres"
		for _, pid := range below {
			kill(t, pid)
		}
		if again != nil {
			again()
			kill(t, p.Process.Pid)
			break
		}
		select {
		case <-p.exited: // it had no work left
		case <-time.After(patience):
			t.Errorf("%s died, and it goes on:\n%s", name, p.said())
			kill(t, p.Process.Pid)
		}
	case 2:
		name += " and its Postgres"
		for _, pid := range append(below, p.Process.Pid) {
			kill(t, pid)
		}
	}
	p.status(t)
	d.kills[name]++
}

// soon waits for a random part of a duration.
func soon(most time.Duration) { time.Sleep(rand.N(most)) }

// due makes a quarter of an hour pass, and expires the leases of killed programs.
func (d *killedDirectory) due(t *testing.T) {
	t.Helper()
	d.query(t, func(conn *pgx.Conn) { setDue(t, conn) })
}

func setDue(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	for _, sql := range []string{`UPDATE service_states SET next_check_at = now()`, `DELETE FROM hosts`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// watch records the numbers of stored checks and changes while a program visits. It closes more when new checks are
// stored. The function over, called after a kill, keeps the numbers that were at least a second old then.
func (d *killedDirectory) watch(conn *pgx.Conn) (more <-chan struct{}, over func(killed time.Time)) {
	stop, cancel := context.WithCancel(context.Background())
	type sample struct {
		at              time.Time
		checks, changes int
	}
	var samples []sample
	seen, stored := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(seen)
		for isStored := false; stop.Err() == nil; time.Sleep(50 * time.Millisecond) {
			s := sample{at: time.Now()}
			if conn.QueryRow(stop, `SELECT (SELECT count(*) FROM checks), (SELECT count(*) FROM changes)`).
				Scan(&s.checks, &s.changes) != nil {
				return
			}
			if samples = append(samples, s); s.checks > samples[0].checks && !isStored {
				close(stored)
				isStored = true
			}
		}
	}()
	return stored, func(killed time.Time) {
		cancel()
		<-seen
		for _, s := range samples {
			if killed.Sub(s.at) > time.Second {
				d.checks, d.changes = max(d.checks, s.checks), max(d.changes, s.changes)
			}
		}
	}
}

// holds checks the invariants after each kill.
func (d *killedDirectory) holds(t *testing.T) {
	t.Helper()
	ran(t, nil, "verify", filepath.Join(d.data, "public"))
	d.query(t, func(conn *pgx.Conn) {
		var checks, changes, submissions int
		err := conn.QueryRow(t.Context(),
			`SELECT (SELECT count(*) FROM checks), (SELECT count(*) FROM changes), (SELECT count(*) FROM `+
				`inbox WHERE id = ANY($1))`, d.submitted).Scan(&checks, &changes, &submissions)
		if err != nil {
			t.Fatal(err)
		}
		if checks < d.checks || changes < d.changes {
			t.Errorf("%d checks and %d changes are left of the %d and %d that were a second old", checks, changes,
				d.checks, d.changes)
		}
		if submissions != len(d.submitted) {
			t.Errorf("%d submissions are left of %d that were acknowledged", submissions, len(d.submitted))
		}
		for what, sql := range map[string]string{
			"checks that stand twice": `SELECT count(*) - count(DISTINCT id) FROM checks`,
			"services whose sums are not those of checks": `SELECT count(*) FROM (SELECT service_id, count(*) n ` +
				`FROM checks WHERE checked_at < (SELECT through FROM log_seal) GROUP BY 1) c FULL JOIN (SELECT ` +
				`service_id, sum(checks) n FROM check_hours GROUP BY 1) h USING (service_id) WHERE c.n IS ` +
				`DISTINCT FROM h.n`,
			"changes that do not follow the one before": `SELECT count(*) FROM (SELECT old_snapshot, ` +
				`lag(new_snapshot) OVER (PARTITION BY service_id ORDER BY id) was FROM changes WHERE type = ` +
				`'price_changed') c WHERE was IS NOT NULL AND was <> old_snapshot`,
			"changes that stand twice": `SELECT count(*) - count(DISTINCT (service_id, type, ` +
				`observed_at)) FROM changes`,
			// at most one an hour is recorded
			"services with too few or too many changes": `SELECT count(*) FROM (SELECT e.service_id, ` +
				`count(DISTINCT since) - 1 n FROM prices p JOIN endpoints e ON e.id = p.endpoint_id GROUP BY 1) ` +
				`p LEFT JOIN (SELECT service_id, count(*) n FROM changes WHERE type = 'price_changed' GROUP ` +
				`BY 1) c USING (service_id) WHERE coalesce(c.n, 0) NOT BETWEEN least(p.n, 1) AND p.n`,
			"visits whose price is lost or doubled": `SELECT count(*) FROM (SELECT e.service_id, ` +
				`count(DISTINCT since) n FROM prices p JOIN endpoints e ON e.id = p.endpoint_id GROUP BY 1) p ` +
				`FULL JOIN (SELECT service_id, count(*) n FROM checks WHERE endpoints_found > 0 GROUP BY 1) ` +
				`c USING (service_id) WHERE p.n IS DISTINCT FROM c.n`,
			"addresses that were submitted twice": `SELECT count(*) - count(DISTINCT body->>'url') FROM inbox
				WHERE kind = 'submission'`,
		} {
			var n int
			if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if n != 0 {
				t.Errorf("%d %s", n, what)
			}
		}
	})
}

// finish runs every part once without a kill, and compares the result with a directory in which nothing was killed.
func (d *killedDirectory) finish(t *testing.T, n *nodes, want map[string]string) {
	t.Helper()
	ran(t, nil, append([]string{"index", "--once", "--data", d.data}, n.rpc...)...)
	ran(t, nil, "crawl", "--once", "--data", d.data, "--crawl-allow-private", d.shop, "--crawl-host-gap", "1ms")
	ran(t, nil, "build", "--data", d.data)
	d.holds(t)
	ctx := context.Background()
	s, err := private.Start(ctx, private.Options{Dir: filepath.Join(d.data, "postgres")})
	if err != nil {
		t.Fatal(err)
	}
	got := sums(t, []string{"DATABASE_URL=" + s.DSN()})
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("settlements beside those of an indexer that nobody kills (-want +got):\n%s", diff)
	}
}
