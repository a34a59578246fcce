//go:build unix

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPostgresRestartsUnderWork restarts a real Postgres while work runs, and checks that one line says that it went away
// and one that it is back. Nothing else of it is in the log, neither of Tollbook nor of River.
func TestPostgresRestartsUnderWork(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	s := &testServer{dir: filepath.Join(memoryDir(t), "a")}
	s.start(t)
	env := []string{"DATABASE_URL=" + s.DSN()}
	work := command(t, env, "work", "--crawl-contact", testContact).start(t)
	work.await(t, "Working")
	until := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !done(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("never %s:\n%s", what, work.said())
			}
		}
	}
	const away, back = "the database does not answer", "the database answers again"
	until("a job was done", func() bool {
		return query(t, s.DSN(), `SELECT count(*)::text FROM river_job WHERE kind = 'feed' AND state = 'completed'`) != "0"
	})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	until("it went away", func() bool { return strings.Contains(work.said(), away) })
	s.start(t)
	until("it was back", func() bool { return strings.Contains(work.said(), back) })
	var faults []string
	for line := range strings.Lines(work.said()) {
		if regexp.MustCompile(`level=(WARN|ERROR)`).MatchString(line) {
			faults = append(faults, strings.TrimSpace(line))
		}
	}
	if len(faults) != 1 || !strings.Contains(faults[0], away) ||
		strings.Count(work.said(), back) != 1 {
		t.Errorf("%d warnings and errors, want one:\n%s", len(faults), strings.Join(faults, "\n"))
	}
}
