package probe

import (
	"bytes"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/rail"
	"tollbook/site/rail/railtest"
	"tollbook/site/x402"
	"tollbook/site/x402/x402test"
)

var update = flag.Bool("update", false, "rewrite testdata/envelopes.txt")

// envelopesAt is the time at which the cases are received.
var envelopesAt = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// envelopesBase is the URL of the server of the cases.
const envelopesBase = "https://127.0.0.1"

// readEnvelopeCases returns the envelopes from the field, with a fresh invoice.
func readEnvelopeCases(t *testing.T) []x402test.Response {
	t.Helper()
	data, err := os.ReadFile("../../site/x402/testdata/field/envelopes.json")
	if err != nil {
		t.Fatal(err)
	}
	list, err := x402test.ReadField(data, x402test.Fill{Base: envelopesBase, Expires: envelopesAt.Add(time.Hour),
		Invoice: railtest.Invoice{Prefix: "bc3u", Created: envelopesAt.Add(-time.Minute), Expiry: time.Hour}.Text()})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEnvelopes reads and judges each case twice: by the pure functions, and by a probe over HTTPS. Both must give what
// testdata/envelopes.txt says.
func TestEnvelopes(t *testing.T) {
	t.Parallel()
	cases := readEnvelopeCases(t)
	ca := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "127.0.0.1", -time.Hour, time.Hour)}}
	server := startTLS(t, config, func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(cases, func(c x402test.Response) bool { return c.Name == r.URL.Path })
		if i < 0 {
			http.NotFound(w, r)
			return
		}
		for name, values := range cases[i].Header {
			w.Header()[name] = values
		}
		w.WriteHeader(cases[i].Status)
		_, _ = w.Write(cases[i].Body)
	})
	route := sampleRoute(server.Listener.Addr().String(), ca.pool)
	route.Domain = "127.0.0.1"
	p := New(Options{Guard: &Guard{AllowPrivate: []string{"127.0.0.1"}}, RequestTimeout: time.Minute,
		Routes: []Route{route}, Now: func() time.Time { return envelopesAt }})
	t.Cleanup(p.Close)

	var pure, probed bytes.Buffer
	for _, c := range cases {
		fmt.Fprintf(&pure, "%s\n%s\n", c.Name, describeResult(judgeEnvelope(c)))
		got := p.Probe(t.Context(), Target{URL: envelopesBase + c.Name, Method: http.MethodGet, OnlyMethod: true})
		fmt.Fprintf(&probed, "%s\n%s\n", c.Name, describeResult(got))
	}
	if *update {
		if err := os.WriteFile("testdata/envelopes.txt", pure.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/envelopes.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), pure.String()); diff != "" {
		t.Errorf("by the pure functions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(string(want), probed.String()); diff != "" {
		t.Errorf("by a probe (-want +got):\n%s", diff)
	}
}

// judgeEnvelope reads and judges a case without a network.
func judgeEnvelope(c x402test.Response) Result {
	resp := &http.Response{StatusCode: c.Status, Header: c.Header, Body: io.NopCloser(bytes.NewReader(c.Body))}
	a := x402.Answer{Status: c.Status, Header: resp.Header, URL: envelopesBase + c.Name}
	var err error
	if a.Body, a.Truncated, err = readBody(resp); err != nil {
		a.Truncated, err = true, fmt.Errorf("%w: %w", errBody, asFault(err))
	}
	r := Result{Method: http.MethodGet, Status: c.Status, Answer: a, Captured: x402.Capture(a), FinalURL: a.URL,
		TLSVerified: true}
	if c.Status == http.StatusPaymentRequired {
		r.Offers = rail.Read(rail.Answer{Header: a.Header, URL: a.URL, TLSVerified: true, ReceivedAt: envelopesAt})
	}
	r.Verdict, r.Class, r.Reason = judge(a, r.Captured, r.Offers, err)
	return r
}

// describeResult returns what was read and judged, a line each: the class with its reason; each way to pay with its
// price and whether a client signs it; grades, failed checks, warnings and defects.
func describeResult(r Result) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "\t"+format+"\n", args...) }
	line("%s: %s", r.Class, r.Reason)
	ev := x402.Evidence{Endpoint: "GET", URL: r.FinalURL, TLSVerified: r.TLSVerified, Captured: r.Captured}
	unsignable := x402.UnsignableRows(ev)
	if e := r.Captured.Envelope; e != nil {
		for i, row := range e.Accepts {
			price := ""
			if usd, ok := row.PriceUSD(); ok {
				price = ", $" + usd
			}
			for _, c := range e.Conditions(i) {
				price += " (" + c.Text + ")"
			}
			line("x402 v%d %s: %s of %s on %s%s to %s, %s", e.Version, row.Scheme, row.AmountRaw, row.AssetName,
				networkText(row), price, row.PayTo, wayText(row.Variable(), row.Unusable(), unsignable[i]))
		}
	}
	var offers []rail.Listed
	for _, o := range r.Offers {
		v := o.Value()
		price := ""
		if v.PriceUSD != "" {
			price = ", $" + v.PriceUSD
		}
		if v.Testnet {
			price = ", test network"
		}
		line("%s %s: %s of %s on %s%s to %s, %s", o.Protocol, o.Scheme, o.Amount, v.AssetName, o.Network, price,
			o.PayTo, wayText(o.Variable, o.Fault(), ""))
		offers = append(offers, rail.Listed{Endpoint: "GET", Offer: o})
	}
	for _, c := range rail.Conflicts(r.Captured, r.Offers) {
		line("danger %s", c)
	}
	if r.Verdict != Paid && r.Verdict != Broken {
		return b.String()
	}
	if c := x402.Assess([]x402.Evidence{ev}); r.Captured.Envelope != nil {
		line("grade %s", c.GradeReason)
		for _, check := range c.Checks {
			if !check.Pass {
				line("fails %s: %s", check.ID, check.Reason)
			}
		}
		for _, w := range c.Warnings {
			line("warning %s %s", w.Code, w.Detail)
		}
	}
	for _, w := range rail.Warnings(offers) {
		line("warning %s %s", w.Code, w.Detail)
	}
	for _, c := range rail.AssessAll(offers) {
		line("grade by %s %s", c.Protocol, c.Reason)
		for _, k := range c.Results {
			if !k.Pass {
				line("fails %s: %s", k.ID, k.Reason)
			}
		}
	}
	for _, d := range r.Captured.Defects {
		line("defect %s %s", d.Code, d.Detail)
	}
	return b.String()
}

func wayText(variable bool, unusable, unsignable string) string {
	text := "payable"
	switch {
	case unusable != "":
		text = "unusable: " + unusable
	case unsignable != "":
		text = "no client signs: " + unsignable
	}
	if variable {
		text = "variable, " + text
	}
	return text
}

func networkText(r x402.Requirement) string {
	if r.NetworkCAIP2 == "" {
		return "?" + r.Network
	}
	return r.NetworkCAIP2
}
