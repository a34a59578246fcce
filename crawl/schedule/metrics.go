package schedule

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tollbook/site/postgres"
)

// Metrics counts the jobs of a process by kind. It is a prometheus.Collector.
type Metrics struct {
	done, failed, seconds *prometheus.CounterVec // seconds: of successful jobs
	rescues               prometheus.Counter
}

// NewMetrics returns metrics that count from zero.
func NewMetrics() *Metrics {
	byKind := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"kind"})
	}
	return &Metrics{
		done: byKind("tollbook_jobs_done_total", "Jobs that this process has done, by kind."),
		failed: byKind("tollbook_jobs_failed_total",
			"Jobs of this process that failed, by kind; they are tried again."),
		seconds: byKind("tollbook_job_seconds_total",
			"Time that this process took for the jobs that it has done, by kind."),
		rescues: prometheus.NewCounter(prometheus.CounterOpts{Name: "tollbook_jobs_rescued_total",
			Help: "Jobs of dead workers that this process, when it led, gave to others."}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range []prometheus.Collector{m.done, m.failed, m.seconds, m.rescues} {
		c.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{m.done, m.failed, m.seconds, m.rescues} {
		c.Collect(ch)
	}
}

// countDone counts a successful job. Each kind that ever ran has all three counts, so that alerts can divide them.
func (m *Metrics) countDone(kind string, took time.Duration) {
	m.done.WithLabelValues(kind).Inc()
	m.failed.WithLabelValues(kind)
	m.seconds.WithLabelValues(kind).Add(took.Seconds())
}

func (m *Metrics) countFailed(kind string) {
	m.done.WithLabelValues(kind)
	m.failed.WithLabelValues(kind).Inc()
	m.seconds.WithLabelValues(kind)
}

var (
	jobsDesc = prometheus.NewDesc("tollbook_jobs",
		"Jobs that are not finished, of all processes, by queue and state.", []string{"queue", "state"}, nil)
	oldestDesc = prometheus.NewDesc("tollbook_jobs_oldest_due_seconds",
		"How long the job that waits longest has been due, by queue.", []string{"queue"}, nil)
	overdueDesc = prometheus.NewDesc("tollbook_visit_overdue_seconds",
		"How long the service that waits longest for its visit has been due.", nil, nil)
	stepDesc = prometheus.NewDesc("tollbook_step_last_success_timestamp_seconds",
		"When a step last succeeded, in seconds since 1970.", []string{"step"}, nil)
)

// Figures returns the metrics of the queues, visits and steps of all processes, as a prometheus.Collector.
func Figures(db *postgres.DB) postgres.Figures {
	return func(ctx context.Context, ch chan<- prometheus.Metric) {
		if queues, err := db.JobFigures(ctx); err == nil {
			for _, name := range []string{queueVisits, queueFacts, queueSteps, queueFeed} {
				if !slices.ContainsFunc(queues, func(q postgres.JobFigures) bool { return q.Queue == name }) {
					queues = append(queues, postgres.JobFigures{Queue: name})
				}
			}
			for _, q := range queues {
				postgres.Gauge(ch, jobsDesc, float64(q.Waiting), q.Queue, "waiting")
				postgres.Gauge(ch, jobsDesc, float64(q.Running), q.Queue, "running")
				postgres.Gauge(ch, jobsDesc, float64(q.Retrying), q.Queue, "retrying")
				postgres.Gauge(ch, oldestDesc, q.OldestDue.Seconds(), q.Queue)
			}
		}
		if next, _, err := db.NextDue(ctx, ""); err == nil && next != nil {
			postgres.Gauge(ch, overdueDesc, max(time.Since(*next), 0).Seconds())
		}
		if steps, err := db.Steps(ctx); err == nil {
			for _, s := range steps {
				if s.EndedAt != nil {
					postgres.Gauge(ch, stepDesc, float64(s.EndedAt.Unix()), s.Name)
				}
			}
		}
	}
}
