package crawl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/x402"
)

// How often what changes slowly is looked at, and how long one look may take.
const (
	siteEvery      = 24 * time.Hour
	siteAgain      = 6 * time.Hour // after a look that saw nothing
	siteLimit      = 3 * time.Minute
	domainEvery    = 7 * 24 * time.Hour
	domainAgain    = 6 * time.Hour
	domainLimit    = 2 * time.Minute
	bootstrapEvery = 7 * 24 * time.Hour

	gatherers  = 16 // sites or domains looked at at once, at most
	gatherIdle = 30 * time.Second
	takeSites  = 8 // for each gatherer at a time, so that the table is not searched for each
	siteLease  = takeSites*siteLimit + 6*time.Minute
	takeNames  = 2
	nameLease  = takeNames*domainLimit + 6*time.Minute
)

// Gathered counts what a round of looks at sites and domains found.
type Gathered struct {
	Sites, Unseen int // services looked at, and those of them where nothing could be seen
	Endpoints     int // that documents told of for the first time
	Domains       int // that a registry answered about
}

// Gather looks at the site documents of every service and at every domain that is due when it starts. It keeps to the
// same pace as visits do. It ends early when ctx does; what was looked at till then is kept.
func (c *Crawler) Gather(ctx context.Context) (Gathered, error) {
	now := c.o.Now()
	var mu sync.Mutex
	var g Gathered
	count := func(f func()) { mu.Lock(); defer mu.Unlock(); f() }

	workers := min(c.o.Workers, gatherers)
	err := work(ctx, workers, func(ctx context.Context) ([]postgres.DueService, error) {
		return c.db.DueSites(ctx, now, siteLease, takeSites*workers)
	}, func(ctx context.Context, s postgres.DueService) error {
		v, err := c.survey(ctx, s)
		if err != nil || v == nil {
			return err
		}
		count(func() {
			g.Sites++
			g.Endpoints += len(v.Add)
			if v.Facts == nil {
				g.Unseen++
			}
		})
		return nil
	})
	if err != nil {
		return g, err
	}
	return g, c.gatherDomains(ctx, now, workers, func() { count(func() { g.Domains++ }) })
}

// survey looks at one service's documents and keeps what they say. It answers nil when ctx ended meanwhile.
func (c *Crawler) survey(ctx context.Context, s postgres.DueService) (*postgres.SiteVisit, error) {
	limited, cancel := context.WithTimeout(ctx, siteLimit)
	defer cancel()
	website := ""
	if s.WebsiteURL != nil {
		website = *s.WebsiteURL
	}
	seen := c.fetcher.Survey(limited, s.BaseURL, website)
	if ctx.Err() != nil {
		return nil, nil
	}
	templates, err := c.templates(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	now := c.o.Now()
	v := &postgres.SiteVisit{ServiceID: s.ID, Slug: s.Slug, At: now, NextAt: now.Add(c.jitter(siteAgain))}
	if seen.Known() {
		v.NextAt = now.Add(c.jitter(siteEvery))
		v.Facts = &postgres.SiteFacts{
			Homepage: seen.Homepage, OpenAPI: seen.OpenAPI, Pricing: seen.Pricing, LLMsTxt: seen.LLMsTxt,
			Robots: seen.Robots, Terms: seen.Terms,
		}
	}
	v.Add, v.Amend = discover(s.Endpoints, seen.Endpoints, templates)
	if seen.OpenAPI != nil {
		v.Declared = declaredPrices(s.Slug, s.Endpoints, v.Add, seen.Endpoints)
	}
	v.Domain, v.AskDomain = domainOf(s.BaseURL, c.o.FreeHosts)
	if err := c.db.RecordSite(ctx, *v); err != nil {
		if ctx.Err() != nil {
			return nil, nil
		}
		return nil, err
	}
	c.logSite(ctx, s, seen, v)
	if c.o.Changed != nil {
		c.o.Changed(nil)
	}
	return v, nil
}

// domainOf is the registrable domain of a base address, nil without one, and whether a registry can tell of it: not of
// a name that somebody gives out below their own, whose age would be theirs.
func domainOf(base string, free site.FreeHosts) (*postgres.DomainFacts, bool) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, false
	}
	d, ok := facts.DomainOf(u.Hostname())
	if !ok {
		return nil, false
	}
	if d.Suffix != "" {
		return &postgres.DomainFacts{Domain: d.Name, Suffix: &d.Suffix}, false
	}
	return &postgres.DomainFacts{Domain: d.Name}, !free.Has(d.Name)
}

// templates are the route templates that a service's answers declare, by endpoint.
func (c *Crawler) templates(ctx context.Context, serviceID int64) (map[uuid.UUID]string, error) {
	known, err := c.db.Envelopes(ctx, serviceID)
	if err != nil {
		return nil, err
	}
	templates := map[uuid.UUID]string{}
	for id, e := range known {
		a := x402.Answer{Status: e.StatusCode, Header: e.Header, Body: e.Body, Truncated: e.Truncated, URL: e.URL}
		if envelope := x402.Capture(a).Envelope; envelope != nil && envelope.Discovery != nil &&
			envelope.Discovery.RouteTemplate != "" {
			templates[id] = envelope.Discovery.RouteTemplate
		}
	}
	return templates, nil
}

// logSite writes one line a look.
func (c *Crawler) logSite(ctx context.Context, s postgres.DueService, seen facts.Site, v *postgres.SiteVisit) {
	var has []string
	for _, d := range []struct {
		name string
		is   *bool
	}{{"homepage", seen.Homepage}, {"openapi", seen.OpenAPI}, {"pricing", seen.Pricing}, {"llms.txt", seen.LLMsTxt},
		{"robots.txt", seen.Robots}, {"terms", seen.Terms}} {
		if d.is != nil && *d.is {
			has = append(has, d.name)
		}
	}
	c.o.Logger.InfoContext(ctx, "site", "service", s.Slug, "seen", v.Facts != nil, "has", strings.Join(has, " "),
		"declared", len(seen.Endpoints), "added", len(v.Add))
}

// gatherDomains asks registries about the domains that are due.
func (c *Crawler) gatherDomains(ctx context.Context, now time.Time, workers int, answered func()) error {
	var servers facts.Bootstrap
	return work(ctx, workers, func(ctx context.Context) ([]string, error) {
		due, err := c.db.DueDomains(ctx, now, nameLease, takeNames*workers)
		if err != nil || len(due) == 0 || servers != nil {
			return due, err
		}
		if servers, err = c.bootstrap(ctx); err != nil && ctx.Err() == nil {
			c.o.Logger.WarnContext(ctx, noServers, "error", err)
			servers, err = facts.Bootstrap{}, nil
		}
		return due, err
	}, func(ctx context.Context, domain string) error {
		return c.askRegistry(ctx, servers, domain, answered)
	})
}

const noServers = "no registry can be asked: the list of RDAP servers is not to be had"

// askRegistry asks a registry about one domain and keeps what it answers; nothing when ctx ends meanwhile.
func (c *Crawler) askRegistry(ctx context.Context, servers facts.Bootstrap, domain string, answered func()) error {
	limited, cancel := context.WithTimeout(ctx, domainLimit)
	defer cancel()
	answer, next := c.register(limited, servers, domain)
	if ctx.Err() != nil {
		return nil
	}
	if answer != nil {
		answered()
	}
	return c.db.RecordDomain(ctx, domain, answer, next)
}

// bootstrap is the list of RDAP servers: the kept one for a week, or for longer while there is no other.
func (c *Crawler) bootstrap(ctx context.Context) (facts.Bootstrap, error) {
	body, at, err := c.db.Bootstrap(ctx)
	if err != nil {
		return nil, err
	}
	now := c.o.Now()
	kept, unread := facts.ReadBootstrap(body)
	if unread == nil && now.Sub(at) < bootstrapEvery {
		return kept, nil
	}
	fresh, body, err := c.fetcher.Bootstrap(ctx, c.o.Bootstrap)
	if err != nil {
		if unread == nil {
			return kept, nil
		}
		return nil, err
	}
	return fresh, c.db.KeepBootstrap(ctx, body, now)
}

// register asks a registry about a domain: what it answers, nil for nothing, and when to ask again. A suffix without a
// server, and a domain that the registry does not know, are answers that tell nothing.
func (c *Crawler) register(ctx context.Context, servers facts.Bootstrap, domain string) (*postgres.DomainFacts,
	time.Time) {
	now := c.o.Now()
	if len(servers) == 0 {
		return nil, now.Add(c.jitter(domainAgain))
	}
	answer := &postgres.DomainFacts{Domain: domain, CheckedAt: &now}
	next := now.Add(c.jitter(domainEvery))
	server := servers.Server(domain)
	if server == "" {
		c.o.Logger.InfoContext(ctx, "domain", "domain", domain, "registry", "none")
		return answer, next
	}
	r, again, err := c.fetcher.Registration(ctx, server, domain)
	switch {
	case errors.Is(err, facts.ErrUnregistered):
	case err != nil:
		c.o.Logger.InfoContext(ctx, "domain", "domain", domain, "error", fmt.Sprintf("%.300s", err))
		return nil, now.Add(max(again, c.jitter(domainAgain)))
	}
	attrs := []slog.Attr{slog.String("domain", domain)}
	if r.Registrar != "" {
		answer.Registrar = &r.Registrar
		attrs = append(attrs, slog.String("registrar", r.Registrar))
	}
	if !r.Created.IsZero() {
		answer.CreatedAt = &r.Created
		attrs = append(attrs, slog.Time("created", r.Created))
	}
	c.o.Logger.LogAttrs(ctx, slog.LevelInfo, "domain", attrs...)
	return answer, next
}

// runGather gathers as looks become due until ctx ends.
func (c *Crawler) runGather(ctx context.Context) error {
	for {
		if _, err := c.Gather(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("gather: %w", err)
		}
		select {
		case <-time.After(gatherIdle):
		case <-ctx.Done():
			return nil
		}
	}
}

// robotsStore keeps robots.txt in Postgres, for every crawler of the directory.
type robotsStore struct{ db *postgres.DB }

func (s robotsStore) Robots(ctx context.Context, origin string) (*facts.Robots, error) {
	r, err := s.db.Robots(ctx, origin)
	if r == nil || err != nil {
		return nil, err
	}
	return new(facts.Robots(*r)), nil
}

func (s robotsStore) KeepRobots(ctx context.Context, r facts.Robots) error {
	return s.db.KeepRobots(ctx, postgres.Robots(r))
}
