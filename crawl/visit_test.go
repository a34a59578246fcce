package crawl

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/crawl/probe"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/x402"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestSetStatus checks the rules of setStatus one by one.
func TestSetStatus(t *testing.T) {
	t.Parallel()
	const paid, broken, open, failed = string(probe.Paid), string(probe.Broken), string(probe.Open),
		string(probe.Failed)
	for _, test := range []struct {
		name     string
		verdicts []string // latest conclusive one of each active endpoint
		ms       int      // median of this visit; 0 for none
		before   postgres.Service
		none     bool // nothing conclusive in this visit
		status   string
		up       bool
		failures int
	}{
		{name: "all paid", verdicts: []string{paid, paid}, ms: 100, status: site.StatusOnline, up: true},
		{name: "some paid, one failed", verdicts: []string{paid, failed}, ms: 100, status: site.StatusDegraded,
			up: true},
		{name: "some paid, one open", verdicts: []string{paid, open}, ms: 100, status: site.StatusDegraded, up: true},
		{name: "some paid, one broken", verdicts: []string{broken, paid}, ms: 100, status: site.StatusDegraded,
			up: true},
		{name: "only broken", verdicts: []string{broken, broken}, ms: 100, status: site.StatusDegraded, up: true},
		{name: "only open", verdicts: []string{open}, ms: 100, status: site.StatusDegraded, up: true},
		{name: "broken and failed: something answered", verdicts: []string{broken, failed}, ms: 100,
			status: site.StatusDegraded, up: true},
		{name: "open and failed: something answered", verdicts: []string{open, failed}, ms: 100,
			status: site.StatusDegraded, up: true},
		{name: "paid in five seconds", verdicts: []string{paid}, ms: 5000, status: site.StatusOnline, up: true},
		{name: "paid more slowly", verdicts: []string{paid}, ms: 5001, status: site.StatusDegraded, up: true},
		{name: "none answered", verdicts: []string{failed, failed}, status: site.StatusOffline, failures: 1},
		{name: "none answered again", verdicts: []string{failed}, before: postgres.Service{ConsecutiveFailures: 2},
			status: site.StatusOffline, failures: 3},
		{name: "back again", verdicts: []string{paid}, ms: 1, before: postgres.Service{ConsecutiveFailures: 7},
			status: site.StatusOnline, up: true},
		{name: "back, but broken", verdicts: []string{broken}, ms: 1, before: postgres.Service{ConsecutiveFailures: 7},
			status: site.StatusDegraded, up: true},
		{name: "nothing conclusive ever", none: true},
		{name: "nothing conclusive, online before", none: true,
			before: postgres.Service{LastStatus: new(site.StatusOnline)}, status: site.StatusOnline, up: true},
		{name: "nothing conclusive, degraded before", none: true,
			before: postgres.Service{LastStatus: new(site.StatusDegraded)}, status: site.StatusDegraded, up: true},
		{name: "nothing conclusive, offline before", none: true, verdicts: []string{failed},
			before: postgres.Service{LastStatus: new(site.StatusOffline), ConsecutiveFailures: 4},
			status: site.StatusOffline, failures: 4},
	} {
		verdicts := map[uuid.UUID]string{}
		for i, v := range test.verdicts {
			verdicts[uuid.NewSHA1(uuid.Nil, []byte{byte(i)})] = v
		}
		var ms *int
		if test.ms > 0 {
			ms = &test.ms
		}
		got := checks.Check{ResponseTimeMS: ms}
		answers := []answer{{result: probe.Result{Class: probe.ClassAuth}},
			{result: probe.Result{Class: probe.ClassGone}}}
		setStatus(&got, test.before, verdicts, !test.none, answers)
		want := checks.Check{ResponseTimeMS: ms, Counted: !test.none, IsUp: test.up,
			ConsecutiveFailures: test.failures}
		if test.none {
			want.UncountedReason = new(probe.ClassAuth)
		}
		if test.status != "" {
			want.Status = &test.status
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestSetMeasurements checks what the answers of a visit measured.
func TestSetMeasurements(t *testing.T) {
	t.Parallel()
	measured := func(v probe.Verdict, status, ms int, reason string) answer {
		return answer{result: probe.Result{Verdict: v, Status: status,
			ResponseTime: time.Duration(ms) * time.Millisecond, Reason: reason}}
	}
	for _, test := range []struct {
		name    string
		answers []answer
		want    checks.Check
	}{
		{"nothing asked", nil, checks.Check{}},
		{"one paid", []answer{measured(probe.Paid, 402, 80, "asks")},
			checks.Check{StatusCode: new(402), ResponseTimeMS: new(80), EndpointsFound: 1}},
		{"first paid answer's status",
			[]answer{measured(probe.Failed, 500, 10, "boom"), measured(probe.Paid, 402, 30, ""),
				measured(probe.Paid, 412, 20, "")},
			checks.Check{StatusCode: new(402), ResponseTimeMS: new(20), EndpointsFound: 2,
				ErrorMessage: new("boom")}},
		{"else the first one's", []answer{measured(probe.Failed, 0, 0, "refused"),
			measured(probe.Failed, 404, 7, "gone"),
			measured(probe.Open, 200, 9, "open")},
			checks.Check{StatusCode: new(404), ResponseTimeMS: new(8), ErrorMessage: new("refused")}},
		{"an even number of times", []answer{measured(probe.Paid, 402, 1, ""), measured(probe.Paid, 402, 100, ""),
			measured(probe.Paid, 402, 10, ""), measured(probe.Paid, 402, 20, "")},
			checks.Check{StatusCode: new(402), ResponseTimeMS: new(15), EndpointsFound: 4}},
		{"none answered", []answer{measured(probe.Failed, 0, 0, "no such host")},
			checks.Check{ErrorMessage: new("no such host")}},
		{"a reason that is not valid text", []answer{measured(probe.Failed, 500, 1, "a\x00b\xff")},
			checks.Check{StatusCode: new(500), ResponseTimeMS: new(1), ErrorMessage: new("a\ufffdb\ufffd")}},
	} {
		var got checks.Check
		setMeasurements(&got, test.answers)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestResponseTimeIgnoresEndpoints checks that the response time of a server does not depend on how many endpoints a
// visit asks, of which only the first opens a connection.
func TestResponseTimeIgnoresEndpoints(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, endpoints := range []int{1, 2, 5, 20} {
		var answers []answer
		for i := range endpoints {
			r := probe.Result{Verdict: probe.Paid, Status: 402, ResponseTime: 31 * ms, Phases: probe.Phases{FirstByte: 30 * ms}}
			if i == 0 {
				r.Phases.DNS, r.Phases.Connect, r.Phases.TLS = 12*ms, 20*ms, 71*ms
				r.ResponseTime += 103 * ms
			}
			answers = append(answers, answer{result: r})
		}
		var got checks.Check
		if setMeasurements(&got, answers); *got.ResponseTimeMS != 31 {
			t.Errorf("%d endpoints: %d ms, want 31", endpoints, *got.ResponseTimeMS)
		}
	}
	// the request took a connection that became idle while another was being opened
	late := probe.Result{ResponseTime: 40 * ms, Phases: probe.Phases{Connect: 20 * ms, TLS: 30 * ms, FirstByte: 25 * ms}}
	if got := answerTime(&late); got != 25*ms {
		t.Errorf("a connection opened in vain: %v, want 25ms", got)
	}
}

// TestPickEndpoints checks which endpoints a visit probes, and in which order.
func TestPickEndpoints(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) *time.Time { return new(noon.Add(-d)) }
	const hour, fortnight = time.Hour, 14 * 24 * time.Hour
	var many []postgres.Endpoint // later ones were probed longer ago
	var least []string
	for i := range 30 {
		many = append(many, postgres.Endpoint{Path: fmt.Sprintf("/%02d", i), FirstSeenAt: *ago(hour),
			LastProbedAt: ago(time.Duration(i+1) * time.Minute)})
	}
	for i := range maxEndpoints {
		least = append(least, fmt.Sprintf(" /%02d", 29-i))
	}
	for _, test := range []struct {
		name string
		in   []postgres.Endpoint
		want []string
	}{
		{"none", nil, nil},
		{"never probed first, then the least recently; ties by path and method", []postgres.Endpoint{
			{Method: "GET", Path: "/b", FirstSeenAt: *ago(hour), LastProbedAt: ago(time.Minute)},
			{Method: "GET", Path: "/c", FirstSeenAt: *ago(hour), LastProbedAt: ago(2 * time.Minute)},
			{Method: "POST", Path: "/a", FirstSeenAt: *ago(hour)},
			{Method: "GET", Path: "/a", FirstSeenAt: *ago(hour)},
		}, []string{"GET /a", "POST /a", "GET /c", "GET /b"}},
		{"25 a visit", many, least},
		{"inactive ones are skipped", []postgres.Endpoint{
			{Path: "/old", FirstSeenAt: *ago(2 * fortnight), LastPaidAt: ago(fortnight)},
			{Path: "/new", FirstSeenAt: *ago(2 * fortnight), LastPaidAt: ago(hour), LastProbedAt: ago(0)},
		}, []string{" /new"}},
		{"unless all are inactive", []postgres.Endpoint{
			{Path: "/b", FirstSeenAt: *ago(2 * fortnight)}, {Path: "/a", FirstSeenAt: *ago(2 * fortnight)},
		}, []string{" /a", " /b"}},
	} {
		var got []string
		for _, e := range pickEndpoints(test.in, noon) {
			got = append(got, e.Method+" "+e.Path)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   postgres.Endpoint
		want probe.Target
	}{
		{postgres.Endpoint{Path: "/x"}, probe.Target{URL: "https://a.test/v1/x"}},
		{postgres.Endpoint{Path: "/x", Method: "POST"}, probe.Target{URL: "https://a.test/v1/x", MethodHint: "POST"}},
		{postgres.Endpoint{Path: "/x", Method: "POST", MethodDeclared: true},
			probe.Target{URL: "https://a.test/v1/x", Method: "POST"}},
	} {
		if diff := cmp.Diff(test.want, newTarget("https://a.test/v1", &test.in, nil)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.in, diff)
		}
	}
	declared := func(last *checks.Envelope) *x402.Discovery {
		e := &postgres.Endpoint{Path: "/x", Fingerprint: new("f")}
		return newTarget("https://a.test", e,
			func() map[uuid.UUID]*checks.Envelope { return map[uuid.UUID]*checks.Envelope{e.ID: last} }).Discovery()
	}
	last := &checks.Envelope{StatusCode: 402,
		Body: []byte(`{"x402Version":2,"accepts":[],"extensions":{"bazaar":{"info":{"input":{"type":"http",` +
			`"method":"POST","bodyType":"json","body":{"q":"x"}}}}}}`)}
	if d := declared(last); d == nil || d.Method != "POST" {
		t.Errorf("discovery of the last envelope is %+v, want POST", d)
	}
	for _, last := range []*checks.Envelope{nil, {StatusCode: 402, Body: []byte("\x00")}} {
		if d := declared(last); d != nil {
			t.Errorf("answer without a declaration declares %+v", d)
		}
	}
	for base, want := range map[string]string{"https://a.test": "a.test", "http://a.test:8080/v1": "a.test:8080",
		"http://[::1]:80": "[::1]:80", "http://%zz": "http://%zz"} {
		if got := host(base); got != want {
			t.Errorf("host of %s is %s, want %s", base, got, want)
		}
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		r, share float64
		want     time.Duration
	}{
		{0, 0.2, 12 * time.Minute}, {0.5, 0.2, 15 * time.Minute}, {0.75, 0.2, 16*time.Minute + 30*time.Second},
		{math.Nextafter(1, 0), 0.2, 18 * time.Minute}, {0, 1, 0},
	} {
		c := &Crawler{o: Options{Jitter: test.share, Rand: func() float64 { return test.r }}}
		if got := c.jitter(15 * time.Minute); got.Round(time.Millisecond) != test.want {
			t.Errorf("jitter of %g at %g is %s, want %s", test.share, test.r, got, test.want)
		}
	}
	c := &Crawler{o: Options{Jitter: 0.2}}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := c.jitter(15 * time.Minute)
		if d < 12*time.Minute || d > 18*time.Minute {
			t.Fatalf("jitter turned 15 minutes into %s", d)
		}
		seen[d] = true
	}
	if len(seen) < 900 {
		t.Errorf("1000 visits fall together on %d times", len(seen))
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		most int
		want string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"äöü€", 3, "äöü"}, {"a\x00b", 3, "a\ufffdb"},
		{"\xff\xfeab", 2, "\ufffda"},
		{"\xe2\x82", 9, "\ufffd"}, {strings.Repeat("€", 500), 300, strings.Repeat("€", 300)},
	} {
		got := clean(test.in, test.most)
		if got != test.want || !utf8.ValidString(got) {
			t.Errorf("clean(%.20q, %d) = %.20q, want %.20q", test.in, test.most, got, test.want)
		}
	}
}

// TestNewPrices checks that requirements that can't be paid, and amounts that are not whole atomic units, make no
// price. An issued currency of the XRP Ledger with its issuer does. Positions are those of the answer.
func TestNewPrices(t *testing.T) {
	t.Parallel()
	row := func(network, asset, amount, payTo string) string {
		return fmt.Sprintf(`{"scheme":"exact","network":%q,"asset":%q,"amount":%q,"payTo":%q}`, network, asset, amount,
			payTo)
	}
	const xrpl, evm, usdc = "rQhWct2fv4Vc4KRjRgMrxa8xPN9Zx9iLKV", "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
		"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	const issued = `{"scheme":"exact","network":"xrpl:0","asset":"524C555344000000000000000000000000000000",` +
		`"amount":"10.50","payTo":"` + xrpl + `","extra":{"issuer":"rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"}}`
	rows := []string{
		row("xrpl:0", "524C555344000000000000000000000000000000", "10.5", xrpl), row("xrpl:0", "XRP", "10.5", xrpl),
		row("xrpl:0", "XRP", "1000000", xrpl),
		row("eip155:8453", usdc, "0.01", evm), row("eip155:8453", usdc, "10000", ""),
		row("eip155:8453", "", "10000", evm), row("eip155:8453", usdc, "10000", evm),
		issued, row("eip155:8453", usdc, "10000", "0x0000000000000000000000000000000000000000"),
		row("eip155:8453", usdc, "10000", usdc), row("eip155:8453", usdc, "10000", xrpl),
	}
	a := x402.Capture(x402.Answer{Status: 402,
		Body: []byte(`{"x402Version":2,"accepts":[` + strings.Join(rows, ",") + `]}`)})
	var got []string
	for _, p := range newPrices(uuid.Nil, noon, a.Envelope, false) {
		got = append(got, fmt.Sprintf("%d %s %s", p.Position, p.Network, p.Amount))
	}
	if diff := cmp.Diff([]string{"2 xrpl:0 1000000", "6 eip155:8453 10000", "7 xrpl:0 10.5"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
