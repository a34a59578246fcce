package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tollbook/crawl"
	"tollbook/site/postgres/postgrestest"
)

// TestContactIsNeeded checks that no command that visits others on its own account starts without a contact. The error
// names a host and the lines to add to tollbook.toml.
func TestContactIsNeeded(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	dir := t.TempDir()
	list := listOfOthers(t, dir)
	ran(t, env, "services", "import", list)
	const hosts = "visit api.example.com: "
	for _, tt := range []struct{ args, want string }{
		{"crawl --once", hosts + "crawl.contact is not set, so"},
		{"crawl --once --crawl-contact https://tollbook.example/bot",
			hosts + "crawl.contact https://tollbook.example/bot is only an example, so"},
		{"crawl", hosts},
		{"work", hosts},
		{"up --serve-listen 127.0.0.1:0", hosts},
		{"services verify --all", hosts},
	} {
		p := command(t, env, strings.Fields(tt.args)...)
		p.Dir = dir
		p.start(t)
		if code := p.status(t); code != 2 || !strings.Contains(p.said(), "tollbook: "+tt.want) ||
			!strings.Contains(p.said(), "add to tollbook.toml:\n\n    [crawl]\n    contact = \"mailto:") {
			t.Errorf("%s: exit %d, want 2 and %q:\n%s", tt.args, code, tt.want, p.said())
		}
	}
}

// listOfOthers writes a list with a service of others, and returns its path.
func listOfOthers(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "services.toml")
	write(t, path, `[[service]]
service_name = "Acme"
description = "Prices."
url = "https://api.example.com"
category = "Finance"
endpoints = ["/quote"]
`)
	return path
}

// TestNoContactWhileUp checks that a service of others that is listed while up runs without a contact is not visited,
// and that the log and /readyz say so.
func TestNoContactWhileUp(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	dir := t.TempDir()
	up := command(t, env, "up", "--serve-listen", "127.0.0.1:0", "--schedule-build", "1s")
	up.Dir = dir
	up.start(t)
	_, base, _ := strings.Cut(up.await(t, "Serving "), " on ")
	base, _, _ = strings.Cut(base, " ")
	until(t, base+"readyz", "snapshot", func(a answer) bool { return a.status == http.StatusOK })
	ran(t, env, "services", "import", listOfOthers(t, dir))
	a := until(t, base+"readyz", "the notice", func(a answer) bool { return strings.Contains(a.body, `"notice":"`) })
	if !strings.Contains(a.body, crawl.SkippedNotice) {
		t.Errorf("/readyz: %s", a.body)
	}
	if n := strings.Count(up.said(), crawl.SkippedNotice); n != 1 || strings.Contains(up.said(), "msg=check") {
		t.Errorf("%d lines of the log have the notice, want 1, and no check:\n%s", n, up.said())
	}
	up.interrupt(t, os.Interrupt)
}

// TestSubmissionWithoutContact checks that a server without a contact receives a submission and does not probe its
// host.
func TestSubmissionWithoutContact(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	p := command(t, env, "serve", "--data", data, "--serve-listen", "127.0.0.1:0", "--serve-submissions")
	p.start(t)
	_, base, _ := strings.Cut(p.await(t, "Serving "), " on ")
	base, _, _ = strings.Cut(base, " ")
	res, err := http.Post(base+"v1/submit", "application/json",
		strings.NewReader(submission("acme", "url", `"https://api.acme.com"`, "endpoints", `["/a"]`)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	want := `"errors":["/a: not probed: this directory names no contact for owners of services"]`
	if err != nil || res.StatusCode != http.StatusCreated || !strings.Contains(string(body), want) {
		t.Errorf("%s, %v: %s, want %s", res.Status, err, body, want)
	}
	p.interrupt(t, os.Interrupt)
}

// TestProxyIsNamed checks that a crawl says once that it does not use the proxy of the environment, without its password.
func TestProxyIsNamed(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t), "https_proxy=http://me:s3cret@127.0.0.1:1"}
	code, _, stderr := tollbook(t, env, "crawl", "--once", "--crawl-contact", testContact)
	if n := strings.Count(stderr, "not through the proxy of the environment"); code != 0 || n != 1 ||
		!strings.Contains(stderr, "variables=https_proxy") || strings.Contains(stderr, "s3cret") {
		t.Errorf("exit %d, said %d times, want 0 and 1:\n%s", code, n, stderr)
	}
}
