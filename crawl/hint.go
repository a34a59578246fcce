package crawl

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// headEvery is the least time between two HEADs to an endpoint.
const headEvery = 24 * time.Hour

// askHeads asks the endpoints that were paid by GET in this visit with HEAD, those never asked first, at the address
// that answered, in what is left of the visit's time. It marks the answers with what came of it.
func (c *Crawler) askHeads(ctx context.Context, s postgres.DueService, answers []answer) {
	var due []*answer
	for i := range answers {
		a := &answers[i]
		if a.result.Verdict == probe.Paid && a.result.Method == http.MethodGet &&
			(a.endpoint.HeadAt == nil || a.at.Sub(*a.endpoint.HeadAt) >= headEvery) {
			due = append(due, a)
		}
	}
	slices.SortStableFunc(due, func(a,
		b *answer) int {
		return timeOr(a.endpoint.HeadAt).Compare(timeOr(b.endpoint.HeadAt))
	})
	for _, a := range due {
		leave, err := c.hosts.enter(ctx, host(cmp.Or(a.result.FinalURL, s.BaseURL)))
		if err != nil {
			return
		}
		free, err := c.prober.Head(ctx, a.result.FinalURL)
		leave()
		if ctx.Err() != nil {
			return // cut off by us: asked again next time
		}
		if err != nil {
			c.o.Logger.Debug("HEAD told nothing", "service", s.Slug, "path", a.endpoint.Path, "error", err)
		}
		a.headAt, a.headFree = new(c.o.Now()), free
	}
}

// declaredPrices are what the OpenAPI documents of a service say that its endpoints cost: those that are known, and
// those that are added. Of several operations that an endpoint may be, the one with its very method and path counts
// most, then one whose path has placeholders, then one whose method is about to be taken.
func declaredPrices(slug string, known []postgres.Endpoint, add []postgres.ListedEndpoint,
	found []facts.Endpoint) map[uuid.UUID]postgres.DeclaredPrice {
	declared := map[uuid.UUID]postgres.DeclaredPrice{}
	rank := map[uuid.UUID]int{}
	say := func(id uuid.UUID, f facts.Endpoint, r int) {
		if r > rank[id] {
			p := f.Price
			declared[id] = postgres.DeclaredPrice{Mode: clean(p.Mode, 100), Currency: clean(p.Currency, 100),
				Amount: clean(p.Amount, 100), Min: clean(p.Min, 100), Max: clean(p.Max, 100)}
			rank[id] = r
		}
	}
	for _, f := range found {
		if f.Origin != facts.OriginOpenAPI || f.Price == nil {
			continue
		}
		path := withoutQuery(f.Path)
		for _, k := range known {
			at := withoutQuery(k.Path)
			switch same := k.Method == f.Method; {
			case same && at == path:
				say(k.ID, f, 3)
			case same && fits(path, at):
				say(k.ID, f, 2)
			case at == path && k.LastPaidAt == nil && !k.MethodDeclared:
				say(k.ID, f, 1)
			}
		}
		for _, a := range add {
			if a.Method == f.Method && withoutQuery(a.Path) == path {
				say(postgres.EndpointID(slug, a.Method, a.Path), f, 3)
			}
		}
	}
	return declared
}
