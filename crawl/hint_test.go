package crawl

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/site/postgres"
)

// TestHeads checks that an endpoint paid by GET gets a HEAD request once a day, after all prices of the visit were
// read. An endpoint that is not paid, takes POST or can't be probed never gets one. A HEAD request without a usable
// answer leaves the stored result as it is.
func TestHeads(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	trouble := false
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.Path)
		switch {
		case r.Method == http.MethodHead && trouble:
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/down":
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/choosy":
			w.WriteHeader(http.StatusBadRequest)
		case r.Method == http.MethodHead && r.URL.Path == "/free", r.Method == http.MethodGet && r.URL.Path == "/form":
			w.WriteHeader(http.StatusOK)
		default:
			pay(w, challenge)
		}
	}))
	m := open(t)
	l := oneEndpoint("acme", base, "/choosy", "/closed", "/down", "/free", "/user/:id")
	l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{Method: "POST", Path: "/form"})
	m.list(t, l)
	now := &clock{now: dawn}
	c := crawler(t, m, Options{Now: now.Now}, o)
	heads := func() (list []string) {
		mu.Lock()
		defer mu.Unlock()
		for i, line := range seen {
			if line[:4] == "HEAD" {
				if list = append(list, line[5:]); slices.ContainsFunc(seen[i:],
					func(s string) bool { return s[:4] != "HEAD" }) {
					t.Errorf("GET after HEAD: %q", seen)
				}
			}
		}
		seen = nil
		return list
	}
	stored := func() map[string]string {
		out := map[string]string{}
		for _, e := range m.facts(t, now.Now())["acme"].Endpoints {
			if e.HeadAt != nil {
				out[e.Path] = e.HeadAt.Sub(dawn).String()
				if e.HeadFree != nil && *e.HeadFree {
					out[e.Path] += " free"
				}
				if e.HeadStatus != nil && e.HeadURL != nil && *e.HeadURL == base+e.Path {
					out[e.Path] += fmt.Sprintf(", %d", *e.HeadStatus)
				}
			}
		}
		return out
	}
	for _, step := range []struct {
		after   time.Duration
		trouble bool
		sent    []string
		stored  map[string]string
	}{
		{0, false, []string{"/closed", "/free"}, map[string]string{"/closed": "0s, 402", "/free": "0s free, 200"}},
		{23 * time.Hour, false, nil, map[string]string{"/closed": "0s, 402", "/free": "0s free, 200"}},
		{24 * time.Hour, true, []string{"/closed", "/free"},
			map[string]string{"/closed": "24h0m0s, 402", "/free": "24h0m0s free, 200"}},
	} {
		trouble = step.trouble
		now.set(dawn.Add(step.after))
		round(t, c)
		sent := heads()
		slices.Sort(sent)
		if diff := cmp.Diff(step.sent, sent); diff != "" {
			t.Errorf("HEAD requests after %s (-want +got):\n%s", step.after, diff)
		}
		if diff := cmp.Diff(step.stored, stored()); diff != "" {
			t.Errorf("stored after %s (-want +got):\n%s", step.after, diff)
		}
	}
}

// TestDeclaredPricesAreStored checks that prices in an OpenAPI document are stored with the endpoints, follow the
// document, and stay while the document can't be read.
func TestDeclaredPricesAreStored(t *testing.T) {
	t.Parallel()
	w, o := newTown(t, "com")
	document := `{"openapi": "3.1.0", "paths": {
		"/a": {"get": {"x-payment-info": {"price": {"mode": "fixed", "currency": "USD", "amount": "0.004"}}}},
		"/b": {"get": {"x-payment-info": {"price": {"mode": "dynamic", "min": "0.01", "max": "0.5"}, "offers": [
			{"intent": "charge", "method": "tempo", "amount": "500", "currency": "0x20c0"},
			{"intent": "session", "method": "stripe", "amount": null, "currency": "usd"}]}}}}}`
	w.hosts["api.acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/openapi.json" && document == "":
			rw.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/openapi.json":
			io.WriteString(rw, document)
		default:
			http.NotFound(rw, r)
		}
	}
	m := open(t)
	m.list(t, oneEndpoint("acme", "http://api.acme.com", "/a"))
	now := &clock{now: dawn}
	c := crawler(t, m, Options{Now: now.Now, Bootstrap: "http://none.com/dns.json"}, o)
	fixed, dynamic := postgres.DeclaredPrice{Mode: "fixed", Currency: "USD", Amount: "0.004"},
		postgres.DeclaredPrice{Mode: "dynamic", Min: "0.01", Max: "0.5", Offers: []postgres.DeclaredOffer{
			{Protocol: "mpp", Method: "tempo", Intent: "charge", Currency: "0x20c0", Amount: "500"},
			{Protocol: "mpp", Method: "stripe", Intent: "session", Currency: "usd"}}}
	for day, step := range []struct {
		document string
		want     map[string]*postgres.DeclaredPrice
	}{
		{document, map[string]*postgres.DeclaredPrice{"/a": &fixed, "/b": &dynamic}},
		{"", map[string]*postgres.DeclaredPrice{"/a": &fixed, "/b": &dynamic}},
		{`{"openapi": "3.1.0", "paths": {"/a": {"get": {"responses": {"402": {}}}}}}`,
			map[string]*postgres.DeclaredPrice{"/a": nil, "/b": nil}},
	} {
		document = step.document
		now.set(dawn.Add(time.Duration(day) * 48 * time.Hour))
		gather(t, c)
		got := map[string]*postgres.DeclaredPrice{}
		for _, e := range m.facts(t, now.Now())["acme"].Endpoints {
			got[e.Path] = e.DeclaredPrice
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", day+1, diff)
		}
	}
}

func TestDeclaredPriceOfAnEndpoint(t *testing.T) {
	t.Parallel()
	endpoint := func(method, path string) postgres.Endpoint {
		return postgres.Endpoint{ID: postgres.EndpointID("acme", method, path), Method: method, Path: path,
			MethodDeclared: method != ""}
	}
	declares := func(method, path, amount, origin string) facts.Endpoint {
		return facts.Endpoint{Declared: facts.Declared{Method: method, Origin: origin,
			Price: &facts.Price{Amount: amount}}, Path: path}
	}
	stored := []postgres.Endpoint{endpoint("GET", "/a?x=1"), endpoint("POST", "/a"), endpoint("GET", "/users/42"),
		endpoint("GET", "/users/me"), endpoint("", "/open")}
	got := declaredPrices("acme", stored, []postgres.ListedEndpoint{{Method: "PUT", Path: "/new"}}, []facts.Endpoint{
		declares("GET", "/a", "1", facts.OriginOpenAPI), declares("POST", "/a", "2", facts.OriginOpenAPI),
		declares("GET", "/a", "9", facts.OriginWellKnown),
		declares("GET", "/users/me", "3", facts.OriginOpenAPI),
		declares("GET", "/users/{id}", "4", facts.OriginOpenAPI),
		declares("POST", "/open", "5", facts.OriginOpenAPI), declares("PUT", "/new", "6", facts.OriginOpenAPI),
		declares("GET", "/else", "7", facts.OriginOpenAPI),
		{Declared: facts.Declared{Method: "GET", Origin: facts.OriginOpenAPI}, Path: "/a"},
	})
	want := map[uuid.UUID]postgres.DeclaredPrice{}
	for _, p := range [][3]string{{"GET", "/a?x=1", "1"}, {"POST", "/a", "2"}, {"GET", "/users/me", "3"},
		{"GET", "/users/42", "4"}, {"", "/open", "5"}, {"PUT", "/new", "6"}} {
		want[postgres.EndpointID("acme", p[0], p[1])] = postgres.DeclaredPrice{Amount: p[2]}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
