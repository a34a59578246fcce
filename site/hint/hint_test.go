package hint

import (
	"encoding/base64"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/rail"
	"tollbook/site/x402"
)

const (
	listed = "https://api.acme.test/quote"
	row    = `{"scheme":"exact","network":"eip155:8453","amount":"2500","maxTimeoutSeconds":60,
		"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
		"extra":{"name":"USD Coin","version":"2"}}`
	v2 = `{"x402Version":2,"resource":{"url":"https://api.acme.test/quote"},"accepts":[` + row + `]}`
	v1 = `{"x402Version":1,"error":"x","accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"2500",
		"resource":"https://api.acme.test/quote","description":"","mimeType":"","maxTimeoutSeconds":60,
		"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C"`
	v1Input = `,"outputSchema":{"input":{"type":"http","method":"GET"},"output":null}`
	mpp     = `Payment id="1", realm="api.acme.test", method="tempo", intent="charge", ` +
		`request="eyJhbW91bnQiOiIxMDAwMCIsImN1cnJlbmN5IjoiMHgyMGMwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwIiwicmVjaXBpZW50IjoiMHg3NDJkMzVDYzY2MzRDMDUzMjkyNWEzYjg0NEJjOWU3NTk1ZjBiRWIxIn0"`
	expires = `, expires="2026-11-28T12:00:00Z"`
)

// facts returns an endpoint by a response: lines of headers, of which TERMS stands for the header of version 2, and a
// body.
func facts(body string, lines ...string) Facts {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		if name == "TERMS" {
			name, value = "Payment-Required", base64.StdEncoding.EncodeToString([]byte(value))
		}
		h.Add(name, value)
	}
	return Facts{Endpoint: "GET /quote", URL: listed, Method: "GET", AnsweredURL: listed, Header: h, Body: []byte(body),
		Captured: x402.Capture(x402.Answer{Status: 402, Header: h, Body: []byte(body), URL: listed}),
		Offers:   rail.Read(rail.Answer{Header: h, URL: listed, TLSVerified: true})}
}

func answer(status int, lines ...string) *Answer {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return NewAnswer(status, h)
}

// TestJudge checks when each hint is given, and what it says was found.
func TestJudge(t *testing.T) {
	t.Parallel()
	good := facts("{}", "TERMS: "+v2)
	with := func(f Facts, change func(*Facts)) Facts { change(&f); return f }
	big := func(n int) string { return "X-Filler: " + strings.Repeat("x", n) }
	tool := with(facts("{}", "TERMS: "+v2, "Cache-Control: public"), func(f *Facts) {
		f.URL += "#climate"
		f.Bare = &Try{"POST {}", 400}
	})
	for _, tt := range []struct {
		name  string
		facts Facts
		want  []string // code: detail
	}{
		{"nothing known", Facts{Endpoint: "GET /quote", URL: listed}, nil},
		{"good", good, nil},
		{"good version 1", facts(v1 + v1Input + "}]}"), nil},
		{"good MPP", facts("", "WWW-Authenticate: "+mpp+expires, "Cache-Control: no-store"), nil},
		{"a tool", tool, nil},

		{"public", facts("{}", "TERMS: "+v2, "Cache-Control: public"), []string{"cacheable_402: Cache-Control: public"}},
		{"max-age", facts("{}", "TERMS: "+v2, "Cache-Control: private, max-age=60"),
			[]string{"cacheable_402: Cache-Control: private, max-age=60"}},
		{"s-maxage in a second header", facts("{}", "TERMS: "+v2, "Cache-Control: max-age=0", "Cache-Control: s-maxage=9"),
			[]string{"cacheable_402: Cache-Control: max-age=0, s-maxage=9"}},
		{"a CDN alone", facts("{}", "TERMS: "+v2, "CDN-Cache-Control: max-age=600"),
			[]string{"cacheable_402: Cdn-Cache-Control: max-age=600"}},
		{"no-store wins", facts("{}", "TERMS: "+v2, "Cache-Control: public, max-age=60, No-Store"), nil},
		{"no-cache asks again", facts("{}", "TERMS: "+v2, "Cache-Control: public, no-cache"), nil},
		{"max-age 0", facts("{}", "TERMS: "+v2, "Cache-Control: max-age=0, must-revalidate"), nil},

		{"8 KiB", facts("{}", "TERMS: "+v2, big(9000)), []string{
			"headers_large: the headers have 9452 bytes, more than 8 KiB; 9012 of them are X-FILLER"}},
		{"16 KiB", facts("{}", "TERMS: "+v2, big(17000)), []string{
			"headers_large: the headers have 17452 bytes, more than 16 KiB; 17012 of them are X-FILLER"}},

		{"http behind a proxy", facts("{}", "TERMS: "+strings.Replace(v2, "https:", "http:", 1)),
			[]string{"named_elsewhere: resource.url is http://api.acme.test/quote"}},
		{"another host", facts("{}", "TERMS: "+strings.Replace(v2, "api.acme", "localhost", 1)),
			[]string{"named_elsewhere: resource.url is https://localhost.test/quote"}},
		{"the default port", facts("{}", "TERMS: "+strings.Replace(v2, "acme.test", "Acme.test:443", 1)), nil},
		{"a relative resource", facts("{}", "TERMS: "+strings.Replace(v2, "https://api.acme.test", "", 1)), nil},
		{"another realm", facts("", "WWW-Authenticate: "+strings.Replace(mpp, "api.acme.test", "localhost:3000", 1)+expires),
			[]string{"named_elsewhere: realm is localhost:3000"}},
		{"the realm of the site", facts("", "WWW-Authenticate: "+strings.Replace(mpp, "api.acme", "acme", 1)+expires), nil},
		{"a realm in words", facts("", "WWW-Authenticate: "+strings.Replace(mpp, "api.acme.test", "Acme Quotes", 1)+expires),
			nil},
		{"no expiry", facts("", "WWW-Authenticate: "+mpp), []string{"expiry_missing: method tempo, intent charge"}},

		{"version 1 without outputSchema", facts(v1 + "}]}"), []string{"output_schema_missing: "}},
		{"version 1 with null", facts(v1 + `,"outputSchema":null}]}`), []string{"output_schema_missing: "}},
		{"version 1 with bazaar", facts(v1 + `}],"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"GET"}}}}}`),
			[]string{"output_schema_missing: the terms have it in extensions.bazaar, which belongs to version 2"}},

		{"input first", with(good, func(f *Facts) { f.Bare, f.Example = &Try{"POST {}", 400}, &Try{`POST {"q":1}`, 402} }),
			[]string{`input_before_payment: POST {} answers 400; POST {"q":1} answers 402`}},
		{"input never right", with(Facts{URL: listed}, func(f *Facts) {
			f.Bare, f.Example = &Try{"POST {}", 422}, &Try{`POST {"q":1}`, 422}
		}), []string{"input_before_payment: POST {} answers 422", `example_misses_402: POST {"q":1} answers 422`}},
		{"needs a sign-in", with(good, func(f *Facts) { f.Bare = &Try{"GET", 401} }), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, h := range Judge([]Facts{tt.facts}) {
				detail := ""
				if d := h.Endpoints[0].Detail; d != nil {
					detail = *d
				}
				got = append(got, h.Code+": "+detail)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("hints (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCanBrowserPay checks what a browser does by the CORS protocol.
func TestCanBrowserPay(t *testing.T) {
	t.Parallel()
	const (
		all     = "Access-Control-Allow-Origin: *"
		expose  = "Access-Control-Expose-Headers: Payment-Response, payment-required"
		allowed = "Access-Control-Allow-Headers: content-type, payment-signature"
		v1Allow = "Access-Control-Allow-Headers: X-Payment"
	)
	modern := facts("{}", "TERMS: "+v2)
	old := facts(v1 + v1Input + "}]}")
	other := facts("", "WWW-Authenticate: "+mpp+expires)
	yes, no := new(true), new(false)
	for _, tt := range []struct {
		name    string
		facts   Facts
		browser *Browser
		want    *bool
		reason  string
	}{
		{"not asked", modern, nil, nil, "it was not asked as a browser asks, or did not answer"},
		{"no answer", modern, &Browser{Method: "GET"}, nil, "it was not asked as a browser asks, or did not answer"},
		{"all right", modern, &Browser{Method: "GET", Preflight: answer(204, all, allowed), Request: answer(402, all, expose)},
			yes, ""},
		{"the origin repeated", modern, &Browser{Method: "GET",
			Preflight: answer(200, "Access-Control-Allow-Origin: "+Origin, "Access-Control-Allow-Headers: *"),
			Request:   answer(402, "Access-Control-Allow-Origin: "+Origin, "Access-Control-Expose-Headers: *")}, yes, ""},
		{"version 1 reads the body", old, &Browser{Method: "GET", Preflight: answer(204, all, v1Allow),
			Request: answer(402, all)}, yes, ""},
		{"OPTIONS must be paid", modern, &Browser{Method: "GET", Preflight: answer(402, all), Request: answer(402, all, expose)},
			no, "OPTIONS is answered with 402; a browser needs 200 or 204"},
		{"OPTIONS redirects", modern, &Browser{Method: "GET", Preflight: answer(301), Request: answer(402, all, expose)},
			no, "OPTIONS is answered with 301; a browser needs 200 or 204"},
		{"not exposed", modern, &Browser{Method: "GET", Preflight: answer(204, all, allowed), Request: answer(402, all)},
			no, "the 402 does not expose PAYMENT-REQUIRED: Access-Control-Expose-Headers is missing"},
		{"only the old header", modern, &Browser{Method: "GET", Preflight: answer(204, all, v1Allow),
			Request: answer(402, all, expose)}, no,
			"the answer to OPTIONS does not allow the header PAYMENT-SIGNATURE: Access-Control-Allow-Headers is X-Payment"},
		{"no origin at all", modern, &Browser{Method: "GET", Preflight: answer(200), Request: answer(402)}, no,
			"the answer to OPTIONS allows no other origins: Access-Control-Allow-Origin is missing; " +
				"the 402 allows no other origins: Access-Control-Allow-Origin is missing"},
		{"two origins", modern, &Browser{Method: "GET", Preflight: answer(204, all, all, allowed),
			Request: answer(402, all, expose)}, no,
			"the answer to OPTIONS allows no other origins: Access-Control-Allow-Origin is *, *"},
		{"JSON needs its type", modern, &Browser{Method: "POST", Body: true,
			Preflight: answer(204, all, "Access-Control-Allow-Headers: payment-signature"), Request: answer(402, all, expose)},
			no, "the answer to OPTIONS does not allow the header Content-Type: Access-Control-Allow-Headers is payment-signature"},
		{"PUT must be allowed", modern, &Browser{Method: "PUT", Preflight: answer(204, all, allowed),
			Request: answer(402, all, expose)}, no,
			"the answer to OPTIONS does not allow PUT: Access-Control-Allow-Methods is missing"},
		{"the asterisk is not Authorization", other, &Browser{Method: "GET",
			Preflight: answer(204, all, "Access-Control-Allow-Headers: *"),
			Request:   answer(402, all, "Access-Control-Expose-Headers: WWW-Authenticate")}, no,
			"the answer to OPTIONS does not allow the header Authorization: Access-Control-Allow-Headers is *"},
		{"MPP", other, &Browser{Method: "GET", Preflight: answer(204, all, "Access-Control-Allow-Headers: authorization"),
			Request: answer(402, all, "Access-Control-Expose-Headers: *")}, yes, ""},
		{"a rate limit", modern, &Browser{Method: "GET", Preflight: answer(429), Request: answer(402, all, expose)}, nil,
			"its answers do not show it"},
		{"the origin is refused", modern, &Browser{Method: "GET", Preflight: answer(204, all, allowed), Request: answer(403)},
			nil, "its answers do not show it"},
		{"no terms", Facts{URL: listed}, &Browser{Method: "GET", Preflight: answer(204)}, nil,
			"there are no terms that a page could pay by"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := tt.facts
			f.Browser = tt.browser
			got, reason := CanBrowserPay(&f)
			if diff := cmp.Diff(tt.want, got); diff != "" || reason != tt.reason {
				t.Errorf("%q, want %q (-want +got):\n%s", reason, tt.reason, diff)
			}
		})
	}
}

func TestStacks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		lines []string
		body  string
		want  []string
	}{
		{nil, "{}", nil},
		{[]string{"X-Powered-By: Express"}, "{}", []string{express}},
		{[]string{"Server: cloudflare", "CF-RAY: 8f", "X-Powered-By: Express"}, "{}", []string{express, cloudflare}},
		{[]string{"Server: nginx/1.27.2 (Ubuntu)"}, "", []string{nginx}},
		{[]string{"Via: 1.1 nginx"}, "", []string{nginx}},
		{[]string{"X-Powered-By: Next.js"}, "", []string{next}},
		{[]string{"Server: uvicorn"}, "", []string{fastAPI}},
		{[]string{"X-Powered-By: Expressive Systems", "Server: notnginx"}, "", nil},
		{[]string{"TERMS: " + v2}, "null\n", []string{goHTTP}},
		{[]string{"Server: Google Frontend"}, "null\n", nil},
	} {
		f := facts(tt.body, tt.lines...)
		if diff := cmp.Diff(tt.want, Stacks(f.Header, f.Body)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.lines, diff)
		}
	}
}

// TestJudgeGroups checks that a hint is given once, with its first endpoints and the code for all programs.
func TestJudgeGroups(t *testing.T) {
	t.Parallel()
	var list []Facts
	for range 12 {
		list = append(list, facts("{}", "TERMS: "+v2, "Cache-Control: public", "X-Powered-By: Express"))
	}
	list[11].Header.Set("Server", "nginx")
	hints := Judge(list)
	if len(hints) != 1 || hints[0].EndpointCount != 12 || len(hints[0].Endpoints) != 10 {
		t.Fatalf("hints: %+v", hints)
	}
	var stacks []string
	for _, s := range hints[0].Snippets {
		stacks = append(stacks, s.Stack)
	}
	if diff := cmp.Diff([]string{express, nginx}, stacks); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
}

// TestTable checks that each hint has words and a source, and that no fix as code belongs to nothing.
func TestTable(t *testing.T) {
	t.Parallel()
	sources, err := os.ReadFile("SOURCES.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if r.label == "" || r.meaning == "" || r.fix == "" || !strings.Contains(string(sources), "`"+r.code+"`") {
			t.Errorf("%s lacks words or a source", r.code)
		}
	}
	for code, by := range snippets {
		if !slices.Contains(Codes(), code) {
			t.Errorf("there is a fix as code for %s, which is no hint", code)
		}
		for stack := range by {
			f := facts("{}", "TERMS: "+v2)
			text := snippet(code, stack, &f)
			if text == "" || strings.Contains(text, "ALLOW_") || strings.Contains(text, "EXPOSE_") {
				t.Errorf("%s for %s: %q", code, stack, text)
			}
		}
	}
}

// FuzzJudge checks that no response makes a hint that cannot be published.
func FuzzJudge(f *testing.F) {
	f.Add(v1+"}]}", "Cache-Control", "public, max-age=\"", "https://api.acme.test/quote?x=%zz")
	f.Add("{}", "WWW-Authenticate", mpp, "http://[::1/")
	f.Add("null\n", "Payment-Required", base64.StdEncoding.EncodeToString([]byte(v2)), "://")
	f.Fuzz(func(t *testing.T, body, name, value, address string) {
		x := facts(body, name+": "+value)
		x.AnsweredURL, x.URL = address, address
		x.Browser = &Browser{Method: name, Preflight: answer(204, name+": "+value), Request: answer(402, name+": "+value)}
		for _, h := range Judge([]Facts{x}) {
			for _, e := range h.Endpoints {
				if e.Detail != nil && len(*e.Detail) > 3*maxDetail {
					t.Errorf("%s: %d bytes", h.Code, len(*e.Detail))
				}
			}
		}
		HasInput(address, value, []byte(body))
	})
}
