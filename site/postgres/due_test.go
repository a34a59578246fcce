package postgres_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// TestLateVisitIsDropped records visits of two visitors, the first of which lost its lease. Only the visit with the
// valid lease is stored, once.
func TestLateVisitIsDropped(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("acme")}); err != nil {
		t.Fatal(err)
	}
	all, err := db.Services(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id, now := all[0].ID, all[0].NextCheckAt
	take := func(at time.Time) *postgres.DueService {
		t.Helper()
		s, err := db.TakeService(t.Context(), "", id, at, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := take(now)
	if first == nil || take(now.Add(time.Second)) != nil {
		t.Fatal("a due service is taken by one, until its lease is over")
	}
	second := take(now.Add(2 * time.Minute))
	if second == nil {
		t.Fatal("it is due again when the lease is over")
	}
	tell := func(s *postgres.DueService, at time.Time, want bool) {
		t.Helper()
		v := visit(*s, at)
		v.Lease, v.NextCheckAt = s.NextCheckAt, at.Add(15*time.Minute)
		if err := db.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
			t.Fatal(err)
		}
		after, err := db.Services(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		stored := after[0].LastCheckedAt != nil && after[0].LastCheckedAt.Equal(at)
		if stored != want {
			t.Errorf("the visit at %s is kept: %t, want %t", at, stored, want)
		}
	}
	tell(first, now.Add(2*time.Minute), false)
	tell(second, now.Add(3*time.Minute), true)
	tell(first, now.Add(4*time.Minute), false)
	tell(second, now.Add(5*time.Minute), false)
	if take(now.Add(10*time.Minute)) != nil {
		t.Error("it is due before its interval is over")
	}
	third := take(now.Add(20 * time.Minute))
	if err := db.ReleaseService(t.Context(), id, second.NextCheckAt, now); err != nil { // a taking that is over
		t.Fatal(err)
	}
	if take(now.Add(20*time.Minute)) != nil {
		t.Error("who no longer has it released it")
	}
	if err := db.ReleaseService(t.Context(), id, third.NextCheckAt, now); err != nil {
		t.Fatal(err)
	}
	if take(now.Add(20*time.Minute)) == nil {
		t.Error("a released service is due at once")
	}
}

// TestVisitsAndSiteReadingsInParallel checks that a visit and a site reading that write the same endpoints at once do
// not deadlock.
func TestVisitsAndSiteReadingsInParallel(t *testing.T) {
	t.Parallel()
	db := open(t)
	l := listing("acme")
	for i := range 30 {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{Method: "GET", Path: fmt.Sprintf("/%02d", i)})
	}
	if err := db.AddListings(t.Context(), []postgres.Listing{l}); err != nil {
		t.Fatal(err)
	}
	s := dueSites(t, db, start)[0]
	var g sync.WaitGroup
	const rounds = 40
	g.Go(func() {
		for i := range rounds {
			v := visit(s, start.Add(time.Duration(i)*time.Second))
			for j := range s.Endpoints {
				e := s.Endpoints[len(s.Endpoints)-1-j]
				v.Endpoints = append(v.Endpoints, checks.EndpointVisit{ID: e.ID, ProbedAt: v.Check.CheckedAt,
					Class: "paid", Reason: "r"})
			}
			if err := db.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
				t.Error(err)
			}
		}
	})
	g.Go(func() {
		for i := range rounds {
			v := postgres.SiteVisit{ServiceID: s.ID, Slug: s.Slug, At: start, NextAt: start,
				Declared: map[uuid.UUID]postgres.DeclaredPrice{}}
			for _, e := range s.Endpoints {
				v.Declared[e.ID] = postgres.DeclaredPrice{Amount: fmt.Sprint(i)}
			}
			if err := db.RecordSite(t.Context(), v); err != nil {
				t.Error(err)
			}
		}
	})
	g.Wait()
}
