package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/probe"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// TestVisitService checks that a service that is due is visited once, however many jobs it has, not again before it is
// due, and at once again after a visit that was cut off.
func TestVisitService(t *testing.T) {
	t.Parallel()
	m := open(t)
	var requests atomic.Int32
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			requests.Add(1)
		}
		pay(w, challenge)
	}))
	const services = 12
	for i := range services {
		l := oneEndpoint(fmt.Sprintf("s%02d", i), fmt.Sprintf("%s/s%02d", base, i), "/pay")
		l.CreatedAt = time.Now()
		m.list(t, l)
	}
	c := crawler(t, m, Options{}, o)
	ids, err := m.DueServices(t.Context(), time.Now(), 100)
	if err != nil || len(ids) != services {
		t.Fatal(ids, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := c.VisitService(stopped, ids[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("visit that is cut off: %v", err)
	}
	var g sync.WaitGroup
	for range 3 {
		for _, id := range ids {
			g.Go(func() {
				if err := c.VisitService(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
	}
	g.Wait()
	if got := m.strings(t, `SELECT s.slug FROM services s JOIN checks c ON c.service_id = s.id ORDER BY s.slug`); len(
		got) != services || len(slices.Compact(got)) != services {
		t.Errorf("checks stored of %q, want one of each of %d services", got, services)
	}
	if requests.Load() != services {
		t.Errorf("%d requests were sent, want %d", requests.Load(), services)
	}
}

// TestVisitWithoutItsHost checks that a service whose host another process keeps is due again as soon as its visit gives
// up, not when its lease ends.
func TestVisitWithoutItsHost(t *testing.T) {
	t.Parallel()
	m := open(t)
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { pay(w, challenge) }))
	l := oneEndpoint("held", base, "/pay")
	l.CreatedAt = time.Now()
	m.list(t, l)
	other := uuid.New()
	if wait, err := m.TakeHost(t.Context(), host(base), other, postgres.HostRules{Hold: time.Hour}); wait != 0 || err != nil {
		t.Fatal(wait, err)
	}
	c := crawler(t, m, Options{Visit: 200 * time.Millisecond}, o)
	visit := func() int {
		t.Helper()
		ids, err := m.DueServices(t.Context(), time.Now(), 9)
		if err != nil || len(ids) != 1 {
			t.Fatalf("due are %d, %v, want the one service", ids, err)
		}
		if err := c.VisitService(t.Context(), ids[0]); err != nil {
			t.Fatal(err)
		}
		return len(m.strings(t, `SELECT id::text FROM checks`))
	}
	if n := visit(); n != 0 {
		t.Fatalf("%d checks of a host that could not be asked", n)
	}
	if err := m.ReleaseHosts(t.Context(), []string{host(base)}, other, 0); err != nil {
		t.Fatal(err)
	}
	c = crawler(t, m, Options{}, o)
	if n := visit(); n != 1 {
		t.Errorf("%d checks once the host is free, want 1", n)
	}
}

// TestOneThatCannotBeStored checks that a visit that can't be stored does not prevent others of its batch.
func TestOneThatCannotBeStored(t *testing.T) {
	t.Parallel()
	m := open(t)
	m.list(t, oneEndpoint("good", "https://good.example", "/"), oneEndpoint("spoilt", "https://spoilt.example", "/"))
	services, err := m.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := crawler(t, m, Options{}, probe.Options{})
	visit := func(s postgres.Service, at time.Time) checks.Visit {
		return c.newVisit(t.Context(), postgres.DueService{Service: s}, nil, nil, at)
	}
	now := time.Now()
	if errs, err := c.storeVisits([]checks.Visit{visit(services[0], now)}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	if services, err = m.Services(t.Context()); err != nil {
		t.Fatal(err)
	}
	spoilt, nul := visit(services[1], now), "\x00" // Postgres stores no text with NUL
	spoilt.Check.ErrorMessage = &nul
	errs, err := c.storeVisits([]checks.Visit{visit(services[0], now.Add(time.Hour)), spoilt})
	if err != nil || errs[0] != nil || errs[1] == nil {
		t.Errorf("the visits are stored with %v, %v, want the first alone", errs, err)
	}
}
