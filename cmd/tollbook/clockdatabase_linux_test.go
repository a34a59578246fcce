package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// TestDatabaseClockSteps sets the clock of a real Postgres an hour forward or back, across midnight too. A server
// receives submissions and a worker visits and builds meanwhile. Both continue without help, and so does a worker that
// is started then. Each service has one check of each round, and everything acknowledged is stored. No host or job
// waits until the clock reaches its old time.
func TestDatabaseClockSteps(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	library, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(library) == 0 {
		testgate.Missing(t, "no library to set the clock of a program by: apt-get install libfaketime")
	}
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for _, tt := range []struct {
		name  string
		begin time.Time // zero: the machine's time
		steps []time.Duration
	}{
		{"forth", time.Time{}, []time.Duration{step}},
		{"back", time.Time{}, []time.Duration{-step}},
		{"forth over a day's end and back", today.Add(23*time.Hour + 30*time.Minute), []time.Duration{step, -step}},
		{"back over a day's end", today.Add(30 * time.Minute), []time.Duration{-step}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newClockedDirectory(t, library[0], tt.begin)
			d.goesOn(t, "before any step")
			for _, by := range tt.steps {
				d.step(t, by)
				d.goesOn(t, fmt.Sprintf("%s after the clock was set by %s", d.now(t).Format(time.TimeOnly), by))
			}
			d.work.interrupt(t, os.Interrupt)
			d.work = d.worker(t)
			d.goesOn(t, "with a worker that was started then")
			d.holds(t)
		})
	}
}

// clockedDirectory is a directory on a Postgres whose clock the test sets.
type clockedDirectory struct {
	dsn, data, shop string
	clock           string        // file that the clock library reads
	offset          time.Duration // from the machine's clock
	base            string
	serve, work     *program
	rounds          int
	ids             []string
}

func newClockedDirectory(t *testing.T, library string, begin time.Time) *clockedDirectory {
	t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "free") }))
	t.Cleanup(shop.Close)
	dir := memoryDir(t)
	if err := os.Chmod(dir, 0o755); err != nil { // the server's user reads the clock
		t.Fatal(err)
	}
	d := &clockedDirectory{data: filepath.Join(dir, "data"), shop: shop.Listener.Addr().String(),
		clock: filepath.Join(dir, "clock")}
	if !begin.IsZero() {
		d.offset = time.Until(begin)
	}
	d.set(t)
	s, err := private.Start(t.Context(), private.Options{Dir: filepath.Join(dir, "server"),
		Bin: d.programs(t, dir, library), Throwaway: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	d.dsn = s.DSN()
	var list []string
	for i := range steppedServices {
		list = append(list,
			fmt.Sprintf(
				`{"service_name":"S%d","description":"d","url":"http://%s/s%d","category":"AI","endpoints":["GET /x"]}`,
				i, d.shop, i))
	}
	ran(t, d.env(), "services", "import", writeFile(t, "list.json", []byte("["+strings.Join(list, ",")+"]")))
	ran(t, d.env(), "build", "--data", d.data)
	d.due(t, 10*time.Minute) // a worker that finds them due visits them once more than goesOn counts
	d.base, d.serve = serving(t, d.env(), d.data, "--serve-trusted-proxies", "127.0.0.1", "--serve-rate-limit", "0",
		"--serve-max-pending", "0")
	d.work = d.worker(t)
	return d
}

// programs creates a folder of server programs that read the time from the library, not from the machine. The library
// reads the file each time, so that a step reaches all processes at once.
func (d *clockedDirectory) programs(t *testing.T, dir, library string) string {
	t.Helper()
	real := query(t, postgrestest.NewDatabase(t), `SELECT setting FROM pg_config WHERE name = 'BINDIR'`)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string]string{
		"initdb": "",
		"pg_ctl": "",
		"postgres": "LD_PRELOAD=" + library + " FAKETIME_TIMESTAMP_FILE=" + d.clock +
			" FAKETIME_NO_CACHE=1 FAKETIME_DISABLE_SHM=1 FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 ",
	} {
		if err := os.WriteFile(filepath.Join(bin, name),
			[]byte("#!/bin/sh\n"+env+"exec "+filepath.Join(real, name)+` "$@"`+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func (d *clockedDirectory) env() []string { return []string{"DATABASE_URL=" + d.dsn} }

// worker starts a worker that runs all its jobs every second.
func (d *clockedDirectory) worker(t *testing.T) *program {
	t.Helper()
	p := command(t, d.env(), "work", "--build", "--data", d.data, "--crawl-allow-private", d.shop, "--crawl-host-gap",
		"1ms", "--schedule-build", "1s").start(t)
	p.await(t, "Working")
	return p
}

// set writes the clock file atomically.
func (d *clockedDirectory) set(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(d.clock+".new", []byte(fmt.Sprintf("%+d\n", int(d.offset.Seconds()))), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.clock+".new", d.clock); err != nil {
		t.Fatal(err)
	}
}

// now returns the database's time.
func (d *clockedDirectory) now(t *testing.T) time.Time {
	t.Helper()
	now, err := time.Parse(time.RFC3339Nano, query(t, d.dsn,
		`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`))
	if err != nil {
		t.Fatal(err)
	}
	return now
}

// step sets the clock and checks that the database uses it.
func (d *clockedDirectory) step(t *testing.T, by time.Duration) {
	t.Helper()
	before := time.Now()
	was := d.now(t)
	d.offset += by
	d.set(t)
	if got := d.now(t).Sub(was); got < by-time.Second || got > by+time.Since(before)+time.Second {
		t.Fatalf("set by %s, the database's clock went on by %s", by, got)
	}
}

// goesOn waits until a submission is accepted, every service is visited and a snapshot is built.
func (d *clockedDirectory) goesOn(t *testing.T, when string) {
	t.Helper()
	code, id, err := submit(d.base, fmt.Sprintf("n%d", d.rounds), fmt.Sprintf("2001:db8:%x::1", d.rounds))
	if err != nil || code != http.StatusCreated {
		t.Fatalf("%s no submission is taken: %d, %v\n%s", when, code, err, d.serve.said())
	}
	d.ids = append(d.ids, id)
	d.rounds++
	d.due(t, 0)
	d.until(t, when+" not all services are visited",
		`SELECT (count(*) = `+strconv.Itoa(d.rounds*steppedServices)+`)::text FROM checks`)
	d.until(t, when+" a submission is not probed",
		`SELECT (count(*) = `+strconv.Itoa(d.rounds)+`)::text FROM inbox WHERE probe_due_at IS NULL`)
	built := published(t, d.data)
	for deadline := time.Now().Add(patience); published(t, d.data) == built; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s nothing is built:\n%s", when, d.work.said())
		}
	}
}

// due sets the next visit of all services, by the programs' clock, which schedules visits.
func (d *clockedDirectory) due(t *testing.T, in time.Duration) {
	t.Helper()
	query(t, d.dsn, fmt.Sprintf(`UPDATE service_states SET next_check_at = '%s'`,
		time.Now().Add(in).UTC().Format(time.RFC3339Nano)))
}

// until waits until a query returns true.
func (d *clockedDirectory) until(t *testing.T, what, sql string) {
	t.Helper()
	for deadline := time.Now().Add(patience); query(t, d.dsn, sql) != "true"; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s:\n%s\n%s", what, d.work.said(), d.serve.said())
		}
	}
}

// holds checks the invariants at the end.
func (d *clockedDirectory) holds(t *testing.T) {
	t.Helper()
	d.until(t, "hosts are put off beyond a pause",
		`SELECT (count(*) = 0)::text FROM hosts WHERE greatest(next_at, held_until) > clock_timestamp() + `+
			`interval '10 minutes'`)
	d.until(t, "jobs are put off beyond a pause", `SELECT (count(*) = 0)::text FROM river_job
		WHERE state IN ('available', 'retryable', 'scheduled') AND scheduled_at > now() + interval '10 minutes'`)
	for _, tt := range []struct{ what, sql, want string }{
		{"services with another number of checks than rounds",
			fmt.Sprintf(
				`SELECT count(*)::text FROM (SELECT FROM checks GROUP BY service_id HAVING count(*) <> %d) AS c`,
				d.rounds), "0"},
		{"checks", `SELECT count(*)::text FROM checks`, strconv.Itoa(d.rounds * steppedServices)},
		{"submissions of those acknowledged",
			fmt.Sprintf(`SELECT count(*)::text FROM inbox WHERE id::text = ANY ('{%s}')`,
				strings.Join(d.ids, ",")), strconv.Itoa(len(d.ids))},
	} {
		if got := query(t, d.dsn, tt.sql); got != tt.want {
			t.Errorf("%s %s, want %s", got, tt.what, tt.want)
		}
	}
	for name, p := range map[string]*program{"serve": d.serve, "work": d.work} {
		select {
		case <-p.exited:
			t.Errorf("%s ended:\n%s", name, p.said())
		default:
			p.interrupt(t, os.Interrupt)
		}
	}
	if !t.Failed() {
		t.Logf("figures: the clock of Postgres set %s: %d visits and %d submissions, 0 lost, doubled or stuck",
			strings.TrimPrefix(t.Name(), "TestDatabaseClockSteps/"), d.rounds*steppedServices, len(d.ids))
	}
}
