// This part of the package runs the operator's command when submissions and suggestions arrive. It must never pass
// text of a stranger as an argument or a variable, or know how the command reports to people.

package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/postgres"
	"tollbook/site/postgres/inbox"
)

// notifierFlag is the flag of the command, for errors.
const notifierFlag = "--submissions-notify"

// Pauses and limits of the command.
const (
	lease        = 2 * time.Minute // longer than a run; after a crash the next run may begin then
	pause        = time.Minute     // from one run to the next, and after a first failure
	maxPause     = time.Hour       // after many failures
	probeTime    = time.Minute     // for which a submission may wait for its probe
	mostAtOnce   = 100             // submissions, and suggestions, in one run
	storeTimeout = 5 * time.Second // to store the result of a run while the program stops
)

// NotifierOptions are the settings of a Notifier.
type NotifierOptions struct {
	Command []string // program and arguments
	Logger  *slog.Logger
	Now     func() time.Time // the clock; time.Now when nil
	Poll    time.Duration    // between two queries for what is new; 10 s when zero
	Limit   time.Duration    // for one run of the command; 30 s when zero
}

// Notifier tells the operator of new submissions and suggestions. Several processes may have one; each submission and
// suggestion is in one run of the command, or in two if a process dies while the command runs.
type Notifier struct {
	db           *postgres.DB
	o            NotifierOptions
	done, failed atomic.Int64
}

// NewNotifier returns a notifier.
func NewNotifier(db *postgres.DB, o NotifierOptions) *Notifier {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Poll, o.Limit = cmp.Or(o.Poll, 10*time.Second), cmp.Or(o.Limit, 30*time.Second)
	return &Notifier{db: db, o: o}
}

// CheckCommand returns an error if the program of a command can't be run. The error contains no argument: an argument
// could be a secret.
func CheckCommand(command []string) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return terminal.UsageErrorf("%s: run %q: no such program, or it may not be run; give the path of an executable file",
			notifierFlag, command[0])
	}
	return nil
}

// Run notifies until ctx ends. Errors are logged and tried again. A nil Notifier does nothing.
func (n *Notifier) Run(ctx context.Context) {
	if n == nil {
		return
	}
	tick := time.NewTicker(n.o.Poll)
	defer tick.Stop()
	for {
		if err := n.Once(ctx); err != nil && ctx.Err() == nil {
			n.o.Logger.Warn("look for submissions and suggestions; trying again after a pause", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Once runs the command if something is new and no pause lasts. An error is one of the database; a failure of the
// command is logged, and the same is due again after a pause that doubles.
func (n *Notifier) Once(ctx context.Context) error {
	rules := inbox.NotificationRules{Lease: lease, Probe: probeTime, Most: mostAtOnce}
	taken, err := n.db.TakeNotification(ctx, rules, n.o.Now())
	if err != nil || taken == nil {
		return err
	}
	log := n.o.Logger.With("command", n.o.Command[0], "submissions", len(taken.Submissions), "suggestions",
		len(taken.Suggestions))
	failure := n.run(ctx, taken)
	now := n.o.Now()
	next := now.Add(pause)
	switch {
	case failure == nil:
		n.done.Add(1)
		log.Info("notified of what is new", "waiting", taken.Waiting, "open", taken.Open)
	case ctx.Err() != nil:
		next = now // stopped: the next start tries again at once
		log.Warn("notification interrupted; the next start repeats it")
	default:
		n.failed.Add(1)
		next = now.Add(pauseAfter(taken.Failures))
		log.Error("notify of what is new; trying again after a pause", "err", failure.err, "output", failure.output,
			"pause", next.Sub(now).String())
	}
	// A crash before this leaves the lease, and the command gets the same again.
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return n.db.FinishNotification(storing, taken, failure == nil, now, next)
}

// pauseAfter returns the pause after a failure that follows other failures.
func pauseAfter(failures int) time.Duration {
	return min(pause<<min(failures, 16), maxPause)
}

// document is what the command reads on stdin. E-mail addresses and notes are for reviewers only.
type document struct {
	Waiting     int          `json:"waiting"`
	Submissions []submission `json:"submissions"`
	Open        int          `json:"open"`
	Suggestions []suggestion `json:"suggestions"`
}

type submission struct {
	ID          string            `json:"id"`
	ReceivedAt  site.Time         `json:"received_at"`
	ServiceName string            `json:"service_name"`
	URL         string            `json:"url"`
	WebsiteURL  string            `json:"website_url"`
	Category    string            `json:"category"`
	Description string            `json:"description"`
	Endpoints   []string          `json:"endpoints"`
	ProbeResult *site.ProbeResult `json:"probe_result"`
}

type suggestion struct {
	ID         string    `json:"id"`
	ReceivedAt site.Time `json:"received_at"`
	Category   string    `json:"category"`
	Text       string    `json:"text"`
}

// encode returns the document of a notification: one JSON object on one line.
func encode(n *inbox.Notification) ([]byte, error) {
	d := document{Waiting: n.Waiting, Submissions: make([]submission, len(n.Submissions)),
		Open: n.Open, Suggestions: make([]suggestion, len(n.Suggestions))}
	for i, s := range n.Submissions {
		d.Submissions[i] = submission{
			ID: s.ID.String(), ReceivedAt: site.NewTime(s.ReceivedAt), ServiceName: s.ServiceName, URL: s.URL,
			WebsiteURL: s.WebsiteURL, Category: s.Category, Description: s.Description, Endpoints: s.Endpoints,
			ProbeResult: s.ProbeResult,
		}
	}
	for i, s := range n.Suggestions {
		d.Suggestions[i] = suggestion{s.ID.String(), site.NewTime(s.ReceivedAt), s.Category, s.Text}
	}
	data, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode a notification: %w", err)
	}
	return append(invisible.EscapeJSON(data), '\n'), nil
}

var (
	runsDesc = prometheus.NewDesc("tollbook_submission_notifications_total",
		"Runs of the command of submissions.notify by this process, by result.", []string{"result"}, nil)
	submissionsDesc = prometheus.NewDesc("tollbook_submissions",
		"Submissions received, by state; pending ones wait for review.", []string{"state"}, nil)
	oldestDesc = prometheus.NewDesc("tollbook_submissions_oldest_waiting_seconds",
		"How long the submission that waits longest has waited for review; 0 if none waits.", nil, nil)
	suggestionsDesc = prometheus.NewDesc("tollbook_suggestions",
		"Suggestions received, by state; open ones wait for a person to read them.", []string{"state"}, nil)
)

// Figures returns the metrics of submissions, suggestions and the notifications of n, as a prometheus.Collector. A nil
// Notifier has no notifications.
func Figures(db *postgres.DB, n *Notifier, now func() time.Time) postgres.Figures {
	return func(ctx context.Context, ch chan<- prometheus.Metric) {
		if n != nil {
			for result, runs := range map[string]*atomic.Int64{"done": &n.done, "failed": &n.failed} {
				ch <- prometheus.MustNewConstMetric(runsDesc, prometheus.CounterValue, float64(runs.Load()), result)
			}
		}
		f, err := db.Figures(ctx)
		if err != nil {
			return
		}
		for state, count := range f.Submissions {
			postgres.Gauge(ch, submissionsDesc, float64(count), state)
		}
		age := 0.0
		if f.Oldest != nil {
			age = max(now().Sub(*f.Oldest), 0).Seconds()
		}
		postgres.Gauge(ch, oldestDesc, age)
		for state, count := range f.Suggestions {
			postgres.Gauge(ch, suggestionsDesc, float64(count), state)
		}
	}
}
