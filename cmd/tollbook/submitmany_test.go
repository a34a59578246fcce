package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/output"
	"tollbook/render/lists"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
	"tollbook/site/serve/inbox"
	"tollbook/site/testgate"
)

// TestSubmissionSurvivesAKill kills a server after it stores a submission and before it stores the probe. The next
// server makes the probe.
func TestSubmissionSurvivesAKill(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	dsn := postgrestest.NewDatabase(t)
	env := []string{"DATABASE_URL=" + dsn}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	// The result of a probe waits for a lock. The server is killed while it waits.
	exec(
		`CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(7); ` +
			`RETURN NEW; END $$`)
	exec(`CREATE TRIGGER wait BEFORE UPDATE OF probe_result ON inbox FOR EACH ROW EXECUTE FUNCTION wait()`)
	exec(`SELECT pg_advisory_lock(7)`)
	base, server := serving(t, env, data)
	go func() { // its response never arrives
		res, err := http.Post(base+"/v1/submit", jsonBody, strings.NewReader(submission("acme")))
		if err == nil {
			res.Body.Close()
		}
	}()
	waiting := func() (n int) {
		if err := conn.QueryRow(ctx,
			`SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = 7 AND NOT granted `+
				`AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for deadline := time.Now().Add(patience); waiting() == 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the probe is never kept:\n%s", server.said())
		}
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-server.exited
	exec(
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tollbook' AND datname ` +
			`= current_database()`)
	var id string
	var probed bool
	if err := conn.QueryRow(ctx,
		`SELECT id::text, probe_result IS NOT NULL FROM inbox WHERE state = 'pending' AND probe_due_at > `+
			`received_at`).Scan(&id, &probed); err != nil || probed {
		t.Fatalf("what the killed server left: %s, probed %t, %v", id, probed, err)
	}
	exec(`DROP TRIGGER wait ON inbox`)
	exec(`UPDATE inbox SET probe_due_at = now()`) // its lease has expired
	base, _ = serving(t, env, data)
	until(t, base+"/v1/submissions/"+id, "result of the probe", func(a answer) bool {
		return a.status == 200 && strings.Contains(a.body, `"probe_result":{`) &&
			strings.Contains(a.body, `"status":"pending"`)
	})
}

// TestManySubmissions sends thousands of submissions from one address and from many. The server accepts up to its
// limits and stores each. Neither memory nor concurrent probes grow with the number.
func TestManySubmissions(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var now, most atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n := now.Add(1); ; {
			if before := most.Load(); n <= before || most.CompareAndSwap(before, n) {
				break
			}
		}
		defer now.Add(-1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer shop.Close()
	prober := crawl.NewSubmissions(db, crawl.SubmissionOptions{HostGap: time.Microsecond},
		probe.Options{Routes: []probe.Route{{Domain: "example",
			Dial: func(ctx context.Context, network, _ string) (net.Conn, bool, error) {
				var d net.Dialer
				c, err := d.DialContext(ctx, network, shop.Listener.Addr().String())
				return c, true, err
			}}}})
	defer prober.Close()
	source, err := output.OpenSource(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	h := serve.NewHandler(serve.Options{
		Source: source, Logger: slog.New(slog.DiscardHandler),
		Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
		Submit: &inbox.Options{
			Store: db, Prober: prober, Address: (&probe.Guard{}).Canonical, Domain: probe.Domain,
			FillForm: lists.FillForm,
		},
	})
	const each = 400
	var mu sync.Mutex
	got := map[string]map[int]int{"one": {}, "many": {}, "domain": {}}
	var wg sync.WaitGroup
	gate := make(chan struct{}, 64) // concurrent clients
	for i := range each {
		for kind, c := range map[string]struct{ from, name string }{
			"one":    {"198.51.100.1", fmt.Sprintf("one%d", i)},
			"many":   {fmt.Sprintf("203.0.113.%d", i%200), fmt.Sprintf("many%d", i)},
			"domain": {fmt.Sprintf("2001:db8:%x::1", i), "domain"},
		} {
			wg.Go(func() {
				gate <- struct{}{}
				defer func() { <-gate }()
				body := submission(c.name, "url", fmt.Sprintf(`"http://h%d.%s.example"`, i, c.name), "endpoints",
					`["/a"]`)
				r := httptest.NewRequest(http.MethodPost, "/v1/submit", strings.NewReader(body))
				r.Header.Set("Content-Type", jsonBody)
				r.Header.Set("X-Forwarded-For", c.from)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
					t.Error("a 429 without Retry-After")
				}
				mu.Lock()
				got[kind][w.Code]++
				mu.Unlock()
			})
		}
	}
	wg.Wait()
	want := map[string]map[int]int{
		"one": {201: site.SubmissionsPerHour, 429: each - site.SubmissionsPerHour}, "many": {201: each},
		"domain": {201: site.PendingPerDomain, 429: each - site.PendingPerDomain},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("answers by status (-want +got):\n%s", diff)
	}
	stored, err := db.Submissions(t.Context(), site.SubmissionPending)
	if want := site.SubmissionsPerHour + each + site.PendingPerDomain; err != nil || len(stored) != want {
		t.Errorf("%d are kept, want %d, %v", len(stored), want, err)
	}
	if n := most.Load(); n > 16 {
		t.Errorf("%d are probed at once", n)
	}
	if _, err := prober.ProbeQueued(t.Context()); err != nil {
		t.Fatal(err)
	}
	stored, err = db.Submissions(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stored {
		if s.ProbeResult == nil {
			t.Errorf("%s is never probed", s.URL)
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("%d submissions, %d probed at most at once, %d goroutines, %.1f MB in use", 3*each, most.Load(),
		runtime.NumGoroutine(), float64(m.HeapInuse)/1e6)
}
