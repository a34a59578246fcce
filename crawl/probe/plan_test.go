package probe

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/x402"
)

// TestPlan checks the choice of method and sample for a service's answer to each call: which calls are sent and which
// one decides the probe. A call is written as "METHOD query body"; the deciding one is marked with "*".
func TestPlan(t *testing.T) {
	t.Parallel()
	declares := func(body, query string) x402.Captured {
		return x402.Captured{Others: []x402.Envelope{{}, {Discovery: discovery("", body, query)}}}
	}
	type script map[string]string // call: class, or "Allow: …" for a 405
	tests := []struct {
		name     string
		target   Target
		service  script
		captured map[string]x402.Captured
		want     string
	}{
		{"paid at once", Target{}, script{"GET": ClassPaidOK}, nil, "*GET"},
		{"broken at once", Target{}, script{"GET": ClassPaidBroken}, nil, "*GET"},
		{"MPP at once", Target{}, script{"GET": ClassOther402}, nil, "*GET"},
		{"platform at once", Target{}, script{"GET": ClassHostDisabled}, nil, "*GET"},
		{"free by GET, paid by POST", Target{}, script{"GET": ClassOpen, "POST {}": ClassPaidOK}, nil, "GET, *POST {}"},
		{"free by GET, broken by POST", Target{}, script{"GET": ClassOpen, "POST {}": ClassPaidBroken}, nil,
			"GET, *POST {}"},
		{"free by both", Target{}, script{"GET": ClassOpen, "POST {}": ClassOpen}, nil, "*GET, POST {}"},
		{"free by GET only", Target{}, script{"GET": ClassOpen, "POST {}": ClassWrongMethod}, nil, "*GET, POST {}"},
		{"free by GET, POST wants input", Target{}, script{"GET": ClassOpen, "POST {}": ClassNeedsInput}, nil,
			"*GET, POST {}"},
		{"GET gone, POST paid", Target{}, script{"GET": ClassGone, "POST {}": ClassPaidOK}, nil, "GET, *POST {}"},
		{"GET gone, POST wants input", Target{}, script{"GET": ClassGone, "POST {}": ClassNeedsInput}, nil,
			"GET, *POST {}"},
		{"both gone", Target{}, script{"GET": ClassGone, "POST {}": ClassGone}, nil, "*GET, POST {}"},
		{"GET gone, POST fails", Target{}, script{"GET": ClassGone, "POST {}": ClassServerError}, nil, "GET, *POST {}"},
		{"GET 405, POST fails", Target{}, script{"GET": ClassWrongMethod, "POST {}": ClassServerError}, nil,
			"GET, *POST {}"},
		{"GET 405, POST gone", Target{}, script{"GET": ClassWrongMethod, "POST {}": ClassGone}, nil, "*GET, POST {}"},
		{"GET 405, POST unanswered", Target{}, script{"GET": ClassWrongMethod, "POST {}": ClassUnreachable}, nil,
			"GET, *POST {}"},
		{"GET fails, POST gone", Target{}, script{"GET": ClassServerError, "POST {}": ClassGone}, nil, "*GET, POST {}"},
		{"GET fails, POST paid", Target{}, script{"GET": ClassServerError, "POST {}": ClassPaidOK}, nil,
			"GET, *POST {}"},
		{"GET redirected away, POST paid", Target{}, script{"GET": ClassRedirect, "POST {}": ClassPaidOK}, nil,
			"GET, *POST {}"},
		{"GET wants credentials, POST paid", Target{}, script{"GET": ClassAuth, "POST {}": ClassPaidOK}, nil,
			"GET, *POST {}"},
		{"GET wants credentials, POST gone", Target{}, script{"GET": ClassAuth, "POST {}": ClassGone}, nil,
			"*GET, POST {}"},
		{"second call interrupted", Target{}, script{"GET": ClassOpen, "POST {}": ClassInterrupted}, nil,
			"GET, *POST {}"},
		{"second call refused", Target{}, script{"GET": ClassOpen, "POST {}": ClassRefused}, nil, "GET, *POST {}"},

		{"no second call when there was no answer", Target{}, script{"GET": ClassUnreachable}, nil, "*GET"},
		{"nor after an invalid one", Target{}, script{"GET": ClassInvalidHTTP}, nil, "*GET"},
		{"nor for a flood of headers", Target{}, script{"GET": ClassOversized}, nil, "*GET"},
		{"nor after a 429", Target{}, script{"GET": ClassRateLimited}, nil, "*GET"},
		{"nor after a 503 with Retry-After", Target{}, script{"GET": ClassUnavailable}, nil, "*GET"},
		{"nor after a bot filter's answer", Target{}, script{"GET": ClassChallenge}, nil, "*GET"},
		{"nor when refused", Target{}, script{"GET": ClassRefused}, nil, "*GET"},

		{"405 that allows POST", Target{}, script{"GET": "Allow: OPTIONS, post", "POST {}": ClassPaidOK}, nil,
			"GET, *POST {}"},
		{"405 that does not", Target{}, script{"GET": "Allow: PUT, DELETE"}, nil, "*GET"},

		{"remembered", Target{MethodHint: "POST"}, script{"POST {}": ClassPaidOK}, nil, "*POST {}"},
		{"remembered, moved", Target{MethodHint: "POST"}, script{"POST {}": ClassGone, "GET": ClassPaidOK}, nil,
			"POST {}, *GET"},
		{"a dangerous method is not remembered", Target{MethodHint: "DELETE"}, script{"GET": ClassPaidOK}, nil, "*GET"},
		{"nor is HEAD", Target{MethodHint: "HEAD"}, script{"GET": ClassPaidOK}, nil, "*GET"},

		{"declared before remembered", Target{Method: "post", MethodHint: "GET"}, script{"POST {}": ClassPaidOK}, nil,
			"*POST {}"},
		{"declared, free", Target{Method: "GET"}, script{"GET": ClassOpen}, nil, "*GET"},
		{"declared, failing", Target{Method: "GET"}, script{"GET": ClassServerError}, nil, "*GET"},
		{"declared wrongly", Target{Method: "GET"}, script{"GET": ClassWrongMethod, "POST {}": ClassPaidOK}, nil,
			"GET, *POST {}"},
		{"declared wrongly, gone", Target{Method: "POST"}, script{"POST {}": ClassGone, "GET": ClassPaidOK}, nil,
			"POST {}, *GET"},
		{"declared PUT", Target{Method: "PUT"}, script{"PUT {}": ClassWrongMethod}, nil, "*PUT {}"},
		{"declared DELETE", Target{Method: "DELETE"}, script{"DELETE": ClassGone}, nil, "*DELETE"},
		{"declared PATCH", Target{Method: "PATCH", Body: []byte(`{"a":1}`)}, script{`PATCH {"a":1}`: ClassPaidOK}, nil,
			`*PATCH {"a":1}`},
		{"HEAD is never sent", Target{Method: "HEAD"}, script{"GET": ClassOpen, "POST {}": ClassGone}, nil,
			"*GET, POST {}"},
		{"nor an invalid method", Target{Method: "GET /x"}, script{"GET": ClassPaidOK}, nil, "*GET"},

		{"declared sample at once", Target{Method: "POST", Body: []byte(`{"q":1}`)},
			script{`POST {"q":1}`: ClassPaidOK}, nil, `*POST {"q":1}`},
		{"declared sample did not help", Target{Method: "POST", Body: []byte(`{"q":1}`)},
			script{`POST {"q":1}`: ClassNeedsInput}, nil, `*POST {"q":1}`},
		{"sample of the last envelope", Target{Discovery: remembered(discovery("POST", `{"q":2}`, ""))},
			script{`POST {"q":2}`: ClassPaidOK}, nil, `*POST {"q":2}`},
		{"sample of the answer's envelope", Target{Method: "POST"},
			script{"POST {}": ClassNeedsInput, `POST {"q":3}`: ClassPaidOK},
			map[string]x402.Captured{"POST {}": declares(`{"q":3}`, "")}, `POST {}, *POST {"q":3}`},
		{"sample that does not help", Target{Method: "POST"},
			script{"POST {}": ClassNeedsInput, `POST {"q":3}`: ClassNeedsInput},
			map[string]x402.Captured{"POST {}": declares(`{"q":3}`, ""), `POST {"q":3}`: declares(`{"q":4}`, "")},
			`POST {}, *POST {"q":3}`},
		{"sample that was accepted, and failed", Target{Method: "POST"},
			script{"POST {}": ClassNeedsInput, `POST {"q":3}`: ClassServerError},
			map[string]x402.Captured{"POST {}": declares(`{"q":3}`, "")}, `POST {}, *POST {"q":3}`},
		{"sample query", Target{Discovery: remembered(discovery("GET", "", `{"city":"Oslo","n":3}`))},
			script{"GET": ClassNeedsInput, "GET ?city=Oslo&n=3": ClassPaidOK}, nil, "GET, *GET ?city=Oslo&n=3"},
		{"sample query, then POST", Target{Discovery: remembered(discovery("", "", `{"q":"x"}`))},
			script{"GET": ClassNeedsInput, "GET ?q=x": ClassNeedsInput, "POST {}": ClassPaidOK}, nil,
			"GET, GET ?q=x, *POST {}"},
		{"GET wants input, POST paid", Target{}, script{"GET": ClassNeedsInput, "POST {}": ClassPaidOK}, nil,
			"GET, *POST {}"},
		{"never more than three", Target{Discovery: remembered(discovery("", "", `{"q":"x"}`))},
			script{"GET": ClassNeedsInput, "GET ?q=x": ClassNeedsInput, "POST {}": ClassNeedsInput},
			map[string]x402.Captured{"POST {}": declares(`{"q":3}`, "")}, "GET, *GET ?q=x, POST {}"},
		{"an MCP tool's sample is not sent",
			Target{Discovery: remembered(&x402.Discovery{MCP: true, Method: "PUT",
				Body: json.RawMessage(`{"tool":1}`)})},
			script{"GET": ClassNeedsInput, "POST {}": ClassNeedsInput}, nil, "*GET, POST {}"},
		{"a giant sample is not sent", Target{Method: "POST", Body: []byte(strings.Repeat(" ", maxSample+1))},
			script{"POST {}": ClassPaidOK}, nil, "*POST {}"},
	}
	for _, tt := range tests {
		u, err := url.Parse("https://example.com/x")
		if err != nil {
			t.Fatal(err)
		}
		pl := newPlan(tt.target, u)
		var tried tries
		for len(tried) < 9 {
			c, ok := pl.next(tried)
			if !ok {
				break
			}
			class, expected := tt.service[formatCall(c)]
			if !expected {
				t.Errorf("%s: sends %s", tt.name, formatCall(c))
			}
			x := try{call: c, class: class, captured: tt.captured[formatCall(c)]}
			if strings.HasPrefix(class, "Allow: ") {
				x.class, x.answer = ClassWrongMethod, answer(405, "Allow", class[len("Allow: "):])
			}
			tried = append(tried, x)
		}
		var got []string
		for i, x := range tried {
			s := formatCall(x.call)
			if i == tried.choose() {
				s = "*" + s
			}
			got = append(got, s)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func remembered(d *x402.Discovery) func() *x402.Discovery { return func() *x402.Discovery { return d } }

func discovery(method, body, query string) *x402.Discovery {
	d := &x402.Discovery{Method: method}
	if body != "" {
		d.Body = json.RawMessage(body)
	}
	if query != "" {
		d.QueryParams = json.RawMessage(query)
	}
	return d
}

func formatCall(c call) string {
	s := c.method
	if c.url.RawQuery != "" {
		s += " ?" + c.url.RawQuery
	}
	if c.body != nil {
		s += " " + string(c.body)
	}
	return s
}

func TestWithQuery(t *testing.T) {
	t.Parallel()
	tests := []struct{ url, sample, want string }{
		{"https://a.com/x", `{"b":"2","a":"1"}`, "https://a.com/x?a=1&b=2"},
		{"https://a.com/x?a=9", `{"a":"1","b":"2"}`, "https://a.com/x?a=9&b=2"},
		{"https://a.com/x?a=9", `{"a":"1"}`, ""},
		{"https://a.com/x", `{"q":"a b&c=d#e"}`, "https://a.com/x?q=a+b%26c%3Dd%23e"},
		{"https://a.com/x", `{"n":12345678901,"f":0.5,"b":true,"z":null,"l":[1]}`,
			"https://a.com/x?b=true&f=0.5&l=sample&n=12345678901&z=sample"},
		{"https://a.com/x", `{"a":{"type":"integer"},"b":{"type":"boolean"},"c":{"type":"string"},"d":{"enum":["x",` +
			`"y"]},"e":{"example":5},"f":{"default":"d"}}`,
			"https://a.com/x?a=0&b=false&c=sample&d=x&e=5&f=d"},
		{"https://a.com/x", `{}`, ""},
		{"https://a.com/x", `[]`, ""},
		{"https://a.com/x", `null`, ""},
		{"https://a.com/x", ``, ""},
		{"https://a.com/x", `{"a":"` + strings.Repeat("x", maxURL) + `"}`, ""},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if v, ok := withQuery(u, json.RawMessage(tt.sample)); ok {
			got = v.String()
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s + %.40s (-want +got):\n%s", tt.url, tt.sample, diff)
		}
		if u.String() != tt.url {
			t.Errorf("%s became %s", tt.url, u)
		}
	}
}

func TestPlaceholder(t *testing.T) {
	t.Parallel()
	tests := []struct{ url, want string }{
		{"https://a.com/users/{id}", "{id}"},
		{"https://a.com/users/%7Bid%7D/x", "{id}"},
		{"https://a.com/v{version}/x", "{version}"},
		{"https://a.com/users/:id", ":id"},
		{"https://a.com/users/:id/posts", ":id"},
		{"https://a.com/users/[id]", "[id]"},
		{"https://a.com/[...slug]", "[...slug]"},
		{"https://a.com/x?id={id}", "{id}"},
		{"https://a.com/x?id=%7Bid%7D", "{id}"},
		{"https://a.com/users/42", ""},
		{"https://a.com/v1/models/m:predict", ""},
		{"https://a.com/at/12:30", ""},
		{"https://a.com/:1", ""},
		{"https://a.com/x?q=%7B%22a%22%3A1%7D", ""},
		{"https://a.com/x?t=:id", ""},
		{"https://a.com:8080/x", ""},
		{"https://a.com/x?bad=%zz", ""},
	}
	for _, tt := range tests {
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, findPlaceholder(u)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.url, diff)
		}
	}
}

// TestMethodsSent checks, for every declared and remembered method, that no method is sent that was not declared,
// except GET and POST.
func TestMethodsSent(t *testing.T) {
	t.Parallel()
	u := &url.URL{Scheme: "https", Host: "example.com", Path: "/"}
	methods := []string{"", "GET", "get", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT",
		"PROPFIND", "X", "GET\r\nX: 1"}
	for _, declared := range methods {
		for _, hint := range methods {
			for _, m := range newPlan(Target{Method: declared, MethodHint: hint}, u).methods {
				if safe := m == "GET" || m == "POST"; !safe && m != declared || m == "HEAD" {
					t.Errorf("declared %q, remembered %q: %s", declared, hint, fmt.Sprint(m))
				}
			}
		}
	}
}
