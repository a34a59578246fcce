// Package hint says what makes an endpoint harder to find, to read or to pay for some of its buyers, and how its owner
// can change that, as code where a response names the program that answered.
//
// A hint is never a grade: nothing else depends on one. The package is pure: it uses no clock, network or database, and
// knows no service. What it reads is written by strangers.
package hint

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/invisible"
	"tollbook/site/rail"
	"tollbook/site/x402"
)

// Facts are what is known of one endpoint. Absent facts are unknown, and give no hint.
type Facts struct {
	Endpoint string // "GET /quote"
	URL      string // that was listed
	Method   string // of the request that was answered

	// The newest response with terms, after redirects; zero without one.
	AnsweredURL string
	Header      http.Header
	Body        []byte
	Captured    x402.Captured
	Offers      []rail.Offer

	Bare    *Try     // the request without input; nil if it was not sent
	Example *Try     // the newest request with the declared example; nil if it was not sent
	Browser *Browser // nil if nobody asked as a browser does
}

// Try is a request and the status of its answer.
type Try struct {
	Text   string // "POST {}"
	Status int
}

// maxDetail is the longest text about an endpoint, in bytes.
const maxDetail = 300

// Judge returns the hints about endpoints, in the order of the table, each with the endpoints that it concerns.
func Judge(list []Facts) []site.Hint {
	out := []site.Hint{}
	for _, r := range rules {
		h := site.Hint{Code: r.code, Label: r.label, Meaning: r.meaning, Fix: r.fix, Snippets: []site.HintSnippet{},
			Endpoints: []site.HintEndpoint{}}
		var stacks []string
		var first *Facts
		for i := range list {
			f := &list[i]
			detail, found := r.test(f)
			if !found {
				continue
			}
			if h.EndpointCount++; first == nil {
				first = f
			}
			for _, s := range Stacks(f.Header, f.Body) {
				if !slices.Contains(stacks, s) {
					stacks = append(stacks, s)
				}
			}
			if len(h.Endpoints) < site.HintEndpoints {
				h.Endpoints = append(h.Endpoints, site.HintEndpoint{Endpoint: f.Endpoint,
					Detail: invisible.ReplaceOrNull(invisible.Clip(detail, maxDetail))})
			}
		}
		if h.EndpointCount == 0 {
			continue
		}
		for _, s := range stacks {
			if text := snippet(r.code, s, first); text != "" {
				h.Snippets = append(h.Snippets, site.HintSnippet{Stack: s, Text: text})
			}
		}
		out = append(out, h)
	}
	return out
}

// Codes returns the codes of all hints, in their order.
func Codes() (list []string) {
	for _, r := range rules {
		list = append(list, r.code)
	}
	return list
}

// hasTerms reports whether a response with terms is known.
func (f *Facts) hasTerms() bool {
	return f.Header != nil && (f.Captured.Envelope != nil || len(f.Offers) > 0)
}

// isTool reports whether the endpoint is a tool of an MCP server, to which the rules of HTTP do not apply.
func (f *Facts) isTool() bool { return x402.ToolOf(f.URL) != "" }

// hostOf returns the host of a URL in lower case, without a default port, "" if it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[strings.ToLower(u.Scheme)])
	return host
}

// NewTry returns a request with its answer: `POST {"q":"x"}`, "GET ?city=Oslo".
func NewTry(method, address string, body []byte, status int) Try {
	text := method
	if u, err := url.Parse(address); err == nil && u.RawQuery != "" {
		text += " ?" + invisible.Clip(u.RawQuery, maxTry)
	}
	if len(body) > 0 {
		text += " " + invisible.Clip(string(body), maxTry)
	}
	return Try{Text: invisible.Replace(text), Status: status}
}

// maxTry is the longest query or body of a request that is shown, in bytes.
const maxTry = 100

// HasInput reports whether a request contains input: a body that is not {}, or parameters that the listed URL lacks.
func HasInput(listed, sent string, body []byte) bool {
	if text := strings.TrimSpace(string(body)); text != "" && text != "{}" {
		return true
	}
	a, err := url.Parse(listed)
	if err != nil {
		return false
	}
	b, err := url.Parse(sent)
	return err == nil && b.RawQuery != "" && a.RawQuery != b.RawQuery
}
