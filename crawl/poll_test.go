package crawl

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/polls"
)

// listFacilitator stores a facilitator with a URL.
func (m *memory) listFacilitator(t *testing.T, id, url string) {
	t.Helper()
	f := ledger.Facilitator{ID: id, Name: id, WebsiteURL: "https://" + id + ".test", UpstreamStatus: "merged"}
	if url != "" {
		f.FacilitatorURL = &url
	}
	if _, err := m.ImportFacilitators(t.Context(), []ledger.Facilitator{f}); err != nil {
		t.Fatal(err)
	}
}

// polled returns what is known of a facilitator from polls.
func (m *memory) polled(t *testing.T, now time.Time, id string) polls.FacilitatorFacts {
	t.Helper()
	f, err := m.Polled(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range f.Facilitators {
		if f.FacilitatorID == id {
			return f
		}
	}
	return polls.FacilitatorFacts{}
}

const (
	supportedV2 = `{"kinds": [{"x402Version": 2, "scheme": "exact", "network": "eip155:8453"}],
		"extensions": ["bazaar"], "signers": {"eip155:*": ["0x1111111111111111111111111111111111111111"]}}`
	otherSigner = `{"kinds": [{"x402Version": 2, "scheme": "exact", "network": "eip155:8453"}],
		"signers": {"eip155:*": ["0x2222222222222222222222222222222222222222"]}}`
)

// facilitatorServer serves answers by path on loopback, which a test may change between polls.
type facilitatorServer struct {
	*httptest.Server
	requests []string
	answer   map[string]http.HandlerFunc
}

func newFacilitatorServer(t *testing.T) *facilitatorServer {
	t.Helper()
	s := &facilitatorServer{answer: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
		if h := s.answer[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func send(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

// pollCrawler returns a crawler without jitter that may ask loopback, every quarter of an hour.
func pollCrawler(t *testing.T, m *memory, now *clock) *Crawler {
	t.Helper()
	return crawler(t, m, Options{FacilitatorEvery: 15 * time.Minute, Now: now.Now, Rand: func() float64 { return 0.5 }},
		probe.Options{Guard: &probe.Guard{AllowPrivate: []string{"127.0.0.1"}}})
}

func poll(t *testing.T, c *Crawler, want PollReport) {
	t.Helper()
	got, err := c.PollFacilitators(t.Context())
	if err != nil || got != want {
		t.Fatalf("PollFacilitators = %+v, %v, want %+v", got, err, want)
	}
}

// TestPollFacilitators polls a facilitator through an answer, an outage with longer pauses, and another answer.
func TestPollFacilitators(t *testing.T) {
	t.Parallel()
	m, now := open(t), &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	s := newFacilitatorServer(t)
	m.listFacilitator(t, "acme", s.URL+"/x402/")
	m.listFacilitator(t, "nowhere", "")
	c := pollCrawler(t, m, now)
	s.answer["/x402/supported"], s.answer["/x402/health"] = send(supportedV2), send(`{"status":"ok"}`)
	start := now.Now()
	poll(t, c, PollReport{1, 1})
	poll(t, c, PollReport{}) // nothing is due
	s.answer["/x402/supported"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }
	for _, pause := range []time.Duration{15, 15, 30, 60, 60} { // the interval, doubled up to four times
		now.set(now.Now().Add(pause*time.Minute - time.Second))
		poll(t, c, PollReport{})
		now.set(now.Now().Add(time.Second))
		poll(t, c, PollReport{1, 0})
	}
	now.set(now.Now().Add(time.Hour))
	s.answer["/x402/supported"] = send(otherSigner)
	poll(t, c, PollReport{1, 1})

	f := m.polled(t, now.Now(), "acme")
	sums := map[string]string{}
	for _, d := range f.Days {
		sums[d.Document+" "+d.Outcome] = fmt.Sprintf("%d polls, %d s, %d latencies", d.Polls, d.Seconds,
			len(d.Latencies))
	}
	if diff := cmp.Diff(map[string]string{
		"supported answered": "2 polls, 1800 s, 2 latencies",
		"supported status":   "5 polls, 13500 s, 5 latencies",
		"health answered":    "7 polls, 15300 s, 7 latencies",
	}, sums); diff != "" {
		t.Errorf("days (-want +got):\n%s", diff)
	}
	end := now.Now()
	if diff := cmp.Diff([]polls.Signer{
		{Networks: "eip155:*", Address: "0x1111111111111111111111111111111111111111", Origin: "signers", First: start,
			Last: start},
		{Networks: "eip155:*", Address: "0x2222222222222222222222222222222222222222", Origin: "signers", First: end,
			Last: end},
	}, f.Signers); diff != "" {
		t.Errorf("signers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]polls.Kind{{Version: 2, Scheme: "exact", Network: "eip155:8453", First: start, Last: end}},
		f.Kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if f.AnsweredAt == nil || !f.AnsweredAt.Equal(end) || len(f.Extensions) != 0 {
		t.Errorf("answered at %v with extensions %v, want %v without any", f.AnsweredAt, f.Extensions, end)
	}
	for _, r := range s.requests {
		if !strings.HasPrefix(r, "GET /x402/") {
			t.Errorf("request %q, want unpaid GETs alone", r)
		}
	}

	m.listFacilitator(t, "acme", s.URL+"/other") // a new URL is asked at once, and forgets what the old one said
	poll(t, c, PollReport{1, 0})
	if f := m.polled(t, now.Now(), "acme"); len(f.Signers) != 0 || len(f.Kinds) != 0 || f.AnsweredAt != nil {
		t.Errorf("after a change of the URL: %+v, want nothing of the former one", f)
	}
}

// TestPollHostileFacilitators checks that no answer is believed beyond its limits, or fetched from where it must not
// be.
func TestPollHostileFacilitators(t *testing.T) {
	t.Parallel()
	m, now := open(t), &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	private := newFacilitatorServer(t)
	private.answer["/supported"] = send(supportedV2)
	wants := map[string]string{}
	for name, h := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"large": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"kinds":[],"pad":"`+strings.Repeat("x", 10<<20)+`"}`)
		}, polls.Unreadable},
		"million": {send(`{"kinds":[` + strings.Repeat("1,", 1_000_000) + `1]}`), polls.Unreadable},
		"page":    {send("<html>"), polls.Unreadable},
		"empty":   {send(`{"kinds":[]}`), polls.Answered},
		"teapot":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) }, polls.Status},
		"paid":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(402) }, polls.Status},
		"metadata": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusFound)
		}, polls.Redirected},
		"inside": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(private.URL, "127.0.0.1", "127.0.0.2", 1)+"/supported",
				http.StatusFound)
		}, polls.Redirected},
		"loop": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}, polls.Redirected},
		"liar": {send(`{"kinds":[],"signers":{"eip155:*":["0x0000000000000000000000000000000000000000",
			"0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"]}}`), polls.Answered},
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, polls.Unreachable},
	} {
		s := newFacilitatorServer(t)
		s.answer["/supported"] = h.handler
		m.listFacilitator(t, name, s.URL)
		wants[name] = h.want
	}
	m.listFacilitator(t, "private", "http://10.0.0.1")
	wants["private"] = polls.Refused
	m.listFacilitator(t, "closed", "http://127.0.0.1:1") // a port that was free a moment ago may be another test's
	wants["closed"] = polls.Unreachable
	poll(t, pollCrawler(t, m, now), PollReport{len(wants), 2})
	got := map[string]string{}
	facts, err := m.Polled(t.Context(), now.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts.Facilitators {
		got[f.FacilitatorID] = f.Outcome
		if len(f.Kinds)+len(f.Signers) != 0 {
			t.Errorf("%s: %d kinds and %d signers, want none", f.FacilitatorID, len(f.Kinds), len(f.Signers))
		}
		if (f.Detail == "") != (f.Outcome == polls.Answered) || len(f.Detail) > 4*maxPollDetail {
			t.Errorf("%s: %s with the reason %q", f.FacilitatorID, f.Outcome, f.Detail)
		}
	}
	if diff := cmp.Diff(wants, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if len(private.requests) != 0 {
		t.Errorf("a redirect led to requests %v", private.requests)
	}
}

// TestPollNeedsContact checks that no facilitator of others is asked without a contact, and none at all if it is off.
func TestPollNeedsContact(t *testing.T) {
	t.Parallel()
	m, now := open(t), &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	s := newFacilitatorServer(t)
	s.answer["/supported"] = send(supportedV2)
	m.listFacilitator(t, "own", s.URL)
	m.listFacilitator(t, "other", "https://facilitator.acme-pay.dev")
	guard := probe.Options{Guard: &probe.Guard{AllowPrivate: []string{"127.0.0.1"}}}
	poll(t, crawler(t, m, Options{Now: now.Now}, guard), PollReport{})
	poll(t, crawler(t, m, Options{Now: now.Now, FacilitatorEvery: time.Hour, NoContact: true}, guard), PollReport{1, 1})
}
