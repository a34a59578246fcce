package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// Round visits every service that is due when it starts. It ends early when ctx ends: running visits are given up,
// finished ones are stored. It ends early with ErrUplink if no host can be reached by this machine's fault.
func (c *Crawler) Round(ctx context.Context) (Report, error) {
	began := c.o.Now()
	c.uplink.forget()
	if err := c.db.RestartLateDelays(ctx, began); err != nil {
		return Report{}, err
	}
	due, err := c.db.CountDue(ctx, began)
	if err != nil {
		return Report{}, err
	}
	report, err := c.visitAll(ctx, due, func(ctx context.Context) ([]postgres.DueService, error) {
		if c.uplink.isDown() {
			return nil, nil
		}
		return c.takeDue(ctx, began)
	})
	if err != nil && ctx.Err() == nil {
		return report, err
	}
	report.Took = c.o.Now().Sub(began)
	return report, cmp.Or(ctx.Err(), c.uplinkError())
}

// Visit visits services that are due when it starts, by id, and no others. It ends early as Round does.
func (c *Crawler) Visit(ctx context.Context, ids []int64) (Report, error) {
	began := c.o.Now()
	c.uplink.forget()
	report, err := c.visitAll(ctx, len(ids), func(ctx context.Context) ([]postgres.DueService, error) {
		for len(ids) > 0 && ctx.Err() == nil && !c.uplink.isDown() {
			id := ids[0]
			ids = ids[1:]
			s, err := c.db.TakeService(ctx, c.o.Vantage, id, c.o.Now(), c.lease())
			if err != nil {
				return nil, err
			}
			if s != nil { // else another visitor was first
				return []postgres.DueService{*s}, nil
			}
		}
		return nil, nil
	})
	if err != nil && ctx.Err() == nil {
		return report, err
	}
	report.Took = c.o.Now().Sub(began)
	return report, cmp.Or(ctx.Err(), c.uplinkError())
}

// runVisits visits services as they become due until ctx ends: running visits are given up, finished ones are stored.
func (c *Crawler) runVisits(ctx context.Context) error {
	w := dueWaiter{c: c}
	_, err := c.visitAll(ctx, 0, func(ctx context.Context) ([]postgres.DueService, error) {
		for ctx.Err() == nil {
			if c.uplink.isDown() {
				_ = sleep(ctx, uplinkPause) // the loop checks ctx
			}
			if due, err := c.takeDue(ctx, c.o.Now()); err != nil || len(due) > 0 {
				return due, err
			}
			if err := w.wait(ctx); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("crawl: %w", err)
	}
	return nil
}

// visitAll visits the services that take returns and stores the results, until take returns none or a visit can't be
// stored. due is the expected number of services.
func (c *Crawler) visitAll(
	ctx context.Context, due int, take func(context.Context) ([]postgres.DueService, error),
) (report Report, err error) {
	var mu sync.Mutex
	err = runWorkers(ctx, c.o.Workers, take, func(ctx context.Context, s postgres.DueService) error {
		v, ok := c.visit(ctx, s)
		if !ok {
			return nil
		}
		if err := c.store(v); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		report.count(v)
		if c.o.Visited != nil {
			c.o.Visited(report.Visits, max(due, report.Visits))
		}
		return nil
	})
	return report, err
}

// takeDue leases services that are due at a time. It takes half as many as there are workers: a leased service then
// waits for one visit at most, and the database is not queried for each service.
func (c *Crawler) takeDue(ctx context.Context, at time.Time) ([]postgres.DueService, error) {
	_, _ = c.activePlaces(ctx) // a place with nothing to do takes part; a visit logs an error
	due, err := c.takeReadable(ctx, func() ([]postgres.DueService, error) {
		return c.db.TakeServices(ctx, c.o.Vantage, at, c.o.Now().Sub(at)+c.lease(), max(1, c.o.Workers/2))
	})
	if ctx.Err() != nil {
		return nil, nil
	}
	return due, err
}

// takeReadable calls take until it returns services that can be read, or none at all. It logs those that cannot; they
// stay leased for a while.
func (c *Crawler) takeReadable(
	ctx context.Context, take func() ([]postgres.DueService, error),
) ([]postgres.DueService, error) {
	for {
		due, err := take()
		var damaged postgres.DamagedServices
		if !errors.As(err, &damaged) {
			return due, err
		}
		for _, d := range damaged {
			c.o.Logger.ErrorContext(ctx, "service not visited, because a stored value is damaged", "service", d.Slug,
				"err", d.Err)
		}
		if len(due) > 0 {
			return due, nil
		}
	}
}

// lease is how long a service that takeDue returned is reserved for this crawl: it waits for one visit to end and then
// gets its own. A crash leaves its services leased; they are due again after that time.
func (c *Crawler) lease() time.Duration { return 2*c.o.Visit + time.Minute }

// idlePause is the longest pause between two queries for services that are due.
const idlePause = time.Second

// followEvery is how often postgres.RestartLateDelays runs even if no clock seems to have been set.
const followEvery = time.Minute

// dueWaiter waits for services to become due.
type dueWaiter struct {
	c        *Crawler
	clocks   postgres.Clocks // as they were at the last wait
	followed time.Time       // when RestartLateDelays last ran
}

// wait returns when a service may be due again.
func (w *dueWaiter) wait(ctx context.Context) error {
	next, database, err := w.c.db.NextDue(ctx, w.c.o.Vantage)
	now := w.c.o.Now()
	set := err == nil && w.clocks.Update(now, database)
	if err == nil && (set || time.Since(w.followed) >= followEvery) {
		err, w.followed = w.c.db.RestartLateDelays(ctx, now), time.Now()
		if err == nil {
			return nil
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	pause := idlePause
	if next != nil {
		pause = min(idlePause, max(next.Sub(now), 10*time.Millisecond))
	}
	_ = sleep(ctx, pause) // the caller checks ctx
	return nil
}

// runWorkers passes the jobs that take returns to workers until take returns none, ctx ends, or do fails. Some jobs
// wait in a buffer, so that no worker idles while take runs.
func runWorkers[T any](
	ctx context.Context, workers int, take func(context.Context) ([]T, error), do func(context.Context, T) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan T, workers/2)
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for job := range jobs {
				if err := do(ctx, job); err != nil {
					cancel(err)
				}
			}
		})
	}
	for ctx.Err() == nil {
		taken, err := take(ctx)
		if err != nil {
			cancel(err)
		}
		if len(taken) == 0 {
			break
		}
		for _, job := range taken {
			select {
			case jobs <- job:
			case <-ctx.Done():
			}
		}
	}
	close(jobs)
	running.Wait()
	return context.Cause(ctx)
}

// storeLimit bounds the transaction that stores visits.
const storeLimit = 10 * time.Second

// store returns when a visit is committed. Visits that end at the same time are stored in one transaction.
func (c *Crawler) store(v checks.Visit) error {
	failed, err := c.storing.call(v)
	if err != nil {
		return err
	}
	return failed
}

// storeVisits stores visits in one transaction, or each in its own if one of them can't be stored. It returns an error
// or nil for each. It does not end with the crawl: a finished visit is stored even while the crawl stops.
func (c *Crawler) storeVisits(visits []checks.Visit) ([]error, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeLimit)
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
