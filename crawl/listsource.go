package crawl

import (
	"context"
	"errors"
	"net/url"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/site/postgres"
)

// FetchSource requests a page of a public source, through the guard and at the pace of sources. Without a contact it
// asks no host of others. See facts.Fetcher.FetchSource.
func (c *Crawler) FetchSource(ctx context.Context, r facts.SourceRequest) (facts.SourceAnswer, error) {
	if c.o.NoContact && c.guard.ReachesOthers(r.URL) {
		return facts.SourceAnswer{}, &NoContactError{Hosts: []string{host(r.URL)}}
	}
	return c.fetcher.FetchSource(ctx, r)
}

// CheckURL returns an error for a URL that the guard refuses without asking for the host's addresses.
func (c *Crawler) CheckURL(u *url.URL) error { return c.guard.CheckURL(u) }

// listAttempts is how often a list of sellers is added again after another process listed one of them.
const listAttempts = 3

// ListItems lists the services of resources that a public source names, as Import does: new services are listed, and
// listed ones get the endpoints that they lack. Nothing else of a listed service changes.
func (c *Crawler) ListItems(ctx context.Context, items []facts.Item, source string) (pull.Listed, error) {
	var got ImportReport
	var err error
	for range listAttempts {
		got, err = c.addItems(ctx, items, source, false)
		if !errors.Is(err, postgres.ErrListed) && !errors.Is(err, postgres.ErrSlugUsed) &&
			!errors.As(err, new(*postgres.RemovedError)) {
			break
		}
	}
	return pull.Listed{Services: got.Listed, Endpoints: got.Endpoints, Refused: got.Refused,
		Removed: len(got.Removed)}, err
}

// maxAskedEndpoints is how many endpoints of a host are asked whether they answer.
const maxAskedEndpoints = 3

// AsksPayment sends unpaid requests to a few of a host's resources. It reports whether one of them asks for payment.
// Without a contact it sends no request to hosts of others, and returns false.
func (c *Crawler) AsksPayment(ctx context.Context, items []facts.Item) (bool, error) {
	requests := 0
	for _, i := range items {
		if requests == maxAskedEndpoints {
			break
		}
		if c.o.NoContact && c.guard.ReachesOthers(i.URL) {
			continue
		}
		leave, err := c.hosts.enter(ctx, host(i.URL))
		if err != nil {
			return false, err
		}
		r := c.prober.Probe(ctx, probe.Target{URL: i.URL, Method: i.Method})
		leave()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if r.Verdict == probe.Paid || r.Verdict == probe.Broken {
			return true, nil
		}
		if r.Requests > 0 {
			requests++
		}
	}
	return false, nil
}
