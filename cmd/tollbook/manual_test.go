package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/terminal"
)

// TestManual checks that each command in the help has a manual page with the same words, and the same bytes every time.
func TestManual(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := newRootCommand()
	if err := terminal.WriteManual(root, dir, "2026-11-21", "1"); err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	if err := terminal.WriteManual(newRootCommand(), again, "2026-11-21", "1"); err != nil {
		t.Fatal(err)
	}
	order := regexp.MustCompile(`^\.(TH|SH|PP|TP|nf|fi|in|nh|ad)\b`)
	pages := map[string]bool{}
	for _, c := range commands(root) {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		name := terminal.ManualName(c) + ".1"
		pages[name] = true
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		second, err := os.ReadFile(filepath.Join(again, name))
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(string(page), string(second)); diff != "" {
			t.Errorf("%s differs when it is written again (-want +got):\n%s", name, diff)
		}
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS"} {
			if !strings.Contains(string(page), "\n.SH "+section+"\n") {
				t.Errorf("%s has no section %s", name, section)
			}
		}
		for i, line := range strings.Split(string(page), "\n") {
			if strings.HasPrefix(line, ".") && !order.MatchString(line) || strings.HasPrefix(line, "'") {
				t.Errorf("%s:%d begins like an order: %s", name, i+1, line)
			}
		}
		if diff := cmp.Diff(saidIn(c.Long), saidIn(plain(string(page)))); strings.Contains(diff, "\n-") {
			t.Errorf("%s has lost words of the help (-want +got):\n%s", name, diff)
		}
	}
	written, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range written {
		if !pages[f.Name()] {
			t.Errorf("%s is the page of no command", f.Name())
		}
	}
}

// plain removes the escapes from a page.
func plain(page string) string {
	return strings.NewReplacer(`\fB`, "", `\fI`, "", `\fR`, "", `\&`, "", `\-`, "-", `\(aq`, "'", `\(ga`, "`", `\(ha`,
		"^", `\(ti`, "~", `\e`, `\`).Replace(page)
}

// saidIn returns the words of a text.
func saidIn(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(strings.ReplaceAll(s, "…", "...")) {
		m[w] = true
	}
	return m
}

// TestReady checks that only status 200 is ready. Any other status, including a redirect, is not.
func TestReady(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer  string
		status  int
		want    string
		address string
	}{
		{answer: "ok", status: 0, want: "ok\n"},
		{answer: "503", status: 1, want: "answers 503 Service Unavailable"},
		{answer: "redirect", status: 1, want: "answers 302 Found"},
		{address: "127.0.0.1:4020", status: 2, want: `"127.0.0.1:4020": give a URL such as http://`},
	} {
		t.Run(tt.answer+tt.address, func(t *testing.T) {
			t.Parallel()
			address := tt.address
			if address == "" {
				address = answering(t) + "/" + tt.answer
			}
			code, stdout, stderr := tollbook(t, nil, "ready", address)
			if code != tt.status || !strings.Contains(stdout+stderr, tt.want) {
				t.Errorf("exit %d, %q; want %d, %q", code, stdout+stderr, tt.status, tt.want)
			}
		})
	}
}

// answering starts a server that is ready at /ok, and at no other path. It returns the URL.
func answering(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/ok", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/503", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.Handle("/redirect", http.RedirectHandler("/ok", http.StatusFound))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}
