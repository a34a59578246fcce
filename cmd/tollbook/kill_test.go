//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// killedDirectory is a directory on its own private Postgres whose programs are killed one after the other, and what
// they had acknowledged before.
type killedDirectory struct {
	data      string
	shop      string // host and port of all its services, each of which raises its price with every visit
	submitted []string
	servers   int
	checks    int // kept for more than a second when somebody was killed
	changes   int // kept at all
	kills     map[string]int
}

// TestKilledAnywhere kills crawl, index, build, serve with submissions, up, work, mcp, and the private Postgres below
// them, with -9 at random moments. Each time the next program starts without a hand, what is published verifies, and
// nothing that was acknowledged is lost or doubled. Publishers are killed by TestPublishKilled. TOLLBOOK_KILLS says how
// many are wanted.
func TestKilledAnywhere(t *testing.T) {
	testgate.All(t)
	needPostgres(t)
	rounds := 14 // TestPublishKilled has its own
	if n, err := strconv.Atoi(os.Getenv("TOLLBOOK_KILLS")); err == nil {
		rounds = n
	}
	n := newNodes(t)
	want := func() map[string]string { // what an indexer finds that nobody kills
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
	var asked atomic.Int64
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/x") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		fmt.Fprintf(w,
			`{"x402Version":1,"accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"%d","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"resource":"http://x","description":"d","extra":{"name":"USD Coin","version":"2"}}]}`, 1000+asked.Add(1))
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

// query starts the private server, as any program would, and asks it.
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

// kill ends a program with -9: alone, or its Postgres alone, or everything at once. What goes on without its Postgres
// does what shows that it has it again, and is killed after that.
func (d *killedDirectory) kill(t *testing.T, name string, p *program, again func()) {
	t.Helper()
	below := descendants(p.Process.Pid)
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
		case <-p.exited: // there was nothing left for it to do
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

// soon waits for a random part of a time.
func soon(most time.Duration) { time.Sleep(rand.N(most)) }

// due lets a quarter of an hour pass, and the leases of whoever was killed.
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

// watch notes what is kept while a program visits. more is closed when visits are kept that were not there before;
// over, told when somebody was killed, remembers what was a second old then.
func (d *killedDirectory) watch(conn *pgx.Conn) (more <-chan struct{}, over func(killed time.Time)) {
	stop, cancel := context.WithCancel(context.Background())
	type sample struct {
		at              time.Time
		checks, changes int
	}
	var samples []sample
	seen, kept := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(seen)
		for known := false; stop.Err() == nil; time.Sleep(50 * time.Millisecond) {
			s := sample{at: time.Now()}
			if conn.QueryRow(stop, `SELECT (SELECT count(*) FROM checks), (SELECT count(*) FROM changes)`).
				Scan(&s.checks, &s.changes) != nil {
				return
			}
			if samples = append(samples, s); s.checks > samples[0].checks && !known {
				close(kept)
				known = true
			}
		}
	}()
	return kept, func(killed time.Time) {
		cancel()
		<-seen
		for _, s := range samples {
			if killed.Sub(s.at) > time.Second {
				d.checks, d.changes = max(d.checks, s.checks), max(d.changes, s.changes)
			}
		}
	}
}

// crawl visits all services, and is killed when some of the visits are kept.
func (d *killedDirectory) crawl(t *testing.T, _ []string) {
	d.due(t)
	p := command(t, nil, "crawl", "--data", d.data, "--crawl-allow-private", d.shop, "--crawl-host-gap",
		"50ms").start(t)
	conn := d.join(t, p)
	if conn == nil {
		t.Fatalf("no Postgres of a crawl:\n%s", p.said())
	}
	defer conn.Close(context.Background())
	more, over := d.watch(conn)
	if rand.IntN(4) > 0 {
		select {
		case <-more:
		case <-p.exited:
		case <-time.After(patience):
			t.Fatalf("no visit is kept:\n%s", p.said())
		}
	}
	soon(4 * time.Second)
	killed := time.Now()
	d.kill(t, "crawl", p, nil)
	over(killed)
}

// work visits all services, reads the chains and builds, on a Postgres that is not its own, and is killed, or that is,
// or both.
func (d *killedDirectory) work(t *testing.T, rpc []string) {
	d.due(t)
	ctx := context.Background()
	start := func() (*private.Server, *pgx.Conn) {
		s, err := private.Start(ctx, private.Options{Dir: filepath.Join(d.data, "postgres")})
		if err != nil {
			t.Fatalf("what a killed program left needs a hand: %v", err)
		}
		conn, err := pgx.Connect(ctx, s.DSN())
		if err != nil {
			t.Fatal(err)
		}
		return s, conn
	}
	s, conn := start()
	defer func() { _ = s.Stop(ctx) }() // it may have been killed
	p := command(t, []string{"DATABASE_URL=" + s.DSN()},
		append([]string{"work", "--build", "--data", d.data, "--crawl-allow-private", d.shop, "--crawl-host-gap",
			"50ms",
			"--schedule-build", "1s", "--schedule-index", "1s"}, rpc...)...).start(t)
	more, over := d.watch(conn)
	select {
	case <-more:
	case <-p.exited:
		t.Fatalf("work ended:\n%s", p.said())
	case <-time.After(patience):
		t.Fatalf("no visit is kept:\n%s", p.said())
	}
	soon(4 * time.Second)
	killed, name := time.Now(), "work"
	how := rand.IntN(3)
	if how > 0 {
		(&testServer{Server: s, dir: filepath.Join(d.data, "postgres")}).kill(t)
		name += []string{"", "'s Postgres", " and its Postgres"}[how]
	}
	if how != 1 {
		kill(t, p.Process.Pid)
	}
	over(killed)
	conn.Close(ctx)
	if how == 1 { // it goes on as soon as it can
		_ = s.Stop(ctx) // lets go of the folder
		s, conn = start()
		setDue(t, conn)
		more, over := d.watch(conn)
		select {
		case <-more:
		case <-p.exited:
			t.Errorf("its Postgres was killed, and work ended:\n%s", p.said())
		case <-time.After(patience):
			t.Errorf("its Postgres was killed, and work visits nobody again:\n%s", p.said())
		}
		over(time.Now())
		conn.Close(ctx)
		kill(t, p.Process.Pid)
	}
	p.status(t)
	d.kills[name]++
}

// join connects to the Postgres of a program, as soon as it takes connections; nil when the program ends before.
func (d *killedDirectory) join(t *testing.T, p *program) *pgx.Conn {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.exited:
			return nil
		default:
		}
		conn, err := pgx.Connect(t.Context(), "host="+filepath.Join(d.data, "postgres", "socket")+
			" user=postgres dbname="+private.Database)
		if err == nil {
			return conn
		}
	}
	return nil
}

// submit has a server take submissions and is killed among them.
func (d *killedDirectory) submit(t *testing.T, _ []string) {
	d.servers++
	base, p := serving(t, nil, d.data, "--data", d.data, "--serve-trusted-proxies", "127.0.0.1", "--serve-rate-limit",
		"0", "--serve-max-pending", "0")
	taken := make(chan string, 10_000)
	var senders sync.WaitGroup
	for n := range 8 {
		senders.Go(func() {
			submitUntilKilled(t, base, fmt.Sprintf("n%d-%d", d.servers, n), fmt.Sprintf("2001:db8:%x:%x", d.servers, n),
				taken)
		})
	}
	if rand.IntN(4) > 0 {
		select {
		case id := <-taken:
			d.submitted = append(d.submitted, id)
		case <-time.After(patience):
			t.Fatalf("no submission is taken:\n%s", p.said())
		}
	}
	soon(2 * time.Second)
	d.kill(t, "serve", p, func() {
		for deadline, i := time.Now().Add(patience), 0; ; i++ { // another each time: one that got no answer may be kept
			code, id, err := submit(base, fmt.Sprintf("n%d-again%d", d.servers, i),
				fmt.Sprintf("2001:db8:%x:8%03x::1", d.servers, i/site.SubmissionsPerHour))
			if err == nil && code == http.StatusCreated {
				taken <- id
				return
			}
			if err != nil || code < 500 || time.Now().After(deadline) {
				t.Errorf("its Postgres was killed, and serve takes no submission again: %d, %v\n%s", code, err,
					p.said())
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	senders.Wait()
	close(taken)
	for id := range taken {
		d.submitted = append(d.submitted, id)
	}
}

// submitUntilKilled sends one submission after the other, a few from each client of a network, and tells the ids of
// those that were acknowledged.
func submitUntilKilled(t *testing.T, base, name, network string, taken chan<- string) {
	for i := 0; ; i++ {
		code, id, err := submit(base, fmt.Sprintf("%s-%d", name, i),
			fmt.Sprintf("%s%03x::1", network, i/site.SubmissionsPerHour))
		switch {
		case err == nil && code == http.StatusCreated:
			taken <- id
		case err == nil && code < 500:
			t.Errorf("submit: %d", code)
			return
		default:
			return // it, or its Postgres, was killed
		}
	}
}

// submit sends a submission for a client, and answers its id when it is acknowledged.
func submit(base, name, client string) (code int, id string, err error) {
	r, err := http.NewRequest(http.MethodPost, base+"/v1/submit", strings.NewReader(submission(name)))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", jsonBody)
	r.Header.Set("X-Forwarded-For", client)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var got struct {
		Data struct {
			ID string `json:"submission_id"`
		}
	}
	err = json.NewDecoder(res.Body).Decode(&got)
	return res.StatusCode, got.Data.ID, err
}

// build makes a snapshot and is killed on the way.
func (d *killedDirectory) build(t *testing.T, _ []string) {
	p := command(t, nil, "build", "--data", d.data).start(t)
	soon(3 * time.Second)
	d.kill(t, "build", p, nil)
}

// index reads both chains and is killed on the way.
func (d *killedDirectory) index(t *testing.T, rpc []string) {
	p := command(t, nil, append([]string{"index", "--once", "--data", d.data}, rpc...)...).start(t)
	soon(3 * time.Second)
	d.kill(t, "index", p, nil)
}

// up does all of it at once, and is killed among it.
func (d *killedDirectory) up(t *testing.T, rpc []string) {
	d.due(t)
	d.servers++
	p := command(t, nil, append([]string{"up", "--data", d.data, "--serve-listen", "127.0.0.1:0", "--serve-submissions",
		"--serve-trusted-proxies", "127.0.0.1", "--serve-rate-limit", "0", "--serve-max-pending", "0",
		"--crawl-allow-private", d.shop, "--crawl-host-gap", "50ms", "--schedule-build", "1s", "--schedule-index",
		"1s"}, rpc...)...).start(t)
	base := strings.TrimSuffix(strings.Fields(p.await(t, "Serving "))[2], "/")
	taken := make(chan string, 10_000)
	var sender sync.WaitGroup
	sender.Go(func() {
		submitUntilKilled(t, base, fmt.Sprintf("n%d-up", d.servers), fmt.Sprintf("2001:db8:%x:0", d.servers), taken)
	})
	soon(4 * time.Second)
	d.kill(t, "up", p, func() {
		shown := get(t, base+"/v1/stats").header.Get("X-Snapshot")
		until(t, base+"/v1/stats", "build after its Postgres was killed", func(a answer) bool {
			return a.header.Get("X-Snapshot") > shown
		})
	})
	sender.Wait()
	close(taken)
	for id := range taken {
		d.submitted = append(d.submitted, id)
	}
}

// mcp answers agents, and is killed among it.
func (d *killedDirectory) mcp(t *testing.T, _ []string) {
	p := command(t, nil, "mcp", "--http", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--from",
		filepath.Join(d.data, "public")).start(t)
	address, _, _ := strings.Cut(p.await(t, "MCP on "), " ")
	var asker sync.WaitGroup
	asker.Go(func() {
		for {
			r, err := http.NewRequest(http.MethodPost, address,
				strings.NewReader(
					`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"health","arguments":{}}}`))
			if err != nil {
				panic(err)
			}
			r.Header.Set("Content-Type", jsonBody)
			r.Header.Set("Accept", jsonBody+", text/event-stream")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				return // it was killed
			}
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if err != nil {
				return
			}
			if res.StatusCode != http.StatusOK {
				t.Errorf("mcp answers %d", res.StatusCode)
				return
			}
		}
	})
	soon(time.Second)
	d.kill(t, "mcp", p, nil)
	asker.Wait()
}

// holds is what must be true after each kill.
func (d *killedDirectory) holds(t *testing.T) {
	t.Helper()
	ran(t, nil, "verify", filepath.Join(d.data, "public"))
	d.query(t, func(conn *pgx.Conn) {
		var checks, changes, submissions int
		err := conn.QueryRow(t.Context(),
			`SELECT (SELECT count(*) FROM checks), (SELECT count(*) FROM changes), (SELECT count(*) FROM `+
				`submissions WHERE id = ANY($1))`, d.submitted).Scan(&checks, &changes, &submissions)
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
			// one an hour is told at most
			"services with too few or too many changes": `SELECT count(*) FROM (SELECT e.service_id, ` +
				`count(DISTINCT since) - 1 n FROM prices p JOIN endpoints e ON e.id = p.endpoint_id GROUP BY 1) ` +
				`p LEFT JOIN (SELECT service_id, count(*) n FROM changes WHERE type = 'price_changed' GROUP ` +
				`BY 1) c USING (service_id) WHERE coalesce(c.n, 0) NOT BETWEEN least(p.n, 1) AND p.n`,
			"visits whose price is lost or doubled": `SELECT count(*) FROM (SELECT e.service_id, ` +
				`count(DISTINCT since) n FROM prices p JOIN endpoints e ON e.id = p.endpoint_id GROUP BY 1) p ` +
				`FULL JOIN (SELECT service_id, count(*) n FROM checks WHERE endpoints_found > 0 GROUP BY 1) ` +
				`c USING (service_id) WHERE p.n IS DISTINCT FROM c.n`,
			"addresses that were submitted twice": `SELECT count(*) - count(DISTINCT url) FROM submissions`,
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

// finish has every part do its work undisturbed at last, and compares with a directory in which nobody was killed.
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
