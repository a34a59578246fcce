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
	"tollbook/site/postgres/checks"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// headEvery is the least time between two HEAD requests to an endpoint.
const headEvery = 24 * time.Hour

// probeHeads sends HEAD to the endpoints that asked this visit's GET to be paid, at the URL that answered. Endpoints
// that never got one come first. It uses what is left of the visit's time, and stores the results in answers.
func (c *Crawler) probeHeads(ctx context.Context, s postgres.DueService, answers []answer) {
	var due []*answer
	for i := range answers {
		a := &answers[i]
		if a.result.Verdict == probe.Paid && a.result.Method == http.MethodGet &&
			(a.endpoint.HeadAt == nil || a.at.Sub(*a.endpoint.HeadAt) >= headEvery) {
			due = append(due, a)
		}
	}
	slices.SortStableFunc(due, func(a, b *answer) int {
		return timeOr(a.endpoint.HeadAt).Compare(timeOr(b.endpoint.HeadAt))
	})
	for _, a := range due {
		leave, err := c.hosts.enter(ctx, host(cmp.Or(a.result.FinalURL, s.BaseURL)))
		if err != nil {
			return
		}
		head, err := c.prober.Head(ctx, a.result.FinalURL)
		leave()
		if ctx.Err() != nil {
			return // the crawl ended during the request; the next visit sends it again
		}
		if err != nil {
			c.o.Logger.Debug("HEAD request without a usable answer", "service", s.Slug, "path", a.endpoint.Path,
				"error", err)
		}
		a.headAt, a.head = new(c.o.Now()), head
	}
}

// lookEvery is the least time between two looks at a service.
const lookEvery = 24 * time.Hour

// lookAgain compares what one endpoint asks different readers for that asked to be paid before. Of several, it
// takes one whose readers differed before, else the one whose last look is the oldest. It uses what is left of the
// visit's time, and stores the result in answers.
func (c *Crawler) lookAgain(ctx context.Context, s postgres.DueService, answers []answer) {
	for i := range s.Endpoints {
		if at := s.Endpoints[i].LookedAt; at != nil && c.o.Now().Sub(*at) < lookEvery {
			return
		}
	}
	var due *answer
	for i := range answers {
		a := &answers[i]
		if a.result.Verdict != probe.Paid || a.endpoint.LastPaidAt == nil || x402.ToolOf(a.result.FinalURL) != "" {
			continue
		}
		if due == nil || cmp.Or(cmpBool(differs(a.endpoint), differs(due.endpoint)),
			timeOr(a.endpoint.LookedAt).Compare(timeOr(due.endpoint.LookedAt))) < 0 {
			due = a
		}
	}
	if due == nil {
		return
	}
	leave, err := c.hosts.enter(ctx, host(cmp.Or(due.result.FinalURL, s.BaseURL)))
	if err != nil {
		return
	}
	defer leave()
	onPath := 0
	for i := range s.Endpoints {
		if withoutQuery(s.Endpoints[i].Path) == withoutQuery(due.endpoint.Path) {
			onPath++
		}
	}
	readers := c.prober.Look(ctx, due.result, !due.endpoint.MethodDeclared && onPath == 1)
	if ctx.Err() != nil {
		return // the crawl ended during a request; the next visit looks again
	}
	due.lookedAt, due.readers = new(c.o.Now()), storeReaders(readers)
}

// differs reports whether the readers of an endpoint were asked for different payments when a visit looked last.
func differs(e *postgres.Endpoint) bool {
	return len(rail.CompareReaders(checks.ReadersOf(e.Readers))) > 0
}

// cmpBool orders true before false.
func cmpBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// maxTerms bounds the stored terms of a reader.
const maxTerms = 16

// storeReaders returns what readers were asked for, as it is stored.
func storeReaders(readers []rail.Reader) (list []checks.Reader) {
	for _, r := range readers {
		stored := checks.Reader{As: r.As, Method: r.Method, Status: r.Status, Terms: []checks.Offer{}}
		for _, t := range r.Terms[:min(len(r.Terms), maxTerms)] {
			t.Scheme, t.Network, t.Asset, t.PayTo = clean(t.Scheme, 100), clean(t.Network, 100), clean(t.Asset, 300),
				clean(t.PayTo, 300)
			stored.Terms = append(stored.Terms, checks.Offer(t))
		}
		list = append(list, stored)
	}
	return list
}

// declaredPrices returns the prices that a service's OpenAPI documents and its MCP servers' lists of tools declare, for
// listed endpoints and for those that are about to be added. If several operations match an endpoint, the best match wins, in this order:
//
//   - the same method and path
//   - the same method and a path with placeholders that fits
//   - the same path, for an endpoint that is about to take the operation's method
func declaredPrices(
	slug string, listed []postgres.Endpoint, add []postgres.ListedEndpoint, operations []facts.Endpoint,
) map[uuid.UUID]postgres.DeclaredPrice {
	declared := map[uuid.UUID]postgres.DeclaredPrice{}
	rank := map[uuid.UUID]int{}
	set := func(id uuid.UUID, f facts.Endpoint, r int) {
		if r > rank[id] {
			p := f.Price
			price := postgres.DeclaredPrice{Mode: clean(p.Mode, 100), Currency: clean(p.Currency, 100),
				Amount: clean(p.Amount, 100), Min: clean(p.Min, 100), Max: clean(p.Max, 100)}
			for _, o := range p.Offers {
				price.Offers = append(price.Offers, postgres.DeclaredOffer{Protocol: clean(o.Protocol, 100),
					Method: clean(o.Method, 100), Intent: clean(o.Intent, 100), Network: clean(o.Network, 100),
					Currency: clean(o.Currency, 100), Amount: clean(o.Amount, 100)})
			}
			declared[id], rank[id] = price, r
		}
	}
	for _, f := range operations {
		if f.Origin != facts.OriginOpenAPI && f.Origin != facts.OriginMCP || f.Price == nil {
			continue
		}
		path := withoutQuery(f.Path)
		for _, k := range listed {
			at := withoutQuery(k.Path)
			switch same := k.Method == f.Method; {
			case same && at == path:
				set(k.ID, f, 3)
			case same && matchesTemplate(path, at):
				set(k.ID, f, 2)
			case at == path && k.LastPaidAt == nil && !k.MethodDeclared:
				set(k.ID, f, 1)
			}
		}
		for _, a := range add {
			if a.Method == f.Method && withoutQuery(a.Path) == path {
				set(postgres.EndpointID(slug, a.Method, a.Path), f, 3)
			}
		}
	}
	return declared
}
