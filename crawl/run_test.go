package crawl

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/testgate"
)

// TestSlowServiceDelaysNobody checks that other visits end, are stored and begin again while one visit runs.
func TestSlowServiceDelaysNobody(t *testing.T) {
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
	o.RequestTimeout = time.Hour // the test ends the request
	m := open(t)
	q, s := oneEndpoint("quick", quick, "/x"), oneEndpoint("slow", slow, "/x")
	q.CreatedAt, s.CreatedAt = time.Now(), time.Now()
	q.Interval = 10 * time.Millisecond
	m.list(t, s)
	stored := make(chan checks.Visit, 1000)
	c := crawler(t, m, Options{Workers: 2, Visit: time.Hour, Changed: func(list []checks.Visit) {
		for _, v := range list {
			stored <- v
		}
	}}, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.runVisits(ctx) }()
	<-hit
	m.list(t, q) // while the visit of the slow service runs
	slowly := m.facts(t, time.Now())["slow"].ID
	for range 4 {
		if v := <-stored; v.Check.ServiceID == slowly {
			t.Fatal("a running visit was stored")
		}
	}
	close(release)
	for v := range stored {
		if v.Check.ServiceID == slowly {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("crawl with an ended context: %v, want no error", err)
	}
}

// TestRunningCrawlFollowsItsClock checks that after its clock is set back, services are visited by the new time before
// the query that runs once a minute in any case.
func TestRunningCrawlFollowsItsClock(t *testing.T) {
	t.Parallel()
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	m := open(t)
	l := oneEndpoint("acme", base, "/x")
	l.CreatedAt, l.Interval = time.Now(), time.Second
	m.list(t, l)
	var offset atomic.Int64
	offset.Store(int64(time.Hour))
	stored := make(chan []checks.Visit, 1000)
	c := crawler(t, m, Options{
		Now:     func() time.Time { return time.Now().Add(time.Duration(offset.Load())) },
		Changed: func(v []checks.Visit) { stored <- v },
	}, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.runVisits(ctx) }()
	<-stored // no visit runs now
	offset.Store(0)
	set := time.After(followEvery * 3 / 4)
	for now := false; !now; {
		select {
		case list := <-stored:
			now = list[0].Check.CheckedAt.Before(time.Now().Add(time.Minute))
		case <-set:
			t.Fatal("no visit after the clock was set back")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("crawl with an ended context: %v, want no error", err)
	}
}

// TestMoreThanWorkers checks that services are leased a few at a time, each once, and that none is forgotten.
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

// TestRunWithoutDatabase checks that a crawl whose services can't be leased or stored ends with an error.
func TestRunWithoutDatabase(t *testing.T) {
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
		t.Errorf("crawl without the column next_check_at: %v", err)
	}
}
