package postgres_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// TestResponsesOfVerdict checks that an endpoint keeps its newest envelope, the conclusive response after it, and the
// inconclusive one after that, and that a newer response deletes an older one.
func TestResponsesOfVerdict(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("acme")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(t.Context(), "", start, time.Minute, 10)
	if err != nil || len(due) != 1 {
		t.Fatalf("due: %d services, %v", len(due), err)
	}
	endpoint := due[0].Endpoints[0].ID
	now := start
	said := func(envelope, conclusive bool, status int, body string) checks.EndpointVisit {
		e := checks.EndpointVisit{ID: endpoint, ProbedAt: now, Class: "c", Reason: body}
		exchange := checks.Exchange{Class: "c", Reason: body, Method: "GET",
			RequestHeader: http.Header{"User-Agent": {"u"}},
			RequestBody:   []byte("{}\x00"), Redirects: []string{"https://b.test"}, ResponseTimeMS: new(7),
			Phases: &checks.Phases{DNS: 0.25}}
		switch {
		case envelope:
			e.Envelope = &checks.Envelope{EndpointID: endpoint, ReceivedAt: now, Method: "GET", StatusCode: status,
				Header: http.Header{}, Body: []byte(body), SHA256: []byte(body), Exchange: exchange}
		default:
			e.Response = &checks.Response{EndpointID: endpoint, Conclusive: conclusive, ReceivedAt: now,
				Method: "GET",
				URL:    "u", Header: http.Header{"Server": {body}},
				Body: []byte(body), TLSVerified: true, Exchange: exchange, SHA256: []byte(body)}
			if status != 0 {
				e.Response.StatusCode = &status
			}
		}
		return e
	}
	type storedResponses struct{ Envelope, Answer, Inconclusive string }
	for i, step := range []struct {
		name                 string
		envelope, conclusive bool
		status               int
		body                 string
		want                 storedResponses
	}{
		{"no answer", false, true, 0, "dead", storedResponses{Answer: "dead 0"}},
		{"a filter", false, false, 403, "filter", storedResponses{Answer: "dead 0", Inconclusive: "filter 1"}},
		{"dead again", false, true, 0, "dead", storedResponses{Answer: "dead 2"}},
		{"a 402", true, true, 402, "terms", storedResponses{Envelope: "terms 3"}},
		{"the same 402", true, true, 402, "terms", storedResponses{Envelope: "terms 4"}},
		{"rate limited", false, false, 429, "slow down",
			storedResponses{Envelope: "terms 4", Inconclusive: "slow down 5"}},
		{"an error", false, true, 500, "boom", storedResponses{Envelope: "terms 4", Answer: "boom 6"}},
		{"another error", false, true, 503, "bang", storedResponses{Envelope: "terms 4", Answer: "bang 7"}},
		{"paid again", true, true, 402, "new terms", storedResponses{Envelope: "new terms 8"}},
	} {
		now = start.Add(time.Duration(i) * time.Minute)
		v := visit(due[0], now)
		v.Endpoints = []checks.EndpointVisit{said(step.envelope, step.conclusive, step.status, step.body)}
		if err := db.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
			t.Fatal(err)
		}
		var got storedResponses
		err := db.Read(t.Context(), func(r *postgres.Reader) error {
			f, err := r.Facts(t.Context(), now, 0)
			if err != nil {
				return err
			}
			at := func(received time.Time) string {
				return " " + string(rune('0'+int(received.Sub(start)/time.Minute)))
			}
			for _, e := range f.Services[0].Endpoints {
				if e.ID != endpoint {
					continue
				}
				if e.Envelope != nil {
					got.Envelope = string(e.Envelope.Body) + at(e.Envelope.ReceivedAt)
				}
				if e.Conclusive != nil {
					got.Answer = string(e.Conclusive.Body) + at(e.Conclusive.ReceivedAt)
				}
				if e.Inconclusive != nil {
					got.Inconclusive = string(e.Inconclusive.Body) + at(e.Inconclusive.ReceivedAt)
				}
				if a := e.Conclusive; a != nil { // what went in comes out
					want := said(false, true, step.status, step.body).Response
					if diff := cmp.Diff(want, a, cmp.Transformer("utc", time.Time.UTC)); step.conclusive && diff != "" {
						t.Errorf("%s (-told +kept):\n%s", step.name, diff)
					}
				}
				if v := e.Envelope; v != nil && step.envelope {
					if diff := cmp.Diff(said(true, true, 402, step.body).Envelope.Exchange, v.Exchange); diff != "" {
						t.Errorf("%s: exchange (-told +kept):\n%s", step.name, diff)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.name, diff)
		}
	}
}
