//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/postgres/rows"
	"tollbook/site/testgate"
)

// These constants configure TestFleet. Seconds represent minutes.
const (
	fleetServices = 2000
	fleetHosts    = 125
	fleetGap      = 100 * time.Millisecond
	fleetInterval = 20 * time.Second
	fleetChecks   = 3 // of each service, at least, at the end
)

// hostRequest is one request to a host.
type hostRequest struct {
	at, done time.Time
	worker   string
}

// fleetWorld contains the hosts that a fleet visits. Each host answers every path with a price, and records the worker
// and time of each request.
type fleetWorld struct {
	bases []string

	mu       sync.Mutex
	requests [fleetHosts][]hostRequest
	trap     string      // worker whose next request gets no response, "" for none
	caught   chan string // path of that request
	free     chan struct{}
}

const fleetChallenge = `{"x402Version":1,"error":"pay","accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"10000",` +
	`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"resource":"http://x","description":"d","mimeType":"application/json"}]}`

func newFleetWorld(t *testing.T) *fleetWorld {
	t.Helper()
	w := &fleetWorld{caught: make(chan string), free: make(chan struct{})}
	for i := range fleetHosts {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.answer(i, rw, r)
		}))
		s.Listener.Close()
		s.Listener = l
		s.Start()
		t.Cleanup(s.Close)
		w.bases = append(w.bases, s.URL)
	}
	t.Cleanup(func() { close(w.free) }) // before the servers, which wait for blocked requests
	return w
}

func (w *fleetWorld) answer(host int, rw http.ResponseWriter, r *http.Request) {
	_, worker, _ := strings.Cut(r.UserAgent(), "worker-")
	worker = strings.TrimSuffix(worker, ")")
	w.mu.Lock()
	at := len(w.requests[host])
	w.requests[host] = append(w.requests[host], hostRequest{at: time.Now(), worker: worker})
	held := w.trap != "" && w.trap == worker
	if held {
		w.trap = ""
	}
	w.mu.Unlock()
	if held {
		w.caught <- r.URL.Path
		<-w.free
	}
	w.mu.Lock()
	w.requests[host][at].done = time.Now()
	w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusPaymentRequired)
	_, _ = io.WriteString(rw, fleetChallenge)
}

// catch waits until a worker sends a request, which gets no response. It returns the slug of the service.
func (w *fleetWorld) catch(t *testing.T, p *program, worker string) string {
	t.Helper()
	w.mu.Lock()
	w.trap = worker
	w.mu.Unlock()
	select {
	case path := <-w.caught:
		slug, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		return slug
	case <-time.After(patience):
		t.Fatalf("worker %s asks nothing:\n%s", worker, p.said())
		panic("not reached")
	}
}

// TestWork checks that a worker visits the due services of a shared database, and exits with status 0 on a signal.
func TestWork(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = io.WriteString(w, fleetChallenge)
	}))
	t.Cleanup(shop.Close)
	list := fmt.Sprintf(`[{"service_name":"Acme","description":"d","url":%q,"category":"AI","endpoints":["GET /x"]}]`,
		shop.URL)
	ran(t, env, "services", "import", writeFile(t, "list.json", []byte(list)), "--crawl-allow-private",
		shop.Listener.Addr().String())
	p := command(t, env, "work", "--crawl-allow-private", shop.Listener.Addr().String(), "--crawl-host-gap", "1ms",
		"--serve-metrics", "127.0.0.1:0").start(t)
	until(t, p.await(t, "Metrics on "), "visit", func(a answer) bool {
		return strings.Contains(a.body, "\ntollbook_jobs_done_total{kind=\"visit\"} 1\n")
	})
	if shown := ran(t, env, "services", "show", "acme"); !strings.Contains(shown, "online") {
		t.Errorf("after the visit: %s", shown)
	}
	p.interrupt(t, syscall.SIGTERM)
}

// TestFleet runs three processes that share two thousand services. One is killed during a visit. One is suspended
// during a visit and continues much later. Each service is checked in every interval, even if its visit was cut off.
// Each check is stored once, even if the suspended process and its successor both made it. No host gets requests from
// two processes at once, or sooner after a request than the gap.
func TestFleet(t *testing.T) { // not parallel: its leases end by the clock, so its processes need the machine
	testgate.All(t)
	dsn := postgrestest.NewDatabase(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	conn := postgrestest.Connect(t, dsn)
	world := newFleetWorld(t)
	var listings []postgres.Listing
	for i := range fleetServices {
		slug := fmt.Sprintf("s%04d", i)
		listings = append(listings, postgres.Listing{
			Slug: slug, Name: slug, Description: "d", BaseURL: world.bases[i%fleetHosts] + "/" + slug, Category: "Data",
			Source:    "imported:file",
			CreatedAt: time.Now(), Interval: fleetInterval,
			Endpoints: []postgres.ListedEndpoint{{Method: "POST", Path: "/pay"}},
		})
	}
	if err := db.AddListings(t.Context(), listings); err != nil {
		t.Fatal(err)
	}
	// Reading sites would send ten times as many requests to the same hosts.
	if _, err := conn.Exec(t.Context(),
		`INSERT INTO site_facts (service_id, next_at) SELECT id, 'infinity' FROM services`); err != nil {
		t.Fatal(err)
	}
	work := func(name string) *program {
		p := command(t, []string{"DATABASE_URL=" + dsn}, "work", "--crawl-allow-private", "127.0.0.1",
			"--crawl-host-gap", fleetGap.String(),
			"--visit-limit", "5s", "--crawl-workers", "16", "--crawl-contact", "https://worker-"+name)
		p.Dir = t.TempDir()
		return p.start(t)
	}
	a, b, c := work("a"), work("b"), work("c")
	number := func(sql string, args ...any) (n int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	wait := func(what string, good func() bool) {
		t.Helper()
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(2 * patience); !good(); {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("it is not so that %s\na:\n%.3000s\nb:\n%.3000s\nc:\n%.3000s", what, a.said(), b.said(),
					c.said())
			}
		}
	}
	least := func(n int) func() bool {
		return func() bool {
			return number(
				`SELECT count(*) FROM services s WHERE (SELECT count(*) FROM checks c WHERE c.service_id = s.id) < $1`,
				n) == 0
		}
	}
	of := func(slug string) int {
		return number(`SELECT count(*) FROM checks c JOIN services s ON s.id = c.service_id WHERE slug = $1`, slug)
	}
	wait("the fleet works", func() bool { return number(`SELECT count(*) FROM checks`) > fleetServices/4 })

	cut := world.catch(t, a, "a")
	before := of(cut)
	if err := a.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.exited
	late := world.catch(t, b, "b")
	lateBefore := of(late)
	if err := b.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	wait("the service whose visitor was killed is checked by another", func() bool { return of(cut) > before })
	wait("the service whose visitor was stopped is checked by another", func() bool { return of(late) > lateBefore })
	woken := time.Now()
	if err := b.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	wait("the stopped process works again", func() bool {
		world.mu.Lock()
		defer world.mu.Unlock()
		for _, list := range world.requests {
			if n := len(list); n > 0 && list[n-1].worker == "b" && list[n-1].at.Sub(woken) > time.Second {
				return true
			}
		}
		return false
	})
	wait("each service was checked often enough", least(fleetChecks))
	for _, p := range []*program{b, c} {
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*program{b, c} {
		if code := p.status(t); code != 0 {
			t.Errorf("told to stop, a worker exits %d:\n%s", code, p.said())
		}
	}

	// Each check is stored once: two checks of a service are an interval apart, except for jitter.
	if n := number(`
		SELECT count(*) FROM (SELECT checked_at - lag(checked_at) OVER (PARTITION BY service_id ORDER BY checked_at) AS since FROM checks) c
		WHERE since < $1`, fleetInterval*3/4); n != 0 {
		t.Errorf("%d checks came before the service was due again", n)
	}
	if n, want := number(`SELECT coalesce(sum(checks), 0) FROM check_hours`),
		number(`SELECT count(*) FROM checks WHERE checked_at < (SELECT through FROM log_seal)`); n != want {
		t.Errorf("the hours count %d checks, %d are stored and sealed", n, want)
	}
	// Each service is checked in every interval. Rescued services may be later.
	passed, err := rows.Column[string](t.Context(), conn, `
		WITH n AS (SELECT s.id, (SELECT count(*) FROM checks c WHERE c.service_id = s.id) AS checks FROM services s)
		SELECT format('%s: checked %s s after the first; jobs %s', slug,
			(SELECT string_agg(round(extract(epoch FROM checked_at - (SELECT min(checked_at) FROM checks)), 1)::text, ', '
				ORDER BY checked_at) FROM checks WHERE service_id = n.id),
			(SELECT string_agg(format('%s s to %s s %s, attempt %s', round(extract(epoch FROM attempted_at
				- (SELECT min(checked_at) FROM checks)), 1), round(extract(epoch FROM finalized_at
				- (SELECT min(checked_at) FROM checks)), 1), state, attempt), '; ' ORDER BY river_job.id) FROM river_job
				WHERE kind = 'visit' AND (args->>'service')::bigint = n.id))
		FROM n JOIN services USING (id)
		WHERE checks < (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY checks) FROM n) - 1
			AND id NOT IN (SELECT (args->>'service')::bigint FROM river_job WHERE kind = 'visit' AND errors IS NOT NULL)
		ORDER BY slug`)
	if err != nil {
		t.Fatal(err)
	}
	if len(passed) > 0 {
		t.Errorf("%d services were passed over while others were checked twice:\n%s", len(passed),
			strings.Join(passed, "\n"))
	}
	if n := number(`SELECT count(*) FROM river_job WHERE state = 'running'`); n != 0 {
		t.Errorf("%d jobs are left running by nobody", n)
	}
	if failed := number(`SELECT count(*) FROM checks WHERE status = 'offline'`); failed > 0 {
		t.Errorf("%d checks did not find a service that answers", failed)
	}
	world.checkGaps(t, woken)
}

// checkGaps checks that requests to a host keep its gap. A process that was suspended between taking a host and its
// request may be late once, when it resumes. Nothing can prevent that.
func (w *fleetWorld) checkGaps(t *testing.T, woken time.Time) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	requests := 0
	for host, list := range w.requests {
		requests += len(list)
		late := slices.IndexFunc(list, func(a hostRequest) bool { return a.worker == "b" && a.at.After(woken) })
		for i := 1; i < len(list); i++ {
			since := list[i].at.Sub(list[i-1].at)
			if since >= fleetGap {
				continue
			}
			if late >= 0 && (i == late || i == late+1) {
				t.Logf("host %d was asked again after %s, by a process that was stopped before it asked", host, since)
				continue
			}
			t.Errorf("host %d was asked by %s %s after it was by %s", host, list[i].worker, since, list[i-1].worker)
		}
	}
	t.Logf("%d requests to %d hosts", requests, fleetHosts)
}
