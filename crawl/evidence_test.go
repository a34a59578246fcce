package crawl

import (
	"bytes"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// TestAnswersAreStored probes real endpoints and checks the stored answers behind their verdicts.
func TestAnswersAreStored(t *testing.T) {
	t.Parallel()
	page := strings.Repeat("é", site.EvidenceBytes)
	mux := http.NewServeMux()
	mux.HandleFunc("/boom", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Set-Cookie"] = []string{"session=1"}
		w.Header()["X-Internal-Token"] = []string{"secret"}
		w.Header()["Server"] = []string{"nginx\xff"}
		w.WriteHeader(500)
		w.Write([]byte("\xff\x00" + page))
	})
	mux.HandleFunc("/terms", func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Set-Cookie"] = []string{"session=1"}
		pay(w, hostileBody(hostileRow("100", "", "")))
	})
	mux.HandleFunc("/picky", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "which city?", http.StatusUnprocessableEntity)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/gone", http.StatusTemporaryRedirect)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	m := open(t)
	host := strings.TrimPrefix(server.URL, "http://")
	m.list(t, postgres.Listing{Slug: "acme", Name: "Acme", Description: "d", BaseURL: server.URL, Category: "AI",
		Source: "imported:file", CreatedAt: noon,
		Endpoints: []postgres.ListedEndpoint{{Path: "/boom"}, {Path: "/terms"}, {Path: "/picky"}, {Path: "/moved"},
			{Path: "/of/{symbol}"}}})
	now := &clock{now: noon}
	c := crawler(t, m, Options{Now: now.Now},
		probe.Options{Guard: &probe.Guard{AllowPrivate: []string{host}}, UserAgent: "Tollbook/test"})
	round(t, c)

	type storedAnswer struct {
		Envelope, Conclusive bool
		Status, Length       int
		Truncated, Sent      bool
		Class                string
		Redirects            []string
		Header               []string
	}
	got := map[string]storedAnswer{}
	for _, e := range m.facts(t, noon.Add(time.Hour))["acme"].Endpoints {
		if v := e.Envelope; v != nil {
			got[e.Path] = storedAnswer{Envelope: true, Status: v.StatusCode, Length: len(v.Body),
				Sent:  v.Exchange.Method != "",
				Class: v.Exchange.Class, Header: names(v.Header)}
		}
		for _, a := range []*checks.Response{e.Conclusive, e.Inconclusive} {
			if a == nil {
				continue
			}
			k := storedAnswer{Conclusive: a.Conclusive, Length: len(a.Body), Truncated: a.Truncated,
				Sent: a.Exchange.Method != "", Class: a.Exchange.Class,
				Redirects: a.Exchange.Redirects, Header: names(a.Header)}
			if a.StatusCode != nil {
				k.Status = *a.StatusCode
			}
			got[e.Path] = k
			if e.Path == "/boom" && !bytes.Equal(a.Body, []byte("\xff\x00" + page)[:site.EvidenceBytes]) {
				t.Error("stored body differs from the received bytes")
			}
			if k.Sent && a.Exchange.RequestHeader.Get("User-Agent") != "Tollbook/test" {
				t.Errorf("%s: request headers %v, want our User-Agent", e.Path, a.Exchange.RequestHeader)
			}
		}
	}
	for path, k := range got { // drop headers that net/http adds
		k.Header = slices.DeleteFunc(k.Header, func(name string) bool {
			return name == "Date" || name == "Content-Length"
		})
		got[path] = k
	}
	body := len(hostileBody(hostileRow("100", "", "")))
	want := map[string]storedAnswer{
		"/boom": {Conclusive: true, Status: 500, Length: site.EvidenceBytes, Truncated: true, Sent: true,
			Class: "server_error", Header: []string{"Content-Type", "Server"}},
		"/terms": {Envelope: true, Status: 402, Length: body, Sent: true, Class: "paid_ok",
			Header: []string{"Content-Type"}},
		"/picky": {Status: 422, Length: 12, Sent: true, Class: "needs_input", Header: []string{"Content-Type"}},
		"/moved": {Conclusive: true, Status: 404, Length: 19, Sent: true, Class: "gone",
			Redirects: []string{server.URL + "/gone"}, Header: []string{"Content-Type"}},
		"/of/{symbol}": {Class: "needs_input"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// names returns the names of headers in alphabetical order.
func names(h http.Header) []string { return slices.Sorted(maps.Keys(h)) }

// TestHashAnswer checks that headers that differ with every answer do not change its hash.
func TestHashAnswer(t *testing.T) {
	t.Parallel()
	h := func(pairs ...string) http.Header {
		out := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			out.Add(pairs[i], pairs[i+1])
		}
		return out
	}
	first := hashAnswer(402, h("Date", "now", "A", "1", "B", "2"), []byte("x"))
	for _, test := range []struct {
		name string
		sum  []byte
		same bool
	}{
		{"another date", hashAnswer(402, h("B", "2", "A", "1", "Date", "then", "Cf-Ray", "7"), []byte("x")), true},
		{"another status", hashAnswer(412, h("A", "1", "B", "2"), []byte("x")), false},
		{"another header", hashAnswer(402, h("A", "1", "B", "3"), []byte("x")), false},
		{"one header less", hashAnswer(402, h("A", "1"), []byte("x")), false},
		{"another body", hashAnswer(402, h("A", "1", "B", "2"), []byte("y")), false},
	} {
		if same := bytes.Equal(first, test.sum); same != test.same {
			t.Errorf("%s: same %v, want %v", test.name, same, test.same)
		}
	}
}

// TestUnprobeableClasses checks that package site and package probe agree on the classes that say nothing of a service.
func TestUnprobeableClasses(t *testing.T) {
	t.Parallel()
	want := map[string]bool{probe.ClassNeedsInput: true, probe.ClassWrongMethod: true}
	for _, class := range []string{
		probe.ClassPaidOK, probe.ClassPaidBroken, probe.ClassOther402, probe.ClassUnreadable, probe.ClassHostDisabled,
		probe.ClassOpen, probe.ClassNeedsInput, probe.ClassWrongMethod, probe.ClassAuth, probe.ClassChallenge,
		probe.ClassRateLimited, probe.ClassUnavailable, probe.ClassInterrupted, probe.ClassGone, probe.ClassRedirect,
		probe.ClassClientError, probe.ClassServerError, probe.ClassInvalidHTTP, probe.ClassOversized,
		probe.ClassUnreachable, probe.ClassRefused, probe.ClassSignIn, probe.ClassGRPC,
	} {
		if site.IsUnprobeable(class) != want[class] {
			t.Errorf("IsUnprobeable(%s) = %v", class, !want[class])
		}
	}
}
