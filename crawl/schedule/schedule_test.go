package schedule

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"tollbook/site/leaktest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

// patience is the longest time that a test waits for an event that must come.
const patience = 2 * time.Minute

// fleet is a test's database with a second connection.
type fleet struct {
	*postgres.DB
	conn *pgx.Conn
}

func open(t *testing.T) *fleet {
	t.Helper()
	dsn := template.Database(t)
	db, err := postgres.OpenFor(t.Context(), dsn, postgres.Options{Connections: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	conn := postgrestest.Connect(t, dsn)
	return &fleet{db, conn}
}

// start runs a worker until stop is called. stop waits for the worker's end.
func (f *fleet) start(t *testing.T, o Options) (stop func()) {
	t.Helper()
	w, err := New(f.DB, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker ends with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func receive[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(patience):
		t.Fatalf("there is no %s", what)
	}
	return v
}

// lines is a log that tests may read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestSteps checks that one of two workers does a step, a period after the last time, and that a step that follows
// another is done after it. A failed step is tried again, logged with its job, and counted.
func TestSteps(t *testing.T) {
	t.Parallel()
	f := open(t)
	var inside, failures atomic.Int32
	built, published, mended := make(chan time.Time, 100), make(chan time.Time, 100), make(chan struct{}, 100)
	metrics, log := NewMetrics(), &lines{}
	logger := slog.New(Logs(slog.NewTextHandler(log, nil)))
	steps := []Step{
		{Name: "build", Every: time.Second, Limit: time.Minute, Do: func(ctx context.Context) error {
			if inside.Add(1) != 1 {
				t.Error("two build at once")
			}
			defer inside.Add(-1)
			logger.InfoContext(ctx, "building")
			stored, err := f.Steps(ctx)
			for _, s := range stored {
				if s.Name == "build" && s.BeganAt != nil && time.Since(*s.BeganAt) < time.Second {
					t.Errorf("a build begins %s after the last one, want a second or more", time.Since(*s.BeganAt))
				}
			}
			built <- time.Now()
			return err
		}},
		{Name: "publish", Every: time.Second, Follows: "build", Limit: time.Minute,
			Do: func(context.Context) error { published <- time.Now(); return nil }},
		{Name: "index:eip155:8453", Every: time.Hour, Limit: time.Minute, Do: func(context.Context) error {
			if failures.Add(1) == 1 {
				return errors.New("the node is away")
			}
			mended <- struct{}{}
			return nil
		}},
	}
	for range 2 {
		f.start(t, Options{Steps: steps, Logger: logger, Metrics: metrics})
	}
	first := receive(t, built, "build")
	if after := receive(t, published, "publication"); after.Before(first) {
		t.Error("what follows a build came before it")
	}
	receive(t, built, "second build")
	receive(t, mended, "second try of what failed")
	for _, want := range []string{"msg=building job=", `msg="job failed" job=`, "kind=step:index:eip155:8453",
		"the node is away"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(metrics, Figures(f.DB))
	figures := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(figures, httptest.NewRequest(http.MethodGet, "/", nil))
	for _, want := range []string{
		"tollbook_jobs_failed_total{kind=\"index\"} 1\n", "tollbook_jobs{queue=\"visits\",state=\"waiting\"} 0\n",
		"tollbook_step_last_success_timestamp_seconds{step=\"build\"} ", "tollbook_jobs_rescued_total 0\n",
	} {
		if !strings.Contains(figures.Body.String(), want) {
			t.Errorf("the metrics lack %q:\n%s", want, figures.Body)
		}
	}
}

// TestStop checks that a running job may continue after the end for a while, and that one that does not end is canceled
// and left to others.
func TestStop(t *testing.T) {
	t.Parallel()
	f := open(t)
	begun, cut := make(chan string, 2), make(chan error, 1)
	end, ended := make(chan struct{}), make(chan struct{})
	stop := f.start(t, Options{Drain: time.Second, Steps: []Step{
		{Name: "short", Every: time.Hour, Limit: time.Hour, Do: func(ctx context.Context) error {
			begun <- "short"
			<-end
			close(ended)
			return ctx.Err()
		}},
		{Name: "long", Every: time.Hour, Limit: time.Hour, Do: func(ctx context.Context) error {
			begun <- "long"
			<-ctx.Done()
			cut <- context.Cause(ctx)
			return ctx.Err()
		}},
	}})
	for range 2 {
		receive(t, begun, "job")
	}
	go func() { close(end) }()
	<-ended
	stop()
	if err := receive(t, cut, "end of the long job"); errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the long job was cut off by its limit: %v", err)
	}
	rows, err := f.conn.Query(t.Context(),
		`SELECT kind || ' ' || state FROM river_job WHERE queue = 'steps' ORDER BY kind`)
	if err != nil {
		t.Fatal(err)
	}
	states, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(states, ", "); got != "step:long available, step:short completed" {
		t.Errorf("states of jobs: %s", got)
	}
	done := make(chan struct{}, 1)
	f.start(t, Options{Steps: []Step{{Name: "long", Every: time.Hour, Limit: time.Hour,
		Do: func(context.Context) error { done <- struct{}{}; return nil }}}})
	receive(t, done, "other worker who does what was cut off")
}

// TestPartOfAStep checks that a step that continues where it stopped succeeds when its limit ends it; others fail.
func TestPartOfAStep(t *testing.T) {
	t.Parallel()
	f := open(t)
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	metrics := NewMetrics()
	steps := []Step{
		{Name: "all", Every: time.Hour, Limit: 50 * time.Millisecond, Do: wait},
		{Name: "part", Every: time.Hour, Limit: 50 * time.Millisecond, Resumes: true, Do: wait},
	}
	f.start(t, Options{Steps: steps, Metrics: metrics})
	counts := func(kind string) (done, failed float64) {
		return testutil.ToFloat64(metrics.done.WithLabelValues(kind)),
			testutil.ToFloat64(metrics.failed.WithLabelValues(kind))
	}
	deadline := time.After(patience)
	for {
		partDone, _ := counts("part")
		_, allFailed := counts("all")
		if partDone > 0 && allFailed > 0 {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("part is done %v times, all has failed %v times", partDone, allFailed)
		}
	}
	if _, failed := counts("part"); failed > 0 {
		t.Error("a part counts as a failure")
	}
	if done, _ := counts("all"); done > 0 {
		t.Error("what was cut off counts as done")
	}
}

// TestWrongSteps checks that a step without a name, a period or a limit, or with a duplicate name, is refused.
func TestWrongSteps(t *testing.T) {
	t.Parallel()
	f := open(t)
	good := Step{Name: "a", Every: time.Second, Limit: time.Second}
	for _, steps := range [][]Step{{{Every: 1, Limit: 1}}, {{Name: "a", Limit: 1}}, {{Name: "a", Every: 1}},
		{good, good}} {
		if _, err := New(f.DB, Options{Steps: steps}); err == nil {
			t.Errorf("steps %v are accepted", steps)
		}
	}
}
