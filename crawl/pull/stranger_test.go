package pull_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/pull"
	"tollbook/site/postgres"
)

// terms ask for 0.01 USDC on Base.
const terms = `{"x402Version":1,"error":"pay","accepts":[{"scheme":"exact","network":"base",` +
	`"maxAmountRequired":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",` +
	`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"resource":"http://x",` +
	`"description":"d","mimeType":"application/json"}]}`

// host is a service on this machine. Its paths ask for payment, or do not exist.
type host struct {
	*httptest.Server
	mu      sync.Mutex
	paid    map[string]bool
	openAPI string          // "" for none
	asked   map[string]bool // paths that were requested since the last reset
}

func newHost(t *testing.T, paid ...string) *host {
	h := &host{paid: map[string]bool{}, asked: map[string]bool{}}
	for _, path := range paid {
		h.paid[path] = true
	}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.asked[r.URL.Path] = true
	isPaid, document := h.paid[r.URL.Path], h.openAPI
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case isPaid:
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = io.WriteString(w, terms)
	case r.URL.Path == "/openapi.json" && document != "":
		_, _ = io.WriteString(w, document)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// set changes what the host answers.
func (h *host) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// takeInvented returns how many of the invented paths were requested since the last call.
func (h *host) takeInvented() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for path := range maps.Keys(h.asked) {
		if strings.HasPrefix(path, "/invented") {
			n++
		}
	}
	h.asked = map[string]bool{}
	return n
}

// openAPIOf returns an OpenAPI document with a POST operation for each path.
func openAPIOf(paths ...string) string {
	operations := make([]string, len(paths))
	for i, path := range paths {
		operations[i] = fmt.Sprintf(`%q: {"post": {"x-payment-info": {"protocols": ["x402"],
			"price": {"mode": "fixed", "currency": "USD", "amount": "0.01"}}, "responses": {"402": {}}}}`, path)
	}
	return `{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {` +
		strings.Join(operations, ",") + `}}`
}

// visitor returns the crawler of a directory, and a function that visits all its services now.
func (w *world) visitor(t *testing.T, h *host) (c *crawl.Crawler, visit func() crawl.Report) {
	c = crawl.New(w.db, crawl.Options{HostGap: time.Nanosecond, Hourly: -1, NoContact: true,
		Now: func() time.Time { return w.now }}, probe.Options{Guard: &probe.Guard{
		AllowPrivate: []string{h.Listener.Addr().String()}}})
	t.Cleanup(c.Close)
	return c, func() crawl.Report {
		w.now = w.now.Add(time.Hour)
		if _, err := w.conn.Exec(t.Context(), `UPDATE service_states SET next_check_at = $1`, w.now); err != nil {
			t.Fatal(err)
		}
		r, err := c.Round(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// facts returns the endpoints that a build reads of the one service, as "METHOD PATH".
func (w *world) facts(t *testing.T) (active, all []string) {
	t.Helper()
	err := w.db.Read(t.Context(), func(r *postgres.Reader) error {
		f, err := r.Facts(t.Context(), w.now, 0)
		if err != nil {
			return err
		}
		for _, e := range f.Services[0].Endpoints {
			all = append(all, e.Method+" "+e.Path)
			if e.IsActive(w.now) {
				active = append(active, e.Method+" "+e.Path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return active, all
}

// TestStrangersRows checks that the rows of a source spoil nothing of a service that is listed: its status, the
// endpoints that builds judge, and the places of the endpoints that its owner declares. A row counts once its endpoint
// asked for payment, and is deleted if it never does.
func TestStrangersRows(t *testing.T) {
	t.Parallel()
	for _, take := range []string{pull.TakeAll, pull.TakeAnswering} {
		t.Run(take, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "/paid")
			rows := make([]string, 300)
			for i := range rows {
				rows[i] = fmt.Sprintf(`{"resource":"%s/invented%03d","method":"GET"}`, h.URL, i)
			}
			source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, list(rows...))
			}))
			t.Cleanup(source.Close)
			of := newSource("a", "x402-discovery", source.URL+"/list")
			of.Take = take
			w := newDirectory(t, []pull.Source{of}, h.Listener.Addr().String())
			if err := w.db.AddListings(t.Context(), []postgres.Listing{{Slug: "acme", Name: "Acme", Description: "d",
				BaseURL: h.URL, Category: "AI", Source: "imported:file", CreatedAt: w.now,
				Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/paid"}}}}); err != nil {
				t.Fatal(err)
			}
			c, visit := w.visitor(t, h)
			if r := visit(); r.Online != 1 {
				t.Fatalf("before the pull: %+v, want the service online", r)
			}
			if r, err := w.puller.Pull(t.Context(), "a"); err != nil || r.Endpoints != 199 {
				t.Fatalf("pull: %+v, error %v; want 199 endpoints", r, err)
			}
			h.takeInvented()
			for n := range 3 {
				r := visit()
				if asked := h.takeInvented(); r.Online != 1 || asked < 1 || asked > 5 {
					t.Errorf("visit %d: %+v with requests to %d invented paths; want online, and 1 to 5", n, r, asked)
				}
			}
			active, all := w.facts(t)
			for _, list := range [][]string{active, all} {
				if diff := cmp.Diff([]string{"GET /paid"}, list); diff != "" {
					t.Errorf("endpoints that a build reads (-want +got)\n%s", diff)
				}
			}

			// The owner declares 150 endpoints, one of which the source listed before.
			own := []string{"POST /invented299"}
			paths := []string{"/invented299"}
			for i := range 149 {
				path := fmt.Sprintf("/own%03d", i)
				paths, own = append(paths, path), append(own, "POST "+path)
			}
			h.set(func() {
				h.openAPI = openAPIOf(paths...)
				for _, path := range paths {
					h.paid[path] = true
				}
			})
			if _, err := c.Gather(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, all = w.facts(t)
			if diff := cmp.Diff(append(own, "GET /paid"), all); diff != "" {
				t.Errorf("endpoints after the owner's document (-want +got)\n%s", diff)
			}
			if n := w.count(t, "endpoints"); n != 200 {
				t.Errorf("%d endpoints are stored, want 200", n)
			}
			if r := visit(); r.Online != 1 {
				t.Errorf("after the owner's document: %+v, want online", r)
			}

			// One row is right, as the source said.
			left := w.rows(t, `SELECT path FROM endpoints WHERE origin = 'catalogue' AND last_probed_at IS NULL
				ORDER BY path`)
			h.set(func() { h.paid[left[0]] = true })
			visit()
			if active, _ := w.facts(t); !slices.Contains(active, "GET "+left[0]) {
				t.Errorf("the endpoint %s asked for payment, but is not active", left[0])
			}
			h.set(func() { delete(h.paid, left[0]) })
			for range 8 { // the row's turn comes again
				visit()
			}
			if got := w.rows(t, `SELECT last_status FROM service_states`); got[0] != "degraded" {
				t.Errorf("an endpoint that asked for payment before fails: %s, want degraded", got[0])
			}
			h.set(func() { h.paid[left[0]] = true })

			// Those that never asked for payment are deleted.
			w.now = w.now.Add(15 * 24 * time.Hour)
			for range 10 {
				visit()
			}
			if _, err := c.Gather(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := w.rows(t, `SELECT path FROM endpoints WHERE origin = 'catalogue'`)
			if diff := cmp.Diff(left[:1], got); diff != "" {
				t.Errorf("rows of the source after 15 days (-want +got)\n%s", diff)
			}
		})
	}
}

// TestServiceOfStrangers checks that a service of which only a source says anything is visited, is never online without
// an endpoint that asked for payment, and is judged by those that did.
func TestServiceOfStrangers(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	rows := make([]string, 60)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"resource":"%s/invented%03d","method":"GET"}`, h.URL, i)
	}
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, list(rows...))
	}))
	t.Cleanup(source.Close)
	w := newDirectory(t, []pull.Source{newSource("a", "x402-discovery", source.URL+"/list")},
		h.Listener.Addr().String())
	if r, err := w.puller.Pull(t.Context(), "a"); err != nil || r.Services != 1 {
		t.Fatalf("pull: %+v, error %v; want one service", r, err)
	}
	c, visit := w.visitor(t, h)
	for n := range 3 {
		r := visit()
		if asked := h.takeInvented(); r.Offline != 1 || asked == 0 || asked > 25 {
			t.Errorf("visit %d: %+v with requests to %d paths; want offline, and 1 to 25", n, r, asked)
		}
	}
	if active, all := w.facts(t); len(active) != 0 || len(all) != 60 {
		t.Errorf("%d of %d endpoints are active, want 0 of 60", len(active), len(all))
	}
	h.set(func() { h.paid["/invented007"] = true })
	online := 0
	for range 12 {
		online += visit().Online
	}
	if r := visit(); r.Online != 1 || online == 0 {
		t.Errorf("one endpoint asks for payment: %+v, want online", r)
	}
	if active, all := w.facts(t); len(active) != 1 || len(all) != 1 {
		t.Errorf("%d of %d endpoints are active, want the one that asked for payment", len(active), len(all))
	}
	if _, err := c.Gather(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, "endpoints"); n != 60 {
		t.Errorf("%d endpoints after less than 14 days, want 60", n)
	}
}
