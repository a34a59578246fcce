package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// stepPrefix begins the kinds of steps' jobs: each step is a kind, so that a process fetches those that it can do.
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

// once lets a job be made only while there is none of its kind and arguments that is not finished.
var once = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning, rivertype.JobStateRetryable,
	rivertype.JobStateScheduled,
}}

// InsertOpts implement river.JobArgsWithInsertOpts. A look for what is due is made again soon: none is worth a retry,
// and one that died must not keep the next from being made.
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

// job does one kind of job.
type job[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	limit time.Duration
	do    func(context.Context, T) error
}

// Timeout implements river.Worker.
func (w *job[T]) Timeout(*river.Job[T]) time.Duration { return w.limit }

// Work implements river.Worker.
func (w *job[T]) Work(ctx context.Context, j *river.Job[T]) error { return w.do(ctx, j.Args) }

// feed makes the jobs that are due, and gives those of dead processes to others. It is done by one process, which the
// others elect.
func (w *Worker) feed(ctx context.Context) error {
	if n, err := w.db.RescueJobs(ctx, comeback); err != nil {
		return err
	} else if n > 0 {
		w.o.Metrics.rescued(n)
		w.o.Logger.WarnContext(ctx, "jobs of a worker that is gone are given to others", "jobs", n)
	}
	now := w.o.Now()
	steps, err := w.db.DueSteps(ctx, now)
	if err != nil {
		return err
	}
	if err := insert(ctx, w, steps, func(name string) river.JobArgs { return stepArgs{name} }); err != nil {
		return err
	}
	if room, err := w.room(ctx, queueVisits); err != nil {
		return err
	} else if room {
		services, err := w.db.DueServices(ctx, now, feedMost)
		if err != nil {
			return err
		}
		if err := insert(ctx, w, services, func(id int64) river.JobArgs { return visitArgs{id} }); err != nil {
			return err
		}
	}
	if room, err := w.room(ctx, queueFacts); err != nil || !room {
		return err
	}
	sites, err := w.db.DueSites(ctx, now, feedMost/2)
	if err != nil {
		return err
	}
	if err := insert(ctx, w, sites, func(id int64) river.JobArgs { return siteArgs{id} }); err != nil {
		return err
	}
	domains, err := w.db.DueDomains(ctx, now, feedMost/2)
	if err != nil {
		return err
	}
	return insert(ctx, w, domains, func(name string) river.JobArgs { return domainArgs{name} })
}

// room says whether few enough jobs of a queue wait for more to be made.
func (w *Worker) room(ctx context.Context, queue string) (bool, error) {
	n, err := w.db.WaitingJobs(ctx, queue)
	return n <= feedMost/2, err
}

// insert makes jobs, but those that are there.
func insert[T any](ctx context.Context, w *Worker, due []T, args func(T) river.JobArgs) error {
	if len(due) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(due))
	for i, d := range due {
		params[i] = river.InsertManyParams{Args: args(d)}
	}
	if _, err := w.client.InsertMany(ctx, params); err != nil {
		return fmt.Errorf("make %d jobs: %w", len(due), err)
	}
	return nil
}

// dueNow has jobs that are made be due at once by the database's clock, which they are taken by: River gives them the
// time of their process, and where that is ahead they would wait for it to come.
func dueNow(ctx context.Context, jobs []*rivertype.JobInsertParams,
	insert func(context.Context) ([]*rivertype.JobInsertResult, error)) ([]*rivertype.JobInsertResult, error) {
	for _, j := range jobs {
		j.ScheduledAt = new(time.Time) // which the driver takes for now()
	}
	return insert(ctx)
}

// jobKey is the key of a job's row in its context.
type jobKey struct{}

func withJob(ctx context.Context, j *rivertype.JobRow) context.Context {
	return context.WithValue(ctx, jobKey{}, j)
}

// Logs makes a handler whose lines have the id of the job that they are about.
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

// atLeast keeps River's own reports of everyday events out of the log.
type atLeast struct {
	slog.Handler
	level slog.Level
}

// Enabled implements slog.Handler.
func (h atLeast) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}
