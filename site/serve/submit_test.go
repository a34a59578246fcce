package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// fakeStore is a store that can fail and wait. The tests of cmd/tollbook use the real store.
type fakeStore struct {
	mu       sync.Mutex
	received []site.IncomingSubmission
	results  map[string]site.ProbeResult
	fault    error         // returned by every call
	hold     chan struct{} // receiving waits for it, unless it is nil
	again    bool          // reports each submission as a repeated one
}

func (s *fakeStore) SubmissionCategories(context.Context) ([]string, error) {
	return site.Categories, s.fault
}

func (s *fakeStore) ReceiveSubmission(ctx context.Context, r site.IncomingSubmission) (site.Receipt, error) {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return site.Receipt{}, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = append(s.received, r)
	return site.Receipt{ID: fmt.Sprint(len(s.received)), Probe: r.Probe && !s.again, Repeated: s.again}, nil
}

func (s *fakeStore) ReceiveSuggestion(context.Context, site.IncomingSuggestion) (site.SuggestionResult, error) {
	return site.SuggestionResult{SuggestionID: "1"}, s.fault
}

func (s *fakeStore) RequestRecheck(_ context.Context, r site.IncomingRecheck) (site.RecheckResult, error) {
	return site.RecheckResult{Slug: r.Slug, NextCheckAt: site.NewTime(r.At)}, s.fault
}

func (s *fakeStore) StoreSubmissionProbe(_ context.Context, id string, result site.ProbeResult) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.results == nil {
		s.results = map[string]site.ProbeResult{}
	}
	s.results[id] = result
	return nil
}

func (s *fakeStore) SubmissionState(_ context.Context, id string) (site.SubmissionState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if result, ok := s.results[id]; ok {
		return site.SubmissionState{SubmissionID: id, Status: site.SubmissionPending, ProbeResult: &result}, s.fault
	}
	return site.SubmissionState{}, site.ErrNotFound
}

type probing func(ctx context.Context, base string, endpoints []string) site.ProbeResult

func (p probing) Probe(ctx context.Context, base string, endpoints []string) site.ProbeResult {
	return p(ctx, base, endpoints)
}

var nothingFound = probing(func(context.Context, string, []string) site.ProbeResult {
	return site.ProbeResult{Errors: []string{}}
})

func submitting(t *testing.T, s *fakeStore, p SubmissionProber, bodyTime time.Duration, log io.Writer) http.Handler {
	t.Helper()
	return NewHandler(Options{
		Source: openSource(t, tempDir(t)), Now: func() time.Time { return now },
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		Submit: &SubmitOptions{Store: s, Prober: p, BodyTime: bodyTime,
			Address: func(u *url.URL) (*url.URL, error) { return u, nil },
			Domain:  func(host string) string { return host }},
	})
}

func acme(name string) string {
	return `{"url":"https://` + name +
		`.example","email":"s3cret@acme.example","service_name":"Acme","description":"d","website_url":"https://acme.example","category":"AI","endpoints":["/a"]}`
}

func submitTo(h http.Handler, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/v1/submit", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestSlowBody checks that a body that is slow, incomplete or too large closes its connection, after the responses to
// earlier requests.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	server := httptest.NewServer(submitting(t, s, nothingFound, 2*time.Second, io.Discard))
	defer server.Close()
	var all sync.WaitGroup // concurrently, because each case waits for a timeout
	head := "POST /v1/submit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name, sent string
		status     int
	}{
		{"never", head + "Content-Length: 100\r\n\r\n", 408},
		{"half of it", head + "Content-Length: 100\r\n\r\n{", 408},
		{"chunks that stop", head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", 408},
		{"announced too large", head + "Content-Length: 32769\r\n\r\n", 413},
		{"too large without a word", head + "Transfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("1000\r\n"+strings.Repeat(" ", 0x1000)+"\r\n", 9), 413},
		{"broken chunks", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{", 400},
	} {
		all.Go(func() {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, tt.sent); err != nil {
				t.Errorf("%s: %v", tt.name, err)
				return
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
				return
			}
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != tt.status || !res.Close || !strings.Contains(string(body), `"error"`) {
				t.Errorf("%s: %d, closed %t: %s", tt.name, res.StatusCode, res.Close, body)
			}
		})
	}
	all.Wait()
	if len(s.received) > 0 {
		t.Errorf("received %v", s.received)
	}
	// the connection of a valid request can be reused, however long its probe takes
	res, err := http.Post(server.URL+"/v1/submit", "application/json", strings.NewReader(acme("a")))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 201 {
		t.Errorf("one that is well: %v", res)
	}
}

// TestProbeOutlastsTheBodysTime checks that a probe may take longer than the body timeout. Its submitter still gets the
// response.
func TestProbeOutlastsTheBodysTime(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	slow := probing(func(ctx context.Context, _ string, _ []string) site.ProbeResult {
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
		return site.ProbeResult{EndpointsFound: 1, Errors: []string{}}
	})
	server := httptest.NewServer(submitting(t, s, slow, 2*time.Second, io.Discard))
	defer server.Close()
	res, err := http.Post(server.URL+"/v1/submit", "application/json", strings.NewReader(acme("a")))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if want := `{"data":{"submission_id":"1","status":"pending","probe_result":{"endpoints_found":1,"errors":[]}}}` +
		"\n"; string(body) != want || err != nil {
		t.Errorf("%s, %v", body, err)
	}
}

// TestSubmitterGoesAway checks that the result of a probe is stored even if the submitter disconnects during the probe.
func TestSubmitterGoesAway(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	entered, gone := make(chan struct{}), make(chan struct{})
	h := submitting(t, s, probing(func(ctx context.Context, _ string, _ []string) site.ProbeResult {
		close(entered)
		<-gone
		return site.ProbeResult{EndpointsFound: 2, Errors: []string{fmt.Sprint(ctx.Err())}}
	}), 0, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/submit", strings.NewReader(acme("a")))
		r.Header.Set("Content-Type", "application/json")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-entered
	cancel()
	close(gone)
	<-done
	if diff := cmp.Diff(map[string]site.ProbeResult{"1": {EndpointsFound: 2, Errors: []string{"<nil>"}}},
		s.results); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

// TestProbesAtOnce checks that the number of probes at a time is limited. Further submissions are stored for a later
// probe.
func TestProbesAtOnce(t *testing.T) {
	t.Parallel()
	s := &fakeStore{}
	release := make(chan struct{})
	entered := make(chan struct{}, 100)
	h := submitting(t, s, probing(func(context.Context, string, []string) site.ProbeResult {
		entered <- struct{}{}
		<-release
		return site.ProbeResult{}
	}), 0, io.Discard)
	var wg sync.WaitGroup
	for i := range maxProbing {
		wg.Go(func() { submitTo(h, acme(fmt.Sprint("a", i))) })
	}
	for range maxProbing {
		<-entered
	}
	if w := submitTo(h, acme("later")); w.Code != 201 || !strings.Contains(w.Body.String(), `"probe_result":null`) {
		t.Errorf("one more: %d %s", w.Code, w.Body)
	}
	if last := s.received[len(s.received)-1]; last.Probe || last.URL != "https://later.example" {
		t.Errorf("kept as %+v", last)
	}
	close(release)
	wg.Wait()
	if w := submitTo(h, acme("after")); w.Code != 201 || !strings.Contains(w.Body.String(), `"probe_result":{`) {
		t.Errorf("after them: %d %s", w.Code, w.Body)
	}
}

// TestSentAgainWhileProbed checks that a repeated submission waits for the result of the running probe and starts no
// second one.
func TestSentAgainWhileProbed(t *testing.T) {
	t.Parallel()
	s := &fakeStore{again: true, results: map[string]site.ProbeResult{}}
	h := submitting(t, s, nothingFound, 0, io.Discard).(*handler)
	end := make(chan struct{})
	h.submitter.probes["1"] = end
	answered := make(chan string)
	go func() { answered <- submitTo(h, acme("a")).Body.String() }()
	if err := s.StoreSubmissionProbe(t.Context(), "1",
		site.ProbeResult{EndpointsFound: 7, Errors: []string{}}); err != nil {
		t.Fatal(err)
	}
	close(end)
	if got := <-answered; !strings.Contains(got, `"endpoints_found":7`) {
		t.Errorf("the second is told %s", got)
	}
}

// TestStoreFails checks that a failure of the store returns an internal error without its cause. The log contains
// nothing about the submitter.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := submitting(t, &fakeStore{fault: errors.New("disk is gone")}, nothingFound, 0, &log)
	w := submitTo(h, acme("a"))
	if w.Code != 500 || strings.Contains(w.Body.String(), "disk") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if text := log.String(); !strings.Contains(text, "disk is gone") || strings.Contains(text, "s3cret") {
		t.Errorf("the log: %s", text)
	}
}
