package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// catalogue is a server that is a source of its own resources.
type catalogue struct {
	mu      sync.Mutex
	rows    int
	status  int           // of each answer, 0 for a list
	arrived chan struct{} // gets a value for each request to a catalogue without an answer; nil for one that answers
}

func (c *catalogue) set(rows, status int, arrived chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.status, c.arrived = rows, status, arrived
}

// ServeHTTP implements http.Handler.
func (c *catalogue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/list" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = w.Write([]byte(fleetChallenge))
		return
	}
	c.mu.Lock()
	rows, status, arrived := c.rows, c.status, c.arrived
	c.mu.Unlock()
	switch {
	case arrived != nil:
		arrived <- struct{}{}
		<-r.Context().Done()
	case status != 0:
		w.WriteHeader(status)
	default:
		list := []string{}
		for n := range rows {
			list = append(list, fmt.Sprintf("http://%s/r%d", r.Host, n))
		}
		_ = json.NewEncoder(w).Encode(list)
	}
}

// newCatalogue returns a catalogue, and a configuration file that names it as the source "local".
func newCatalogue(t *testing.T) (c *catalogue, config string) {
	t.Helper()
	c = &catalogue{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	text := fmt.Sprintf(
		"[crawl]\nallow_private = [\"127.0.0.1\"]\nhost_gap = \"1ms\"\n\n[[source]]\nname = \"local\"\n"+
			"kind = \"json-list\"\naddress = %q\n", server.URL+"/list")
	config = filepath.Join(t.TempDir(), "tollbook.toml")
	write(t, config, text)
	return c, config
}

// TestSources walks through the commands on sources: what they print first and a second time, and what they say of a
// source that is unknown, down, shrunk or interrupted.
func TestSources(t *testing.T) {
	t.Parallel()
	c, config := newCatalogue(t)
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "USER=ada"}
	state := func() string {
		t.Helper()
		for line := range strings.Lines(ran(t, env, "sources", "list", "--config", config)) {
			if f := strings.Fields(line); f[0] == "local" {
				return f[1] + " " + f[2] + " " + strings.Join(f[5:], " ")
			}
		}
		return "not listed"
	}
	local := []string{"sources", "pull", "local", "--config", config}
	for _, step := range []struct {
		rows, status int
		args         []string
		code         int
		want         string // in what is printed
		state        string // as sources list shows it; "" for the one before
	}{
		{0, 0, []string{"sources", "pull"}, 2, "no source is enabled: tollbook sources list shows", "yes 0 -"},
		{0, 0, []string{"sources", "enable", "locl", "--config", config}, 1,
			`no source "locl" is configured; did you ` +
				`mean "local"?`, ""},
		{0, 0, []string{"sources", "pull", "nowhere"}, 1, `no source "nowhere" is configured; tollbook sources list`,
			""},
		{0, 0, []string{"sources", "pull", "cdp"}, 1, "crawl.contact is not set", ""},
		{0, 0, local, 1, "the answer lists nothing", "yes 0 last pull failed: the answer lists nothing"},
		{0, 500, []string{"sources", "disable", "local", "--config", config}, 0,
			"local is disabled; what it listed stays",
			"no 0 last pull failed: the answer lists nothing"},
		{0, 500, []string{"sources", "disable", "local", "--config", config}, 0,
			"disabled already; nothing was changed",
			""},
		{0, 500, []string{"sources", "enable", "local", "--config", config}, 0, "local is enabled. Next: tollbook up",
			"yes 0 last pull failed: the answer lists nothing"},
		{6, 0, local, 0, "local accepted 6 6 0 0 +1 +0 -", "yes 6 ok"},
		{6, 0, local, 0, "local accepted 6 0 0 0 +0 +0 -", ""},
		{9, 404, local, 1, "local failed - - - - - - page 1: the answer is 404",
			"yes 6 last pull failed: page 1: the answer is 404"},
		{9, 404, local, 1, "page 1: the answer is 404", "yes 6 last 2 pulls failed: page 1: the answer is 404"},
		{6, 0, []string{"sources", "accept", "local", "--config", config}, 1, "no answer is held back", ""},
		{2, 0, local, 0, "If it is right: tollbook sources accept local",
			"yes 6 held back: lacks 4 of 6 resources; tollbook sources accept local"},
		{2, 0, []string{"sources", "accept", "local", "--config", config}, 0,
			"local lists 2 resources now: 0 new, 4 dropped. Next: tollbook build publishes this", "yes 2 ok"},
		{2, 0, []string{"sources", "pull", "--config", config, "--json"}, 0, `"source":"local","outcome":"accepted",`,
			""},
	} {
		c.set(step.rows, step.status, nil)
		before := state()
		code, stdout, stderr := tollbook(t, env, step.args...)
		if said := strings.Join(strings.Fields(stdout+stderr), " "); code != step.code || !strings.Contains(said,
			step.want) {
			t.Errorf("%s: exit %d, %s\nwant %d, %s", step.args, code, said, step.code, step.want)
		}
		want := step.state
		if want == "" {
			want = before
		}
		if diff := cmp.Diff(want, state()); diff != "" {
			t.Errorf("state after %s (-want +got)\n%s", step.args, diff)
		}
	}
	interruptPull(t, env, c, local)
	if got := state(); got != "yes 2 ok" {
		t.Errorf("state after Ctrl-C %q, want the one before", got)
	}
}

// interruptPull ends a pull that waits for an answer by Ctrl-C.
func interruptPull(t *testing.T, env []string, c *catalogue, args []string) {
	t.Helper()
	arrived := make(chan struct{}, 1)
	c.set(0, 0, arrived)
	p := command(t, env, args...).start(t)
	select {
	case <-arrived:
	case <-time.After(time.Minute):
		t.Fatalf("no request arrived: %s", p.said())
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.status(t); code == 0 || !strings.Contains(p.said(), "interrupted") {
		t.Errorf("Ctrl-C: exit %d, %s", code, p.said())
	}
}

// TestUpReadsSources checks that up reads a source that is due, on its schedule, publishes what it lists, and that
// readers see who lists the service.
func TestUpReadsSources(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	needPostgres(t)
	c, config := newCatalogue(t)
	c.set(3, 0, nil)
	dir := t.TempDir()
	p := command(t, []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}, "up", "--config", config, "--data",
		filepath.Join(dir, "data"), "--serve-listen", "127.0.0.1:0", "--serve-metrics", "127.0.0.1:0",
		"--schedule-build",
		"1s").start(t)
	_, base, _ := strings.Cut(p.await(t, "Serving "), " on ")
	base, _, _ = strings.Cut(base, " ")
	figures := p.await(t, "Metrics on ")
	until(t, figures, "figures of the source", func(a answer) bool {
		return strings.Contains(a.body, "\ntollbook_source_resources{source=\"local\"} 3\n") &&
			strings.Contains(a.body, "\ntollbook_source_held_back{source=\"local\"} 0\n")
	})
	until(t, base+"v1/sources", "the source", func(a answer) bool { return strings.Contains(a.body, `"local"`) })
	until(t, base+"v1/services", "the service of the source", func(a answer) bool {
		return strings.Contains(a.body, `"127-0-0-1"`)
	})
	until(t, base+"v1/services/127-0-0-1", "listed_by", func(a answer) bool {
		return strings.Contains(a.body, `"listed_by":[{"source":"local"`)
	})
}
