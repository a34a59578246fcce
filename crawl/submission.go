package crawl

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres"
)

// Submissions probes what owners submit. Whatever a crawl may visit, it goes to no private address: who submits is
// anybody.
type Submissions struct {
	db     *postgres.DB
	prober *probe.Prober
	hosts  *pace
	o      SubmissionOptions
}

// SubmissionOptions are the zero value, or what is to be different.
type SubmissionOptions struct {
	HostGap time.Duration // between two requests to a host; 1 s when zero
	Limit   time.Duration // of the probe of a submission; 10 s when zero
	Rest    time.Duration // between two looks at what is queued; 15 s when zero
	Now     func() time.Time
	Logger  *slog.Logger
}

// NewSubmissions makes a prober of submissions that asks as one with options p would, but for those of its guard that
// let private addresses through. Close it when done.
func NewSubmissions(db *postgres.DB, o SubmissionOptions, p probe.Options) *Submissions {
	return newSubmissions(db, o, p, newPace(db, cmp.Or(o.HostGap, time.Second), 600, holdLimit))
}

func newSubmissions(db *postgres.DB, o SubmissionOptions, p probe.Options, hosts *pace) *Submissions {
	o.Limit = cmp.Or(o.Limit, 10*time.Second)
	o.Rest = cmp.Or(o.Rest, 15*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	strict := &probe.Guard{}
	if p.Guard != nil {
		strict.Resolver, strict.Connect = p.Guard.Resolver, p.Guard.Connect
	}
	p.Guard, p.Pace, p.Now = strict, hosts.next, o.Now
	return &Submissions{db: db, prober: probe.New(p), hosts: hosts, o: o}
}

// Close drops kept connections.
func (s *Submissions) Close() { s.prober.Close() }

// Reasons that a submitter is told in place of the prober's own.
const (
	// which, and by whose word, is not told
	unvisited = "it is, or its name resolves to, an address that is not visited"
	outOfTime = "not asked in the %s that a submission's probe may take"
)

// Probe asks the endpoints of a submission one after the other and says what asked to be paid, and why the rest did
// not.
func (s *Submissions) Probe(ctx context.Context, base string, endpoints []string) site.ProbeResult {
	result := site.ProbeResult{Errors: []string{}}
	paths, err := site.ParsePaths(endpoints)
	if err != nil {
		result.Errors = append(result.Errors, "endpoints "+err.Error())
		return result
	}
	limited, cancel := context.WithTimeout(ctx, s.o.Limit)
	defer cancel()
	for _, p := range paths {
		var r probe.Result
		leave, err := s.hosts.enter(limited, host(base))
		if err == nil {
			r = s.prober.Probe(limited, probe.Target{URL: base + p.Path, Method: p.Method})
			leave()
		}
		if r.Verdict == probe.Paid {
			result.EndpointsFound++
			continue
		}
		reason := r.Reason
		switch {
		case err != nil || limited.Err() != nil:
			reason = fmt.Sprintf(outOfTime, s.o.Limit)
		case r.Verdict == probe.Refused:
			reason = unvisited
		}
		result.Errors = append(result.Errors, p.String()+": "+clean(reason, 300))
	}
	return result
}

// ProbeQueued probes every submission whose probe is due: of processes that died, and those for which there was no time
// or no allowance when they came. It answers how many.
func (s *Submissions) ProbeQueued(ctx context.Context) (n int, err error) {
	for ; ctx.Err() == nil; n++ {
		queued, err := s.db.TakeSubmissionProbe(ctx, s.o.Now())
		if err != nil || queued == nil {
			return n, err
		}
		result := s.Probe(ctx, queued.URL, queued.Endpoints)
		if ctx.Err() != nil {
			break // cut off by us; it is due again when its lease is over
		}
		if err := s.db.KeepSubmissionProbe(ctx, queued.ID, result); err != nil {
			return n, err
		}
		s.o.Logger.Info("submission probed", "submission", queued.ID, "found", result.EndpointsFound, "errors",
			len(result.Errors))
	}
	return n, ctx.Err()
}

// Run probes what is queued until ctx ends. What fails is tried again: a database that is away for a while ends
// nothing.
func (s *Submissions) Run(ctx context.Context) {
	for {
		if _, err := s.ProbeQueued(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.Warn("queued submissions are not probed now", "error", err)
		}
		select {
		case <-time.After(s.o.Rest):
		case <-ctx.Done():
			return
		}
	}
}
