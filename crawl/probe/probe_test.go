package probe

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// envelope is a valid answer of a version 2 service, recorded from the official SDK, with the recipient replaced.
const envelope = `{"x402Version":2,"error":"Payment required","resource":{"url":"http://127.0.0.1/bare",` +
	`"description":"","mimeType":""},` +
	`"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000",` +
	`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",` +
	`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":300,"extra":{"name":"USD ` +
	`Coin","version":"2"}}]%s}`

func envelopeHeader(extensions string) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, envelope, extensions))
}

// demand writes a valid answer that asks to be paid.
func demand(w http.ResponseWriter) {
	w.Header().Set("Payment-Required", envelopeHeader(""))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusPaymentRequired)
	io.WriteString(w, "{}")
}

// A recorder stores the requests that a service gets.
type recorder struct {
	http.Handler
	mu   sync.Mutex
	seen []string // "METHOD path body"
}

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	line := r.Method + " " + r.URL.RequestURI()
	if len(body) > 0 {
		line += " " + string(body)
	}
	s.mu.Lock()
	s.seen = append(s.seen, line)
	s.mu.Unlock()
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	s.Handler.ServeHTTP(w, r)
}

// serve starts a service on loopback and a prober that may connect to it.
func serve(t *testing.T, h http.HandlerFunc) (*Prober, *recorder, string) {
	t.Helper()
	service := &recorder{Handler: h}
	server := httptest.NewServer(service)
	t.Cleanup(server.Close)
	p := New(Options{Guard: &Guard{AllowPrivate: []string{"127.0.0.1"}}, RequestTimeout: time.Minute})
	t.Cleanup(p.Close)
	return p, service, server.URL
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
	}
}

// byMethod answers each method with its own handler, other methods with 405.
func byMethod(handlers map[string]http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if h := handlers[r.Method]; h != nil {
			h(w, r)
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func paid(w http.ResponseWriter, _ *http.Request) { demand(w) }

func TestProbe(t *testing.T) {
	t.Parallel()
	type want struct {
		Verdict  Verdict
		Class    string
		Method   string
		Status   int
		Requests []string
	}
	tests := []struct {
		name    string
		service http.HandlerFunc
		target  Target // URL is the path
		want    want
	}{
		{"1 v2 clean", paid, Target{URL: "/x?a=1"}, want{Paid, ClassPaidOK, "GET", 402, []string{"GET /x?a=1"}}},
		{"9 v1 body", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(402)
			io.WriteString(w, `{"x402Version":1,"error":"X-PAYMENT header is `+
				`required","accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"10000",`+
				`"resource":"http://127.0.0.1/x","description":"","mimeType":"",`+
				`"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,`+
				`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}]}`)
		}, Target{}, want{Paid, ClassPaidOK, "GET", 402, []string{"GET /"}}},
		{"16 accepts nothing", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(402)
			io.WriteString(w, `{"x402Version":2,"accepts":[],"extensions":{"sign-in-with-x":{}}}`)
		}, Target{}, want{Inconclusive, ClassSignIn, "GET", 402, []string{"GET /"}}},
		{"29 MPP only", status(402, "WWW-Authenticate",
			`Payment id="1", realm="x", method="tempo", intent="charge", request="e30"`), Target{},
			want{Broken, ClassOther402, "GET", 402, []string{"GET /"}}},
		{"31 L402", status(402, "WWW-Authenticate", `L402 macaroon="a", invoice="b"`), Target{},
			want{Broken, ClassOther402, "GET", 402, []string{"GET /"}}},
		{"33 disabled deployment", status(402, "X-Vercel-Error", "DEPLOYMENT_DISABLED"), Target{},
			want{Failed, ClassHostDisabled, "GET", 402, []string{"GET /"}}},
		{"36 free by GET, paid by POST", byMethod(map[string]http.HandlerFunc{"GET": status(200), "POST": paid}),
			Target{}, want{Paid, ClassPaidOK, "POST", 402, []string{"GET /", "POST / {}"}}},
		{"36 the second time", byMethod(map[string]http.HandlerFunc{"GET": status(200), "POST": paid}),
			Target{MethodHint: "POST"}, want{Paid, ClassPaidOK, "POST", 402, []string{"POST / {}"}}},
		{"37 wants its sample", wantsSample, Target{Method: "POST", Body: []byte(`{"q":"x"}`)},
			want{Paid, ClassPaidOK, "POST", 402, []string{`POST / {"q":"x"}`}}},
		{"37 declares its sample", wantsSample, Target{Method: "POST"},
			want{Paid, ClassPaidOK, "POST", 402, []string{"POST / {}", `POST / {"q":"x"}`}}},
		{"37 nobody knows the sample", status(400), Target{},
			want{Inconclusive, ClassNeedsInput, "GET", 400, []string{"GET /", "POST / {}"}}},
		{"39 challenge", status(403, "Cf-Mitigated", "challenge"), Target{},
			want{Inconclusive, ClassChallenge, "GET", 403, []string{"GET /"}}},
		{"40 rate limited", status(429, "Retry-After", "7"), Target{},
			want{Inconclusive, ClassRateLimited, "GET", 429, []string{"GET /"}}},
		{"41 error", status(500), Target{Method: "GET"}, want{Failed, ClassServerError, "GET", 500, []string{"GET /"}}},
		{"405 with Allow", byMethod(map[string]http.HandlerFunc{"GET": status(405, "Allow", "POST"), "POST": paid}),
			Target{Method: "GET"}, want{Paid, ClassPaidOK, "POST", 402, []string{"GET /", "POST / {}"}}},
		{"gone", status(404), Target{}, want{Failed, ClassGone, "GET", 404, []string{"GET /", "POST / {}"}}},
		{"free", status(204), Target{Method: "DELETE"}, want{Open, ClassOpen, "DELETE", 204, []string{"DELETE /"}}},
		{"placeholder", paid, Target{URL: "/users/{id}"}, want{Inconclusive, ClassNeedsInput, "", 0, nil}},
		{"38 loop", status(302, "Location", "/"), Target{Method: "GET"},
			want{Failed, ClassRedirect, "GET", 302, []string{"GET /"}}},
		{"38 elsewhere", status(302, "Location", "http://example.com/"), Target{Method: "GET"},
			want{Failed, ClassRedirect, "GET", 302, []string{"GET /"}}},
		{"38 to a mail server", status(302, "Location", "//127.0.0.2:25/"), Target{Method: "GET"},
			want{Failed, ClassRedirect, "GET", 302, []string{"GET /"}}},
		{"101", status(101), Target{Method: "GET"}, want{Failed, ClassInvalidHTTP, "GET", 101, []string{"GET /"}}},
		{"999", status(999), Target{Method: "GET"}, want{Failed, ClassInvalidHTTP, "GET", 999, []string{"GET /"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, service, base := serve(t, tt.service)
			if tt.target.URL == "" {
				tt.target.URL = "/"
			}
			tt.target.URL = base + tt.target.URL
			got := p.Probe(t.Context(), tt.target)
			if diff := cmp.Diff(tt.want, want{got.Verdict, got.Class, got.Method, got.Status,
				service.seen}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", got.Reason, diff)
			}
			if got.Requests != len(service.seen) || got.Reason == "" || got.StartedAt.IsZero() {
				t.Errorf("Requests %d, Reason %q, StartedAt %s", got.Requests, got.Reason, got.StartedAt)
			}
		})
	}
}

// wantsSample validates input before it asks to be paid, as many sellers do, and declares its sample.
func wantsSample(w http.ResponseWriter, r *http.Request) {
	if body, _ := io.ReadAll(r.Body); string(body) == `{"q":"x"}` {
		demand(w)
		return
	}
	w.Header().Set("Payment-Required",
		envelopeHeader(`,"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"POST","bodyType":"json",`+
			`"body":{"q":"x"}}}}}`))
	w.WriteHeader(http.StatusBadRequest)
}

func TestResultOfAPaidEndpoint(t *testing.T) {
	t.Parallel()
	p, _, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new?a=1", http.StatusPermanentRedirect)
			return
		}
		w.Header().Set("Retry-After", "90")
		demand(w)
	})
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	p.now = func() time.Time { return now }
	got := p.Probe(t.Context(), Target{URL: base + "/old#fragment"})
	type summary struct {
		Method, URL, FinalURL, AnswerURL, Body string
		Redirects                              []string
		Attempts, Requests                     int
		StartedAt                              time.Time
		RetryAfter                             time.Duration
		Amount                                 string
		TLSVerified                            bool
	}
	want := summary{
		Method: "GET", URL: base + "/new?a=1", FinalURL: base + "/new?a=1", AnswerURL: base + "/new?a=1", Body: "{}",
		Redirects: []string{base + "/new?a=1"}, Attempts: 1, Requests: 2, StartedAt: now, RetryAfter: 90 * time.Second,
		Amount: "10000",
	}
	if got.RetryAfter == nil || got.Captured.Envelope == nil {
		t.Fatalf("RetryAfter %v, Envelope %v", got.RetryAfter, got.Captured.Envelope)
	}
	have := summary{
		got.Sent.Method, got.Sent.URL, got.FinalURL, got.Answer.URL, string(got.Answer.Body),
		got.Redirects, got.Attempts, got.Requests, got.StartedAt, *got.RetryAfter,
		got.Captured.Envelope.Accepts[0].Amount, got.TLSVerified,
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.ResponseTime <= 0 || got.Phases.FirstByte <= 0 {
		t.Errorf("ResponseTime %s, Phases %+v", got.ResponseTime, got.Phases)
	}
}

// TestRequestHeaders checks the whole header of requests: it must not pay, track, or make a seller answer with HTML.
func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []http.Header
	p, _, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Clone())
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(200)
	})
	p.userAgent = "Tollbook/1.0 (+https://tollbook.example/bot)"
	for range 2 {
		result := p.Probe(t.Context(), Target{URL: base})
		if _, leaked := result.Sent.Header["Idempotency-Key"]; leaked {
			t.Error("Sent contains a header that was not sent")
		}
	}
	get := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Cache-Control": {"no-cache"},
		"User-Agent": {"Tollbook/1.0 (+https://tollbook.example/bot)"},
	}
	post := get.Clone()
	post.Set("Content-Type", "application/json")
	post.Set("Content-Length", "2")
	if diff := cmp.Diff([]http.Header{get, post, get, post}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	p, service, base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			http.Redirect(w, r, "/a", http.StatusTemporaryRedirect)
		}
	})
	var hosts []string
	p.pace = func(_ context.Context, host string) error {
		hosts = append(hosts, host)
		if len(hosts) == 4 {
			return errors.New("enough")
		}
		return nil
	}
	host := strings.TrimPrefix(base, "http://")
	p.Probe(t.Context(), Target{URL: base})
	if diff := cmp.Diff([]string{host, host, host}, hosts); diff != "" {
		t.Errorf("calls of Pace (-want +got):\n%s", diff)
	}
	got := p.Probe(t.Context(), Target{URL: base})
	if got.Class != ClassInterrupted || got.Requests != 1 || len(service.seen) != 5 {
		t.Errorf("%s after %d requests, %d in all; want interrupted after 1, 5 in all", got.Class, got.Requests,
			len(service.seen))
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p, _, base := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	for _, when := range []string{"during", "before"} {
		got := p.Probe(ctx, Target{URL: base})
		if got.Verdict != Inconclusive || got.Class != ClassInterrupted || got.Reason != "the probe was interrupted" {
			t.Errorf("%s: %s %s (%s), want inconclusive interrupted", when, got.Verdict, got.Class, got.Reason)
		}
	}
}

// TestConnectionsAreReused checks that a second round reuses the first one's connection, and that a POST survives a
// connection that the server closed meanwhile.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	opened := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { demand(w) }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if s == http.StateNew {
			opened++
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	p := New(Options{Guard: &Guard{AllowPrivate: []string{"127.0.0.1"}}})
	t.Cleanup(p.Close)
	target := Target{URL: server.URL, Method: "POST"}
	for round, want := range []int{1, 1, 2} {
		if round == 2 {
			server.CloseClientConnections()
		}
		if got := p.Probe(t.Context(), target); got.Verdict != Paid {
			t.Errorf("round %d: %s (%s)", round, got.Verdict, got.Reason)
		}
		mu.Lock()
		if opened != want {
			t.Errorf("round %d: %d connections opened, want %d", round, opened, want)
		}
		mu.Unlock()
	}
}
