package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"tollbook/output"
	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/postgrestest"
)

// TestServicesOptOuts checks that an owner's line hides a service from the next build, that every command which would
// list it says why not, and that the line's removal lists it again.
func TestServicesOptOuts(t *testing.T) {
	t.Parallel()
	env := []string{"DATABASE_URL=" + postgrestest.NewDatabase(t)}
	var shown atomic.Value
	shown.Store("")
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text := shown.Load().(string); r.URL.Path == "/.well-known/tollbook" && text != "" {
			io.WriteString(w, text)
			return
		}
		http.NotFound(w, r)
	}))
	defer shop.Close()
	host := strings.TrimPrefix(shop.URL, "http://")
	entry := map[string]any{"service_name": "Acme", "description": "d", "url": shop.URL + "/api", "category": "AI",
		"endpoints": []string{"/a"}}
	other := map[string]any{"service_name": "New", "description": "d", "url": shop.URL + "/new", "category": "AI",
		"endpoints": []string{"/a"}}
	list, err := json.Marshal([]map[string]any{entry, other})
	if err != nil {
		t.Fatal(err)
	}
	first, err := json.Marshal([]map[string]any{entry})
	if err != nil {
		t.Fatal(err)
	}
	ran(t, env, "services", "import", writeFile(t, "first.json", first))
	if out := ran(t, env, "services", "opt-outs"); !strings.HasPrefix(out, "No host opted out,") {
		t.Errorf("no opt-outs: %s", out)
	}
	ask := []string{"services", "opt-outs", "--ask", shop.URL, "--crawl-allow-private", host}
	shown.Store("opt-out\n")
	if out := ran(t, env, ask...); !strings.Contains(out, "the owner of "+host+" opted out") {
		t.Errorf("ask: %s", out)
	}
	var optOuts []consent.OptOut
	if err := json.Unmarshal([]byte(ran(t, env, "services", "opt-outs", "--json")), &optOuts); err != nil ||
		len(optOuts) != 1 || optOuts[0].Document != shop.URL+"/.well-known/tollbook" {
		t.Errorf("%+v, %v", optOuts, err)
	}
	if out := ran(t, env, "services", "list"); !strings.Contains(out, "opted out") {
		t.Errorf("list: %s", out)
	}
	if out := ran(t, env, "services", "show", "acme"); !strings.Contains(out, "opted out by its owner, or blocked, since") {
		t.Errorf("show: %s", out)
	}
	out := ran(t, env, "services", "apply", writeFile(t, "list.json", list))
	if strings.Count(out, "the owner of "+host+" opted out") != 2 || !strings.Contains(out, "No change") {
		t.Errorf("apply: %s", out)
	}
	for _, args := range [][]string{
		{"services", "add", "--name", "New", "--url", shop.URL + "/new", "--category", "AI", "--description", "d",
			"--endpoint", "/a"},
		{"services", "resume", "acme"}, {"services", "retire", "acme"},
	} {
		if code, _, stderr := tollbook(t, env, args...); code != 1 ||
			!strings.Contains(stderr, "the owner of "+host+" opted out") {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
	data := t.TempDir()
	ran(t, env, "build", "--data", data)
	source, err := output.OpenSource(filepath.Join(data, "public"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	stats, err := snap.ReadFile("v1/stats.json")
	if got := string(stats); err != nil || !strings.Contains(got, `"total_services":0`) ||
		!strings.Contains(got, `"opted_out":1`) {
		t.Errorf("published: %s, %v", got, err)
	}
	shown.Store("other\n")
	if out := ran(t, env, ask...); !strings.HasPrefix(out, "The host did not opt out.") {
		t.Errorf("ask again: %s", out)
	}
	if out := ran(t, env, "services", "list"); strings.Contains(out, "opted out") {
		t.Errorf("list after the opt-out: %s", out)
	}
	shop.Close()
	if code, _, stderr := tollbook(t, env, ask...); code != 1 ||
		!strings.Contains(stderr, "nothing was changed: ask "+host) {
		t.Errorf("ask a host that does not answer: exit %d, %s", code, stderr)
	}
}
