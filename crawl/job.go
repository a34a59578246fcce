package crawl

import (
	"context"
	"time"
)

// Each function of this file does one job on one service or domain, for the scheduler of several processes. It leases
// the service or domain first, so that only one of two processes with the same job does it. It does nothing if the
// service or domain is no longer due.

// Lease is how long a visit started by a job keeps others from its service. By then the visit is stored or given up. A
// crash leaves the service leased; it is due again when the lease ends.
func (c *Crawler) Lease() time.Duration { return c.o.Visit + c.uplink.hold + storeLimit }

// SiteVisitLimit and DomainQueryLimit bound one visit of a site and one query about a domain, including the time to
// store them.
const (
	SiteVisitLimit   = siteLimit + 30*time.Second
	DomainQueryLimit = domainLimit + 30*time.Second
)

// VisitService visits a service if it is due. If ctx ends, or the time of the visit before any endpoint was probed, the
// visit is given up and the service is due again at once.
func (c *Crawler) VisitService(ctx context.Context, id int64) error {
	began := c.o.Now()
	_, _ = c.activePlaces(ctx) // a place with nothing to do takes part; a visit logs an error
	s, err := c.db.TakeService(ctx, c.o.Vantage, id, began, c.Lease())
	if err != nil || s == nil {
		return err
	}
	v, ok := c.visit(ctx, *s)
	if ok {
		return c.store(v)
	}
	due := began
	if ctx.Err() == nil {
		if due = c.o.Now(); due.Before(began.Add(c.o.Visit)) {
			return nil // there is no contact, or the fault is ours
		}
		// The visit waited in vain for its host. The service is due again at once, behind those that are due.
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	// if this fails, the service is due when the lease ends
	_ = c.db.ReleaseService(limited, s.ID, s.NextCheckAt, due)
	return ctx.Err()
}

// VisitSite reads a service's site documents if they are due.
func (c *Crawler) VisitSite(ctx context.Context, id int64) error {
	s, err := c.db.TakeSite(ctx, id, c.o.Now(), SiteVisitLimit)
	if err != nil || s == nil {
		return err
	}
	if _, _, err := c.visitSite(ctx, *s); err != nil {
		return err
	}
	return ctx.Err()
}

// QueryDomain asks a registry about a domain if the domain is due. Without a contact the domain is due again when the
// lease ends.
func (c *Crawler) QueryDomain(ctx context.Context, domain string) error {
	taken, err := c.db.TakeDomain(ctx, domain, c.o.Now(), DomainQueryLimit)
	if err != nil || !taken || c.o.NoContact {
		return err
	}
	servers, err := c.readBootstrap(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.o.Logger.WarnContext(ctx, noServersMessage, "error", err)
	}
	return c.askRegistry(ctx, servers, domain, func() {})
}
