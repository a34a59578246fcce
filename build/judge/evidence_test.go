package judge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

func TestNewBody(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("x", site.EvidenceBytes)
	for _, test := range []struct {
		name      string
		body      string
		truncated bool
		want      site.EvidenceBody
	}{
		{"empty", "", false, site.EvidenceBody{Encoding: "utf-8"}},
		{"text", "{\"a\":\t1}\r\n", false, site.EvidenceBody{Encoding: "utf-8", Text: "{\"a\":\t1}\r\n"}},
		{"markup stays", "<script>", false, site.EvidenceBody{Encoding: "utf-8", Text: "<script>"}},
		{"cut where it was received", "half a senten", true,
			site.EvidenceBody{Encoding: "utf-8", Text: "half a senten", Truncated: true}},
		{"as long as may be", full, false, site.EvidenceBody{Encoding: "utf-8", Text: full}},
		{"longer", full + "y", false, site.EvidenceBody{Encoding: "utf-8", Text: full, Truncated: true}},
		{"cut within a character", full[1:] + "é", false,
			site.EvidenceBody{Encoding: "utf-8", Text: full[1:], Truncated: true}},
		{"control, direction and marks", "a\x00b\u202ec\ufeffd\x1b[2J", false,
			site.EvidenceBody{Encoding: "utf-8", Text: "a\ufffdb\ufffdc\ufffdd\ufffd[2J", Cleaned: true}},
		{"not UTF-8", "a\xffb", false, site.EvidenceBody{Encoding: "base64", Text: "Yf9i"}},
		{"half a character at an end that is the end", "a\xc3", false,
			site.EvidenceBody{Encoding: "base64", Text: "YcM="}},
	} {
		if diff := cmp.Diff(test.want, newBody([]byte(test.body), test.truncated)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestPublishHeaders(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A", site.EvidenceBytes)
	got, clipped := publishHeaders(http.Header{
		"Set-Cookie": {"session=1"}, "X-Request-Id": {"42"}, "Authorization": {"x"}, "Server": {"a\x1bb"},
		"Payment-Required": {"C"}, "Content-Type": {"text/html", "text/plain"},
	}, site.IsEvidenceHeader)
	want := map[string][]string{"Server": {"a\ufffdb"}, "Payment-Required": {"C"},
		"Content-Type": {"text/html", "text/plain"}}
	if diff := cmp.Diff(want, got); diff != "" || len(clipped) > 0 {
		t.Errorf("headers, clipped %v (-want +got):\n%s", clipped, diff)
	}
	got, clipped = publishHeaders(http.Header{"Allow": {"GET"}, "Payment-Required": {long[1:], "CD", "E"}},
		site.IsEvidenceHeader)
	want = map[string][]string{"Allow": {""}, "Payment-Required": {long[1:], "C", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("long headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Allow", "Payment-Required"}, clipped); diff != "" {
		t.Errorf("clipped (-want +got):\n%s", diff)
	}
}

// TestNewEndpointEvidence checks which response is published for each verdict, and which responses are checked.
func TestNewEndpointEvidence(t *testing.T) {
	t.Parallel()
	envelope := &checks.Envelope{
		ReceivedAt: *ago(2 * time.Hour), Method: "GET", URL: "https://acme.test/a", StatusCode: 402, TLSVerified: true,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(`{"x402Version":1,"accepts":[]}`),
		Exchange: checks.Exchange{Class: "paid_broken", Reason: "asks", Method: "GET",
			RequestHeader: http.Header{"User-Agent": {"Tollbook/1"}}},
	}
	answer := func(conclusive bool, status int, class string) *checks.Response {
		a := &checks.Response{Conclusive: conclusive, ReceivedAt: *ago(time.Hour), Method: "GET",
			URL:      "https://acme.test/a",
			Exchange: checks.Exchange{Class: class, Reason: "because", Method: "GET"}}
		if status != 0 {
			a.StatusCode = &status
		}
		return a
	}
	unsent := &checks.Response{Exchange: checks.Exchange{Class: "needs_input",
		Reason: "the address has a placeholder, {x}"}}
	type seen struct {
		Unprobeable          bool
		Class, Answer, Terms string // status of the responses, or "none"; "" for null
		Inconclusive, Reply  string
		Judged               bool
	}
	for _, test := range []struct {
		name           string
		verdict, class string // of the endpoint's row
		e              postgres.EndpointFacts
		want           seen
	}{
		{"never asked", "", "", postgres.EndpointFacts{}, seen{}},
		{"a 402", "broken", "paid_broken", postgres.EndpointFacts{Envelope: envelope},
			seen{Class: "paid_broken", Answer: "402", Judged: true}},
		{"a 500 after it", "failed", "server_error",
			postgres.EndpointFacts{Envelope: envelope, Conclusive: answer(true, 500, "server_error")},
			seen{Class: "server_error", Answer: "500", Terms: "402", Judged: true}},
		{"no answer after it", "failed", "unreachable",
			postgres.EndpointFacts{Envelope: envelope, Conclusive: answer(true, 0, "unreachable")},
			seen{Class: "unreachable", Answer: "none", Terms: "402", Judged: true}},
		{"a bot filter after it", "broken", "challenge",
			postgres.EndpointFacts{Envelope: envelope, Inconclusive: answer(false, 403, "challenge")},
			seen{Class: "paid_broken", Answer: "402", Inconclusive: "challenge", Reply: "403", Judged: true}},
		{"all three", "failed", "rate_limited", postgres.EndpointFacts{Envelope: envelope,
			Conclusive: answer(true, 404, "gone"), Inconclusive: answer(false, 429, "rate_limited")},
			seen{Class: "gone", Answer: "404", Terms: "402", Inconclusive: "rate_limited", Reply: "429", Judged: true}},
		{"wants input", "", "needs_input", postgres.EndpointFacts{Inconclusive: answer(false, 422, "needs_input")},
			seen{Unprobeable: true, Inconclusive: "needs_input", Reply: "422"}},
		{"a placeholder: nothing was sent", "", "needs_input", postgres.EndpointFacts{Inconclusive: unsent},
			seen{Unprobeable: true, Inconclusive: "needs_input"}},
		{"failed before answers were kept", "failed", "", postgres.EndpointFacts{Envelope: envelope},
			seen{Terms: "402", Judged: true}},
	} {
		if test.verdict != "" {
			test.e.Verdict = &test.verdict
		}
		if test.class != "" {
			test.e.Class = &test.class
		}
		f := newService(test.e)
		got := newEndpointEvidence(f, &f.Endpoints[0], readCapture(f, &f.Endpoints[0]), true)
		status := func(a *site.EvidenceAnswer) string {
			switch {
			case a == nil:
				return ""
			case a.Status == nil:
				return "none"
			}
			text, _ := json.Marshal(a.Status)
			return string(text)
		}
		s := seen{Unprobeable: got.Unprobeable, Answer: status(got.Answer), Terms: status(got.Terms),
			Judged: got.Captured != nil}
		if got.Class != nil {
			s.Class = *got.Class
		}
		if got.Inconclusive != nil {
			s.Inconclusive, s.Reply = got.Inconclusive.Class, status(got.Inconclusive.Answer)
		}
		if diff := cmp.Diff(test.want, s); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestEvidenceNamesUnprobeableEndpoints checks that the evidence lists unprobeable endpoints. They are never paid, so
// they are inactive after a fortnight.
func TestEvidenceNamesUnprobeableEndpoints(t *testing.T) {
	t.Parallel()
	old := func(path, class string) postgres.EndpointFacts {
		e := postgres.EndpointFacts{Endpoint: postgres.Endpoint{Path: path, FirstSeenAt: *ago(900 * time.Hour),
			Class: &class}}
		return e
	}
	fresh := postgres.EndpointFacts{Endpoint: postgres.Endpoint{Path: "/c", FirstSeenAt: *ago(time.Hour)}}
	f := newService(old("/a/{x}", "needs_input"), old("/b", "gone"), fresh)
	got := newEvidence(f, judgeCompliance(f, activeCaptures(f, now)), now)
	var listed []string
	for _, e := range got.Endpoints {
		listed = append(listed, e.Method+" "+e.Path)
		if e.IsActive != (e.Path == "/c") || e.Unprobeable == e.IsActive {
			t.Errorf("%s: active %v, unprobeable %v", e.Path, e.IsActive, e.Unprobeable)
		}
	}
	if diff := cmp.Diff([]string{"GET /a/{x}", "GET /c"}, listed); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	if got.Grade != "unknown" {
		t.Errorf("grade of a service that was never probed = %s, want unknown", got.Grade)
	}
}

// TestEvidenceIsBounded checks that the published evidence stays small for responses of any size.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	row := `{"scheme":1,"network":2,"amount":3,"asset":4,"payTo":5,"maxTimeoutSeconds":99999},`
	rows := strings.Repeat(row, 63) + strings.TrimSuffix(row, ",")
	body := []byte(`{"x402Version":2,"accepts":[` + rows + `],"x":"` + strings.Repeat("\u202e", 10<<10) + `"}`)
	header := http.Header{}
	for _, name := range []string{"Server", "Via", "Vary", "Allow", "Payment-Response", "X-Payment-Required"} {
		header[name] = []string{strings.Repeat("z", 30<<10)}
	}
	var endpoints []postgres.EndpointFacts
	for i := range 200 {
		a := &checks.Response{StatusCode: new(500), Header: header, Body: body[:site.EvidenceBytes], Truncated: true,
			Exchange: checks.Exchange{Method: "POST", RequestBody: body}}
		endpoints = append(endpoints, postgres.EndpointFacts{
			Endpoint: postgres.Endpoint{Method: "GET", Path: fmt.Sprintf("/%03d", i), Verdict: new("failed"),
				FirstSeenAt: *ago(time.Hour)},
			Envelope: &checks.Envelope{StatusCode: 402, Header: header, Body: body}, Conclusive: a, Inconclusive: a,
		})
	}
	f := newService(endpoints...)
	got := newEvidence(f, judgeCompliance(f, activeCaptures(f, now)), now)
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 8<<20 || len(got.Endpoints) != 200 {
		t.Errorf("evidence of %d endpoints has %d bytes", len(got.Endpoints), len(data))
	}
	first, last := got.Endpoints[0], got.Endpoints[199]
	if first.Answer.Body.Text == "" || !first.Answer.Body.Truncated || first.DefectCount <= len(first.Defects) ||
		got.WarningCount <= len(got.Warnings) {
		t.Errorf("the first endpoint shows %d bytes and %d of %d defects; %d of %d warnings",
			len(first.Answer.Body.Text), len(first.Defects), first.DefectCount, len(got.Warnings), got.WarningCount)
	}
	if last.Answer.Body.Text != "" || !last.Answer.Body.Truncated || len(last.Answer.Headers) != 0 ||
		len(last.Answer.HeadersClipped) != 6 {
		t.Errorf("the last endpoint shows %+v, want no body and no headers, marked as left out", last.Answer)
	}
}

// TestComplianceWithoutActiveEndpoints checks a service that was not paid for a fortnight by its last envelopes.
func TestComplianceWithoutActiveEndpoints(t *testing.T) {
	t.Parallel()
	received := *ago(20 * 24 * time.Hour)
	f := newService(postgres.EndpointFacts{
		Endpoint: postgres.Endpoint{FirstSeenAt: *ago(900 * time.Hour), Verdict: new("failed")},
		Envelope: &checks.Envelope{ReceivedAt: received, StatusCode: 402, URL: "https://acme.test/",
			TLSVerified: true, Body: []byte(`{"x402Version":1,"accepts":[{}]}`)},
	})
	active := activeCaptures(f, now)
	c, e := newCompliance(f, judgeCompliance(f, active), now), newEvidence(f, judgeCompliance(f, active), now)
	if c.Passed == 0 || c.Grade != e.Grade || c.Passed != e.Passed || len(e.Endpoints) != 1 ||
		e.Endpoints[0].Captured == nil {
		t.Errorf("compliance %s, %d passed; evidence %s, %d passed, of %d endpoints; want both from the old envelope",
			c.Grade, c.Passed, e.Grade, e.Passed, len(e.Endpoints))
	}
	if c.Staleness.EnvelopeCapturedAt == nil || !c.Staleness.EnvelopeCapturedAt.Equal(received) {
		t.Errorf("captured at %v, want %v", c.Staleness.EnvelopeCapturedAt, received)
	}
}

// TestTransportCheckCoversRedirects checks that the listed URL and each redirect must use TLS.
func TestTransportCheckCoversRedirects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		base, url string
		redirects []string
		pass      bool
	}{
		{"https://acme.test", "https://acme.test/a", nil, true},
		{"https://acme.test", "https://acme.test/a?symbol=X", nil, true},
		{"https://acme.test", "https://www.acme.test/a", []string{"https://www.acme.test/a"}, true},
		{"http://acme.test", "https://acme.test/a", []string{"https://acme.test/a"}, false},
		{"http://acme.test", "http://acme.test/a", nil, false},
	} {
		f := newService(postgres.EndpointFacts{Envelope: &checks.Envelope{StatusCode: 402, URL: test.url,
			TLSVerified: true,
			Body:        []byte(`{"x402Version":2,"accepts":[]}`),
			Exchange:    checks.Exchange{Redirects: test.redirects}}})
		f.BaseURL = test.base
		for _, c := range newEvidence(f, judgeCompliance(f, activeCaptures(f, now)), now).Checks {
			if c.ID == "transport_https" && c.Pass != test.pass {
				t.Errorf("%s + /a, by %v to %s: passes %v, want %v (%v)", test.base, test.redirects, test.url, c.Pass,
					test.pass, c.Reason)
			}
		}
	}
}

func TestDeclaredUSD(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   *postgres.DeclaredPrice
		want string
	}{
		{nil, ""},
		{&postgres.DeclaredPrice{Mode: "fixed", Amount: "0.01"}, "0.01"},
		{&postgres.DeclaredPrice{Mode: "fixed", Currency: "usd", Amount: "$0.01"}, "0.01"},
		{&postgres.DeclaredPrice{Mode: "dynamic", Min: "0.01", Max: "0.5"}, "0.5"},
		{&postgres.DeclaredPrice{Mode: "fixed", Currency: "EUR", Amount: "0.01"}, ""},
		{&postgres.DeclaredPrice{Mode: "offer", Amount: "10000"}, ""},
		{&postgres.DeclaredPrice{Mode: "dynamic", Min: "0.01"}, ""},
	} {
		if got := declaredUSD(test.in); got != test.want {
			t.Errorf("declared %+v is %q, want %q", test.in, got, test.want)
		}
	}
}
