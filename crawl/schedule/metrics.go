package schedule

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tollbook/site/postgres"
)

// Metrics counts the jobs of a process by kind. It writes these counts, and the state of the queues of all processes,
// in the text format of Prometheus.
type Metrics struct {
	mu      sync.Mutex
	kinds   map[string]*kindMetrics
	rescues int64
}

type kindMetrics struct {
	countDone, countFailed int64
	seconds                float64 // of successful jobs
}

// NewMetrics returns metrics that count from zero.
func NewMetrics() *Metrics { return &Metrics{kinds: map[string]*kindMetrics{}} }

func (m *Metrics) update(kind string, f func(*kindMetrics)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kinds[kind]
	if k == nil {
		k = &kindMetrics{}
		m.kinds[kind] = k
	}
	f(k)
}

func (m *Metrics) countDone(kind string, took time.Duration) {
	m.update(kind, func(k *kindMetrics) { k.countDone++; k.seconds += took.Seconds() })
}

func (m *Metrics) countFailed(kind string) { m.update(kind, func(k *kindMetrics) { k.countFailed++ }) }

func (m *Metrics) countRescued(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rescues += n
}

// Write writes all metrics in order. It omits metrics of the database if the database does not answer, because unknown
// is not zero.
func (m *Metrics) Write(ctx context.Context, w io.Writer, db *postgres.DB, now time.Time) error {
	b := bufio.NewWriter(w)
	m.writeOwn(b)
	head := func(name, kind, help string) { fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	if queues, err := db.JobFigures(ctx); err == nil {
		for _, name := range []string{queueVisits, queueFacts, queueSteps, queueFeed} {
			if !slices.ContainsFunc(queues, func(q postgres.JobFigures) bool { return q.Queue == name }) {
				queues = append(queues, postgres.JobFigures{Queue: name})
			}
		}
		slices.SortFunc(queues, func(a, b postgres.JobFigures) int { return strings.Compare(a.Queue, b.Queue) })
		const depth, oldest = "tollbook_jobs", "tollbook_jobs_oldest_due_seconds"
		head(depth, "gauge", "Jobs that are not finished, of all processes, by queue and state.")
		for _, q := range queues {
			fmt.Fprintf(b, "%s{queue=%q,state=\"waiting\"} %d\n%s{queue=%q,state=\"running\"} "+
				"%d\n%s{queue=%q,state=\"retrying\"} %d\n",
				depth, q.Queue, q.Waiting, depth, q.Queue, q.Running, depth, q.Queue, q.Retrying)
		}
		head(oldest, "gauge", "How long the job that waits longest has been due, by queue.")
		for _, q := range queues {
			fmt.Fprintf(b, "%s{queue=%q} %g\n", oldest, q.Queue, q.OldestDue.Seconds())
		}
	}
	if next, _, err := db.NextDue(ctx); err == nil && next != nil {
		const overdue = "tollbook_visit_overdue_seconds"
		head(overdue, "gauge", "How long the service that waits longest for its visit has been due.")
		fmt.Fprintf(b, "%s %g\n", overdue, max(now.Sub(*next), 0).Seconds())
	}
	if steps, err := db.Steps(ctx); err == nil {
		const ended = "tollbook_step_last_success_timestamp_seconds"
		head(ended, "gauge", "When a step last succeeded, in seconds since 1970.")
		for _, s := range steps {
			if s.EndedAt != nil {
				fmt.Fprintf(b, "%s{step=%q} %d\n", ended, s.Name, s.EndedAt.Unix())
			}
		}
	}
	return b.Flush()
}

// writeOwn writes the counts of this process.
func (m *Metrics) writeOwn(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kinds := slices.Sorted(maps.Keys(m.kinds))
	family := func(name, kind, help string, value func(*kindMetrics) float64) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for _, k := range kinds {
			fmt.Fprintf(w, "%s{kind=%q} %g\n", name, k, value(m.kinds[k]))
		}
	}
	family("tollbook_jobs_done_total", "counter", "Jobs that this process has done, by kind.",
		func(k *kindMetrics) float64 { return float64(k.countDone) })
	family("tollbook_jobs_failed_total", "counter", "Jobs of this process that failed, by kind; they are tried again.",
		func(k *kindMetrics) float64 { return float64(k.countFailed) })
	family("tollbook_job_seconds_total", "counter",
		"Time that this process took for the jobs that it has done, by kind.",
		func(k *kindMetrics) float64 { return k.seconds })
	const countRescued = "tollbook_jobs_rescued_total"
	fmt.Fprintf(w, "# HELP %s Jobs of dead workers that this process, when it led, gave to others.\n# TYPE %s "+
		"counter\n%s %d\n", countRescued, countRescued, countRescued, m.rescues)
}
