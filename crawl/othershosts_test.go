package crawl

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
)

// TestDocumentsOfOthersHosts checks that documents of a service that name the hosts of others change nothing of theirs,
// and that what was skipped is stored for the owner.
func TestDocumentsOfOthersHosts(t *testing.T) {
	t.Parallel()
	const victim = "http://api.victim.com"
	documents := map[string]string{
		"/openapi.json": `{"openapi": "3.1.0", "servers": [{"url": "` + victim + `"}], "paths": {"/x": {"delete": ` +
			`{"x-payment-info": {"price": "9"}, "responses": {"402": {}}}}}}`,
		"/.well-known/x402": `{"resources": ["DELETE ` + victim + `/x", {"url": "` + victim + `/new", "accepts": []}, ` +
			`"http://169.254.169.254/latest", "/own"]}`,
		"/.well-known/mpp": `["//api.victim.com/new"]`,
		"/.well-known/agent.json": `{"skills": [], "url": "` + victim + `/a2a", "capabilities": {"extensions": [{"uri": ` +
			`"https://x.test/x402"}]}}`,
		"/.well-known/api-catalog": `{"linkset": [{"service-desc": [{"href": "` + victim + `/openapi.json"}]}]}`,
		"/llms.txt":                `[new](` + victim + `/new)`,
	}
	w, o := newTown(t, "com")
	w.hosts["api.acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		doc, ok := documents[r.URL.Path]
		if !ok {
			http.NotFound(rw, r)
			return
		}
		io.WriteString(rw, doc)
	}
	var requested []string
	w.hosts["api.victim.com"] = func(rw http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.Method+" "+r.URL.Path)
		http.NotFound(rw, r)
	}
	m := open(t)
	m.list(t, oneEndpoint("victim", victim, "/x"))
	now := &clock{now: dawn}
	c := crawler(t, m, Options{Now: now.Now, Bootstrap: "http://none.com/dns.json", Workers: 1}, o)
	gather(t, c)
	before := m.facts(t, dawn)["victim"]
	m.list(t, oneEndpoint("acme", "http://api.acme.com", "/a"))
	now.set(dawn.Add(time.Hour))
	requested = nil
	gather(t, c)
	stored := m.facts(t, now.Now())
	if diff := cmp.Diff(before.Endpoints, stored["victim"].Endpoints); diff != "" {
		t.Errorf("endpoints of the other service (-want +got):\n%s", diff)
	}
	if len(requested) > 0 {
		t.Errorf("the other host was asked for %s", strings.Join(requested, ", "))
	}
	var paths []string
	for _, e := range stored["acme"].Endpoints {
		paths = append(paths, e.Path)
	}
	if diff := cmp.Diff([]string{"/a", "/own"}, paths); diff != "" {
		t.Errorf("endpoints of acme (-want +got):\n%s", diff)
	}
	skipped := map[string][]postgres.SiteSkipped{}
	for _, a := range stored["acme"].Site.Answers {
		if len(a.Skipped) > 0 {
			skipped[strings.TrimPrefix(a.URL, "http://api.acme.com")] = a.Skipped
		}
	}
	want := map[string][]postgres.SiteSkipped{
		"/openapi.json":     {{Reason: "elsewhere", Count: 1}},
		"/.well-known/x402": {{Reason: "free", Count: 1}, {Reason: "elsewhere", Count: 2}},
		"/.well-known/mpp":  {{Reason: "elsewhere", Count: 1}},
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("skipped entries (-want +got):\n%s", diff)
	}
}
