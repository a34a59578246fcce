package crawl

import (
	"cmp"
	"context"
	"time"

	"tollbook/site/postgres"
)

// What follows is done for one service or domain at a time, by whoever is told that it is due: a job of a fleet. Each takes
// what it is about first, so that of two who are told one does it, and does nothing when it is not due any more.

// Lease is how long a visit by itself keeps its service from others: it is kept by then or given up. A visitor that dies
// leaves the service due again after that.
func (c *Crawler) Lease() time.Duration { return c.o.Visit + keepLimit }

// keepLimit is the longest time from the end of a visit to its commit.
const keepLimit = 10 * time.Second

// LookLimit and AskLimit bound one look at a site, and one question about a domain, with what is kept of them.
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
		failed, err := c.recorder.call(v)
		return cmp.Or(err, failed)
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

// recordTogether stores visits in one transaction, or each by itself where one of them can't be stored. It returns the error
// of each visit. The shutdown of the worker does not interrupt it.
func (c *Crawler) recordTogether(visits []postgres.Visit) ([]error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), keepLimit)
	defer cancel()
	errs := make([]error, len(visits))
	if err := c.db.RecordVisits(ctx, visits); err != nil {
		errs[0] = err
		for i := range visits {
			if len(visits) > 1 {
				errs[i] = c.db.RecordVisits(ctx, visits[i:i+1])
			}
		}
	}
	if c.o.Changed != nil {
		c.o.Changed(visits)
	}
	return errs, nil
}
