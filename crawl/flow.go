package crawl

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tollbook/site/postgres"
)

// flow is a steady stream of visits: services are taken as they become due, each is visited as soon as a worker is idle,
// and what was found is kept in batches. No visit waits for another one to end while there are idle workers.
type flow struct {
	c        *Crawler
	work     chan postgres.DueService // taken, and not yet under way
	finished chan struct{}            // a word for each that is no longer taken
	kept     chan struct{}            // word that visits were kept, whose services have a new time
	clocks   postgres.Clocks          // as they were at the last rest
	followed time.Time                // when FollowClock was last done
}

// Round visits every service that is due when it starts, and returns when none is left. It ends early when ctx does:
// visits under way are given up, finished ones are kept.
func (c *Crawler) Round(ctx context.Context) (Report, error) {
	began := c.o.Now()
	if err := c.db.FollowClock(ctx, began); err != nil {
		return Report{}, err
	}
	due, err := c.db.CountDue(ctx, began)
	if err != nil {
		return Report{}, err
	}
	report, err := c.flow(ctx, due, func(ctx context.Context, f *flow) error {
		return f.feed(ctx, func() time.Time { return began }, func(context.Context) (more bool, err error) { return false, nil })
	})
	if err != nil {
		return report, err
	}
	report.Took = c.o.Now().Sub(began)
	return report, ctx.Err()
}

// runVisits visits services as they become due until ctx ends: visits under way are given up, finished ones are kept.
func (c *Crawler) runVisits(ctx context.Context) error {
	_, err := c.flow(ctx, 0, func(ctx context.Context, f *flow) error { return f.feed(ctx, c.o.Now, f.rest) })
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("crawl: %w", err)
	}
	return nil
}

// flow runs workers on what feed takes, and keeps what they find, until feed returns or a visit cannot be kept.
func (c *Crawler) flow(ctx context.Context, due int, feed func(context.Context, *flow) error) (Report, error) {
	f := &flow{
		c: c, work: make(chan postgres.DueService, 2*c.o.Workers), finished: make(chan struct{}, 2*c.o.Workers),
		kept: make(chan struct{}, 1),
	}
	visits := make(chan postgres.Visit)
	stop, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var workers sync.WaitGroup
	for range c.o.Workers {
		workers.Go(func() {
			for s := range f.work {
				if v, ok := c.visit(stop, s); ok {
					visits <- v
				}
				f.finished <- struct{}{}
			}
		})
	}
	go func() {
		if err := feed(stop, f); err != nil {
			cancel(err)
		}
		close(f.work)
		workers.Wait()
		close(visits)
	}()
	report, err := f.keep(context.WithoutCancel(ctx), visits, due)
	if err != nil {
		cancel(err)
		for range visits { // let the workers end
		}
		return report, err
	}
	if err := context.Cause(stop); err != nil && !errors.Is(err, context.Canceled) {
		return report, err
	}
	return report, nil
}

// lease is how long a taken service is put off for others: at most it waits for one visit to end and then has its own. A
// crawl that dies leaves it due again after that.
func (c *Crawler) lease() time.Duration { return 2*c.o.Visit + time.Minute }

// feed takes what is due until some time, as long as there is room: for each worker a visit under way and one that waits,
// so that none runs dry and no service is leased for long. It asks for half as many as there are workers at least, so
// that the database is not asked for each. When nothing more is due, rest says whether to go on.
func (f *flow) feed(ctx context.Context, until func() time.Time, rest func(context.Context) (more bool, err error)) error {
	for taken := 0; ctx.Err() == nil; {
		for range len(f.finished) {
			<-f.finished
			taken--
		}
		room := cap(f.work) - taken
		if room < max(1, f.c.o.Workers/2) {
			select {
			case <-f.finished:
				taken--
			case <-ctx.Done():
			}
			continue
		}
		at := until()
		due, err := f.c.db.Due(ctx, at, f.c.o.Now().Sub(at)+f.c.lease(), room)
		if err != nil && ctx.Err() == nil {
			return err
		}
		for _, s := range due {
			f.work <- s // there is room
			taken++
		}
		if len(due) > 0 {
			continue
		}
		if more, err := rest(ctx); err != nil || !more {
			return err
		}
	}
	return nil
}

// idle is the longest rest: a service listed meanwhile is found after it.
const idle = 5 * time.Second

// followEvery is how often clocks are followed, whether they were seen to be set or not.
const followEvery = time.Minute

// rest waits until a service may be due again: for the time of the next one, or for visits to be kept, which gives their
// services new times.
func (f *flow) rest(ctx context.Context) (more bool, err error) {
	next, database, err := f.c.db.NextDue(ctx)
	if err != nil {
		if ctx.Err() == nil {
			return false, err
		}
		return true, nil
	}
	if now := f.c.o.Now(); f.clocks.Set(now, database) || time.Since(f.followed) >= followEvery {
		if err := f.c.db.FollowClock(ctx, now); err != nil && ctx.Err() == nil {
			return false, err
		}
		f.followed = time.Now()
		return true, nil
	}
	wait := idle
	if next != nil {
		wait = min(idle, max(next.Sub(f.c.o.Now()), 10*time.Millisecond))
	}
	select {
	case <-f.kept:
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return true, nil
}

// flushEvery bounds how long a finished visit waits to be kept.
const flushEvery = 500 * time.Millisecond

// enough is how many finished visits are kept without waiting longer; MaxBatch bounds how many are kept in one transaction. While
// one is under way, those that end wait for the next: the more there are, the less each costs, and when a batch is full their
// workers wait.
const (
	enough   = 500
	MaxBatch = 5000
)

// keep collects finished visits and writes them in batches.
func (f *flow) keep(ctx context.Context, visits <-chan postgres.Visit, due int) (r Report, err error) {
	var batch, under []postgres.Visit // waiting; being written
	written := make(chan error, 1)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for visits != nil || len(under) > 0 {
		from, flush := visits, false
		if len(batch) == MaxBatch {
			from = nil
		}
		select {
		case v, more := <-from:
			if !more {
				visits = nil
				break
			}
			batch = append(batch, v)
			r.count(v)
			if f.c.o.Visited != nil {
				f.c.o.Visited(r.Visits, max(due, r.Visits))
			}
		case <-tick.C:
			flush = true
		case err := <-written:
			if err != nil {
				return r, err
			}
			f.tell(under)
			under = nil
		}
		if len(under) == 0 && len(batch) > 0 && (flush || visits == nil || len(batch) >= enough) {
			under, batch = batch, nil
			go func(list []postgres.Visit) { written <- f.c.db.RecordVisits(ctx, list) }(under)
		}
	}
	return r, nil
}

// tell says that visits are kept.
func (f *flow) tell(visits []postgres.Visit) {
	if f.c.o.Changed != nil {
		f.c.o.Changed(visits)
	}
	select {
	case f.kept <- struct{}{}:
	default: // there is word already
	}
}
