package crawl

import (
	"context"
	"sync"
	"time"

	"tollbook/site/postgres"
)

// What follows is done for one service or domain at a time, by whoever is told that it is due: a job of a fleet. Each takes
// what it is about first, so that of two who are told one does it, and does nothing when it is not due any more.

// Lease is how long a visit by itself keeps its service from others: it is kept by then or given up. A visitor that dies
// leaves the service due again after that.
func (c *Crawler) Lease() time.Duration { return c.o.Visit + keepLimit }

// keepLimit is what may pass between the end of a visit and its commit.
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
		return c.keeping.keep(ctx, c, v)
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

// keeper keeps visits that end at the same time in one transaction: while one is under way, those that come wait for the
// next. None waits for others to come.
type keeper struct {
	mu      sync.Mutex
	next    *batch
	writing sync.Mutex
}

// batch is the visits of one transaction.
type batch struct {
	visits []postgres.Visit
	errs   []error
	kept   chan struct{}
}

// keep returns when the visit is committed, also when ctx ends meanwhile.
func (k *keeper) keep(ctx context.Context, c *Crawler, v postgres.Visit) error {
	k.mu.Lock()
	b, first := k.next, k.next == nil
	if first {
		b = &batch{kept: make(chan struct{})}
		k.next = b
	}
	at := len(b.visits)
	b.visits = append(b.visits, v)
	k.mu.Unlock()
	if first {
		k.writing.Lock()
		k.mu.Lock()
		k.next = nil
		k.mu.Unlock()
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLimit)
		b.write(limited, c)
		cancel()
		k.writing.Unlock()
		close(b.kept)
	}
	<-b.kept
	return b.errs[at]
}

// write keeps the visits together, or each by itself where one of them can't be kept.
func (b *batch) write(ctx context.Context, c *Crawler) {
	b.errs = make([]error, len(b.visits))
	if err := c.db.RecordVisits(ctx, b.visits); err != nil {
		b.errs[0] = err
		for i := range b.visits {
			if len(b.visits) > 1 {
				b.errs[i] = c.db.RecordVisits(ctx, b.visits[i:i+1])
			}
		}
	}
	if c.o.Changed != nil {
		c.o.Changed(b.visits)
	}
}
