package crawl

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/checks"
)

// v2 returns an x402 answer of version 2 for the body, after replacements in pairs of old and new text.
func v2(said ...string) string {
	return strings.NewReplacer(said...).Replace(`{"x402Version":2,"resource":{"url":"http://x"},` +
		`"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000",` +
		`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",` +
		`"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}`)
}

// TestChangeRecords changes a service's answer from visit to visit and checks the change records of each visit.
func TestChangeRecords(t *testing.T) {
	t.Parallel()
	const seller, other = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", "0x1111111111111111111111111111111111111111"
	for _, test := range []struct {
		name    string
		answers []string   // of one visit each; "" is a 404, "2…" a 200
		want    [][]string // types of the records of each visit
	}{
		{"the first set is no change", []string{v2()}, [][]string{nil}},
		{"nor is the first after failures", []string{"", "", v2()}, [][]string{nil, nil, nil}},
		{"the same terms in another spelling",
			[]string{v2(), v2(`"name":"USD Coin","version":"2"`, `"version" : "2", "name" : "USD Coin"`),
				v2(seller, strings.ToLower(seller))}, [][]string{nil, nil, nil}},
		{"another version of the protocol", []string{v2(), challenge}, [][]string{nil, {"schema_changed"}}},
		{"price", []string{v2(), v2("10000", "9000")}, [][]string{nil, {"price_changed"}}},
		{"recipient", []string{v2(), v2(seller, other)}, [][]string{nil, {"payto_changed"}}},
		{"timeout", []string{v2(), v2(":60", ":90")}, [][]string{nil, {"schema_changed"}}},
		{"all at once", []string{v2(), v2(":60", ":90", "10000", "1", seller, other)},
			[][]string{nil, {"schema_changed", "price_changed", "payto_changed"}}},
		{"there and back", []string{v2(), v2("10000", "9000"), v2()},
			[][]string{nil, {"price_changed"}, {"price_changed"}}},
		{"a network's legacy name is the same network", []string{v2(), v2("eip155:8453", "base")},
			[][]string{nil, nil}},
		{"also when the recipient changes at the same visit", []string{v2(), v2("eip155:8453", "base", seller, other)},
			[][]string{nil, {"payto_changed"}}},
		{"down, and back with another price", []string{v2(), "", v2("10000", "9000")},
			[][]string{nil, nil, {"price_changed"}}},
		{"free, and back", []string{v2(), "200", v2()}, [][]string{nil, nil, nil}},
		{"cannot be paid, and back with another price", []string{v2(), v2("10000", "0.01"), v2("10000", "9000")},
			[][]string{nil, {"schema_changed"}, {"schema_changed"}}},
		{"members that differ in every answer are no change",
			[]string{v2(`"version":"2"`, `"version":"2","nonce":"1"`),
				v2(`"version":"2"`, `"version":"2","nonce":"2"`)}, [][]string{nil, nil}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var visit atomic.Int64
			base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch body := test.answers[visit.Load()]; body {
				case "":
					http.NotFound(w, r)
				case "200":
					fmt.Fprintln(w, "{}")
				default:
					pay(w, body)
				}
			}))
			m := open(t)
			m.list(t, oneEndpoint("acme", base, "/x"))
			now := &clock{}
			c := crawler(t, m, Options{Now: now.Now}, o)
			var got [][]string
			for n := range test.answers {
				visit.Store(int64(n))
				now.set(dawn.Add(time.Duration(n) * time.Hour))
				round(t, c)
				var types []string
				for _, change := range slices.Backward(m.facts(t, now.Now())["acme"].Changes) {
					if change.ObservedAt.Equal(now.Now()) {
						types = append(types, change.Type)
					}
				}
				got = append(got, types)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("records of each visit (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRunGoesOn checks that services are visited as they become due until the context ends, which is no error.
func TestRunGoesOn(t *testing.T) {
	t.Parallel()
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pay(w, challenge) }))
	m := open(t)
	l := oneEndpoint("acme", base, "/x")
	l.CreatedAt, l.Interval = time.Now(), 10*time.Millisecond
	m.list(t, l)
	stored := make(chan []checks.Visit, 100)
	c := crawler(t, m, Options{Changed: func(v []checks.Visit) { stored <- v }}, o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for range 3 {
		<-stored
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run with an ended context: %v, want no error", err)
	}
}

// TestRoundWithoutDatabase checks that a round whose table disappears ends with an error and does not hang.
func TestRoundWithoutDatabase(t *testing.T) {
	t.Parallel()
	hit := make(chan struct{})
	gone := make(chan struct{})
	base, o := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			close(hit)
		}
		<-gone
		pay(w, challenge)
	}))
	m := open(t)
	m.list(t, oneEndpoint("acme", base, "/x"))
	now := &clock{now: dawn}
	c := crawler(t, m, Options{Now: now.Now}, o)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Round(t.Context())
		ended <- err
	}()
	<-hit
	if _, err := m.conn.Exec(t.Context(), `DROP TABLE service_states CASCADE`); err != nil { // each visit writes there
		t.Fatal(err)
	}
	close(gone)
	err := <-ended // of the visit, or of the search for further services, whichever meets the missing table first
	if err == nil || !strings.Contains(err.Error(), "record 1 visits") &&
		!strings.Contains(err.Error(), "take due services") {
		t.Errorf("round whose visits can't be stored: %v", err)
	}
}

// TestRoundThatTakesNothing checks that a round that can't lease the services that are due returns an error, unlike one
// without any service that is due.
func TestRoundThatTakesNothing(t *testing.T) {
	t.Parallel()
	_, o := local(t, http.NotFoundHandler())
	m := open(t)
	m.list(t, oneEndpoint("acme", "http://127.0.0.1:1", "/x"))
	if _, err := m.conn.Exec(t.Context(), `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''nothing is taken''; END';
		CREATE TRIGGER refuse BEFORE UPDATE ON service_states FOR EACH ROW EXECUTE FUNCTION refuse()`); err != nil {
		t.Fatal(err)
	}
	now := &clock{now: dawn}
	report, err := crawler(t, m, Options{Now: now.Now}, o).Round(t.Context())
	if err == nil || !strings.Contains(err.Error(), "nothing is taken") {
		t.Errorf("round that can't lease services: %+v, %v", report, err)
	}
}
