package crawl

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
)

// TestCrawlCutOff checks that finished visits are stored and the others are due again when their lease ends.
func TestCrawlCutOff(t *testing.T) {
	t.Parallel()
	hit, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	quick, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	slow, slowOptions := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hit <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	o.Guard.AllowPrivate = append(o.Guard.AllowPrivate, slowOptions.Guard.AllowPrivate...)
	m := open(t)
	m.list(t, oneEndpoint("quick", quick, "/x"), oneEndpoint("slow", slow, "/x"))
	visited := make(chan struct{}, 2)
	now := &clock{now: dawn}
	c := crawler(t, m, Options{Now: now.Now, Visited: func(int, int) { visited <- struct{}{} }}, o)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done sync.WaitGroup
	var report Report
	var err error
	done.Go(func() { report, err = c.Round(ctx) })
	<-hit
	<-visited
	cancel()
	done.Wait()
	if err == nil || report.Visits != 1 || report.Online != 1 {
		t.Errorf("round cut off: %+v, error %v; want one visit and an error", report, err)
	}
	if got := m.strings(t, `SELECT slug FROM checks JOIN services s ON s.id = service_id`); !slices.Equal(got,
		[]string{"quick"}) {
		t.Errorf("checks stored of %q, want quick alone", got)
	}
	if due := m.strings(t, `SELECT slug FROM services JOIN service_states ON service_id = id WHERE next_check_at <= `+
		`$1 ORDER BY 1`, dawn); len(due) != 0 {
		t.Errorf("due while the lease lasts: %q", due)
	}
	lease := dawn.Add(c.lease())
	if due := m.strings(t, `SELECT slug FROM services JOIN service_states ON service_id = id WHERE next_check_at <= `+
		`$1 ORDER BY 1`, lease); !slices.Equal(due, []string{"slow"}) {
		t.Errorf("due when the lease ends: %q, want slow", due)
	}
}

// TestLongVisit checks that endpoints that a visit did not reach are neither stored nor judged, and come first next
// time.
func TestLongVisit(t *testing.T) {
	t.Parallel()
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	m := open(t)
	m.list(t, oneEndpoint("acme", base, "/a", "/b"))
	now := &clock{now: dawn}
	// With this gap the second request does not fit into the visit.
	c := New(m.DB, Options{Now: now.Now, HostGap: 5 * time.Minute, Visit: time.Second}, o)
	defer c.Close()
	if report := round(t, c); report.Visits != 1 || report.Online != 1 {
		t.Errorf("%+v, want one service online", report)
	}
	if probed := m.strings(t, `SELECT path FROM endpoints WHERE last_probed_at IS NOT NULL`); !slices.Equal(probed,
		[]string{"/a"}) {
		t.Errorf("probed: %q, want /a", probed)
	}

	// The next visit reaches no endpoint: that is no check, and the service is due when its lease ends.
	now.set(dawn.Add(time.Hour))
	if report := round(t, c); report.Visits != 0 {
		t.Errorf("visit without requests is counted: %+v", report)
	}
	if n := m.strings(t, `SELECT count(*)::text FROM checks`); n[0] != "1" {
		t.Errorf("%s checks stored, want the one with a request", n[0])
	}
	if due := m.strings(t, `SELECT slug FROM services JOIN service_states ON service_id = id WHERE next_check_at <= $1`,
		now.Now().Add(c.lease())); !slices.Equal(due, []string{"acme"}) {
		t.Errorf("due when the lease ends: %q", due)
	}
}

// TestFirstPricesAreNoChange checks that endpoints listed with their service make no change record when a later visit
// reaches them for the first time, and that an endpoint added later does.
func TestFirstPricesAreNoChange(t *testing.T) {
	t.Parallel()
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	m := open(t)
	l := oneEndpoint("acme", base)
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123" { // 30: more than one visit probes
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{Method: "GET", Path: "/" + string(c)})
	}
	m.list(t, l)
	now := &clock{now: dawn}
	c := crawler(t, m, Options{Now: now.Now}, o)
	for range 2 {
		if report := round(t, c); report.Changes != 0 || report.Online != 1 {
			t.Errorf("%+v, want a service online without changes", report)
		}
		now.set(now.Now().Add(time.Hour))
	}
	if n := m.strings(t, `SELECT count(*)::text FROM prices`); n[0] != "30" {
		t.Errorf("%s prices stored, want 30", n[0])
	}
	if _, err := m.conn.Exec(t.Context(),
		`INSERT INTO endpoints (id, service_id, method, method_declared, path, origin, first_seen_at)
		SELECT gen_random_uuid(), id, 'GET', true, '/new', 'discovery', $1 FROM services`, now.Now()); err != nil {
		t.Fatal(err)
	}
	round(t, c)
	var got site.SchemaSummary
	onlyChange(t, m, "acme", site.SchemaChanged, now.Now(), &got)
	if diff := cmp.Diff([]string{"GET /new"}, got.EndpointsAdded); diff != "" {
		t.Errorf("endpoints added (-want +got):\n%s", diff)
	}
}
