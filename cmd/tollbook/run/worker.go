// This part of the package wires the worker of a directory: visits and lookups that are due, and the steps that run on
// a schedule for the directory as a whole. It must never know a flag, or answer a reader.

package run

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tollbook/cmd/tollbook/settings"
	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/crawl/schedule"
	"tollbook/output"
)

// WorkerOptions are the settings of a worker.
type WorkerOptions struct {
	Crawl    crawl.Options
	Probe    probe.Options
	Networks []settings.Network // whose settlements are read
	Sources  []pull.Source      // that may be read
	Schedule Schedule
	Drain    time.Duration // time for running jobs to end after the context ends
	Logger   *slog.Logger

	// The process that builds has these; others leave them empty.
	Builder *Builder
	Folder  *output.Folder // that Builder publishes to
	Publish PublishOptions // To is "" to publish to Folder alone
}

// Schedule is the time from the start of one run of a step to the next.
type Schedule struct {
	Build, Publish, Index, Retention time.Duration
	Facilitators                     time.Duration // from one poll of a facilitator to the next; 0 for none
}

// Worker does what is due until its context ends.
type Worker struct {
	// Metrics collect the metrics of the worker.
	Metrics []prometheus.Collector

	crawler *crawl.Crawler
	worker  *schedule.Worker
}

// NewWorker returns a worker.
func NewWorker(ctx context.Context, db *Database, o WorkerOptions) (*Worker, error) {
	o.Logger = slog.New(schedule.Logs(o.Logger.Handler()))
	o.Crawl.Logger, o.Publish.Logger = o.Logger, o.Logger
	w := &Worker{crawler: crawl.New(db.DB, o.Crawl, o.Probe)}
	if err := w.addSteps(ctx, db, o); err != nil {
		w.crawler.Close()
		return nil, err
	}
	return w, nil
}

func (w *Worker) addSteps(ctx context.Context, db *Database, o WorkerOptions) error {
	steps := w.directorySteps(db, o)
	index, err := w.indexSteps(ctx, db, o)
	if err != nil {
		return err
	}
	steps = append(steps, index...)
	if o.Builder != nil {
		build, err := buildSteps(db, o)
		if err != nil {
			return err
		}
		steps = append(steps, build...)
	}
	metrics := schedule.NewMetrics()
	w.worker, err = schedule.New(db.DB, schedule.Options{
		Visitor: w.crawler, Steps: steps, Workers: o.Crawl.Workers, VisitLimit: w.crawler.Lease(),
		SiteVisitLimit: crawl.SiteVisitLimit, DomainQueryLimit: crawl.DomainQueryLimit, Drain: o.Drain,
		Logger: o.Logger, Metrics: metrics,
	})
	w.Metrics = append(w.Metrics, metrics, schedule.Figures(db.DB), crawl.PollFigures(db.DB))
	return err
}

// Run works until ctx ends.
func (w *Worker) Run(ctx context.Context) error { return w.worker.Run(ctx) }

// Notice returns what the operator should know about the visits, "" for nothing.
func (w *Worker) Notice() string { return w.crawler.Notice() }

// Close closes idle connections.
func (w *Worker) Close() { w.crawler.Close() }

// Intervals of the steps that nobody configures, and the longest time that one run of a step may take.
const (
	submissionsEvery, submissionsLimit = 15 * time.Second, 5 * time.Minute
	synthesisEvery, synthesisLimit     = time.Minute, 30 * time.Minute
	ownersEvery, ownersLimit           = 24 * time.Hour, 6 * time.Hour
	optOutsEvery, optOutsLimit         = 15 * time.Minute, time.Hour // asks the hosts that are due, each once a day
	pollsLimit                         = 30 * time.Minute
	indexLimit                         = 15 * time.Minute
	recipientsEvery, recipientsLimit   = time.Hour, 30 * time.Minute // asks about those that are due, each once a day
	buildLimit, publishLimit           = time.Hour, 3 * time.Hour
	pruneEvery, pruneLimit             = time.Hour, time.Hour
	retentionLimit                     = time.Hour
	sourcesEvery, sourcesLimit         = time.Minute, 6 * time.Hour
)

// directorySteps returns the steps that any worker can do.
func (w *Worker) directorySteps(db *Database, o WorkerOptions) []schedule.Step {
	puller := pull.New(db.Sources, w.crawler, pull.Options{Now: Now, Sources: o.Sources, Logger: o.Logger})
	w.Metrics = append(w.Metrics, puller.Figures())
	steps := []schedule.Step{{
		Name: "submissions", Every: submissionsEvery, Limit: submissionsLimit, Resumes: true,
		Do: func(ctx context.Context) error {
			_, err := w.crawler.ProbeSubmissions(ctx)
			return err
		},
	}, {
		Name: "owners", Every: ownersEvery, Limit: ownersLimit,
		Do: func(ctx context.Context) error {
			_, err := w.crawler.RecheckOwners(ctx, "schedule")
			return err
		},
	}, {
		Name: "opt-outs", Every: optOutsEvery, Limit: optOutsLimit,
		Do: func(ctx context.Context) error {
			_, err := w.crawler.RecheckOptOuts(ctx)
			return err
		},
	}, {
		Name: "retention", Every: o.Schedule.Retention, Limit: retentionLimit,
		Do: func(ctx context.Context) error {
			return errors.Join(db.Retain(ctx, Now()), db.DeleteIdleHosts(ctx))
		},
	}, {
		Name: "sources", Every: sourcesEvery, Limit: sourcesLimit, Do: puller.PullDue,
	}}
	if o.Schedule.Facilitators > 0 {
		steps = append(steps, schedule.Step{
			Name: "facilitators", Every: crawl.PollsEvery, Limit: pollsLimit, Resumes: true,
			Do: func(ctx context.Context) error {
				_, err := w.crawler.PollFacilitators(ctx)
				return err
			},
		})
	}
	if o.Crawl.Synthesis.Client == nil {
		return steps
	}
	return append(steps, schedule.Step{
		Name: "synthesis", Every: synthesisEvery, Limit: synthesisLimit, Resumes: true,
		Do: func(ctx context.Context) error {
			report, err := w.crawler.Synthesize(ctx)
			if err == nil && report.Stopped != "" {
				err = errors.New(report.Stopped) // the pause after an error spares a model that does not answer
			}
			return err
		},
	})
}

// indexSteps returns a step for each network, and one for the recipients on those that can be asked about them.
func (w *Worker) indexSteps(ctx context.Context, db *Database, o WorkerOptions) ([]schedule.Step, error) {
	if len(o.Networks) == 0 {
		return nil, nil
	}
	chains, err := settings.StoreNetworks(ctx, db.DB, o.Networks, o.Logger)
	if err != nil {
		return nil, err
	}
	metrics := chain.NewMetrics()
	indexer, err := crawl.NewIndexer(db.DB, chains, chain.Options{Now: Now, Logger: o.Logger, Metrics: metrics})
	if err != nil {
		return nil, err
	}
	w.Metrics = append(w.Metrics, metrics)
	recipients, err := crawl.NewRecipients(db.DB, chains, chain.Options{Now: Now, Logger: o.Logger, Metrics: metrics})
	if err != nil {
		return nil, err
	}
	var steps []schedule.Step
	if !recipients.IsEmpty() {
		steps = append(steps, schedule.Step{
			Name: "recipients", Every: recipientsEvery, Limit: recipientsLimit, Resumes: true,
			Do: func(ctx context.Context) error {
				_, err := recipients.Round(ctx, nil)
				return err
			},
		})
	}
	for _, id := range indexer.Networks() {
		steps = append(steps, schedule.Step{
			Name: "index:" + id, Every: o.Schedule.Index, Limit: indexLimit, Resumes: true,
			Do: func(ctx context.Context) error {
				_, err := indexer.OnceOf(ctx, id)
				return err
			},
		})
	}
	return steps, nil
}
