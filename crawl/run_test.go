package crawl

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/testgate"
)

// TestASlowServiceDelaysNobody: while one visit is under way, others end, are kept, and begin again when they are due.
func TestASlowServiceDelaysNobody(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	hit, release := make(chan struct{}, 10), make(chan struct{})
	slow, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hit <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		pay(w, challenge)
	}))
	quick, quickOptions := local(t,
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	o.Guard.AllowPrivate = append(o.Guard.AllowPrivate, quickOptions.Guard.AllowPrivate...)
	o.RequestTimeout = time.Hour // it is we who end it
	m := open(t)
	q, s := oneEndpoint("quick", quick, "/x"), oneEndpoint("slow", slow, "/x")
	q.CreatedAt, s.CreatedAt = time.Now(), time.Now()
	q.Interval = 10 * time.Millisecond
	m.list(t, s)
	kept := make(chan postgres.Visit, 1000)
	c := crawler(t, m, Options{Workers: 2, Visit: time.Hour, Changed: func(list []postgres.Visit) {
		for _, v := range list {
			kept <- v
		}
	}}, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.runVisits(ctx) }()
	<-hit
	m.list(t, q) // while the other one hangs
	slowly := m.facts(t, time.Now())["slow"].ID
	for range 4 {
		if v := <-kept; v.Check.ServiceID == slowly {
			t.Fatal("a visit was kept that has not ended")
		}
	}
	close(release)
	for v := range kept {
		if v.Check.ServiceID == slowly {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("a crawl that was told to stop: %v", err)
	}
}

// TestARunningCrawlFollowsItsClock: when its clock is set back, services are visited when they are due from then on,
// before the look that comes once a minute in any case.
func TestARunningCrawlFollowsItsClock(t *testing.T) {
	t.Parallel()
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	m := open(t)
	l := oneEndpoint("acme", base, "/x")
	l.CreatedAt, l.Interval = time.Now(), time.Second
	m.list(t, l)
	var ahead atomic.Int64
	ahead.Store(int64(time.Hour))
	kept := make(chan []postgres.Visit, 1000)
	c := crawler(t, m, Options{
		Now:     func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		Changed: func(v []postgres.Visit) { kept <- v },
	}, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.runVisits(ctx) }()
	<-kept // nothing is under way now
	ahead.Store(0)
	set := time.After(followEvery * 3 / 4)
	for now := false; !now; {
		select {
		case list := <-kept:
			now = list[0].Check.CheckedAt.Before(time.Now().Add(time.Minute))
		case <-set:
			t.Fatal("no visit after the clock was set back")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("a crawl that was told to stop: %v", err)
	}
}

// TestMoreThanWorkers: services that wait for a worker are taken a few at a time, each once, and none is forgotten.
func TestMoreThanWorkers(t *testing.T) {
	t.Parallel()
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	m := open(t)
	var listings []postgres.Listing
	for i := range 23 {
		listings = append(listings, oneEndpoint("s"+string(rune('a'+i)), base+"/"+string(rune('a'+i)), "/x"))
	}
	m.list(t, listings...)
	now := &clock{now: dawn}
	for _, workers := range []int{1, 3} {
		c := crawler(t, m, Options{Now: now.Now, Workers: workers}, o)
		if report := round(t, c); report.Visits != 23 || report.Online != 23 {
			t.Errorf("%d workers: %+v, want 23 services online", workers, report)
		}
		now.set(now.Now().Add(time.Hour))
	}
	if n := m.strings(t, `SELECT count(*)::text FROM checks`); n[0] != "46" {
		t.Errorf("%s checks, want one of each service in each round", n[0])
	}
}

// TestAFlowWithoutDatabase: what cannot be taken or kept ends a crawl with an error that says so, and nothing hangs.
func TestAFlowWithoutDatabase(t *testing.T) {
	t.Parallel()
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	m := open(t)
	m.list(t, oneEndpoint("acme", base, "/x"))
	if _, err := m.conn.Exec(t.Context(),
		`ALTER TABLE service_states RENAME COLUMN next_check_at TO gone`); err != nil {
		t.Fatal(err)
	}
	err := crawler(t, m, Options{}, o).runVisits(t.Context())
	if err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("without the column that says who is due: %v", err)
	}
}
