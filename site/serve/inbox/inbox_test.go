package inbox_test

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

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/serve"
	"tollbook/site/serve/inbox"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fakeStore is a store that can fail and wait. The tests of cmd/tollbook use the real store.
type fakeStore struct {
	mu       sync.Mutex
	received []site.IncomingSubmission
	results  map[string]site.ProbeResult
	fault    error         // returned by every call
	again    chan struct{} // closed when a URL was sent twice; nil if that is not expected
}

func (s *fakeStore) SubmissionCategories(context.Context) ([]string, error) {
	return site.Categories, s.fault
}

func (s *fakeStore) ReceiveSubmission(_ context.Context, r site.IncomingSubmission) (site.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, before := range s.received {
		if before.URL == r.URL {
			close(s.again)
			return site.Receipt{ID: fmt.Sprint(i + 1), Repeated: true}, nil
		}
	}
	s.received = append(s.received, r)
	return site.Receipt{ID: fmt.Sprint(len(s.received)), Probe: r.Probe}, nil
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

func submitting(t *testing.T, s *fakeStore, p inbox.Prober, bodyTime time.Duration, log io.Writer) http.Handler {
	t.Helper()
	source, err := output.OpenSource(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	return serve.NewHandler(serve.Options{
		Source: source, Now: func() time.Time { return now },
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		Submit: &inbox.Options{Store: s, Prober: p, BodyTime: bodyTime,
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
	for i := range inbox.MaxProbing {
		wg.Go(func() { submitTo(h, acme(fmt.Sprint("a", i))) })
	}
	for range inbox.MaxProbing {
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
	s := &fakeStore{again: make(chan struct{})}
	entered, release := make(chan struct{}), make(chan struct{})
	h := submitting(t, s, probing(func(context.Context, string, []string) site.ProbeResult {
		close(entered) // fails if a second probe begins
		<-release
		return site.ProbeResult{EndpointsFound: 7, Errors: []string{}}
	}), 0, io.Discard)
	answers := make(chan string, 2)
	send := func() { answers <- submitTo(h, acme("a")).Body.String() }
	go send()
	<-entered
	go send()
	<-s.again
	close(release)
	for range 2 {
		if got := <-answers; !strings.Contains(got, `"submission_id":"1"`) ||
			!strings.Contains(got, `"endpoints_found":7`) {
			t.Errorf("one of two equal submissions gets %s", got)
		}
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
