//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/private"
	"tollbook/site/testgate"
)

// upBeside starts up with submissions on a private Postgres.
func upBeside(t *testing.T, data string) (base string, p *program) {
	t.Helper()
	p = command(t, nil, "up", "--data", data, "--serve-submissions", "--serve-listen", "127.0.0.1:0",
		"--crawl-contact", testContact, "--schedule-facilitators", "0", "--serve-rate-limit", "0").start(t)
	return strings.TrimSuffix(strings.Fields(p.await(t, "Serving "))[2], "/"), p
}

// postmaster returns the process of the private Postgres that runs in the data folder.
func postmaster(t *testing.T, data string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "postgres", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// awaitEnd waits until a process is gone.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); runs(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still there", pid)
		}
	}
}

// TestCommandsBesideUp runs the commands of an operator while up runs on the same private Postgres.
func TestCommandsBesideUp(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	needPostgres(t)
	data := filepath.Join(memoryDir(t), "data")
	base, up := upBeside(t, data)
	server := postmaster(t, data)
	first := taken(t, post(t, base+"/v1/submit", jsonBody, submission("acme")))
	second := taken(t, post(t, base+"/v1/submit", jsonBody, submission("zenith")))
	list := writeFile(t, "list.toml", []byte("[[service]]\nservice_name = \"Imported\"\ndescription = \"d\"\n"+
		"url = \"http://127.0.0.1:9/\"\ncategory = \"AI\"\nendpoints = [\"/x\"]\n"))
	var all sync.WaitGroup
	succeeds := func(args string) {
		// A build waits for no other one: up may be at work.
		for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
			code, _, stderr := tollbook(t, nil, append(strings.Fields(args), "--data", data)...)
			if code == 0 {
				return
			}
			if !strings.Contains(stderr, "another publisher is at work") &&
				!strings.Contains(stderr, "nothing published yet") || time.Now().After(deadline) {
				t.Errorf("%s: exit %d\n%s", args, code, stderr)
				return
			}
		}
	}
	for _, args := range []string{
		"submissions list", "submissions show " + first.SubmissionID, "submissions approve " + first.SubmissionID,
		"submissions reject --reason no " + second.SubmissionID, "services import " + list, "services list", "doctor",
		"export", "build --every 1m", "crawl --once --schedule-facilitators 0 --crawl-contact " + testContact,
		"facilitators import",
		"publish --publish-to " + filepath.Join(t.TempDir(), "bucket"),
	} {
		all.Go(func() { succeeds(args) })
	}
	for _, name := range []string{"up --serve-listen", "demo --listen"} {
		all.Go(func() {
			args := append(strings.Fields(name), "127.0.0.1:0", "--data", data)
			want := fmt.Sprintf("is held by process %d, which runs tollbook up; stop it, or choose another folder",
				up.Process.Pid)
			if code, _, stderr := tollbook(t, nil, args...); code != 1 || !strings.Contains(stderr, want) {
				t.Errorf("%s: exit %d, not 1 and %q\n%s", name, code, want, stderr)
			}
		})
	}
	all.Wait()
	if now := postmaster(t, data); now != server {
		t.Errorf("the server is process %d, not %d", now, server)
	}
	succeeds("build") // the others may all have come before the approval
	until(t, base+"/v1/services/acme", "approved service", func(a answer) bool { return a.status == 200 })

	// A worker goes on when up, which started the server, is killed. The server ends with the worker.
	worker := command(t, nil, "work", "--data", data, "--crawl-contact", testContact,
		"--schedule-facilitators", "0").start(t)
	worker.await(t, "Working")
	_ = up.Process.Kill()
	<-up.exited
	if got := ran(t, nil, "services", "list", "--data", data); !strings.Contains(got, "imported") {
		t.Errorf("after the kill:\n%s", got)
	}
	if !runs(server) {
		t.Error("the server ended with the program that started it")
	}
	worker.interrupt(t, os.Interrupt)
	awaitEnd(t, server)
}

// spoil writes a setting that Postgres refuses, so that it can't start again until mend is called.
func spoil(t *testing.T, data string) (mend func()) {
	t.Helper()
	file := filepath.Join(data, "postgres", "data", "postgresql.auto.conf")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(append(bytes.Clone(before), "spoilt\n"...))
	return func() { write(before) }
}

// TestSubmissionsAfterAKill kills the private Postgres of a directory that receives submissions. Readers notice
// nothing, a submission meanwhile gets a 503 with Retry-After, and the next one is stored without a restart.
func TestSubmissionsAfterAKill(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	needPostgres(t)
	for _, name := range []string{"serve", "up"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(memoryDir(t), "data")
			ran(t, nil, "build", "--data", data)
			var base string
			var p *program
			if name == "serve" {
				base, p = serving(t, nil, data, "--data", data, "--serve-rate-limit", "0")
			} else {
				base, p = upBeside(t, data)
			}
			before := taken(t, post(t, base+"/v1/submit", jsonBody, submission("before")))
			mend := spoil(t, data)
			kill(t, postmaster(t, data))
			state := base + "/v1/submissions/" + before.SubmissionID
			until(t, state, "503 without a database", func(a answer) bool { return a.status != 200 })
			for {
				a := post(t, base+"/v1/submit", jsonBody, submission("after"))
				if a.status == http.StatusCreated {
					break
				}
				wrong(t, "submission without a database", a, 503, site.ErrorUnavailable)
				if a.header.Get("Retry-After") == "" {
					t.Errorf("no Retry-After in %v", a.header)
				}
				if read := get(t, base+"/v1/services"); read.status != 200 {
					t.Errorf("a reader gets %d %s", read.status, read.body)
				}
				if t.Failed() {
					return
				}
				mend()
				time.Sleep(20 * time.Millisecond)
			}
			if a := get(t, state); a.status != 200 {
				t.Errorf("the submission from before: %d %s", a.status, a.body)
			}
			server := postmaster(t, data)
			p.interrupt(t, syscall.SIGTERM)
			awaitEnd(t, server)
		})
	}
}

// TestOlderProgramBeside checks that no command migrates a private Postgres under a program with an older schema.
func TestOlderProgramBeside(t *testing.T) {
	t.Parallel()
	needPostgres(t)
	data := filepath.Join(memoryDir(t), "data")
	ran(t, nil, "services", "list", "--data", data)
	ctx := context.Background()
	older, err := private.Start(ctx, private.Options{Dir: filepath.Join(data, "postgres"), Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = older.Stop(ctx) }()
	want := fmt.Sprintf("process %d of an older tollbook uses %s with schema 1, and this program would change it to ",
		os.Getpid(), filepath.Join(data, "postgres"))
	if code, _, stderr := tollbook(t, nil, "services", "list", "--data", data); code != 1 ||
		!strings.Contains(stderr, want) {
		t.Errorf("exit %d, not 1 and %q\n%s", code, want, stderr)
	}
	ran(t, nil, "migrate", "--plan", "--data", data) // changes nothing
	if err := older.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	ran(t, nil, "services", "list", "--data", data)
}
