// Package crawl visits services: it decides which service is due, visits it and stores the result in Postgres.
//
// It records facts: checks, envelopes, prices, changes. It must never judge a service, render or publish; package build
// judges. Package crawl/probe sends each request, and package site/postgres contains every query.
package crawl

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// Options are the settings of a crawl. Zero values stand for the defaults.
type Options struct {
	Workers int           // services visited at once; 32 when zero
	HostGap time.Duration // between two requests to a host; 1 s when zero
	// Hourly is the most requests to a host in an hour, over all its services; 600 when zero, unlimited when negative.
	// Pages of a public source do not count.
	Hourly int
	// longest visit; 90 s when zero. The next visit begins with the endpoints that were not reached
	Visit   time.Duration
	Jitter  float64 // share by which the next visit is early or late; 0.2 when zero
	Now     func() time.Time
	Logger  *slog.Logger         // gets one line for each check; nil for none
	Visited func(done, due int)  // called after each visit, for a progress bar; may be nil
	Rand    func() float64       // returns 0 <= r < 1, for jitter; math/rand's when nil
	Changed func([]checks.Visit) // called after visits are stored, and with nil after other facts are; may be nil

	// FacilitatorEvery is the time from one poll of a facilitator to the next; zero asks none.
	FacilitatorEvery time.Duration

	Bootstrap string // URL of the list of RDAP servers; IANA's when empty
	Synthesis Synthesis
	FreeHosts listing.FreeHosts // in addition to the built-in ones

	// LookupTXT looks up TXT records of hosts, such as net.DefaultResolver.LookupTXT; nil for none.
	LookupTXT func(ctx context.Context, name string) ([]string, error)

	// Control names hosts, host:port, that accept connections whenever this machine's network works. Without them, the
	// network counts as failed when several unrelated hosts that answered before fail together.
	Control []string

	// Vantage names the place of this crawl, for checks of a directory with several; "" for the place without a name.
	Vantage string

	// NoContact forbids requests to hosts of others, and to registries, because the user agent names nobody who can be
	// asked about them. Import ignores it: it is one person's request.
	NoContact bool
}

// GCPercent is the value of GOGC for a process that only crawls. A probe leaves much garbage and little live memory: at
// Go's default of 100, collecting it takes a fifth of all processor time.
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
	uplink      *uplink
	skipped     atomic.Bool // a service was not visited because of NoContact
	places      placeCache
	storing     coalescer[checks.Visit, error]
}

// New returns a crawler that sends requests through a prober with options p. The crawler sets the prober's pace and
// clock, so that requests within a probe keep the same gap as requests of different probes. The caller must call Close.
func New(db *postgres.DB, o Options, p probe.Options) *Crawler {
	o.Workers = cmp.Or(o.Workers, 32)
	o.HostGap = cmp.Or(o.HostGap, time.Second)
	o.Hourly = cmp.Or(o.Hourly, 600)
	o.Visit = cmp.Or(o.Visit, 90*time.Second)
	o.Jitter = cmp.Or(o.Jitter, 0.2)
	o.Bootstrap = cmp.Or(o.Bootstrap, facts.BootstrapURL)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Crawler{db: db, hosts: newPace(db, o.HostGap, o.Hourly, max(o.Visit, 5*time.Second)), o: o}
	c.storing.run, c.uplink = c.storeVisits, newUplink(o.Control, o.Now, o.Visit)
	if p.Guard == nil {
		p.Guard = &probe.Guard{}
	}
	p.Pace, p.Now, c.guard = c.hosts.waitAgain, o.Now, p.Guard
	c.prober = probe.New(p)
	c.submissions = newSubmissions(db, SubmissionOptions{Now: o.Now, Logger: o.Logger, NoContact: o.NoContact}, p,
		c.hosts)
	c.fetcher = facts.New(facts.Options{
		Guard: p.Guard, Routes: p.Routes, UserAgent: p.UserAgent, Signer: p.Signer, Enter: c.hosts.enter,
		EnterSource: c.hosts.enterSource, Robots: robotsStore{db}, Now: o.Now, LookupTXT: lookupPublic(o.LookupTXT),
	})
	return c
}

// Close closes idle connections.
func (c *Crawler) Close() {
	c.prober.Close()
	c.submissions.Close()
	c.fetcher.Close()
}

// ProbeSubmissions probes the submissions whose probe is due and returns their number.
func (c *Crawler) ProbeSubmissions(ctx context.Context) (int, error) {
	return c.submissions.ProbeQueued(ctx)
}

// Report counts the results of a round of visits.
type Report struct {
	Visits, Online, Degraded, Offline, Inconclusive int
	Changes                                         int
	Took                                            time.Duration
}

func (r *Report) count(v checks.Visit) {
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

// Run visits services, gathers facts about their sites and domains, asks facilitators and probes submissions, as each
// becomes due, until ctx ends.
func (c *Crawler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var background sync.WaitGroup
	var gatherErr error
	background.Go(func() {
		if gatherErr = c.runGather(ctx); gatherErr != nil {
			cancel()
		}
	})
	background.Go(func() { c.submissions.Run(ctx) })
	var pollsErr error
	if c.o.FacilitatorEvery > 0 {
		background.Go(func() {
			if pollsErr = c.runPolls(ctx); pollsErr != nil {
				cancel()
			}
		})
	}
	var synthesisErr error
	if c.o.Synthesis.Client != nil {
		background.Go(func() {
			if synthesisErr = c.runSynthesize(ctx); synthesisErr != nil {
				cancel()
			}
		})
	}
	err := c.runVisits(ctx)
	cancel()
	background.Wait()
	return cmp.Or(err, gatherErr, pollsErr, synthesisErr)
}
