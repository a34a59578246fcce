package crawl

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// TestReadContact checks which contacts the owner of a service can write to.
func TestReadContact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		contact     string
		isReachable bool
		fault       string
	}{
		{"", false, ""},
		{"https://tollbook.example/bot", false, ""},
		{"https://www.example.com/bot", false, ""},
		{"http://localhost:4020/bot", false, ""},
		{"mailto:you@acme.example", false, ""},
		{"you@example.org", false, ""},
		{"mailto:you@your-domain", false, ""},
		{"https://directory.internal/bot", true, ""},
		{"mailto:bot@directory.internal", true, ""},
		{"bot@directory.internal", true, ""},
		{"directory", false, "neither a URL nor an e-mail address"},
		{"directory.internal/bot", false, "neither a URL nor an e-mail address"},
		{"https://", false, "neither a URL nor an e-mail address"},
		{"https://name:secret@directory.internal", false, "neither a URL nor an e-mail address"},
		{"https://directory.internal/(bot)", false, "can't contain"},
		{"https://directory.internal/bot\r\nX-Other: 1", false, "can't contain"},
		{"https://directory.internal/Mozilla", false, "can't contain"},
		{"https://directory.internal/" + strings.Repeat("x", 200), false, "too long"},
	} {
		isReachable, err := ReadContact(tt.contact)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if isReachable != tt.isReachable || !strings.Contains(fault, tt.fault) || (fault == "") != (tt.fault == "") {
			t.Errorf("%q: %v, %q, want %v, %q", tt.contact, isReachable, fault, tt.isReachable, tt.fault)
		}
	}
}

// TestOthersHosts checks which hosts belong to others.
func TestOthersHosts(t *testing.T) {
	t.Parallel()
	var services []postgres.Service
	for _, base := range []string{
		"https://b.example.com/v1", "https://a.example.com:8443", "https://B.example.com", // of others
		"https://own.example.net", "http://10.0.0.7:8080", // allowed
		"http://127.0.0.1:4021", "http://[::1]", "http://localhost", "http://db.internal", // refused in any case
		"https://api.acme.example", "https://acme.test", "https://acme.invalid", // of nobody
	} {
		services = append(services, postgres.Service{BaseURL: base})
	}
	guard := &probe.Guard{AllowPrivate: []string{"own.example.net", "10.0.0.7:8080"}}
	want := []string{"B.example.com", "a.example.com:8443", "b.example.com"}
	if diff := cmp.Diff(want, OthersHosts(services, guard)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoContact checks that a crawl without a contact visits the operator's own service and sends nothing to others,
// says so once, and visits the others as soon as there is a contact.
func TestNoContact(t *testing.T) {
	t.Parallel()
	town, o := newTown(t, "com")
	town.hosts["api.acme.com"] = func(rw http.ResponseWriter, _ *http.Request) { pay(rw, challenge) }
	own, local := local(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { pay(rw, challenge) }))
	o.Guard = local.Guard
	m := open(t)
	m.list(t, oneEndpoint("own", own, "/x"), oneEndpoint("others", "http://api.acme.com", "/x"),
		oneEndpoint("more", "http://more.acme.com", "/x"))
	var log bytes.Buffer
	now := &clock{now: dawn}
	c := crawler(t, m, Options{
		Now: now.Now, NoContact: true, Logger: slog.New(slog.NewTextHandler(&log, nil)), Workers: 1,
		Bootstrap: "http://rdap.com/dns.json",
	}, o)
	if c.Notice() != "" {
		t.Errorf("before a visit: %q", c.Notice())
	}
	for range 2 { // the second time after the leases ended
		if report := round(t, c); report.Visits != 1 || report.Online != 1 {
			t.Errorf("%+v, want one visit", report)
		}
		if g := gather(t, c); g.Domains != 0 || g.Unseen > 0 {
			t.Errorf("%+v, want no domain", g)
		}
		if err := c.QueryDomain(t.Context(), "acme.com"); err != nil {
			t.Error(err)
		}
		if n, err := c.ProbeSubmissions(t.Context()); n != 0 || err != nil {
			t.Errorf("%d submissions, %v", n, err)
		}
		now.set(now.Now().Add(time.Hour))
	}
	town.mu.Lock()
	if len(town.requests) > 0 {
		t.Errorf("requests to others: %v", town.requests)
	}
	town.mu.Unlock()
	if n := strings.Count(log.String(), SkippedNotice); n != 1 || c.Notice() != SkippedNotice {
		t.Errorf("%d lines, want 1, and the notice is %q:\n%s", n, c.Notice(), log.String())
	}
	c = crawler(t, m, Options{Now: now.Now}, o)
	if report := round(t, c); report.Visits != 3 || report.Online != 2 || town.count("api.acme.com /x") == 0 {
		t.Errorf("with a contact: %+v, %v", report, town.requests)
	}
}
