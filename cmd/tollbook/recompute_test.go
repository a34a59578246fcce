//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tollbook/build"
	"tollbook/cmd/tollbook/cli"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// recompute runs .ci/recompute on a published folder or the URL of a directory. It must explain every value and find no
// difference.
func recompute(t *testing.T, source string, flags ...string) {
	t.Helper()
	args := append(append([]string{"run", "./.ci/recompute"}, flags...), source)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	report, err := cmd.CombinedOutput()
	lines := bytes.Split(bytes.TrimSpace(report), []byte("\n"))
	if err != nil {
		t.Fatalf("%v\n%s", err, bytes.Join(lines[max(0, len(lines)-100):], []byte("\n")))
	}
	t.Logf("%s", bytes.Join(lines[max(0, len(lines)-2):], []byte("\n")))
}

// TestRecomputeDemo recomputes a snapshot of the demo after it has visited its services, and recommendations that serve
// makes from it. Then 200 figures of different kinds are changed, one at a time, which must be noticed.
func TestRecomputeDemo(t *testing.T) { // not parallel: each demo needs the whole machine
	testgate.All(t)
	data, began := t.TempDir(), time.Now()
	p, base := startDemo(t, data)
	until(t, base+"/v1/checks?limit=1", "visit of the demo", func(a answer) bool {
		rows := decode[struct{ Data []site.GlobalCheckEntry }](t, a.body).Data
		return len(rows) > 0 && rows[0].CheckedAt.After(began.Add(15*time.Second))
	})
	p.interrupt(t, syscall.SIGINT)
	serve := command(t, nil, "serve", "--from", filepath.Join(data, "public"), "--serve-listen", "127.0.0.1:0",
		"--serve-rate-limit", "0").start(t)
	base = strings.Fields(serve.await(t, "Serving "))[2]
	recompute(t, base, "-mutate", "200")
}

// TestRecomputeServers recomputes a directory that crawled servers made of the official SDKs.
func TestRecomputeServers(t *testing.T) { // not parallel: DATABASE_URL is the process's
	testgate.All(t)
	dsn := postgrestest.NewDatabase(t)
	t.Setenv("DATABASE_URL", dsn)
	data := cli.DataOptions{Data: t.TempDir()}
	var list []map[string]any
	var hosts []string
	for _, peer := range []struct {
		folder    string
		endpoints []string
	}{
		{"sdk", []string{"/weather", "POST /search"}},
		{"peers/hono", []string{"/quote", "POST /chat", "/users/42", "/free", "/nothing"}},
		{"peers/express-v1", []string{"/weather"}},
		{"peers/mppx", []string{"/pay"}},
	} {
		var said struct{ Port int }
		startNode(t, filepath.Join("testdata", peer.folder), &said)
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", said.Port))
		list = append(list, map[string]any{
			"service_name": filepath.Base(peer.folder), "description": "Made of an official SDK.",
			"url": "http://" + hosts[len(hosts)-1] + "/", "category": "Data", "endpoints": peer.endpoints,
		})
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "services.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := importFile(t.Context(), data, file); err != nil {
		t.Fatal(err)
	}
	crawl := crawlOptions{
		DataOptions: data, Once: true, paceOptions: paceOptions{HostGap: time.Millisecond},
		visitOptions: visitOptions{AllowPrivate: hosts},
	}
	if err := runCrawl(t.Context(), crawl, io.Discard); err != nil {
		t.Fatal(err)
	}
	buildNow(t, dsn, filepath.Join(data.Data, "public"))
	recompute(t, filepath.Join(data.Data, "public"))
}

// buildNow builds as "tollbook build" does, but with visits that ended just now in the logs.
func buildNow(t *testing.T, dsn, public string) {
	t.Helper()
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	folder, err := output.OpenFolder(public)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := build.Run(t.Context(), db, folder, build.Options{
		Now: time.Now(), Every: time.Minute, Expand: output.ExpandNone,
		Site: render.Site{Title: "Tollbook", BaseURL: "http://127.0.0.1:4020"},
	}); err != nil {
		t.Fatal(err)
	}
}
