package facts

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// describe returns the answers that say something about a document's content, one a line.
func describe(answers []Answer) string {
	var b strings.Builder
	for _, a := range answers {
		if a.Problem == "" && a.Declared == nil {
			continue
		}
		fmt.Fprintf(&b, "%s %s exists", a.Document, strings.TrimPrefix(a.URL, "http://acme.test"))
		if a.Exists == nil {
			b.WriteString(" unknown")
		} else {
			fmt.Fprintf(&b, " %t", *a.Exists)
		}
		if a.Declared != nil {
			fmt.Fprintf(&b, ", declares %d", *a.Declared)
		}
		for _, s := range a.Skipped {
			fmt.Fprintf(&b, ", %d %s", s.Count, s.Reason)
		}
		if a.Problem != "" {
			fmt.Fprintf(&b, ": %s", a.Problem)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestProblems checks what is recorded, for its owner, of a document that is too large, unreadable or partly skipped.
func TestProblems(t *testing.T) {
	t.Parallel()
	const manifest = "/.well-known/x402.json"
	large := strings.Repeat("x", maxJSON)
	for _, c := range []struct {
		name string
		site http.Handler
		want string
	}{
		{"nothing", pages{}, ""},
		{"free entries", pages{manifest: `200 application/json {"items": ["/a", {"url": "/b", "accepts": []}, ` +
			`{"url": "https://other.test/c"}, {"url": "mailto:x@y.z"}]}`},
			"manifest /.well-known/x402.json exists true, declares 1, 1 free, 1 elsewhere, 1 no_url\n"},
		{"too large", pages{manifest: `200 application/json {"items": ["/a"], "x": "` + large + `"}`,
			"/openapi.json": `200 application/json {"paths": {}, "x": "` + large + `"}`},
			"openapi /openapi.json exists unknown: larger than 8 MiB; nothing of it is read\n" +
				"manifest /.well-known/x402.json exists unknown: larger than 8 MiB; nothing of it is read\n"},
		{"XML", pages{manifest: `200 application/xml <?xml version="1.0"?><x/>`},
			"manifest /.well-known/x402.json exists false: not the expected kind of document: it is XML, not JSON\n"},
		{"a page for every path", pages{"/": page, manifest: page, "/openapi.json": page}, ""},
		{"HTML by another name", pages{manifest: "200 application/json <!doctype html><p>soon"},
			"manifest /.well-known/x402.json exists false: not the expected kind of document: it is an HTML page, not JSON\n"},
		{"half a document", pages{manifest: `200 application/json {"items": ["/a"`},
			"manifest /.well-known/x402.json exists false: not the expected kind of document: it is not JSON: it ends in " +
				"the middle\n"},
		{"bytes that are not UTF-8", pages{manifest: "200 application/json {\"items\": [\"/a\"], \"x\": \"\xe9\"}"},
			"manifest /.well-known/x402.json exists true, declares 1: it has bytes that are not UTF-8, which are read as " +
				"U+FFFD\n"},
		{"an answer that breaks off", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != manifest {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Length", "100000")
			fmt.Fprint(w, strings.Repeat(" ", 4096))
		}), "manifest /.well-known/x402.json exists unknown: the answer broke off after 4 KiB\n"},
		{"a catalogue of APIs", pages{"/.well-known/api-catalog": `200 application/linkset+json {"linkset": [{"anchor": ` +
			`"http://acme.test/v1", "service-desc": [{"href": "/v1/api.json"}, {"href": "/v1/api.yaml"}, {"href": ` +
			`"/openapi.json"}]}]}`, "/v1/api.json": sold, "/v1/api.yaml": "200 application/yaml openapi: 3.1.0",
			"/openapi.json": sold},
			"openapi /openapi.json exists true, declares 1\n" +
				"openapi /v1/api.json exists true, declares 1\nopenapi /v1/api.yaml exists true, declares 0\n"},
		{"an agent card", pages{"/.well-known/agent-card.json": "200 application/json []"},
			"agent_card /.well-known/agent-card.json exists false: not the expected kind of document: it is no JSON object\n"},
		{"rules for robots", pages{"/robots.txt": "200 text/plain " + strings.Repeat("# rule\n", maxRobots/7+1)},
			"robots /robots.txt exists true: longer than 512 KiB; the rest is not read\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, f := newTown(t, map[string]http.Handler{"acme.test": c.site, "other.test": pages{}})
			got := f.Survey(t.Context(), "http://acme.test", "")
			if diff := cmp.Diff(c.want, describe(got.Answers)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if slices.ContainsFunc(w.log(), func(r string) bool { return strings.HasPrefix(r, "other") }) {
				t.Error("a host was requested that a document names")
			}
		})
	}
}
