package crawl

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// Submissions probes what owners submit. It never connects to a private address, even where the crawl may, because
// anybody can submit.
type Submissions struct {
	db     *postgres.DB
	prober *probe.Prober
	guard  *probe.Guard
	hosts  *pace
	o      SubmissionOptions
	warned atomic.Bool // a submission was not probed because of NoContact
}

// SubmissionOptions are the settings of Submissions. Zero values stand for the defaults.
type SubmissionOptions struct {
	HostGap time.Duration // between two requests to a host; 1 s when zero
	Limit   time.Duration // longest probe of a submission; 10 s when zero
	Poll    time.Duration // between two queries for queued submissions; 15 s when zero
	Now     func() time.Time
	Logger  *slog.Logger
	// NoContact forbids probes of hosts of others, because the user agent names nobody who can be asked about them.
	NoContact bool
}

// NewSubmissions returns a prober of submissions with options p, except that its guard refuses private addresses. The
// caller must call Close.
func NewSubmissions(db *postgres.DB, o SubmissionOptions, p probe.Options) *Submissions {
	return newSubmissions(db, o, p, newPace(db, cmp.Or(o.HostGap, time.Second), 600, holdLimit))
}

func newSubmissions(db *postgres.DB, o SubmissionOptions, p probe.Options, hosts *pace) *Submissions {
	o.Limit = cmp.Or(o.Limit, 10*time.Second)
	o.Poll = cmp.Or(o.Poll, 15*time.Second)
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
	p.Guard, p.Pace, p.Now = strict, hosts.waitAgain, o.Now
	return &Submissions{db: db, prober: probe.New(p), guard: strict, hosts: hosts, o: o}
}

// Close closes idle connections.
func (s *Submissions) Close() { s.prober.Close() }

// Reasons that replace the prober's own in a submitter's result.
const (
	// The text does not say which address, nor by which resolver's answer: that would reveal our network.
	privateReason = "the host is, or resolves to, an address that Tollbook does not visit"
	timeoutReason = "not probed within the %s that a submission's probe may take"
	// This directory may not ask a stranger's host before its own operator can be asked.
	noContactReason = "not probed: this directory names no contact for owners of services"
)

// Probe probes the endpoints of a submission one after the other. It returns the number of endpoints that ask to be
// paid, a reason for each of the others, and the grade of all responses with payment terms. An MCP server asks to be
// paid if one of its tools does.
func (s *Submissions) Probe(ctx context.Context, base string, endpoints []string) site.ProbeResult {
	result := site.ProbeResult{Errors: []string{}}
	paths, err := listing.ParsePaths(endpoints)
	if err != nil {
		result.Errors = append(result.Errors, "endpoints "+err.Error())
		return result
	}
	if s.o.NoContact && s.guard.ReachesOthers(base) {
		if !s.warned.Swap(true) {
			s.o.Logger.WarnContext(ctx, "submissions are not probed: crawl.contact is not set", "url", base, "do",
				ContactAdvice)
		}
		for _, p := range paths {
			result.Errors = append(result.Errors, p.String()+": "+noContactReason)
		}
		return result
	}
	limited, cancel := context.WithTimeout(ctx, s.o.Limit)
	defer cancel()
	var graded []x402.Evidence
	var offered []rail.Listed
	for _, p := range paths {
		var r probe.Result
		var tools []x402.Evidence
		leave, err := s.hosts.enter(limited, host(base))
		if err == nil {
			r = s.prober.Probe(limited, probe.Target{URL: base + p.Path, Method: p.Method})
			if r.SuggestsMCP() {
				tools = s.probeTools(limited, base+p.Path, p.String(), &result)
			}
			leave()
		}
		if len(tools) > 0 {
			graded = append(graded, tools...)
			result.EndpointsFound++
			continue
		}
		if r.Verdict == probe.Paid || r.Verdict == probe.Broken {
			graded = append(graded, x402.Evidence{
				Endpoint: p.String(), URL: base + p.Path, Hops: r.Redirects, TLSVerified: r.TLSVerified,
				Captured: r.Captured,
			})
			for _, o := range r.Offers {
				offered = append(offered, rail.Listed{Endpoint: p.String(), Offer: o})
			}
		}
		if r.Verdict == probe.Paid {
			result.EndpointsFound++
			continue
		}
		reason := r.Reason
		switch {
		case err != nil || limited.Err() != nil:
			reason = fmt.Sprintf(timeoutReason, s.o.Limit)
		case r.Verdict == probe.Refused:
			reason = privateReason
		}
		result.Errors = append(result.Errors, p.String()+": "+clean(reason, 300))
	}
	hasTerms := func(e x402.Evidence) bool { return e.Captured.Envelope != nil }
	if len(offered) > 0 && !slices.ContainsFunc(graded, hasTerms) {
		result.Grade = rail.Best(rail.AssessAll(offered)).Grade
	} else if len(graded) > 0 { // for the reviewer; the grade of a listed service is judged by each build
		result.Grade = x402.Assess(graded).Grade
	}
	return result
}

// maxSubmittedTools is the most tools of a submitted MCP server that are called.
const maxSubmittedTools = 3

// probeTools asks the tools of a submitted MCP server for their prices, without payment. It adds those that ask for
// payment to result, and a reason for each of the others that the server names as paid.
func (s *Submissions) probeTools(ctx context.Context, address, endpoint string, result *site.ProbeResult) (
	graded []x402.Evidence) {
	tools, err := s.prober.ProbeTools(ctx, address, maxSubmittedTools)
	if err != nil {
		return nil // no MCP server
	}
	for _, t := range tools {
		r := t.Result
		switch {
		case r == nil:
		case r.Verdict == probe.Paid:
			graded = append(graded, x402.Evidence{Endpoint: endpoint + "#" + t.Tool.Name, URL: r.FinalURL,
				Hops: r.Redirects, TLSVerified: r.TLSVerified, Captured: r.Captured})
			result.PaidTools = append(result.PaidTools, t.Tool.Name+": "+clean(t.Price(), 300))
		default:
			result.Errors = append(result.Errors, endpoint+"#"+t.Tool.Name+": "+clean(r.Reason, 300))
		}
	}
	return graded
}

// ProbeQueued probes every submission whose probe is due, because a process died while it probed, or because there was
// no time or allowance when the submission was received. It returns their number. Without a contact they stay due.
func (s *Submissions) ProbeQueued(ctx context.Context) (n int, err error) {
	if s.o.NoContact {
		return 0, nil
	}
	for ; ctx.Err() == nil; n++ {
		queued, err := s.db.TakeSubmissionProbe(ctx, s.o.Now())
		if err != nil || queued == nil {
			return n, err
		}
		result := s.Probe(ctx, queued.URL, queued.Endpoints)
		if ctx.Err() != nil {
			break // the context ended during the probe; it is due again when its lease ends
		}
		if err := s.db.StoreSubmissionProbe(ctx, queued.ID, result); err != nil {
			return n, err
		}
		s.o.Logger.Info("submission probed", "submission", queued.ID, "found", result.EndpointsFound, "errors",
			len(result.Errors))
	}
	return n, ctx.Err()
}

// Run probes queued submissions until ctx ends. It logs errors and tries again, so that a database that is unavailable
// for a while does not end it.
func (s *Submissions) Run(ctx context.Context) {
	for {
		if _, err := s.ProbeQueued(ctx); err != nil && ctx.Err() == nil {
			s.o.Logger.Warn("probe queued submissions; trying again after a pause", "error", err)
		}
		select {
		case <-time.After(s.o.Poll):
		case <-ctx.Done():
			return
		}
	}
}
