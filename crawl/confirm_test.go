package crawl

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConfirm checks that URLs that llms.txt and an agent card name become endpoints if they ask for payment, and that
// nothing but GET is sent to a URL that is only linked.
func TestConfirm(t *testing.T) {
	t.Parallel()
	w, o := newTown(t, "com")
	posts := make(chan string, 20)
	w.hosts["acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			posts <- r.URL.Path
		}
		switch r.Method + " " + r.URL.Path {
		case "GET /robots.txt":
			rw.Header().Set("Content-Type", "text/plain")
			io.WriteString(rw, "User-agent: Tollbook\nDisallow: /private\n")
		case "GET /llms.txt":
			rw.Header().Set("Content-Type", "text/plain")
			io.WriteString(rw, "[Quote](/quote) [Listed](/x) [About](/about) [Post](/post) [Private](/private)")
		case "GET /.well-known/agent-card.json":
			io.WriteString(rw,
				`{"url": "http://acme.com/agent", "skills": [], "capabilities": {"extensions": [{"uri": `+
					`"https://github.com/google-a2a/a2a-x402/v0.1"}]}}`)
		case "GET /x", "GET /quote", "POST /post", "POST /agent", "GET /private":
			pay(rw, challenge)
		case "GET /about":
			io.WriteString(rw, "About us")
		default:
			http.NotFound(rw, r)
		}
	}
	m := open(t)
	m.list(t, oneEndpoint("acme", "http://acme.com", "/x"))
	c := crawler(t, m, Options{Now: (&clock{now: dawn}).Now, Bootstrap: "http://rdap.com/"}, o)
	if g := gather(t, c); g.Endpoints != 2 {
		t.Errorf("%+v, want two endpoints", g)
	}
	close(posts)
	var posted []string
	for path := range posts {
		posted = append(posted, path)
	}
	if diff := cmp.Diff([]string{"/agent"}, posted); diff != "" {
		t.Errorf("POST was sent to (-want +got):\n%s", diff)
	}
	got := m.strings(t, `SELECT method || ' ' || path || ' ' || origin FROM endpoints ORDER BY path`)
	want := []string{"POST /agent agent-card", "GET /quote llms-txt", "GET /x import"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	if n := w.count("acme.com /private"); n != 0 {
		t.Errorf("%d requests to a path that robots.txt excludes by name", n)
	}
}
