// Package schedule spreads a directory's work over any number of processes, on River: which jobs there are, when each
// is due, how long it may take, who takes over when its process dies.
//
// A job is a visit to one service, a look at one site, a question about one domain, or a step that is done for the
// directory as a whole. What is due stands in Postgres alone (services, site_facts, domain_facts, steps); a job only
// says that somebody should see to it now. So a job that is lost, or done twice, does no harm: it is made again while
// its service is due, and does nothing when it is not.
//
// It owns the rows of River's tables. It must never know what a job does: that is given to it.
package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"tollbook/site/postgres"
)

// Visitor does what is due for one service or domain: nothing when it is not due any more.
type Visitor interface {
	VisitService(ctx context.Context, service int64) error
	VisitSite(ctx context.Context, service int64) error
	QueryDomain(ctx context.Context, domain string) error
}

// Step is something that one process at a time does for the directory as a whole.
type Step struct {
	Name    string
	Every   time.Duration // from one begin to the next
	Follows string        // step that must have ended since this one began; "" for none
	Limit   time.Duration // of one run, after which ctx ends and another may begin
	Goes    bool          // on where it was: a run that ran into its limit has done its part
	Do      func(ctx context.Context) error
}

// Options of a worker.
type Options struct {
	Visitor Visitor // nil for a process that only does steps
	Steps   []Step  // that this process can do; others may be able to do others

	Workers          int           // visits at once
	VisitLimit       time.Duration // of one visit, what is kept of it included
	SiteVisitLimit   time.Duration // of a look at a site
	DomainQueryLimit time.Duration // of a question about a domain
	Drain            time.Duration // how long jobs under way may go on after the end of Run's ctx
	Logger           *slog.Logger
	Metrics          *Metrics // nil for none
	Now              func() time.Time
}

// Names of queues. What waits in one holds up no other.
const (
	queueVisits = "visits"
	queueFacts  = "facts"
	queueSteps  = "steps"
	queueFeed   = "feed"
)

const (
	feedEvery   = 2 * time.Second
	feedLimit   = 10 * time.Second
	feedMost    = 4000 // jobs of a queue that wait at once; more are made when half of them are begun
	factWorkers = 16   // looks and questions at once, at most
	offerEvery  = time.Minute
	stopGrace   = 3 * time.Second  // after Drain, for jobs to notice and for their ends to be kept
	comeback    = 10 * time.Second // for a worker to take its lock again before its jobs are given to others
	keepDone    = 10 * time.Minute // finished jobs, for whoever looks
	keepFailed  = 7 * 24 * time.Hour
)

// Worker is one of any number of processes that share a directory's work.
type Worker struct {
	db     *postgres.DB
	o      Options
	id     string
	client *river.Client[pgx.Tx]
}

// New prepares a worker; Run makes it work.
func New(db *postgres.DB, o Options) (*Worker, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	w := &Worker{db: db, o: o, id: uuid.NewString()}
	limit := max(o.VisitLimit, feedLimit)
	workers, queues, err := w.workers()
	if err != nil {
		return nil, err
	}
	w.client, err = river.NewClient(db.Jobs(), &river.Config{
		ID: w.id, Workers: workers, Queues: queues, FetchOnlyKnownKinds: true, SkipUnknownJobCheck: true,
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(feedEvery),
			func() (river.JobArgs, *river.InsertOpts) {
				return feedArgs{}, nil
			}, &river.PeriodicJobOpts{ID: "feed", RunOnStart: true})},
		// A job whose process hangs is rescued when nothing of it can be kept any more; steps when their own limit is
		// over.
		JobTimeout: limit, RescueStuckJobsAfter: limit + time.Second, RetryPolicy: backoff{now: o.Now},
		SoftStopTimeout: max(o.Drain, time.Millisecond), CompletedJobRetentionPeriod: keepDone,
		DiscardedJobRetentionPeriod: keepFailed,
		ErrorHandler:                failures{o.Logger, o.Metrics},
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(w.count),
			river.JobInsertMiddlewareFunc(dueNow)},
		Logger: slog.New(atLeast{o.Logger.Handler(), slog.LevelWarn}),
	})
	if err != nil {
		return nil, fmt.Errorf("prepare jobs: %w", err)
	}
	return w, nil
}

// workers are what this process can do, and the queues that it works on.
func (w *Worker) workers() (*river.Workers, map[string]river.QueueConfig, error) {
	workers, queues := river.NewWorkers(), map[string]river.QueueConfig{queueFeed: {MaxWorkers: 1}}
	river.AddWorker(workers, &job[feedArgs]{limit: feedLimit,
		do: func(ctx context.Context, _ feedArgs) error { return w.feed(ctx) }})
	if v := w.o.Visitor; v != nil {
		queues[queueVisits] = river.QueueConfig{MaxWorkers: max(1, w.o.Workers)}
		queues[queueFacts] = river.QueueConfig{MaxWorkers: max(1, min(factWorkers, w.o.Workers))}
		river.AddWorker(workers, &job[visitArgs]{limit: w.o.VisitLimit,
			do: func(ctx context.Context, a visitArgs) error { return v.VisitService(ctx, a.Service) }})
		river.AddWorker(workers, &job[siteArgs]{limit: w.o.SiteVisitLimit,
			do: func(ctx context.Context, a siteArgs) error { return v.VisitSite(ctx, a.Service) }})
		river.AddWorker(workers, &job[domainArgs]{limit: w.o.DomainQueryLimit,
			do: func(ctx context.Context, a domainArgs) error { return v.QueryDomain(ctx, a.Domain) }})
	}
	seen := map[string]bool{}
	for _, s := range w.o.Steps {
		if s.Name == "" || s.Every <= 0 || s.Limit <= 0 || seen[s.Name] {
			return nil, nil, fmt.Errorf("step %q: it has a name of its own, a period and a limit", s.Name)
		}
		seen[s.Name] = true
		river.AddWorkerArgs(workers, stepArgs{s.Name},
			&job[stepArgs]{limit: s.Limit, do: func(ctx context.Context, _ stepArgs) error { return w.step(ctx, s) }})
	}
	if len(w.o.Steps) > 0 {
		queues[queueSteps] = river.QueueConfig{MaxWorkers: len(w.o.Steps)}
	}
	return workers, queues, nil
}

// Run works until ctx ends: then what runs may go on for as long as Drain, is cut off, and given to others. A process
// that does not come so far, as one that is killed, loses nothing: whoever leads the others gives them its jobs.
func (w *Worker) Run(ctx context.Context) error {
	presence, err := w.db.LockWorker(ctx, w.id)
	if err != nil {
		return err
	}
	defer func() { presence.Release() }()
	if err := errors.Join(w.db.FollowClock(ctx, w.o.Now()), w.offer(ctx)); err != nil {
		return err
	}
	if err := w.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start to work: %w", err)
	}
	again, check := time.NewTicker(offerEvery), time.NewTicker(comeback/2)
	defer again.Stop()
	defer check.Stop()
	follow := func() {
		if err := errors.Join(w.db.FollowClock(ctx, w.o.Now()), w.offer(ctx)); err != nil && ctx.Err() == nil {
			w.o.Logger.Warn("steps can't be offered now", "error", err)
		}
	}
	var looked postgres.Clocks
	if now, err := presence.Check(ctx); err == nil {
		looked.Update(w.o.Now(), now)
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-check.C:
			// Without the sign others would soon take our jobs: visits would be made twice, and one of two be dropped.
			now, err := presence.Check(ctx)
			if own := w.o.Now(); err == nil && looked.Update(own, now) {
				w.o.Logger.Warn("a clock was set: what waits for it goes on", "own", own, "database", now)
				follow()
			}
			if err != nil && ctx.Err() == nil {
				w.o.Logger.Warn("the connection to the database was lost", "error", err)
				if fresh, err := w.db.LockWorker(ctx, w.id); err == nil {
					presence.Release()
					presence = fresh
				}
			}
		case <-again.C:
			follow()
		}
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.o.Drain+stopGrace)
	defer cancel()
	if err := w.client.Stop(stopping); err != nil {
		w.o.Logger.Warn("jobs were left to others", "error", err)
	}
	return nil
}

// offer says which steps this process can do.
func (w *Worker) offer(ctx context.Context) error {
	steps := make([]postgres.Step, len(w.o.Steps))
	for i, s := range w.o.Steps {
		steps[i] = postgres.Step{Name: s.Name, Period: s.Every, Follows: s.Follows}
	}
	// two offer in the same order
	slices.SortFunc(steps, func(a, b postgres.Step) int { return cmp.Compare(a.Name, b.Name) })
	return w.db.OfferSteps(ctx, steps, w.o.Now())
}

// step does a step and keeps that it is done.
func (w *Worker) step(ctx context.Context, s Step) error {
	began := w.o.Now()
	err := s.Do(ctx)
	if err != nil && !(s.Goes && errors.Is(context.Cause(ctx), context.DeadlineExceeded)) {
		return err
	}
	return w.db.FinishStep(context.WithoutCancel(ctx), s.Name, began, w.o.Now())
}

// backoff lets a job that failed wait, twice as long each time, up to five minutes.
type backoff struct{ now func() time.Time }

// NextRetry implements river.ClientRetryPolicy.
func (b backoff) NextRetry(j *rivertype.JobRow) time.Time {
	wait := min(5*time.Second<<min(max(len(j.Errors), 0), 10), 5*time.Minute)
	return b.now().Add(time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())))
}

// failures tells of jobs that failed, once each.
type failures struct {
	logger  *slog.Logger
	metrics *Metrics
}

// HandleError implements river.ErrorHandler.
func (f failures) HandleError(ctx context.Context, j *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	f.metrics.failed(kindOf(j))
	f.logger.LogAttrs(ctx, slog.LevelWarn, "job failed", slog.Int64("job", j.ID), slog.String("kind", j.Kind),
		slog.Int("attempt", j.Attempt), slog.Any("error", err))
	return nil
}

// HandlePanic implements river.ErrorHandler.
func (f failures) HandlePanic(ctx context.Context, j *rivertype.JobRow, value any,
	trace string) *river.ErrorHandlerResult {
	f.metrics.failed(kindOf(j))
	f.logger.LogAttrs(ctx, slog.LevelError, "job panicked", slog.Int64("job", j.ID), slog.String("kind", j.Kind),
		slog.Any("panic", value), slog.String("trace", trace))
	return nil
}

// count wraps each job: its log lines have its id, and its end is counted.
func (w *Worker) count(ctx context.Context, j *rivertype.JobRow, do func(context.Context) error) error {
	began := time.Now()
	err := do(withJob(ctx, j))
	if err == nil {
		w.o.Metrics.done(kindOf(j), time.Since(began))
	}
	return err
}

// kindOf is a job's label in figures: its kind, without the network of an index.
func kindOf(j *rivertype.JobRow) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(j.Kind, stepPrefix), ":")
	return kind
}
