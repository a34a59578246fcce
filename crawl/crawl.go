// Package crawl is the visitor: who is due, what each visit found, and what of it goes into Postgres.
//
// It records facts: checks, envelopes, prices, changes. It must never judge a service (build does) and never render or
// publish. Asking one address is crawl/probe's; every query is site/postgres's.
package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	Hourly  int           // requests to a host in an hour, over all its services; 600 when zero, unbounded when negative
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

// Crawler visits services that are due.
type Crawler struct {
	db      *postgres.DB
	prober  *probe.Prober
	fetcher *facts.Fetcher
	guard   *probe.Guard
	hosts   *pace
	o       Options
}

// New makes a crawler that asks through a prober with options p, completed by the crawler's own pace and clock: the same
// distance is kept between the requests of a probe as between probes. Close it when done.
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
	c := &Crawler{db: db, hosts: newPace(o.HostGap, o.Hourly), o: o}
	if p.Guard == nil {
		p.Guard = &probe.Guard{}
	}
	p.Pace, p.Now, c.guard = c.hosts.next, o.Now, p.Guard
	c.prober = probe.New(p)
	c.fetcher = facts.New(facts.Options{
		Guard: p.Guard, Routes: p.Routes, UserAgent: p.UserAgent, Enter: c.hosts.enter, Robots: robotsStore{db}, Now: o.Now,
	})
	return c
}

// Close drops kept connections.
func (c *Crawler) Close() {
	c.prober.Close()
	c.fetcher.Close()
}

// Report counts what a round of visits found.
type Report struct {
	Visits, Online, Degraded, Offline, Inconclusive int
	Changes                                         int
	Took                                            time.Duration
}

// flushEvery bounds how long a finished visit waits to be kept.
const flushEvery = 500 * time.Millisecond

// Round visits every service that is due when it starts, or becomes so meanwhile, and returns when none is. It ends
// early when ctx does: visits under way are given up, finished ones are kept.
func (c *Crawler) Round(ctx context.Context) (Report, error) {
	began := c.o.Now()
	due, err := c.db.CountDue(ctx, began)
	if err != nil {
		return Report{}, err
	}
	visits := make(chan postgres.Visit)
	work := make(chan postgres.DueService)
	stop, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var workers sync.WaitGroup
	for range c.o.Workers {
		workers.Go(func() {
			for s := range work {
				if v, ok := c.visit(stop, s); ok {
					visits <- v
				}
			}
		})
	}
	go func() {
		if err := c.feed(stop, began, work); err != nil {
			cancel(err)
		}
		close(work)
		workers.Wait()
		close(visits)
	}()
	report, err := c.keep(context.WithoutCancel(ctx), visits, due)
	if err != nil {
		cancel(err)
		for range visits { // let the workers end
		}
		return report, err
	}
	report.Took = c.o.Now().Sub(began)
	if err := context.Cause(stop); err != nil && !errors.Is(err, context.Canceled) {
		return report, err
	}
	return report, ctx.Err()
}

// feed hands out due services, a few at a time so that they lease no longer than they must.
func (c *Crawler) feed(ctx context.Context, until time.Time, work chan<- postgres.DueService) error {
	for {
		due, err := c.db.Due(ctx, until, c.o.Visit+time.Minute, 4*c.o.Workers)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || len(due) == 0 {
			return err
		}
		for _, s := range due {
			select {
			case work <- s:
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// maxBatch bounds how many visits are kept in one transaction.
const maxBatch = 500

// keep collects finished visits and writes them in batches.
func (c *Crawler) keep(ctx context.Context, visits <-chan postgres.Visit, due int) (r Report, err error) {
	var batch []postgres.Visit
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if err := c.db.RecordVisits(ctx, batch); err != nil {
			return err
		}
		if c.o.Changed != nil {
			c.o.Changed(batch)
		}
		batch = nil
		return nil
	}
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case v, ok := <-visits:
			if !ok {
				return r, flush()
			}
			batch = append(batch, v)
			r.count(v)
			if c.o.Visited != nil {
				c.o.Visited(r.Visits, max(due, r.Visits))
			}
			if len(batch) >= maxBatch {
				err = flush()
			}
		case <-tick.C:
			err = flush()
		}
		if err != nil {
			return r, err
		}
	}
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

// idle is the longest sleep between rounds: a service listed meanwhile is found after it.
const idle = 5 * time.Second

// Run visits services, and looks at their sites and domains, as they become due until ctx ends.
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
	var unasked error
	if c.o.Synthesis.Client != nil {
		gathering.Go(func() {
			if unasked = c.runSynthesize(ctx); unasked != nil {
				cancel()
			}
		})
	}
	err := c.runRounds(ctx)
	cancel()
	gathering.Wait()
	return cmp.Or(err, failed, unasked)
}

// runRounds visits services as they become due until ctx ends.
func (c *Crawler) runRounds(ctx context.Context) error {
	for {
		if _, err := c.Round(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("crawl: %w", err)
		}
		wait := idle
		next, any, err := c.db.NextDue(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if any {
			wait = min(idle, max(next.Sub(c.o.Now()), 10*time.Millisecond))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil
		}
	}
}
