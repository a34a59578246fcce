package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site/postgres/polls"
	"tollbook/site/x402"
)

// Limits of asking facilitators.
const (
	PollsEvery    = time.Minute // how often to look which facilitators are due
	pollWorkers   = 8           // facilitators that are asked at once
	pollLimit     = time.Minute // of one facilitator, including the wait for its host
	pollBackoff   = 4           // the longest pause after failures, in intervals
	maxHealth     = 64 << 10    // bytes of /health that are received
	maxPollDetail = 200         // characters of the reason why an answer was not read
)

// PollReport counts the results of asking facilitators.
type PollReport struct{ Requests, Answered int }

// PollFacilitators asks every facilitator with a URL that is due what it settles, without paying. It asks none if
// Options.FacilitatorEvery is zero, and none on hosts of others without a contact. Results up to the end of ctx are
// stored.
func (c *Crawler) PollFacilitators(ctx context.Context) (PollReport, error) {
	var r PollReport
	if c.o.FacilitatorEvery <= 0 {
		return r, nil
	}
	due, err := c.db.DuePolls(ctx, c.o.Now())
	if err != nil {
		return r, err
	}
	var mu sync.Mutex
	var failed error
	var g sync.WaitGroup
	free := make(chan struct{}, pollWorkers)
	for _, d := range due {
		if c.o.NoContact && c.guard.ReachesOthers(d.URL) {
			continue
		}
		free <- struct{}{}
		g.Go(func() {
			defer func() { <-free }()
			p, ok := c.poll(ctx, d)
			if !ok {
				return
			}
			err := c.db.RecordPoll(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			if failed == nil && ctx.Err() == nil {
				failed = err
			}
			r.Requests++
			if p.Supported.Outcome == polls.Answered {
				r.Answered++
			}
		})
	}
	g.Wait()
	if r.Requests > 0 && c.o.Changed != nil {
		c.o.Changed(nil)
	}
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	return r, failed
}

// poll asks one facilitator. It returns false if ctx ended meanwhile.
func (c *Crawler) poll(ctx context.Context, d polls.DuePoll) (p polls.Poll, ok bool) {
	limited, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	p = polls.Poll{FacilitatorID: d.FacilitatorID, URL: d.URL, At: c.o.Now()}
	var pause time.Duration
	base, err := url.Parse(d.URL)
	if err != nil {
		p.Supported, p.Detail = polls.Response{Outcome: polls.Refused}, "facilitator_url is not a URL"
	} else {
		pause = c.askSupported(limited, base, &p)
		if p.Supported.Code != nil { // a host that does not respond is not asked twice
			p.Health = c.askHealth(limited, base)
		}
	}
	if ctx.Err() != nil {
		return p, false
	}
	every := c.o.FacilitatorEvery
	if p.Supported.Outcome != polls.Answered {
		every *= time.Duration(min(pollBackoff, 1<<min(d.Failures, 8)))
	}
	p.NextAt = p.At.Add(max(c.jitter(every), pause))
	ms := int64(-1)
	if p.Supported.Latency != nil {
		ms = p.Supported.Latency.Milliseconds()
	}
	c.o.Logger.InfoContext(ctx, "facilitator", "facilitator", p.FacilitatorID, "outcome", p.Supported.Outcome, "ms", ms,
		"kinds", len(p.Kinds), "signers", len(p.Signers), "reason", p.Detail)
	return p, true
}

// askSupported asks for /supported. It returns how long the facilitator wants not to be asked.
func (c *Crawler) askSupported(ctx context.Context, base *url.URL, p *polls.Poll) (pause time.Duration) {
	a, err := c.fetcher.Ask(ctx, base.JoinPath("supported").String(), x402.MaxBytes)
	p.Supported = newResponse(a, err)
	detail := func(err error) { p.Detail = clean(err.Error(), maxPollDetail) }
	switch {
	case err != nil:
		detail(err)
		return 0
	case a.Status != 200:
		p.Supported.Outcome = polls.Status
		p.Detail = fmt.Sprintf("the status is %d", a.Status)
		return a.RetryAfter
	case a.Truncated:
		p.Supported.Outcome = polls.Unreadable
		detail(x402.ErrLarge)
		return 0
	}
	answer, err := x402.ReadSupported(a.Body)
	if err != nil {
		p.Supported.Outcome = polls.Unreadable
		detail(err)
		return 0
	}
	p.Announce(answer)
	return 0
}

// askHealth asks for /health, which many facilitators do not have.
func (c *Crawler) askHealth(ctx context.Context, base *url.URL) *polls.Response {
	a, err := c.fetcher.Ask(ctx, base.JoinPath("health").String(), maxHealth)
	r := newResponse(a, err)
	switch {
	case err != nil || a.Status >= 200 && a.Status < 300:
	case a.Status == 404 || a.Status == 405 || a.Status == 501:
		r.Outcome = polls.Absent
	default:
		r.Outcome = polls.Status
	}
	return &r
}

// newResponse returns the outcome of a request before its body is read.
func newResponse(a facts.Response, err error) polls.Response {
	switch {
	case err == nil:
		return polls.Response{Outcome: polls.Answered, Code: &a.Status, Latency: &a.Took}
	case errors.Is(err, facts.ErrElsewhere):
		return polls.Response{Outcome: polls.Redirected}
	case errors.Is(err, probe.ErrRefused):
		return polls.Response{Outcome: polls.Refused}
	}
	return polls.Response{Outcome: polls.Unreachable}
}

// runPolls asks facilitators as they become due until ctx ends.
func (c *Crawler) runPolls(ctx context.Context) error {
	for {
		if _, err := c.PollFacilitators(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("ask facilitators: %w", err)
		}
		select {
		case <-time.After(PollsEvery):
		case <-ctx.Done():
			return nil
		}
	}
}
