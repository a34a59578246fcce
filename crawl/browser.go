package crawl

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"tollbook/crawl/probe"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// askAsBrowser asks the endpoint of a service that asked for payment last as a page in a browser would, without paying.
// It returns nil if no endpoint asks for payment. The visits to a site call it, which are a day apart.
func (c *Crawler) askAsBrowser(ctx context.Context, s postgres.DueService) *postgres.BrowserFacts {
	s.Robots = true // the survey has stored it
	excluded := c.readExclusion(ctx, s)
	var newest *postgres.Endpoint
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		isPaid := e.Verdict != nil && *e.Verdict == string(probe.Paid) && e.LastPaidAt != nil
		if !isPaid || strings.Contains(e.Path, "#") || excluded(e.Path) {
			continue
		}
		if newest == nil || e.LastPaidAt.After(*newest.LastPaidAt) {
			newest = e
		}
	}
	if newest == nil {
		return nil
	}
	envelopes, err := c.db.Envelopes(ctx, s.ID)
	if err != nil {
		return nil // the next visit asks again
	}
	leave, err := c.hosts.enter(ctx, host(s.BaseURL))
	if err != nil {
		return nil
	}
	defer leave()
	t := newTarget(s.BaseURL, newest, func() map[uuid.UUID]*checks.Envelope { return envelopes })
	result := c.prober.Probe(ctx, t)
	if result.Verdict != probe.Paid || c.hosts.waitAgain(ctx, host(result.FinalURL)) != nil {
		return nil
	}
	b := c.prober.AskAsBrowser(ctx, result, t.URL)
	if b == nil || ctx.Err() != nil {
		return nil
	}
	return &postgres.BrowserFacts{Endpoint: newest.ID, At: c.o.Now(), Browser: *b}
}
