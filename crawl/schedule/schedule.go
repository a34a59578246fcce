// Package schedule distributes a directory's work to any number of processes, with River. It decides which jobs exist,
// when each is due, how long it may take, and who takes over if its process dies.
//
// A job is a visit of one service, a visit of one site, a query about one domain, or a step for the directory as a
// whole. The tables services, site_facts, domain_facts and steps alone say what is due; a job only says that a process
// should look now. So a lost or repeated job does no harm. While its service is due, the job is inserted again;
// otherwise it does nothing.
//
// The package owns the rows of River's tables. It must never know what a job does: its callers pass that in.
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

// Visitor does what is due for one service or domain. Its methods do nothing if nothing is due any more.
type Visitor interface {
	VisitService(ctx context.Context, service int64) error
	VisitSite(ctx context.Context, service int64) error
	QueryDomain(ctx context.Context, domain string) error
}

// Step is work for the directory as a whole, done by one process at a time.
type Step struct {
	Name    string
	Every   time.Duration // from the beginning of one run to the next
	Follows string        // step that must have ended since this one began; "" for none
	Limit   time.Duration // of one run; then its ctx ends and another run may begin
	Resumes bool          // whether a run continues the last one, so that a run that reaches its limit is a success
	Do      func(ctx context.Context) error
}

// Options are the settings of a worker.
type Options struct {
	Visitor Visitor // nil for a process that only does steps
	Steps   []Step  // steps that this process can do

	Workers          int           // concurrent visits
	VisitLimit       time.Duration // of one visit, including the time to store it
	SiteVisitLimit   time.Duration // of a visit of a site
	DomainQueryLimit time.Duration // of a query about a domain
	Drain            time.Duration // how long running jobs may continue after the end of Run's ctx
	Logger           *slog.Logger
	Metrics          *Metrics // nil for none
	Now              func() time.Time
}

// Names of queues. Jobs that wait in one queue do not delay those of another.
const (
	queueVisits = "visits"
	queueFacts  = "facts"
	queueSteps  = "steps"
	queueFeed   = "feed"
)

const (
	feedEvery       = 2 * time.Second
	feedLimit       = 10 * time.Second
	maxWaiting      = 4000 // most waiting jobs of a queue; more are inserted when half of them have begun
	factWorkers     = 16   // most concurrent visits of sites and queries about domains
	offerEvery      = time.Minute
	stopGrace       = 3 * time.Second  // after Drain, for jobs to notice the end and for their results to be stored
	relockGrace     = 10 * time.Second // for a worker to take its lock again before others get its jobs
	doneRetention   = 10 * time.Minute // retention of finished jobs, for inspection
	failedRetention = 7 * 24 * time.Hour
)

// Worker is one of the processes that share a directory's work.
type Worker struct {
	db     *postgres.DB
	o      Options
	id     string
	client *river.Client[pgx.Tx]
}

// New returns a worker. Run makes it work.
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
	addWorkers, queues, err := w.addWorkers()
	if err != nil {
		return nil, err
	}
	w.client, err = river.NewClient(db.Jobs(), &river.Config{
		ID: w.id, Workers: addWorkers, Queues: queues, FetchOnlyKnownKinds: true, SkipUnknownJobCheck: true,
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(river.PeriodicInterval(feedEvery),
			func() (river.JobArgs, *river.InsertOpts) {
				return feedArgs{}, nil
			}, &river.PeriodicJobOpts{ID: "feed", RunOnStart: true})},
		// River rescues a job whose process hangs when its results can't be stored any more, and a step after its
		// limit.
		JobTimeout: limit, RescueStuckJobsAfter: limit + time.Second, RetryPolicy: backoff{now: o.Now},
		SoftStopTimeout: max(o.Drain, time.Millisecond), CompletedJobRetentionPeriod: doneRetention,
		DiscardedJobRetentionPeriod: failedRetention,
		ErrorHandler:                failures{o.Logger, o.Metrics},
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(w.count),
			river.JobInsertMiddlewareFunc(makeDue)},
		Logger: slog.New(levelHandler{o.Logger.Handler(), slog.LevelWarn}),
	})
	if err != nil {
		return nil, fmt.Errorf("prepare jobs: %w", err)
	}
	return w, nil
}

// addWorkers returns the workers for the jobs that this process can do, and the queues that it serves.
func (w *Worker) addWorkers() (*river.Workers, map[string]river.QueueConfig, error) {
	addWorkers, queues := river.NewWorkers(), map[string]river.QueueConfig{queueFeed: {MaxWorkers: 1}}
	river.AddWorker(addWorkers, &job[feedArgs]{limit: feedLimit,
		do: func(ctx context.Context, _ feedArgs) error { return w.feed(ctx) }})
	if v := w.o.Visitor; v != nil {
		queues[queueVisits] = river.QueueConfig{MaxWorkers: max(1, w.o.Workers)}
		queues[queueFacts] = river.QueueConfig{MaxWorkers: max(1, min(factWorkers, w.o.Workers))}
		river.AddWorker(addWorkers, &job[visitArgs]{limit: w.o.VisitLimit,
			do: func(ctx context.Context, a visitArgs) error { return v.VisitService(ctx, a.Service) }})
		river.AddWorker(addWorkers, &job[siteArgs]{limit: w.o.SiteVisitLimit,
			do: func(ctx context.Context, a siteArgs) error { return v.VisitSite(ctx, a.Service) }})
		river.AddWorker(addWorkers, &job[domainArgs]{limit: w.o.DomainQueryLimit,
			do: func(ctx context.Context, a domainArgs) error { return v.QueryDomain(ctx, a.Domain) }})
	}
	seen := map[string]bool{}
	for _, s := range w.o.Steps {
		if s.Name == "" || s.Every <= 0 || s.Limit <= 0 || seen[s.Name] {
			return nil, nil, fmt.Errorf("step %q: want a unique name, a period and a limit", s.Name)
		}
		seen[s.Name] = true
		river.AddWorkerArgs(addWorkers, stepArgs{s.Name},
			&job[stepArgs]{limit: s.Limit, do: func(ctx context.Context, _ stepArgs) error {
				return w.runStep(ctx, s)
			}})
	}
	if len(w.o.Steps) > 0 {
		queues[queueSteps] = river.QueueConfig{MaxWorkers: len(w.o.Steps)}
	}
	return addWorkers, queues, nil
}

// Run works until ctx ends. Then running jobs may continue for as long as Drain; the rest is canceled and given to
// others. A process that is killed loses nothing: the leader gives its jobs to others.
func (w *Worker) Run(ctx context.Context) error {
	presence, err := w.db.LockWorker(ctx, w.id)
	if err != nil {
		return err
	}
	defer func() { presence.Release() }()
	if err := errors.Join(w.db.RestartLateDelays(ctx, w.o.Now()), w.offerSteps(ctx)); err != nil {
		return err
	}
	if err := w.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	again, check := time.NewTicker(offerEvery), time.NewTicker(relockGrace/2)
	defer again.Stop()
	defer check.Stop()
	follow := func() {
		if err := errors.Join(w.db.RestartLateDelays(ctx, w.o.Now()), w.offerSteps(ctx)); err != nil && ctx.Err() == nil {
			w.o.Logger.Warn("register the steps of this process; trying again", "error", err)
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
			// Without the lock others would soon take our jobs: services would be visited twice, and one result
			// dropped.
			now, err := presence.Check(ctx)
			if own := w.o.Now(); err == nil && looked.Update(own, now) {
				w.o.Logger.Warn("a clock was set; jobs that waited for it are due", "own", own, "database", now)
				follow()
			}
			if err != nil && ctx.Err() == nil {
				w.o.Logger.Warn("connection to the database lost", "error", err)
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
		w.o.Logger.Warn("stopping before all jobs ended; others get the rest", "error", err)
	}
	return nil
}

// offerSteps registers which steps this process can do.
func (w *Worker) offerSteps(ctx context.Context) error {
	steps := make([]postgres.Step, len(w.o.Steps))
	for i, s := range w.o.Steps {
		steps[i] = postgres.Step{Name: s.Name, Period: s.Every, Follows: s.Follows}
	}
	// in order, so that two processes lock rows in the same order
	slices.SortFunc(steps, func(a, b postgres.Step) int { return cmp.Compare(a.Name, b.Name) })
	return w.db.OfferSteps(ctx, steps, w.o.Now())
}

// runStep does a step and stores that it is done.
func (w *Worker) runStep(ctx context.Context, s Step) error {
	began := w.o.Now()
	err := s.Do(ctx)
	if err != nil && !(s.Resumes && errors.Is(context.Cause(ctx), context.DeadlineExceeded)) {
		return err
	}
	return w.db.FinishStep(context.WithoutCancel(ctx), s.Name, began, w.o.Now())
}

// backoff retries a failed job after a pause that doubles each time, up to five minutes.
type backoff struct{ now func() time.Time }

// NextRetry implements river.ClientRetryPolicy.
func (b backoff) NextRetry(j *rivertype.JobRow) time.Time {
	wait := min(5*time.Second<<min(max(len(j.Errors), 0), 10), 5*time.Minute)
	return b.now().Add(time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())))
}

// failures logs each failed job once.
type failures struct {
	logger  *slog.Logger
	metrics *Metrics
}

// HandleError implements river.ErrorHandler.
func (f failures) HandleError(ctx context.Context, j *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	f.metrics.countFailed(kindOf(j))
	f.logger.LogAttrs(ctx, slog.LevelWarn, "job failed", slog.Int64("job", j.ID), slog.String("kind", j.Kind),
		slog.Int("attempt", j.Attempt), slog.Any("error", err))
	return nil
}

// HandlePanic implements river.ErrorHandler.
func (f failures) HandlePanic(ctx context.Context, j *rivertype.JobRow, value any,
	trace string) *river.ErrorHandlerResult {
	f.metrics.countFailed(kindOf(j))
	f.logger.LogAttrs(ctx, slog.LevelError, "job panicked", slog.Int64("job", j.ID), slog.String("kind", j.Kind),
		slog.Any("panic", value), slog.String("trace", trace))
	return nil
}

// count wraps each job: it adds the job's id to log lines, and counts the result.
func (w *Worker) count(ctx context.Context, j *rivertype.JobRow, do func(context.Context) error) error {
	began := time.Now()
	err := do(withJob(ctx, j))
	if err == nil {
		w.o.Metrics.countDone(kindOf(j), time.Since(began))
	}
	return err
}

// kindOf returns a job's label in metrics: its kind without the network of an index.
func kindOf(j *rivertype.JobRow) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(j.Kind, stepPrefix), ":")
	return kind
}
