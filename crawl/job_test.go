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

	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// TestVisitOne: however many are told that a service is due, it is visited once; not again before it is due; and one
// whose visit was cut off is due again at once.
func TestVisitOne(t *testing.T) {
	t.Parallel()
	m := open(t)
	var asked atomic.Int32
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			asked.Add(1)
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
	if err := c.VisitOne(stopped, ids[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("a visit that is cut off answers %v", err)
	}
	var g sync.WaitGroup
	for range 3 {
		for _, id := range ids {
			g.Go(func() {
				if err := c.VisitOne(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
	}
	g.Wait()
	if got := m.strings(t, `SELECT s.slug FROM services s JOIN checks c ON c.service_id = s.id ORDER BY s.slug`); len(
		got) != services || len(slices.Compact(got)) != services {
		t.Errorf("checks are kept of %q, want one of each of %d services", got, services)
	}
	if asked.Load() != services {
		t.Errorf("%d requests were sent, want %d", asked.Load(), services)
	}
}

// TestOneThatCannotBeStored: of visits that end together, one that can't be stored does not take the others along.
func TestOneThatCannotBeStored(t *testing.T) {
	t.Parallel()
	m := open(t)
	m.list(t, oneEndpoint("good", "https://good.example", "/"), oneEndpoint("spoilt", "https://spoilt.example", "/"))
	services, err := m.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := crawler(t, m, Options{}, probe.Options{})
	visit := func(s postgres.Service, at time.Time) postgres.Visit {
		return c.sum(t.Context(), postgres.DueService{Service: s}, nil, at)
	}
	now := time.Now()
	if errs, err := c.storeVisits([]postgres.Visit{visit(services[0], now)}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	if services, err = m.Services(t.Context()); err != nil {
		t.Fatal(err)
	}
	spoilt, nul := visit(services[1], now), "\x00" // which no text in Postgres holds
	spoilt.Check.ErrorMessage = &nul
	errs, err := c.storeVisits([]postgres.Visit{visit(services[0], now.Add(time.Hour)), spoilt})
	if err != nil || errs[0] != nil || errs[1] == nil {
		t.Errorf("the visits are stored with %v, %v, want the first alone", errs, err)
	}
}
