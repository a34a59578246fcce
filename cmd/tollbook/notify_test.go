//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// TestNotify sends submissions to two servers of one database whose configuration has a command. The command gets each
// submission once. The log and the metrics have it, too, and nothing shows the arguments of the command.
func TestNotify(t *testing.T) {
	t.Parallel()
	testgate.All(t) // a server looks for what is new every ten seconds
	dir := t.TempDir()
	// The path of the command is relative to the file.
	if err := os.WriteFile(filepath.Join(dir, "notify"), []byte("#!/bin/sh\ncat >> \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "argument-s3cret")
	file := filepath.Join(dir, "tollbook.toml")
	write(t, file, "[submissions]\nnotify = [\"./notify\", \""+out+"\"]\n")
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "TOLLBOOK_CONFIG=" + file}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	var want []string
	var metrics string
	for i, name := range []string{"acme", "other"} {
		base, server := serving(t, env, data, "--serve-metrics", "127.0.0.1:0")
		metrics = server.await(t, "Metrics on ")
		id := taken(t, post(t, base+"/v1/submit", jsonBody, submission(name))).SubmissionID
		want = append(want, id)
		if i == 1 {
			break // its run is a minute after the first
		}
		for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
			if strings.Contains(server.said(), "notified of what is new") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("the command never runs:\n%s", server.said())
			}
		}
		if said := server.said(); !strings.Contains(said, `msg="submission received" submission=`+id+
			" url=https://api.acme.example") || strings.Contains(said, "s3cret") {
			t.Errorf("log:\n%s", said)
		}
	}
	a := until(t, metrics, "metrics", func(a answer) bool { return a.status == 200 })
	for _, want := range []string{"\ntollbook_submissions{state=\"pending\"} 2\n",
		"\ntollbook_submission_notifications_total{result=\"done\"} 0\n",
		"\ntollbook_submissions_oldest_waiting_seconds "} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in\n%s", want, a.body)
		}
	}
	text := ran(t, env, "config") + ran(t, env, "config", "--json")
	if strings.Contains(text, "s3cret") || !strings.Contains(text, "(arguments: 1)") {
		t.Errorf("config:\n%s", text)
	}
	query(t, strings.TrimPrefix(env[0], "DATABASE_URL="), `UPDATE submission_notifier SET due_at = now()`)
	var got []string
	for deadline := time.Now().Add(patience); len(got) < len(want) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		got = nil
		lines, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(lines)) {
			var m struct{ Submissions []struct{ ID string } }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				continue // it is being written
			}
			for _, s := range m.Submissions {
				got = append(got, s.ID)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("submissions that the command got (-want +got):\n%s", diff)
	}
}

// TestNotifyFaults checks that a program that can't be run is an error at the start, without its arguments.
func TestNotifyFaults(t *testing.T) {
	t.Parallel()
	code, _, stderr := tollbook(t, nil, "serve", "--serve-submissions", "--submissions-notify",
		"/nowhere/notify,argument-s3cret", "--data", t.TempDir())
	if code != 2 || !strings.Contains(stderr, `--submissions-notify: run "/nowhere/notify": no such program`) ||
		strings.Contains(stderr, "s3cret") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
