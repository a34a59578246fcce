// Package crawl is the visitor: who is due, what each visit found, and what of it goes into Postgres.
//
// It records facts: checks, envelopes, prices, changes. It must never judge a service (build does) and never render or
// publish. Asking one address is crawl/probe's; every query is site/postgres's.
package crawl

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres"
)

// Options of a crawl. The zero value of each is a good one.
type Options struct {
	Workers int           // services visited at once; 32 when zero
	HostGap time.Duration // between two requests to a host; 1 s when zero
	// requests to a host in an hour, over all its services; 600 when zero, unbounded when negative
	Hourly  int
	Visit   time.Duration // longest visit; 90 s when zero. What it did not reach is first next time
	Jitter  float64       // share by which the next visit is early or late; 0.2 when zero
	Now     func() time.Time
	Logger  *slog.Logger           // one line a check; nil for none
	Visited func(done, due int)    // after each visit, for a progress bar; nil for none
	Rand    func() float64         // 0 <= r < 1, for jitter; math/rand's when nil
	Changed func([]postgres.Visit) // after visits are kept, and without any after looks at sites; nil for none

	Bootstrap string // address of the list of RDAP servers; IANA's when empty
	Synthesis Synthesis
	FreeHosts site.FreeHosts // beside the shipped ones
}

// GCPercent suits a process that does nothing but crawl: a probe leaves much behind, and little of it lives, so that at
// Go's own 100 a fifth of all processor time goes into collecting it.
const GCPercent = 300

// Crawler visits services that are due.
type Crawler struct {
	db      *postgres.DB
	prober  *probe.Prober
	fetcher *facts.Fetcher
	guard   *probe.Guard
	hosts   *pace
	o       Options

	submissions *Submissions
	storing     coalescer[postgres.Visit, error]
}

// New makes a crawler that asks through a prober with options p, completed by the crawler's own pace and clock: the
// same distance is kept between the requests of a probe as between probes. Close it when done.
func New(db *postgres.DB, o Options, p probe.Options) *Crawler {
	o.Workers = cmp.Or(o.Workers, 32)
	o.HostGap = cmp.Or(o.HostGap, time.Second)
	o.Hourly = cmp.Or(o.Hourly, 600)
	o.Visit = cmp.Or(o.Visit, 90*time.Second)
	o.Jitter = cmp.Or(o.Jitter, 0.2)
	o.Bootstrap = cmp.Or(o.Bootstrap, facts.BootstrapAddress)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Crawler{db: db, hosts: newPace(db, o.HostGap, o.Hourly, max(o.Visit, 5*time.Second)), o: o}
	c.storing.run = c.storeVisits
	if p.Guard == nil {
		p.Guard = &probe.Guard{}
	}
	p.Pace, p.Now, c.guard = c.hosts.next, o.Now, p.Guard
	c.prober = probe.New(p)
	c.submissions = newSubmissions(db, SubmissionOptions{Now: o.Now, Logger: o.Logger}, p, c.hosts)
	c.fetcher = facts.New(facts.Options{
		Guard: p.Guard, Routes: p.Routes, UserAgent: p.UserAgent, Enter: c.hosts.enter, Robots: robotsStore{db},
		Now: o.Now,
	})
	return c
}

// Close drops kept connections.
func (c *Crawler) Close() {
	c.prober.Close()
	c.submissions.Close()
	c.fetcher.Close()
}

// ProbeSubmissions probes the submissions whose probe is due, and answers how many.
func (c *Crawler) ProbeSubmissions(ctx context.Context) (int, error) {
	return c.submissions.ProbeQueued(ctx)
}

// Report counts what a round of visits found.
type Report struct {
	Visits, Online, Degraded, Offline, Inconclusive int
	Changes                                         int
	Took                                            time.Duration
}

func (r *Report) count(v postgres.Visit) {
	r.Visits++
	r.Changes += len(v.Changes)
	switch {
	case !v.Check.Counted:
		r.Inconclusive++
	case *v.Check.Status == "online":
		r.Online++
	case *v.Check.Status == "degraded":
		r.Degraded++
	default:
		r.Offline++
	}
}

// Run visits services, looks at their sites and domains, and probes submissions, as they become due until ctx ends.
func (c *Crawler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var gathering sync.WaitGroup
	var failed error
	gathering.Go(func() {
		if failed = c.runGather(ctx); failed != nil {
			cancel()
		}
	})
	gathering.Go(func() { c.submissions.Run(ctx) })
	var unasked error
	if c.o.Synthesis.Client != nil {
		gathering.Go(func() {
			if unasked = c.runSynthesize(ctx); unasked != nil {
				cancel()
			}
		})
	}
	err := c.runVisits(ctx)
	cancel()
	gathering.Wait()
	return cmp.Or(err, failed, unasked)
}
