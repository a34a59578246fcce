package hint

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"tollbook/site/rail"
)

// Origin is the origin that the requests of a browser name. Nobody can own it, so an answer that allows it allows any
// page.
const Origin = "https://buyer.example"

// Browser is what an endpoint answered to the requests that a page in a browser sends before it pays: the preflight
// OPTIONS and the request itself, both with an origin.
type Browser struct {
	Method    string  `json:"method"`              // of the request
	Body      bool    `json:"body,omitempty"`      // the request has a body of JSON
	Preflight *Answer `json:"preflight,omitempty"` // nil without an answer
	Request   *Answer `json:"request,omitempty"`   // the same
	Bare      *Answer `json:"bare,omitempty"`      // to the request without the declared example; nil if it was not sent
	BareText  string  `json:"bare_text,omitempty"` // the request without the declared example
}

// Answer is the part of an answer that decides what a browser does.
type Answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"` // headers of CORS
}

// Header names.
const (
	AllowOrigin   = "Access-Control-Allow-Origin"
	allowMethods  = "Access-Control-Allow-Methods"
	allowHeaders  = "Access-Control-Allow-Headers"
	exposeHeaders = "Access-Control-Expose-Headers"
)

// NewAnswer returns the part of an answer that is stored.
func NewAnswer(status int, header http.Header) *Answer {
	a := &Answer{Status: status, Header: http.Header{}}
	for _, name := range []string{AllowOrigin, allowMethods, allowHeaders, exposeHeaders} {
		for _, v := range header.Values(name) {
			if len(a.Header[name]) < 4 {
				a.Header[name] = append(a.Header[name], strings.ToValidUTF8(strings.ReplaceAll(v[:min(len(v), 1000)],
					"\x00", ""), ""))
			}
		}
	}
	return a
}

// needs are the headers that a page needs to read the terms and to pay, by the protocol that it would use.
type needs struct {
	read string // the response header with the terms; "" if they are in the body
	pay  string // the request header with the payment
	paid string // the response header with the receipt
}

// needsOf returns what a page needs to pay by the terms of an endpoint: by x402 if it can, else by another protocol.
// ok is false for terms that no page pays over HTTP.
func needsOf(f *Facts) (n needs, ok bool) {
	if e := f.Captured.Envelope; e != nil {
		switch {
		case e.Version == 1:
			return needs{"", "X-PAYMENT", "X-PAYMENT-RESPONSE"}, true
		case e.Channel == "body":
			return needs{"", "PAYMENT-SIGNATURE", "PAYMENT-RESPONSE"}, true
		}
		return needs{"PAYMENT-REQUIRED", "PAYMENT-SIGNATURE", "PAYMENT-RESPONSE"}, true
	}
	for _, o := range f.Offers {
		switch o.Protocol {
		case rail.MPP:
			return needs{"WWW-Authenticate", "Authorization", "Payment-Receipt"}, true
		case rail.L402:
			return needs{"WWW-Authenticate", "Authorization", ""}, true
		}
	}
	return needs{}, false
}

// PreflightHeaders returns the value of Access-Control-Request-Headers that a browser sends before it pays: names in
// lower case and in order. It returns "" if no page can pay by these terms.
func PreflightHeaders(f *Facts, body bool) string {
	n, ok := needsOf(f)
	if !ok {
		return ""
	}
	list := []string{strings.ToLower(n.pay)}
	if body {
		list = append(list, "content-type")
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// CanBrowserPay reports whether a page of any site can read the terms of an endpoint and pay by them. It returns nil if
// that is not known, and the reason for false or nil in words.
func CanBrowserPay(f *Facts) (*bool, string) {
	if f.isTool() {
		return nil, "a tool of an MCP server is called by a program, not by a page"
	}
	n, ok := needsOf(f)
	if !ok {
		return nil, "there are no terms that a page could pay by"
	}
	b := f.Browser
	if b == nil || b.Preflight == nil {
		return nil, "it was not asked as a browser asks, or did not answer"
	}
	faults, known := preflightFaults(b, n)
	if a := b.Request; a != nil && a.Status == http.StatusPaymentRequired {
		faults = append(faults, answerFaults(a, n)...)
	} else {
		known = false // an answer that is no 402 need not have the headers of one
	}
	switch {
	case len(faults) > 0:
		return new(false), strings.Join(faults, "; ")
	case !known:
		return nil, "its answers do not show it"
	}
	return new(true), ""
}

// preflightFaults returns what a preflight lacks. known is false if its answer says nothing about the endpoint.
func preflightFaults(b *Browser, n needs) (faults []string, known bool) {
	p := b.Preflight
	switch {
	case p.Status == http.StatusTooManyRequests, p.Status >= 500:
		return nil, false
	case p.Status < 200 || p.Status > 299:
		return []string{fmt.Sprintf("OPTIONS is answered with %d; a browser needs 200 or 204", p.Status)}, true
	case !allowsOrigin(p):
		return []string{"the answer to OPTIONS allows no other origins: " + shown(p, AllowOrigin)}, true
	}
	headers := []string{n.pay}
	if b.Body {
		headers = append(headers, "Content-Type")
	}
	for _, h := range headers {
		// the asterisk does not stand for Authorization
		if !lists(p, allowHeaders, h, !strings.EqualFold(h, "Authorization")) {
			faults = append(faults, "the answer to OPTIONS does not allow the header "+h+": "+shown(p, allowHeaders))
		}
	}
	switch b.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost: // always allowed
	default:
		if !lists(p, allowMethods, b.Method, true) {
			faults = append(faults, "the answer to OPTIONS does not allow "+b.Method+": "+shown(p, allowMethods))
		}
	}
	return faults, true
}

// answerFaults returns what a 402 lacks.
func answerFaults(a *Answer, n needs) (faults []string) {
	if !allowsOrigin(a) {
		return []string{"the 402 allows no other origins: " + shown(a, AllowOrigin)}
	}
	if n.read != "" && !lists(a, exposeHeaders, n.read, true) {
		faults = append(faults, "the 402 does not expose "+n.read+": "+shown(a, exposeHeaders))
	}
	return faults
}

// allowsOrigin reports whether an answer allows any page to read it.
func allowsOrigin(a *Answer) bool {
	values := a.Header[AllowOrigin]
	return len(values) == 1 && (values[0] == "*" || values[0] == Origin) // a browser refuses two values
}

// lists reports whether a header of names contains one, or an asterisk if that counts.
func lists(a *Answer, header, name string, asterisk bool) bool {
	for _, value := range a.Header[header] {
		for listed := range strings.SplitSeq(value, ",") {
			if listed = strings.TrimSpace(listed); strings.EqualFold(listed, name) || asterisk && listed == "*" {
				return true
			}
		}
	}
	return false
}

// shown returns a header for people.
func shown(a *Answer, name string) string {
	if values := a.Header[name]; len(values) > 0 {
		return name + " is " + strings.Join(values, ", ")
	}
	return name + " is missing"
}
