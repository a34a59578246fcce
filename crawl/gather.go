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
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/consent"
	"tollbook/site/x402"
)

// How often facts that change slowly are gathered, and how long it may take.
const (
	siteEvery      = 24 * time.Hour
	siteRetry      = 6 * time.Hour // after a visit that read nothing
	siteLimit      = 3 * time.Minute
	domainEvery    = 7 * 24 * time.Hour
	domainRetry    = 6 * time.Hour
	domainLimit    = 2 * time.Minute
	bootstrapEvery = 7 * 24 * time.Hour

	maxGatherers = 16 // most sites or domains at once
	gatherIdle   = 30 * time.Second
	takeSites    = 8 // for each worker at a time, so that the table is not searched for each site
	siteLease    = takeSites*siteLimit + 6*time.Minute
	takeDomains  = 2
	domainLease  = takeDomains*domainLimit + 6*time.Minute
)

// GatherReport counts the results of a round over sites and domains.
type GatherReport struct {
	Sites, Unseen int // services whose site was visited, and those of them where nothing could be read
	Endpoints     int // endpoints that documents declared for the first time
	OptedOut      int // hosts whose owners opted out, and whose services were hidden for it
	Domains       int // domains that a registry answered about
}

// Gather reads the site documents of every service, and asks about every domain, that is due when it starts. It keeps
// the pace of visits. It ends early when ctx ends; results up to then are stored.
func (c *Crawler) Gather(ctx context.Context) (GatherReport, error) {
	now := c.o.Now()
	var mu sync.Mutex
	var g GatherReport
	count := func(f func()) { mu.Lock(); defer mu.Unlock(); f() }

	workers := min(c.o.Workers, maxGatherers)
	if _, err := c.RecheckOptOuts(ctx); err != nil {
		return g, err
	}
	err := runWorkers(ctx, workers, func(ctx context.Context) ([]postgres.DueService, error) {
		return c.takeReadable(ctx, func() ([]postgres.DueService, error) {
			return c.db.TakeSites(ctx, now, siteLease, takeSites*workers)
		})
	}, func(ctx context.Context, s postgres.DueService) error {
		v, optedOut, err := c.visitSite(ctx, s)
		if optedOut {
			count(func() { g.OptedOut++ })
		}
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

// visitSite reads one service's site documents and stores the facts in them. It returns nil if ctx ended meanwhile, or
// if the site must not be visited without a contact. Then the site is due again when its lease ends. It also returns
// nil if the owner of the host opted out.
func (c *Crawler) visitSite(ctx context.Context, s postgres.DueService) (v *postgres.SiteVisit, optedOut bool,
	err error) {
	limited, cancel := context.WithTimeout(ctx, siteLimit)
	defer cancel()
	website := ""
	if s.WebsiteURL != nil {
		website = *s.WebsiteURL
	}
	if c.skips(ctx, s.Slug, s.BaseURL, website) {
		return nil, false, nil
	}
	if optedOut, err = c.readOptOut(limited, s.BaseURL); err != nil || optedOut || ctx.Err() != nil {
		return nil, optedOut, err
	}
	seen := c.fetcher.Survey(limited, s.BaseURL, website)
	if ctx.Err() != nil {
		return nil, false, nil
	}
	readTemplates, err := c.readTemplates(ctx, s.ID)
	if err != nil {
		return nil, false, err
	}
	now := c.o.Now()
	v = &postgres.SiteVisit{ServiceID: s.ID, Slug: s.Slug, At: now, NextAt: now.Add(c.jitter(siteRetry))}
	if seen.IsKnown() {
		v.NextAt = now.Add(c.jitter(siteEvery))
		v.Facts = &postgres.SiteFacts{
			Homepage: seen.Homepage, OpenAPI: seen.OpenAPI, Pricing: seen.Pricing, LLMsTxt: seen.LLMsTxt,
			Robots: seen.Robots, Terms: seen.Terms, Answers: SiteAnswers(seen.Answers),
		}
	}
	if v.Facts != nil {
		v.Facts.Browser = c.askAsBrowser(limited, s)
	}
	seen.Endpoints = append(seen.Endpoints, c.confirm(limited, s, seen)...)
	seen.Endpoints = append(seen.Endpoints, c.listTools(limited, s, seen)...)
	if ctx.Err() != nil {
		return nil, false, nil
	}
	d := discover(s.Endpoints, seen.Endpoints, readTemplates, now)
	v.Add, v.Amend, v.Drop = d.add, d.amend, d.drop
	if seen.OpenAPI != nil {
		v.Declared = declaredPrices(s.Slug, s.Endpoints, v.Add, seen.Endpoints)
	}
	v.Domain, v.AskDomain = domainOf(s.BaseURL, c.o.FreeHosts)
	if err := c.db.RecordSite(ctx, *v); err != nil {
		if ctx.Err() != nil {
			return nil, false, nil
		}
		return nil, false, err
	}
	c.logSite(ctx, s, seen, v)
	if c.o.Changed != nil {
		c.o.Changed(nil)
	}
	return v, false, nil
}

// domainOf returns the registrable domain of a base URL, nil if it has none, and whether to ask a registry about it. A
// name below a host that gives out names is not asked about: the answer would be the age of the host's own domain.
func domainOf(base string, free listing.FreeHosts) (*postgres.DomainFacts, bool) {
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

// readTemplates returns the route templates that a service's answers declare, by endpoint.
func (c *Crawler) readTemplates(ctx context.Context, serviceID int64) (map[uuid.UUID]string, error) {
	envelopes, err := c.db.Envelopes(ctx, serviceID)
	if err != nil {
		return nil, err
	}
	readTemplates := map[uuid.UUID]string{}
	for id, e := range envelopes {
		a := x402.Answer{Status: e.StatusCode, Header: e.Header, Body: e.Body, Truncated: e.Truncated, URL: e.URL}
		if envelope := x402.Capture(a).Envelope; envelope != nil && envelope.Discovery != nil &&
			envelope.Discovery.RouteTemplate != "" {
			readTemplates[id] = envelope.Discovery.RouteTemplate
		}
	}
	return readTemplates, nil
}

// SiteAnswers returns the answers of a site as they are stored, with their texts cut.
func SiteAnswers(answers []facts.Answer) []postgres.SiteAnswer {
	list := []postgres.SiteAnswer{}
	for _, a := range answers {
		stored := postgres.SiteAnswer{Document: a.Document, URL: clean(a.URL, 500), Status: a.Status,
			ContentType: clean(a.ContentType, 100), Exists: a.Exists, Reason: a.Reason,
			Problem: clean(a.Problem, 200), Declared: a.Declared}
		for _, skipped := range a.Skipped {
			stored.Skipped = append(stored.Skipped, postgres.SiteSkipped(skipped))
		}
		list = append(list, stored)
	}
	return list
}

// logSite logs one line for each site visit.
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
	if v.Facts == nil {
		c.o.Logger.InfoContext(ctx, "site could not be read", "service", s.Slug, "err", seen.Failure)
		return
	}
	c.o.Logger.InfoContext(ctx, "site", "service", s.Slug, "has", strings.Join(has, " "),
		"declared", len(seen.Endpoints), "added", len(v.Add))
}

// gatherDomains asks registries about the domains that are due.
func (c *Crawler) gatherDomains(ctx context.Context, now time.Time, workers int, answered func()) error {
	if c.o.NoContact {
		return nil
	}
	var servers facts.Bootstrap
	return runWorkers(ctx, workers, func(ctx context.Context) ([]string, error) {
		due, err := c.db.TakeDomains(ctx, now, domainLease, takeDomains*workers)
		if err != nil || len(due) == 0 || servers != nil {
			return due, err
		}
		if servers, err = c.readBootstrap(ctx); err != nil && ctx.Err() == nil {
			c.o.Logger.WarnContext(ctx, noServersMessage, "error", err)
			servers, err = facts.Bootstrap{}, nil
		}
		return due, err
	}, func(ctx context.Context, domain string) error {
		return c.askRegistry(ctx, servers, domain, answered)
	})
}

const noServersMessage = "read the list of RDAP servers; no registry can be asked until it is available"

// askRegistry asks a registry about one domain and stores the answer. It stores nothing if ctx ends meanwhile.
func (c *Crawler) askRegistry(ctx context.Context, servers facts.Bootstrap, domain string, answered func()) error {
	limited, cancel := context.WithTimeout(ctx, domainLimit)
	defer cancel()
	answer, next := c.readRegistration(limited, servers, domain)
	if ctx.Err() != nil {
		return nil
	}
	if answer != nil {
		answered()
	}
	return c.db.RecordDomain(ctx, domain, answer, next)
}

// readBootstrap returns the list of RDAP servers: the stored one for a week, or for longer while no new one can be
// read.
func (c *Crawler) readBootstrap(ctx context.Context) (facts.Bootstrap, error) {
	body, at, err := c.db.Bootstrap(ctx)
	if err != nil {
		return nil, err
	}
	now := c.o.Now()
	stored, parseErr := facts.ReadBootstrap(body)
	if parseErr == nil && now.Sub(at) < bootstrapEvery {
		return stored, nil
	}
	fresh, body, err := c.fetcher.Bootstrap(ctx, c.o.Bootstrap)
	if err != nil {
		if parseErr == nil {
			return stored, nil
		}
		return nil, err
	}
	return fresh, c.db.StoreBootstrap(ctx, body, now)
}

// readRegistration asks a registry about a domain. It returns the answer, nil for none, and when to ask again. The
// answer is empty for a suffix without a server, and for a domain that the registry does not know.
func (c *Crawler) readRegistration(
	ctx context.Context, servers facts.Bootstrap, domain string,
) (*postgres.DomainFacts, time.Time) {
	now := c.o.Now()
	if len(servers) == 0 {
		return nil, now.Add(c.jitter(domainRetry))
	}
	answer := &postgres.DomainFacts{Domain: domain, CheckedAt: &now}
	next := now.Add(c.jitter(domainEvery))
	server := servers.Server(domain)
	if server == "" {
		c.o.Logger.InfoContext(ctx, "domain", "domain", domain, "registry", "none")
		return answer, next
	}
	answer.URL, answer.Registered = new(facts.RegistrationURL(server, domain)), new(true)
	r, again, err := c.fetcher.Registration(ctx, server, domain)
	switch {
	case errors.Is(err, facts.ErrUnregistered):
		*answer.Registered = false
	case err != nil:
		c.o.Logger.InfoContext(ctx, "domain", "domain", domain, "error", fmt.Sprintf("%.300s", err))
		return nil, now.Add(max(again, c.jitter(domainRetry)))
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

// runGather gathers facts as they become due until ctx ends.
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

// robotsStore stores robots.txt in Postgres, for every crawler of the directory.
type robotsStore struct{ db *postgres.DB }

func (s robotsStore) Robots(ctx context.Context, origin string) (*facts.Robots, error) {
	r, err := s.db.Robots(ctx, origin)
	if r == nil || err != nil {
		return nil, err
	}
	return new(facts.Robots(*r)), nil
}

func (s robotsStore) KeepRobots(ctx context.Context, r facts.Robots) error {
	return s.db.StoreRobots(ctx, consent.Robots(r))
}
