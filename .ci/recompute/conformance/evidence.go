package conformance

import (
	"encoding/base64"
	"math/big"
	"strings"
	"time"

	"tollbook/.ci/recompute/snapshot"
)

// answer is one published response with the request before it.
type answer struct {
	Received  time.Time
	Status    int // 0 without a response
	url       string
	redirects []string
	headers   snapshot.Node
	body      []byte
	truncated bool
	clipped   []string // names of headers that are not whole
	verified  bool     // every connection had a valid certificate
}

// NewAnswer reads a published response, nil if there is none.
func NewAnswer(n snapshot.Node) *answer {
	if !n.HasValue() {
		return nil
	}
	a := &answer{
		Received: n.Get("received_at").Time(), Status: n.Get("status").Int(), redirects: n.Get("redirects").Texts(),
		url: n.At("request", "url").Text(), headers: n.Get("headers"), body: []byte(n.At("body", "text").Text()),
		truncated: n.At("body", "truncated").Bool(), clipped: n.Get("headers_clipped").Texts(),
		verified: n.Get("tls_verified").Bool(),
	}
	if n.At("body", "encoding").Text() == "base64" {
		a.body, _ = base64.StdEncoding.DecodeString(n.At("body", "text").Text())
	}
	return a
}

// header returns the values of a header.
func (a *answer) header(name string) []string { return a.headers.Get(name).Texts() }

// mediaType returns the type of the body without parameters.
func (a *answer) mediaType() string {
	for _, value := range a.header("Content-Type") {
		value, _, _ = strings.Cut(value, ";")
		return strings.ToLower(strings.TrimSpace(value))
	}
	return ""
}

// Probed is an endpoint with the evidence about it.
type Probed struct {
	name      string // method and path
	url       string
	Published snapshot.Node
	Answer    *answer // the response that decided the verdict
	Graded    *answer // the response whose terms are graded
	Terms     terms   // of the graded response
	headFree  bool
	declared  *big.Rat // the highest price in the OpenAPI document, in dollars; nil without one
}

// NewProbed reads the evidence of one endpoint.
func NewProbed(n snapshot.Node) *Probed {
	p := &Probed{
		name: n.Get("method").Text() + " " + n.Get("path").Text(), url: n.Get("url").Text(), Published: n,
		Answer: NewAnswer(n.Get("answer")), headFree: n.Get("head_free").Bool(),
		declared: declaredDollars(n.Get("declared_price")),
	}
	if p.Graded = NewAnswer(n.Get("terms")); p.Graded == nil {
		p.Graded = p.Answer
	}
	if p.Graded != nil {
		p.Terms = ReadTerms(p.Graded)
	}
	return p
}

// IsCut reports whether the graded response is not published whole: evidence has limits.
func (p *Probed) IsCut() bool {
	if p.Graded == nil {
		return p.Published.Get("captured").HasValue()
	}
	return p.Graded.IsCut()
}

// IsCut reports whether a response is not published whole.
func (a *answer) IsCut() bool { return a.truncated || len(a.clipped) > 0 }

// declaredDollars returns the amount or the highest amount of a declared price. Offers are in base units.
func declaredDollars(n snapshot.Node) *big.Rat {
	currency := n.Get("currency").Text()
	if n.Get("mode").Text() == "offer" || currency != "" && !strings.EqualFold(currency, "USD") {
		return nil
	}
	for _, name := range []string{"max", "amount"} {
		if text := n.Get(name).Text(); text != "" {
			value, _ := new(big.Rat).SetString(issuedAmount(strings.TrimPrefix(strings.TrimSpace(text), "$")))
			return value
		}
	}
	return nil
}

// where returns the URLs of the endpoint and of each redirect.
func (p *Probed) where() []string {
	if p.Graded == nil {
		return []string{p.url}
	}
	return append([]string{p.url}, p.Graded.redirects...)
}
