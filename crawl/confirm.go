package crawl

import (
	"context"
	"slices"
	"strings"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// confirm probes the candidates of a survey that are no endpoints yet, without paying, and returns those that ask for
// payment. A document that merely links a URL does not make it an endpoint: one that answers without a 402 would count
// as broken.
func (c *Crawler) confirm(ctx context.Context, s postgres.DueService, seen facts.Site) (paid []facts.Endpoint) {
	if len(seen.Candidates) == 0 {
		return nil
	}
	s.Robots = true // the survey has stored it
	excluded := c.readExclusion(ctx, s)
	for _, candidate := range seen.Candidates {
		path := withoutQuery(candidate.Path)
		listed := slices.ContainsFunc(s.Endpoints, func(e postgres.Endpoint) bool {
			return withoutQuery(e.Path) == path && !e.IsUnproven()
		}) || slices.ContainsFunc(seen.Endpoints, func(e facts.Endpoint) bool { return withoutQuery(e.Path) == path })
		if listed || excluded(candidate.Path) {
			continue
		}
		leave, err := c.hosts.enter(ctx, host(s.BaseURL))
		if err != nil {
			break
		}
		r := c.prober.Probe(ctx, probe.Target{URL: s.BaseURL + candidate.Path, Method: candidate.Method,
			OnlyMethod: true})
		leave()
		if ctx.Err() != nil {
			break
		}
		if r.Verdict == probe.Paid {
			candidate.Method = r.Method
			paid = append(paid, candidate)
		}
	}
	return paid
}

// lookupPublic returns a lookup of TXT records that skips reserved names such as acme.test, which no public resolver
// knows. It returns nil for nil.
func lookupPublic(lookup func(context.Context, string) ([]string, error),
) func(context.Context, string) ([]string, error) {
	if lookup == nil {
		return nil
	}
	return func(ctx context.Context, name string) ([]string, error) {
		if probe.IsReserved(strings.TrimSuffix(strings.TrimPrefix(name, facts.TXTLabel), ".")) {
			return nil, nil
		}
		return lookup(ctx, name)
	}
}
