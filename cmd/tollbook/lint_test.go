package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/lint"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
)

// linted runs lint on a URL and returns its report and exit status.
func linted(t *testing.T, o lintOptions, address string) (lint.Report, int) {
	t.Helper()
	var stdout bytes.Buffer
	o.JSON = true
	status := 0
	if err := runLint(t.Context(), o, []string{address}, &stdout); err != nil {
		status = exitStatus(err)
	}
	var report lint.Report
	d := json.NewDecoder(&stdout)
	d.DisallowUnknownFields()
	if err := d.Decode(&report); err != nil {
		t.Fatalf("lint --json %s: %v\n%s", address, err, &stdout)
	}
	return report, status
}

// failing returns the names of the checks that a report fails.
func failing(r lint.Report) []string {
	list := []string{}
	for _, c := range r.Failed() {
		list = append(list, c.ID)
	}
	return list
}

func warned(r lint.Report) []string {
	list := []string{}
	for _, w := range r.Warnings {
		list = append(list, w.Code)
	}
	return list
}

// sampleWorld returns routes to the sample services.
func sampleWorld(t *testing.T) []probe.Route {
	t.Helper()
	world, err := sample.Start(context.Background(), sample.Options{Pace: 0.001})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	return []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}}
}

// TestLintSampleWorld checks the report and exit status of lint for the behaviours of the sample services.
func TestLintSampleWorld(t *testing.T) {
	t.Parallel()
	o := lintOptions{routes: sampleWorld(t)}
	for _, test := range []struct {
		address, method string
		status          int
		verdict, grade  string
		fails           []string
	}{
		{"https://plumbline-quotes.sample.test/v1/quote", "", 0, "paid", "A", nil},
		// lint finds it by POST
		{"https://harborlight-search.sample.test/v1/search", "", 0, "paid", "A", nil},
		// lint uses this method only on request
		{"https://cairn-storage.sample.test/blobs", "put", 0, "paid", "A", nil},
		// redirects to https
		{"http://plumbline-quotes.sample.test/v1/quote", "", 1, "paid", "C", []string{"transport_https"}},
		{"https://skyferry-flights.sample.test/flights/status", "", 1, "paid", "A", []string{"x402_version_current"}},
		{"https://parcelwing-tracking.sample.test/track", "", 1, "paid", "A", []string{"version_channel_coherent"}},
		{"https://thimble-classifier.sample.test/classify", "", 1, "paid", "C", []string{"price_sane"}},
		{"https://treadmill-jobs.sample.test/jobs", "", 1, "paid", "F", []string{"accepts_present"}},
		{"https://fingerpost-identity.sample.test/prove", "", 1, "paid", "C", []string{"eip712_domain_extra"}},
		{"https://driftwood-treasury.sample.test/treasury", "", 3, "broken", "C", []string{"payto_shape"}},
		{"https://bellbird-alerts.sample.test/sms", "", 1, "paid", "A", []string{"version_channel_coherent"}},
		{"http://sandglass-trivia.sample.test/question", "", 1, "paid", "C", []string{"transport_https"}},
		{"https://larkspur-recipes.sample.test/recipes/today", "", 3, "open", "unknown", nil},
		{"https://attic-archive.sample.test/keep", "", 3, "failed", "unknown", nil},
		// the 402 comes from the platform, not from the service
		{"https://hourglass-cron.sample.test/schedules", "", 3, "failed", "unknown", nil},
		{"https://millstone-grain.sample.test/prices", "", 4, "failed", "unknown", nil},
		{"https://oldgate-sanctions.sample.test/screen", "", 4, "failed", "unknown", nil},
		{"https://nobody.sample.test/", "", 4, "failed", "unknown", nil},
		{"https://lamplighter-domains.sample.test/domain", "", 4, "inconclusive", "unknown", nil},
		{"https://plumbline-quotes.sample.test/{symbol}", "", 4, "inconclusive", "unknown", nil},
		{"https://127.0.0.1/quote", "", 2, "refused", "unknown", nil},
		{"https://user:secret@plumbline-quotes.sample.test/", "", 2, "refused", "unknown", nil},
		{"plumbline-quotes.sample.test/v1/quote", "", 2, "refused", "unknown", nil},
		{"http://\x7f", "", 2, "refused", "unknown", nil},
	} {
		t.Run(test.address, func(t *testing.T) {
			t.Parallel()
			o := o
			o.Method = test.method
			got, status := linted(t, o, test.address)
			if test.fails == nil {
				test.fails = []string{}
			}
			if status != test.status || got.Verdict != test.verdict || got.Grade != test.grade {
				t.Errorf("exit status %d, verdict %s (%s), grade %s; want %d, %s, %s", status, got.Verdict, got.Reason,
					got.Grade, test.status, test.verdict, test.grade)
			}
			if diff := gocmp.Diff(test.fails, failing(got)); diff != "" {
				t.Errorf("checks that fail (-want +got):\n%s", diff)
			}
			checkReport(t, got, status)
		})
	}
}

// checkReport compares every report with its documentation.
func checkReport(t *testing.T, r lint.Report, status int) {
	t.Helper()
	if read := r.Passed != nil; !read && status < 2 || read != (len(r.Checks) == 14) || r.Total != 14 {
		t.Errorf("passed %v, %d checks, total %d, exit status %d", r.Passed, len(r.Checks), r.Total, status)
	}
	hasTerms := slices.ContainsFunc(r.Asks, func(a lint.Ask) bool { return a.Protocol == "x402" })
	for _, c := range r.Checks {
		if c.Pass != (c.Reason == nil) || c.Pass != (c.Expected == nil) || c.Mend == nil && !c.Pass && hasTerms {
			t.Errorf("check %s: pass %v, reason %v, expected %v, mend %v", c.ID, c.Pass, c.Reason, c.Expected, c.Mend)
		}
	}
	for _, w := range r.Warnings {
		if w.Meaning == "" {
			t.Errorf("warning %s has no meaning", w.Code)
		}
	}
	for _, d := range r.Defects {
		if d.Meaning == "" {
			t.Errorf("defect %s has no meaning", d.Code)
		}
	}
	if r.Reason == "" || r.Class == "" {
		t.Errorf("class %q, reason %q", r.Class, r.Reason)
	}
}

// seller402 returns a version 2 challenge for the header.
func seller402(t *testing.T, envelope string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString([]byte(envelope)))
		w.WriteHeader(http.StatusPaymentRequired)
		w.Write([]byte("{}"))
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestLintForPeople checks the text report, and that it is the same each time.
func TestLintForPeople(t *testing.T) {
	t.Parallel()
	host := seller402(t, `{"x402Version":2,"resource":{"url":"http://other.test/quote"},"accepts":[
		{"scheme":"exact","network":"eip155:8453","amount":"2500","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","maxTimeoutSeconds":"60",
		 "payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","extra":{"name":"USDC","version":"2"}},
		{"scheme":"upto","network":"eip155:999999","amount":"1","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":""}]}`)
	want := `http://HOST/quote
GET: asks for payment. 9 of 14 checks pass.
Grade F: GET /quote, row 2: no recipient in any known field.

Prices
  $0.0025 in USDC on Base (eip155:8453) by exact, to 0x209693Bc6afc0C5328bA36FaF03C514EF312287C
    2500 in atomic units of 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913
    Standard clients do not pay it: extra is "USDC" / "2"; the token's domain is "USD Coin" / "2"
  up to 1 in atomic units of 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 on eip155:999999 by upto, to (none)
    can't be paid: no recipient

Failed checks
  Recipient found (payto_recoverable)
    found     GET /quote, row 2: no recipient in any known field
    expected  Every row names a recipient, in any known field.
    fix       Set payTo in every row of accepts.
  Recipient in payTo (payto_conformant)
    found     GET /quote, row 2: payTo is empty
    expected  Every row has payTo as a string.
    fix       Put the recipient into the field payTo of every row, as a string.
  Recipient is a valid address (payto_shape)
    found     GET /quote, row 2: no recipient
    expected  The recipient is an address of the row's network with a matching checksum, not a burn address and not the asset.
    fix       Copy the address from the wallet that is to receive the money, for this exact network.
  Encrypted transport (transport_https)
    found     GET /quote: not https: http://HOST/quote
    expected  The endpoint and every redirect use https with a valid certificate.
    fix       Serve the endpoint over https, renew the certificate, and never redirect to http.
  Signing domain given (eip712_domain_extra)
    found     GET /quote, row 1: extra is "USDC" / "2"; the token's domain is "USD Coin" / "2"
    expected  EVM rows paid through EIP-3009 have extra.name and extra.version as strings that match the token's own.
    fix       Set extra to the token's EIP-712 domain; for USDC on Base that is {"name":"USD Coin","version":"2"}.

Warnings, which do not affect the grade
  The envelope names a resource on another registrable domain. Found: http://other.test/quote (resource_elsewhere)
  A strict client refuses the terms, which break a rule of the official schema. Found: maxTimeoutSeconds must be a number above zero; got the string "60" (schema_invalid, row 1)
  A strict client refuses the terms, which break a rule of the official schema. Found: payTo must be a string that is not empty; got the string "" (schema_invalid, row 2)
  A strict client refuses the terms, which break a rule of the official schema. Found: maxTimeoutSeconds must be a number above zero; got nothing (schema_invalid, row 2)
  An upto row lacks extra.facilitatorAddress, which clients need. (upto_facilitator_missing, row 2)

Deviations that Tollbook accepts and a strict client may refuse
  maxTimeoutSeconds is a string where a number is expected. Found: 60 (timeout_text, row 1)
  The network ID is well formed but not in Tollbook's table. Found: eip155:999999 (network_unknown, row 2)
  No recipient can be found. (payto_missing, row 2)
  maxTimeoutSeconds is missing. (timeout_missing, row 2)

Hints, which do not affect the grade
  A page in a browser can't pay (browser_blocked)
    why       Browsers refuse the payment, or hide the terms from the page, because the answers lack headers of CORS. Wallets and shops that run in a browser can't buy.
    found     OPTIONS is answered with 402; a browser needs 200 or 204; the 402 allows no other origins: Access-Control-Allow-Origin is missing
    fix       Answer OPTIONS without payment, with Access-Control-Allow-Origin, and name the headers of the protocol in Access-Control-Allow-Headers and, on every 402, in Access-Control-Expose-Headers.
  The terms name another host or scheme (named_elsewhere)
    why       Buyers and catalogues take the resource from the terms. They store or pay for an address that is not this one.
    found     resource.url is http://other.test/quote
    fix       Build resource.url, or the realm, from the address that buyers use; behind a proxy, from its forwarded headers.

Catalogues that will not list it
  anyspend, aurracloud, b402, bitrefill, cdp, dexter, fluxa, payai, questflow, relai, ultravioletadao: The terms must have extensions.bazaar, or in version 1 outputSchema in accepts: clients repeat it when they pay, and the facilitator lists what was repeated.
    see       https://github.com/x402-foundation/x402/blob/main/specs/extensions/bazaar.md
  x402scan: Its registration accepts https alone.
    see       https://github.com/Merit-Systems/x402scan/blob/main/docs/DISCOVERY.md
  x402scan: Its registration needs a schema of the input, in extensions.bazaar or OpenAPI.
    see       https://github.com/Merit-Systems/x402scan/issues/798
`
	o := lintOptions{visitOptions: visitOptions{AllowPrivate: []string{host}}}
	var texts []string
	for range 2 {
		var stdout bytes.Buffer
		err := runLint(t.Context(), o, []string{"http://" + host + "/quote"}, &stdout)
		if err == nil || exitStatus(err) != 1 {
			t.Errorf("lint = %v, want exit status 1", err)
		}
		texts = append(texts, strings.ReplaceAll(stdout.String(), host, "HOST"))
	}
	if texts[0] != texts[1] {
		t.Errorf("two reports on one answer differ:\n%s", gocmp.Diff(texts[0], texts[1]))
	}
	if diff := gocmp.Diff(want, texts[0]); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestLintShowsNoTricks checks that a hostile service's text neither moves a terminal's cursor nor reverses its
// direction.
func TestLintShowsNoTricks(t *testing.T) {
	t.Parallel()
	evil := "\\u001b[2J\\u202e\\u0007\\u0000\\u2066" + strings.Repeat("x", 3000)
	host := seller402(t, `{"x402Version":"`+evil+`","error":"`+evil+`","resource":{"url":"`+evil+`","description":"`+
		evil+`"},"accepts":[
		{"scheme":"`+evil+`","network":"`+evil+`","amount":"`+evil+`","asset":"`+evil+`","payTo":"`+evil+`","maxTimeoutSeconds":"`+evil+`","extra":"`+evil+`"}]}`)
	for _, asJSON := range []bool{false, true} {
		var stdout bytes.Buffer
		if err := runLint(t.Context(), lintOptions{visitOptions: visitOptions{AllowPrivate: []string{host}},
			JSON: asJSON}, []string{"http://" + host + "/"}, &stdout); err == nil {
			t.Error("it passes")
		}
		for _, r := range stdout.String() {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
				t.Fatalf("the report (JSON %v) holds %U:\n%q", asJSON, r, stdout.String())
			}
		}
		if stdout.Len() > 32<<10 {
			t.Errorf("the report (JSON %v) has %d bytes", asJSON, stdout.Len())
		}
	}
}

// TestLintHelpNamesEveryField checks that the help documents every field of the JSON report.
func TestLintHelpNamesEveryField(t *testing.T) {
	t.Parallel()
	help := strings.Join(strings.Fields(newLintCommand().Long), " ")
	of := reflect.TypeFor[lint.Report]()
	for i := range of.NumField() {
		if name := of.Field(i).Tag.Get("json"); name != "" && !strings.Contains(help, name) {
			t.Errorf("the help does not name %s", name)
		}
	}
}

func TestLintStops(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout bytes.Buffer
	err := runLint(ctx, lintOptions{visitOptions: visitOptions{AllowPrivate: []string{host}}}, []string{server.URL}, &stdout)
	if !errors.Is(err, context.Canceled) || exitStatus(err) != 1 || stdout.Len() != 0 {
		t.Errorf("lint = %v, printed %q; want it cancelled and nothing printed", err, &stdout)
	}
}

func TestLintCommandLine(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"lint", "URL is missing"},
		{"lint https://a.test b", `lint needs a URL such as https://api.acme.example/quote, got "b"`},
		{"lint --file testdata/nothing", "--file: open testdata/nothing"},
		{"lint --fail-on everything https://a.test", `--fail-on "everything": use check, warning, hint`},
		{"lint --limit 0 https://a.test", "--limit 0: use 1 or more"},
		{"lint foo", `lint needs a URL such as https://api.acme.example/quote, got "foo"`},
		{"lint --method HEAD https://a.test", `--method "HEAD": use GET, POST, PUT, PATCH or DELETE`},
		{"lint --crawl-allow-private http://x https://a.test", `allow private "http://x": want HOST or HOST:PORT`},
	} {
		cmd := newRootCommand()
		cmd.SetArgs(strings.Fields(test.args))
		err := cmd.ExecuteContext(t.Context())
		if err == nil || exitStatus(err) != 2 || !strings.Contains(err.Error(), test.want) {
			t.Errorf("tollbook %s: %v, want exit status 2 and %q", test.args, err, test.want)
		}
	}
}
