package crawl

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/hint"
	"tollbook/site/postgres"
)

// TestAskAsBrowser checks that a service is asked once a day as a browser asks, at the endpoint that was paid last, and
// what is stored of its answers.
func TestAskAsBrowser(t *testing.T) {
	t.Parallel()
	w, o := newTown(t, "com")
	var asked atomic.Int32
	w.hosts["api.acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a" {
			http.NotFound(rw, r)
			return
		}
		if r.Header.Get("Origin") == hint.Origin {
			asked.Add(1)
			rw.Header().Set("Access-Control-Allow-Origin", "*")
		}
		if r.Method == http.MethodOptions {
			rw.Header().Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
			io.WriteString(rw, r.Header.Get("Access-Control-Request-Method"))
			return
		}
		pay(rw, challenge)
	}
	m := open(t)
	m.list(t, oneEndpoint("acme", "http://api.acme.com", "/a"))
	now := &clock{now: dawn}
	c := crawler(t, m, Options{Now: now.Now, Rand: func() float64 { return 0.5 }, Workers: 1}, o)
	gather(t, c) // nothing asked for payment yet
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests of a browser before the first visit", n)
	}
	round(t, c)
	now.set(dawn.Add(25 * time.Hour))
	gather(t, c)
	gather(t, c) // not due
	stored := m.facts(t, now.Now())["acme"]
	want := &postgres.BrowserFacts{Endpoint: stored.Endpoints[0].ID, At: now.Now(), Browser: hint.Browser{Method: "GET",
		Preflight: &hint.Answer{Status: 200, Header: http.Header{"Access-Control-Allow-Origin": {"*"},
			"Access-Control-Allow-Headers": {"x-payment"}}},
		Request: &hint.Answer{Status: 402, Header: http.Header{"Access-Control-Allow-Origin": {"*"}}}}}
	if diff := cmp.Diff(want, stored.Site.Browser); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d requests of a browser, want 2", n)
	}
}
