//go:build unix

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/cmd/tollbook/run"
	"tollbook/site/testgate"
)

// TestUp checks that one process starts its own Postgres, visits the imported services, builds, publishes, and answers
// readers and metrics. Builds continue after its Postgres was killed. Ctrl-C ends it without an error, and the next
// start continues. When every test runs, it also continues after a kill.
func TestUp(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	needPostgres(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = w.Write([]byte(fleetChallenge))
	}))
	t.Cleanup(service.Close)
	dir := t.TempDir()
	list := "[[service]]\nservice_name = \"Acme Quotes\"\ndescription = \"Share prices.\"\nurl = \"" + service.URL +
		"\"\nwebsite_url = \"" + service.URL +
		"\"\ncategory = \"Finance\"\nendpoints = [\"POST /quote\"]\n"
	config := "[schedule]\nbuild = \"2s\"\n[crawl]\nallow_private = [\"127.0.0.1\"]\n[publish]\nto = \"elsewhere\"\n"
	for name, text := range map[string]string{"services.toml": list, "tollbook.toml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(args ...string) *program {
		p := command(t, nil, args...)
		p.Dir = dir
		return p.start(t)
	}
	if p := at("services", "import", "services.toml"); p.status(t) != 0 {
		t.Fatal(p.said())
	}
	var last string
	starts := []string{"first", "killed", "last"}
	if !testgate.Everything() { // the jobs of a killed process wait for the end of their lease
		starts = []string{"first", "last"}
	}
	for _, start := range starts {
		p := at("up", "--serve-listen", "127.0.0.1:0", "--serve-metrics", "127.0.0.1:0", "--serve-rate-limit", "0")
		base := strings.Fields(p.await(t, "Serving tollbook-data/public on "))[0]
		figures := p.await(t, "Metrics on ")
		if last != "" {
			if got := get(t, base+"v1/services").header.Get("X-Snapshot"); secondOf(t, got).Before(secondOf(t, last)) {
				t.Errorf("the %s start shows snapshot %s, before it was %s", start, got, last)
			}
		}
		until(t, base+"v1/services/acme-quotes", "service that was visited", func(a answer) bool {
			return a.status == http.StatusOK && strings.Contains(a.body, `"status":"online"`)
		})
		page := until(t, base+"services/acme-quotes.html", "page", func(a answer) bool {
			return a.status == http.StatusOK
		})
		if !strings.Contains(page.body, "Acme Quotes") {
			t.Errorf("the page does not show the service:\n%.2000s", page.body)
		}
		shown := page.header.Get("X-Snapshot")
		last = until(t, base+"v1/services", "next build", func(a answer) bool {
			return a.header.Get("X-Snapshot") > shown
		}).header.Get("X-Snapshot")
		until(t, figures, "figures of all that is done", func(a answer) bool {
			for _, line := range []string{
				`tollbook_jobs_done_total{kind="build"} `, `tollbook_jobs_done_total{kind="publish"} `,
				`tollbook_step_last_success_timestamp_seconds{step="retention"} `,
				`tollbook_step_last_success_timestamp_seconds{step="owners"} `,
				`tollbook_jobs{queue="visits",state="waiting"} `, `tollbook_http_requests_total{`,
				`tollbook_visit_overdue_seconds `,
			} {
				if !strings.Contains(a.body, "\n"+line) {
					return false
				}
			}
			return true
		})
		if start == "killed" {
			if err := p.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-p.exited
			continue
		}
		for _, pid := range serverProcesses(filepath.Join(dir, "tollbook-data")) { // no other code ends them
			kill(t, pid)
		}
		shown = get(t, base+"v1/services").header.Get("X-Snapshot")
		last = until(t, base+"v1/services", "build after its Postgres was killed", func(a answer) bool {
			return a.header.Get("X-Snapshot") > shown
		}).header.Get("X-Snapshot")
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := p.status(t); code != 0 {
			t.Errorf("told to stop, the %s start exits %d:\n%s", start, code, p.said())
		}
		if said := p.said(); !strings.Contains(said, "msg=built") || !strings.Contains(said, " job=") {
			t.Errorf("the %s start's log has no line of a build with its job:\n%s", start, said)
		}
	}
	code, stdout, stderr := tollbook(t, nil, "verify", filepath.Join(dir, "elsewhere"))
	if code != 0 {
		t.Errorf("what is published elsewhere is not whole: exit %d\n%s%s", code, stdout, stderr)
	}
	here, err := os.ReadDir(filepath.Join(dir, "tollbook-data", "public", "snapshots"))
	if err != nil || len(here) < 2 {
		t.Errorf("%d snapshots are kept, error %v", len(here), err)
	}
}

func TestOnLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "localhost:1": true, ":1": false, "0.0.0.0:1": false, "[::]:1": false,
		"192.0.2.1:1": false,
	} {
		if got := run.IsLoopback(address); got != want {
			t.Errorf("%s is on loopback: %t, want %t", address, got, want)
		}
	}
}
