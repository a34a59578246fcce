//go:build unix

package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/inbox"
	"tollbook/site/postgres/postgrestest"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// directory is a database with a command that writes its input to files, and a clock.
type directory struct {
	db    *postgres.DB
	dir   string
	mu    sync.Mutex
	clock time.Time
	log   strings.Builder
}

func newDirectory(t *testing.T) *directory {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return &directory{db: db, dir: t.TempDir(), clock: start}
}

func (d *directory) now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clock
}

func (d *directory) pass(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clock = d.clock.Add(by)
}

// Write receives the log.
func (d *directory) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.Write(p)
}

// notifier returns a notifier that runs a shell script. $1 is the folder of the directory.
func (d *directory) notifier(script string) *run.Notifier {
	return run.NewNotifier(d.db, run.NotifierOptions{
		Command: []string{"sh", "-c", script, "sh", d.dir}, Now: d.now, Limit: 3 * time.Second,
		Logger: slog.New(slog.NewTextHandler(d, nil)), Poll: 20 * time.Millisecond,
	})
}

// receive stores a submission, probed or not, and returns its id.
func (d *directory) receive(t *testing.T, name string, probed bool) string {
	t.Helper()
	receipt, err := d.db.ReceiveSubmission(t.Context(), site.IncomingSubmission{
		Submission: site.Submission{
			URL: "https://" + name + ".example", Email: "owner-s3cret@" + name + ".example", ServiceName: name,
			Description: "$(touch pwned) \u202e `id`", WebsiteURL: "https://" + name + ".example", Category: "Data",
			Endpoints: []string{"/a"}, Notes: "notes-s3cret",
		},
		Domain: name + ".example", Client: name, At: d.now(), Probe: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if probed {
		err := d.db.StoreSubmissionProbe(t.Context(), receipt.ID,
			site.ProbeResult{EndpointsFound: 1, Errors: []string{}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return receipt.ID
}

// suggest stores a suggestion and returns its id.
func (d *directory) suggest(t *testing.T, text string) string {
	t.Helper()
	result, err := d.db.ReceiveSuggestion(t.Context(), site.IncomingSuggestion{Client: text, At: d.now(),
		Suggestion: site.Suggestion{Text: text, Category: "correction", Email: "reader-s3cret@acme.example"}})
	if err != nil {
		t.Fatal(err)
	}
	return result.SuggestionID
}

// once runs the notifier once.
func (d *directory) once(t *testing.T, n *run.Notifier) {
	t.Helper()
	if err := n.Once(t.Context()); err != nil {
		t.Error(err)
	}
}

// message is what a command reads.
type message struct {
	Waiting     int
	Submissions []struct{ ID string }
}

// messages returns the ids in each run of a command that appends its input to the file runs.
func (d *directory) messages(t *testing.T) (runs [][]string, waiting []int) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.dir, "runs"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		var ids []string
		for _, s := range m.Submissions {
			ids = append(ids, s.ID)
		}
		runs, waiting = append(runs, ids), append(waiting, m.Waiting)
	}
	return runs, waiting
}

const appendInput = `cat >> "$1/runs"`

// TestBatches checks which submissions each run of the command gets: those whose probe has ended, at most once a
// minute, each once, and none that is decided.
func TestBatches(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	n := d.notifier(appendInput)
	d.once(t, n)
	first := d.receive(t, "first", true)
	unprobed := d.receive(t, "unprobed", false)
	decided := d.receive(t, "decided", true)
	if err := d.db.RejectSubmission(t.Context(), uuid.MustParse(decided), "ada", "no", d.now()); err != nil {
		t.Fatal(err)
	}
	d.once(t, n) // first alone: the other waits for its probe
	second := d.receive(t, "second", true)
	d.once(t, n) // nothing: less than a minute has passed
	d.pass(time.Minute)
	d.once(t, n) // the rest
	d.pass(time.Hour)
	d.once(t, n) // nothing is new
	runs, waiting := d.messages(t)
	later := []string{unprobed, second}
	slices.SortFunc(later, strings.Compare) // received at the same moment
	want := [][]string{{first}, later}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Errorf("submissions by run (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 3}, waiting); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	// A burst: a hundred in one run, the rest a minute later.
	for i := range 130 {
		d.receive(t, fmt.Sprint("burst", i), true)
	}
	d.pass(time.Hour)
	d.once(t, n)
	d.once(t, n)
	d.pass(time.Minute)
	d.once(t, n)
	runs, _ = d.messages(t)
	if len(runs) != 4 || len(runs[2]) != 100 || len(runs[3]) != 30 {
		t.Errorf("a burst of 130 makes %d runs", len(runs)-2)
	}
}

// TestSuggestions checks that suggestions make the command run as submissions do: each open one once, together with
// submissions, and again after a run that failed.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	n := d.notifier(appendInput)
	names := map[string]string{}
	suggest := func(name string) { names[d.suggest(t, name)] = name }
	suggest("first")
	closed := d.suggest(t, "closed")
	if err := d.db.CloseSuggestion(t.Context(), uuid.MustParse(closed), "ada", d.now()); err != nil {
		t.Fatal(err)
	}
	d.once(t, n)
	suggest("second")
	d.once(t, n) // within the pause
	d.pass(time.Minute)
	names[d.receive(t, "acme", true)] = "acme"
	d.once(t, d.notifier(`cat >> "$1/runs"; exit 1`))
	d.pass(time.Minute)
	d.once(t, n)
	d.pass(time.Hour)
	d.once(t, n)
	data, err := os.ReadFile(filepath.Join(d.dir, "runs"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		var m struct {
			Waiting, Open            int
			Submissions, Suggestions []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		text := fmt.Sprintf("waiting %d, open %d:", m.Waiting, m.Open)
		for _, s := range slices.Concat(m.Submissions, m.Suggestions) {
			text += " " + names[s.ID]
		}
		got = append(got, text)
	}
	want := []string{"waiting 0, open 1: first", "waiting 1, open 2: acme second", "waiting 1, open 2: acme second"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s\n%s", diff, d.log.String())
	}
}

// TestInput checks the whole input: one line of JSON, without what is only for reviewers, without characters that a
// terminal obeys, and nowhere else than on stdin.
func TestInput(t *testing.T) {
	d := newDirectory(t)
	for _, v := range settings.Variables {
		t.Setenv(v.Name, "variable-s3cret")
	}
	for _, s := range settings.Table {
		t.Setenv(s.Variable(), "variable-s3cret")
	}
	t.Setenv("PGPASSWORD", "variable-s3cret")
	t.Setenv("AWS_PROFILE", "variable-s3cret")
	t.Setenv("WEBHOOK", "kept")
	id := d.receive(t, "acme", true)
	suggested := d.suggest(t, "$(touch pwned)\n\u202e")
	d.once(t, d.notifier(`cat > "$1/input"; env > "$1/env"; echo "$@" > "$1/args"`))
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(d.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	want := `{"waiting":1,"submissions":[{"id":"` + id +
		`","received_at":"2026-11-20T12:00:00.000Z","service_name":"acme",` +
		`"url":"https://acme.example","website_url":"https://acme.example","category":"Data",` +
		`"description":"$(touch pwned) \u202e ` + "`id`" + `","endpoints":["/a"],` +
		`"probe_result":{"endpoints_found":1,"errors":[]}}],"open":1,"suggestions":[{"id":"` + suggested +
		`","received_at":"2026-11-20T12:00:00.000Z","category":"correction","text":"$(touch pwned)\n\u202e"}]}` + "\n"
	if diff := cmp.Diff(want, read("input")); diff != "" {
		t.Errorf("stdin (-want +got):\n%s", diff)
	}
	if env := read("env"); strings.Contains(env, "s3cret") || strings.Contains(env, "acme") ||
		!strings.Contains(env, "WEBHOOK=kept") || !strings.Contains(env, "PATH=") {
		t.Errorf("environment of the command:\n%s", env)
	}
	if args := read("args"); args != d.dir+"\n" {
		t.Errorf("arguments %q", args)
	}
	if strings.Contains(d.log.String(), "s3cret") {
		t.Errorf("log:\n%s", d.log.String())
	}
}

// TestFailures checks that a failed run is repeated after a pause that doubles, up to an hour, and that the log
// contains the end of its output.
func TestFailures(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	n := d.notifier(
		`cat >> "$1/runs"; head -c 5000 /dev/zero | tr '\0' x; printf ' \033[31mno route to host\n'; exit 7`)
	id := d.receive(t, "acme", true)
	var pauses []string
	for range 8 {
		before, _ := d.messages(t)
		waited := time.Duration(0)
		for {
			d.once(t, n)
			if after, _ := d.messages(t); len(after) > len(before) {
				break
			}
			waited += time.Minute
			d.pass(time.Minute)
		}
		pauses = append(pauses, waited.String())
	}
	want := []string{"0s", "1m0s", "2m0s", "4m0s", "8m0s", "16m0s", "32m0s", "1h0m0s"}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("pauses before each run (-want +got):\n%s", diff)
	}
	line, _, _ := strings.Cut(d.log.String(), "\n")
	if !strings.Contains(line, `err="exit status 7"`) || !strings.Contains(line, `xxx [31mno route to host"`) ||
		strings.Contains(line, "\x1b") || len(line) > 1500 {
		t.Errorf("log: %s", line)
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(run.Figures(d.db, n, d.now))
	figures := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(figures, httptest.NewRequest(http.MethodGet, "/", nil))
	for _, want := range []string{
		`tollbook_submission_notifications_total{result="failed"} 8`, `tollbook_submissions{state="pending"} 1`,
		`tollbook_submissions{state="approved"} 0`, "tollbook_submissions_oldest_waiting_seconds 7380\n",
	} {
		if !strings.Contains(figures.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, figures.Body)
		}
	}
	// When it succeeds, the next failure starts again at a minute.
	d.pass(time.Hour)
	d.once(t, d.notifier(appendInput))
	runs, _ := d.messages(t)
	if diff := cmp.Diff([]string{id}, runs[len(runs)-1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOnce checks that of many processes one runs the command for each submission.
func TestOnce(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	ctx, cancel := context.WithCancel(t.Context())
	var processes sync.WaitGroup
	for range 6 {
		n := d.notifier(appendInput)
		processes.Go(func() { n.Run(ctx) })
	}
	// The clock of the directory is 25 times as fast: a lease of two minutes lasts longer than a command may run.
	pass := func() { time.Sleep(20 * time.Millisecond); d.pass(500 * time.Millisecond) }
	var want []string
	for round := range 5 {
		for i := range 7 {
			want = append(want, d.receive(t, fmt.Sprintf("s%d-%d", round, i), true))
			pass()
		}
	}
	got := func() (ids []string) {
		runs, _ := d.messages(t)
		return slices.Concat(runs...)
	}
	for deadline := time.Now().Add(time.Minute); len(got()) < len(want) && time.Now().Before(deadline); {
		pass()
	}
	cancel()
	processes.Wait()
	ids := got()
	slices.Sort(ids)
	slices.Sort(want)
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("submissions that a command got (-want +got):\n%s\n%s", diff, d.log.String())
	}
}

// TestCrash checks that the submissions of a process that died while its command ran are due again when its lease ends,
// and that such a process which returns does not end the lease of another.
func TestCrash(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	id := d.receive(t, "acme", true)
	rules := inbox.NotificationRules{Lease: 2 * time.Minute, Probe: time.Minute, Most: 100}
	lost, err := d.db.TakeNotification(t.Context(), rules, d.now())
	if err != nil || len(lost.Submissions) != 1 {
		t.Fatal(lost, err)
	}
	n := d.notifier(appendInput)
	d.pass(time.Minute)
	d.once(t, n) // the lease lasts
	if runs, _ := d.messages(t); runs != nil {
		t.Errorf("during the lease: %v", runs)
	}
	d.pass(time.Minute)
	d.once(t, n)
	runs, _ := d.messages(t)
	if diff := cmp.Diff([][]string{{id}}, runs); diff != "" {
		t.Errorf("after the lease (-want +got):\n%s", diff)
	}
	d.receive(t, "other", true)
	if err := d.db.FinishNotification(t.Context(), lost, false, d.now(), d.now()); err != nil {
		t.Fatal(err)
	}
	d.once(t, n)
	if runs, _ := d.messages(t); len(runs) != 1 {
		t.Error("a process that lost its lease ended the pause")
	}
}

// TestLimits checks that a command that does not end is stopped with its children, and that one may leave its input
// unread. A notifier that is stopped repeats the run that it interrupted.
func TestLimits(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	d.receive(t, "slow", true)
	began := time.Now()
	d.once(t, d.notifier(`trap '' TERM; (trap '' TERM; sleep 60; touch "$1/alive") & sleep 60`))
	if took := time.Since(began); took > 20*time.Second || !strings.Contains(d.log.String(), "ran longer than 3s") {
		t.Errorf("after %s:\n%s", took, d.log.String())
	}
	d.pass(time.Minute)
	d.once(t, d.notifier(`exit 0`))
	if !strings.Contains(d.log.String(), "notified of what is new") {
		t.Errorf("a command that reads nothing:\n%s", d.log.String())
	}
	d.receive(t, "stopped", true)
	d.pass(time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	n := d.notifier(`touch "$1/began"; sleep 60`)
	ended := make(chan error)
	go func() { ended <- n.Once(ctx) }()
	for began := filepath.Join(d.dir, "began"); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(began); err == nil {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	d.once(t, d.notifier(appendInput))
	if runs, _ := d.messages(t); len(runs) != 1 {
		t.Errorf("after the stop there are %d runs:\n%s", len(runs), d.log.String())
	}
}
