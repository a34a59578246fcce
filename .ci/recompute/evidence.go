package main

import (
	"encoding/base64"
	"math/big"
	"strings"
	"time"
)

// answer is one published response with the request before it.
type answer struct {
	received  time.Time
	status    int // 0 without a response
	url       string
	redirects []string
	headers   node
	body      []byte
	truncated bool
	clipped   []string // names of headers that are not whole
	verified  bool     // every connection had a valid certificate
}

// newAnswer reads a published response, nil if there is none.
func newAnswer(n node) *answer {
	if !n.hasValue() {
		return nil
	}
	a := &answer{
		received: n.get("received_at").time(), status: n.get("status").int(), redirects: n.get("redirects").texts(),
		url: n.at("request", "url").text(), headers: n.get("headers"), body: []byte(n.at("body", "text").text()),
		truncated: n.at("body", "truncated").bool(), clipped: n.get("headers_clipped").texts(),
		verified: n.get("tls_verified").bool(),
	}
	if n.at("body", "encoding").text() == "base64" {
		a.body, _ = base64.StdEncoding.DecodeString(n.at("body", "text").text())
	}
	return a
}

// header returns the values of a header.
func (a *answer) header(name string) []string { return a.headers.get(name).texts() }

// mediaType returns the type of the body without parameters.
func (a *answer) mediaType() string {
	for _, value := range a.header("Content-Type") {
		value, _, _ = strings.Cut(value, ";")
		return strings.ToLower(strings.TrimSpace(value))
	}
	return ""
}

// probed is an endpoint with the evidence about it.
type probed struct {
	name      string // method and path
	url       string
	published node
	answer    *answer // the response that decided the verdict
	graded    *answer // the response whose terms are graded
	terms     terms   // of the graded response
	headFree  bool
	declared  *big.Rat // the highest price in the OpenAPI document, in dollars; nil without one
}

// probed returns the endpoints in a service's evidence, which are read once.
func (s *service) probed() []*probed {
	if s.endpoints == nil {
		s.endpoints = []*probed{}
		for _, n := range s.evidence.get("endpoints").items() {
			s.endpoints = append(s.endpoints, newProbed(n))
		}
	}
	return s.endpoints
}

// newProbed reads the evidence of one endpoint.
func newProbed(n node) *probed {
	p := &probed{
		name: n.get("method").text() + " " + n.get("path").text(), url: n.get("url").text(), published: n,
		answer: newAnswer(n.get("answer")), headFree: n.get("head_free").bool(),
		declared: declaredDollars(n.get("declared_price")),
	}
	if p.graded = newAnswer(n.get("terms")); p.graded == nil {
		p.graded = p.answer
	}
	if p.graded != nil {
		p.terms = readTerms(p.graded)
	}
	return p
}

// isCut reports whether the graded response is not published whole: evidence has limits.
func (p *probed) isCut() bool {
	if p.graded == nil {
		return p.published.get("captured").hasValue()
	}
	return p.graded.truncated || len(p.graded.clipped) > 0
}

// declaredDollars returns the amount or the highest amount of a declared price. Offers are in base units.
func declaredDollars(n node) *big.Rat {
	currency := n.get("currency").text()
	if n.get("mode").text() == "offer" || currency != "" && !strings.EqualFold(currency, "USD") {
		return nil
	}
	for _, name := range []string{"max", "amount"} {
		if text := n.get(name).text(); text != "" {
			value, _ := new(big.Rat).SetString(issuedAmount(strings.TrimPrefix(strings.TrimSpace(text), "$")))
			return value
		}
	}
	return nil
}

// where returns the URLs of the endpoint and of each redirect.
func (p *probed) where() []string {
	if p.graded == nil {
		return []string{p.url}
	}
	return append([]string{p.url}, p.graded.redirects...)
}
