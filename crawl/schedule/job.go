package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// stepPrefix begins the kinds of steps' jobs. Each step has its own kind, so that a process fetches the steps it can
// do.
const stepPrefix = "step:"

type (
	feedArgs  struct{}
	visitArgs struct {
		Service int64 `json:"service"`
	}
	siteArgs struct {
		Service int64 `json:"service"`
	}
	domainArgs struct {
		Domain string `json:"domain"`
	}
	stepArgs struct {
		Step string `json:"step"`
	}
)

func (feedArgs) Kind() string   { return "feed" }
func (visitArgs) Kind() string  { return "visit" }
func (siteArgs) Kind() string   { return "site" }
func (domainArgs) Kind() string { return "domain" }
func (a stepArgs) Kind() string { return stepPrefix + a.Step }

// once allows a job only while no unfinished job has the same kind and arguments.
var once = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable,
	rivertype.JobStateScheduled,
}}

// InsertOpts implements river.JobArgsWithInsertOpts. A feed job is not retried, because another one follows soon. A
// feed job that died must not prevent the next one.
func (feedArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueFeed, MaxAttempts: 1}
}
func (visitArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueVisits, UniqueOpts: once}
}
func (siteArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueFacts, UniqueOpts: once}
}
func (domainArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueFacts, UniqueOpts: once}
}
func (stepArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueSteps, UniqueOpts: once}
}

// job is the worker for one kind of job.
type job[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	limit time.Duration
	do    func(context.Context, T) error
}

// Timeout implements river.Worker.
func (w *job[T]) Timeout(*river.Job[T]) time.Duration { return w.limit }

// Work implements river.Worker.
func (w *job[T]) Work(ctx context.Context, j *river.Job[T]) error { return w.do(ctx, j.Args) }

// feed inserts the jobs that are due, and gives the jobs of dead processes to others. Only the leader's feed jobs run.
func (w *Worker) feed(ctx context.Context) error {
	if n, err := w.db.RescueJobs(ctx, relockGrace); err != nil {
		return err
	} else if n > 0 {
		w.o.Metrics.rescues.Add(float64(n))
		w.o.Logger.WarnContext(ctx, "a worker is gone; its jobs are given to others", "jobs", n)
	}
	now := w.o.Now()
	steps, err := w.db.DueSteps(ctx, now)
	if err != nil {
		return err
	}
	if err := insert(ctx, w, steps, func(name string) river.JobArgs { return stepArgs{name} }); err != nil {
		return err
	}
	if hasRoom, err := w.hasRoom(ctx, queueVisits); err != nil {
		return err
	} else if hasRoom {
		services, err := w.db.DueServices(ctx, now, maxWaiting)
		if err != nil {
			return err
		}
		if err := insert(ctx, w, services, func(id int64) river.JobArgs { return visitArgs{id} }); err != nil {
			return err
		}
	}
	if hasRoom, err := w.hasRoom(ctx, queueFacts); err != nil || !hasRoom {
		return err
	}
	sites, err := w.db.DueSites(ctx, now, maxWaiting/2)
	if err != nil {
		return err
	}
	if err := insert(ctx, w, sites, func(id int64) river.JobArgs { return siteArgs{id} }); err != nil {
		return err
	}
	domains, err := w.db.DueDomains(ctx, now, maxWaiting/2)
	if err != nil {
		return err
	}
	return insert(ctx, w, domains, func(name string) river.JobArgs { return domainArgs{name} })
}

// hasRoom reports whether few enough jobs of a queue wait, so that more may be inserted.
func (w *Worker) hasRoom(ctx context.Context, queue string) (bool, error) {
	n, err := w.db.WaitingJobs(ctx, queue)
	return n <= maxWaiting/2, err
}

// insert inserts jobs, except those that exist.
func insert[T any](ctx context.Context, w *Worker, due []T, args func(T) river.JobArgs) error {
	if len(due) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(due))
	for i, d := range due {
		params[i] = river.InsertManyParams{Args: args(d)}
	}
	if _, err := w.client.InsertMany(ctx, params); err != nil {
		return fmt.Errorf("insert %d jobs: %w", len(due), err)
	}
	return nil
}

// makeDue makes inserted jobs due at once by the database's clock, by which they are fetched. River would use the clock
// of this process; if that is ahead, the jobs would wait.
func makeDue(ctx context.Context, jobs []*rivertype.JobInsertParams,
	insert func(context.Context) ([]*rivertype.JobInsertResult, error)) ([]*rivertype.JobInsertResult, error) {
	for _, j := range jobs {
		j.ScheduledAt = new(time.Time) // the driver replaces the zero time by now()
	}
	return insert(ctx)
}

// jobKey is the key of a job's row in its context.
type jobKey struct{}

func withJob(ctx context.Context, j *rivertype.JobRow) context.Context {
	return context.WithValue(ctx, jobKey{}, j)
}

// Logs returns a handler that adds the id of the job to each line.
func Logs(h slog.Handler) slog.Handler { return jobLogs{h} }

type jobLogs struct{ slog.Handler }

// Handle implements slog.Handler.
func (h jobLogs) Handle(ctx context.Context, r slog.Record) error {
	if j, ok := ctx.Value(jobKey{}).(*rivertype.JobRow); ok {
		r = r.Clone()
		r.AddAttrs(slog.Int64("job", j.ID))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h jobLogs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return jobLogs{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h jobLogs) WithGroup(name string) slog.Handler { return jobLogs{h.Handler.WithGroup(name)} }

// levelHandler drops River's own reports of ordinary events from the log.
type levelHandler struct {
	slog.Handler
	level slog.Level
}

// Enabled implements slog.Handler.
func (h levelHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}
