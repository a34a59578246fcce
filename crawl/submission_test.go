package crawl

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
	"tollbook/site"
)

func submissions(t *testing.T, m *memory, o SubmissionOptions, p probe.Options) *Submissions {
	t.Helper()
	o.HostGap = time.Microsecond
	s := NewSubmissions(m.DB, o, p)
	t.Cleanup(s.Close)
	return s
}

// TestProbeSubmission checks the result of a probe and the reason for each endpoint that does not ask to be paid.
func TestProbeSubmission(t *testing.T) {
	t.Parallel()
	w, p := newTown(t, "com")
	w.hosts["acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/quote":
			pay(rw, hostileBody(hostileRow("10000", "", "")))
		case "/v1/post":
			if r.Method == http.MethodPost {
				pay(rw, hostileBody(hostileRow("10000", "", "")))
			}
		case "/v1/free":
			io.WriteString(rw, "{}")
		case "/v1/metadata":
			http.Redirect(rw, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
		case "/v1/endless":
			rw.WriteHeader(http.StatusPaymentRequired)
			for block := []byte(strings.Repeat("x", 64<<10)); ; {
				if _, err := rw.Write(block); err != nil {
					return
				}
			}
		default:
			http.NotFound(rw, r)
		}
	}
	s := submissions(t, open(t), SubmissionOptions{}, p)
	got := s.Probe(t.Context(), "http://acme.com/v1",
		[]string{"/quote", "POST /post", "/free", "/metadata", "/endless", "/gone", "/x/{id}"})
	want := site.ProbeResult{EndpointsFound: 2, Grade: "C", Errors: []string{
		"/free: answers 200 OK without asking for payment",
		"/metadata: redirects to an address that is not visited",
		"/endless: answers 402 without readable payment requirements",
		"/gone: answers 404 Not Found",
		"/x/{id}: the address has a placeholder, {id}, that only a caller can fill",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("probe (-want +got):\n%s", diff)
	}
}

// TestProbeSubmittedTools checks that the paid tools of a submitted MCP server are named with their prices.
func TestProbeSubmittedTools(t *testing.T) {
	t.Parallel()
	w, p := newTown(t, "com")
	server, calls := toolServer(t, nil)
	w.hosts["acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		r.Host = "localhost" // the SDK refuses other names on loopback
		server.ServeHTTP(rw, r)
	}
	s := submissions(t, open(t), SubmissionOptions{Limit: time.Minute}, p)
	got := s.Probe(t.Context(), "http://acme.com", []string{"/mcp"})
	want := site.ProbeResult{EndpointsFound: 1, Grade: "C",
		PaidTools: []string{"in-text: $0.01 in USDC on eip155:8453"},
		Errors: []string{"/mcp#broken: the tool reports an error before it asks for payment",
			"/mcp#given-away: the tool answers without asking for payment"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("probe (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"broken": 1, "given-away": 1, "in-text": 1}, calls()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// ambush resolves every name to loopback.
type ambush struct{ lookups atomic.Int64 }

func (a *ambush) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a.lookups.Add(1)
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// TestSubmissionsVisitNothingPrivate checks that the probe of a submission never connects to a private host, by address
// or by name, even where the crawl may. The submitter does not learn what a name resolves to.
func TestSubmissionsVisitNothingPrivate(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reached := make(chan struct{}, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			reached <- struct{}{}
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	resolver := &ambush{}
	s := submissions(t, open(t), SubmissionOptions{},
		probe.Options{Guard: &probe.Guard{Resolver: resolver,
			AllowPrivate: []string{"127.0.0.1", "acme.example", "localhost"}}})
	for _, base := range []string{"http://127.0.0.1:" + port, "http://acme.example:" + port,
		"http://[::ffff:127.0.0.1]:" + port, "http://localhost:" + port, "http://2130706433:" + port} {
		got := s.Probe(t.Context(), base, []string{"/a"})
		if diff := cmp.Diff(site.ProbeResult{Errors: []string{"/a: " + privateReason}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", base, diff)
		}
	}
	if resolver.lookups.Load() == 0 {
		t.Error("the name was never resolved: the test proves nothing")
	}
	select {
	case <-reached:
		t.Error("a private address was reached")
	default:
	}
}

// TestSubmissionProbeIsBounded checks that a probe ends in time and reports the endpoints that it did not reach.
func TestSubmissionProbeIsBounded(t *testing.T) {
	t.Parallel()
	w, p := newTown(t, "com")
	w.hosts["slow.com"] = func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/quote" {
			pay(rw, hostileBody(hostileRow("10000", "", "")))
			return
		}
		<-r.Context().Done()
	}
	var got site.ProbeResult
	m, limit := open(t), 300*time.Millisecond
	for ; limit < time.Minute; limit *= 2 { // until the limit suffices for the endpoint that answers
		s := submissions(t, m, SubmissionOptions{Limit: limit}, p)
		if got = s.Probe(t.Context(), "http://slow.com",
			[]string{"/quote", "/never", "POST /later"}); got.EndpointsFound > 0 {
			break
		}
	}
	reason := fmt.Sprintf(timeoutReason, limit)
	if diff := cmp.Diff(site.ProbeResult{EndpointsFound: 1, Grade: "C",
		Errors: []string{"/never: " + reason, "POST /later: " + reason}}, got); diff != "" {
		t.Errorf("probe (-want +got):\n%s", diff)
	}
}

// TestQueuedSubmissionsAreProbed checks that a submission whose prober died is probed by the next crawler, once.
func TestQueuedSubmissionsAreProbed(t *testing.T) {
	t.Parallel()
	m := open(t)
	w, p := newTown(t, "com")
	w.hosts["acme.com"] = func(rw http.ResponseWriter, r *http.Request) {
		pay(rw, hostileBody(hostileRow("10000", "", "")))
	}
	receipt, err := m.ReceiveSubmission(t.Context(), site.IncomingSubmission{
		Submission: site.Submission{URL: "http://acme.com", Email: "a@acme.com", ServiceName: "Acme", Description: "d",
			WebsiteURL: "http://acme.com", Category: "AI", Endpoints: []string{"/a"}},
		Domain: "acme.com", Client: "c", At: noon, Probe: true,
	})
	if err != nil || !receipt.Probe {
		t.Fatalf("%+v, %v", receipt, err)
	}
	now := &clock{now: noon.Add(30 * time.Second)}
	c := crawler(t, m, Options{Now: now.Now}, p)
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{30 * time.Second, 0}, {2 * time.Minute, 1}, {time.Hour, 0}} {
		now.set(noon.Add(step.at))
		if n, err := c.ProbeSubmissions(t.Context()); n != step.want || err != nil {
			t.Errorf("after %s: %d submissions probed, want %d, error %v", step.at, n, step.want, err)
		}
	}
	state, err := m.SubmissionState(t.Context(), receipt.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&site.ProbeResult{EndpointsFound: 1, Errors: []string{}}, state.ProbeResult); diff != "" ||
		w.count("acme.com /a") != 1 {
		t.Errorf("%d requests (-want +got):\n%s", w.count("acme.com /a"), diff)
	}
}
