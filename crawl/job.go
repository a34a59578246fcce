package crawl

import (
	"context"
	"time"
)

// The functions of this file do the work of one job of a fleet, on one service or domain. Each leases its service or
// domain first, so that one of two processes with the same job does it, and does nothing when it is no longer due.

// Lease is how long the visit of a job keeps others from its service: by then the visit is stored or given up. If the
// process dies, the service is due again after that.
func (c *Crawler) Lease() time.Duration { return c.o.Visit + storeLimit }

// LookLimit and AskLimit bound one look at a site and one question about a domain, until both are stored.
const (
	LookLimit = siteLimit + 30*time.Second
	AskLimit  = domainLimit + 30*time.Second
)

// VisitOne visits a service if it is due. When ctx ends the visit is given up, and the service is due again at once.
func (c *Crawler) VisitOne(ctx context.Context, id int64) error {
	began := c.o.Now()
	s, err := c.db.TakeService(ctx, id, began, c.Lease())
	if err != nil || s == nil {
		return err
	}
	v, ok := c.visit(ctx, *s)
	if ok {
		return c.store(v)
	}
	if ctx.Err() == nil {
		return nil // its host's turn did not come; it is due again when the lease is over
	}
	released, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveLimit)
	defer cancel()
	_ = c.db.ReleaseService(released, s.ID, s.NextCheckAt, began) // else it is due when the lease is over
	return ctx.Err()
}

// LookOne looks at a service's documents if they are to be looked at.
func (c *Crawler) LookOne(ctx context.Context, id int64) error {
	s, err := c.db.TakeLook(ctx, id, c.o.Now(), LookLimit)
	if err != nil || s == nil {
		return err
	}
	if _, err := c.survey(ctx, *s); err != nil {
		return err
	}
	return ctx.Err()
}

// AskOne asks a registry about a domain if it is to be asked.
func (c *Crawler) AskOne(ctx context.Context, domain string) error {
	taken, err := c.db.TakeDomain(ctx, domain, c.o.Now(), AskLimit)
	if err != nil || !taken {
		return err
	}
	servers, err := c.bootstrap(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.o.Logger.WarnContext(ctx, noServers, "error", err)
	}
	return c.askRegistry(ctx, servers, domain, func() {})
}
