package facts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
)

// Site says which documents a service's site has. Nil means unknown: robots.txt disallowed the request, the site did
// not answer, the answer was about us (401, 403, 429, 5xx), or it was longer than the limit.
type Site struct {
	Homepage, OpenAPI, Pricing, LLMsTxt, Robots, Terms *bool
	Endpoints                                          []Endpoint // declared by documents, the most trusted first
	Answers                                            []Answer   // behind the states, in the order of requests

	// Candidates may be endpoints: documents name them, but do not say that they ask for payment.
	Candidates []Endpoint
}

// Names of documents in Answer.
const (
	docHomepage = "homepage"
	docOpenAPI  = "openapi"
	docPricing  = "pricing"
	docLLMsTxt  = "llms_txt"
	docRobots   = "robots"
	docTerms    = "terms"
)

// Answer is the answer to the request for one document.
type Answer struct {
	Document    string // as in JSON: homepage, openapi, pricing, llms_txt, robots, terms
	URL         string // that was requested, before redirects
	Status      int    // 0 without an answer
	ContentType string // media type; "" for none
	Exists      *bool  // nil if the answer says nothing about the document
	Reason      string // why, in words
}

// IsKnown reports whether the state of any document is known.
func (s Site) IsKnown() bool {
	for _, state := range []*bool{s.Homepage, s.OpenAPI, s.Pricing, s.LLMsTxt, s.Robots, s.Terms} {
		if state != nil {
			return true
		}
	}
	return false
}

// Survey reads the documents of a service on its website, if one is listed, and at the origin of its base URL. A
// document exists if either has it. Of a website on another domain, such as a page on a code host, only the page itself
// counts. A site that answers every path with the same page has no documents but the homepage. Survey ends early only
// when ctx ends, with the results up to then.
func (f *Fetcher) Survey(ctx context.Context, base, website string) Site {
	v := visit{f: f, ctx: ctx}
	api := originOf(base)
	homes := []string{api + "/"}
	if web := originOf(website); web != "" {
		homes = []string{website}
		if !strings.EqualFold(web, api) {
			homes = append(homes, api+"/")
		}
	}
	var s Site
	for _, home := range homes {
		origin := originOf(home)
		if origin == "" || ctx.Err() != nil {
			continue
		}
		robots := v.robots(origin)
		own := sameSite(home, base)
		if own {
			v.record(docRobots, origin+"/robots.txt", document{}, robots, robotsReason(robots))
			s.Robots = combine(s.Robots, robots)
		}
		if robots == nil {
			continue // the origin does not answer: send no further requests
		}
		v.front = nil
		s.Homepage = combine(s.Homepage, v.check(docHomepage, home, "text/html", v.isHomepage))
		if !own {
			continue
		}
		s.Pricing = combine(s.Pricing, v.check(docPricing, origin+"/pricing", "text/html", v.isPage))
		s.Terms = combine(s.Terms, v.check(docTerms, origin+"/terms", "text/html", v.isPage))
		s.LLMsTxt = combine(s.LLMsTxt, v.check(docLLMsTxt, origin+"/llms.txt", "text/plain, text/markdown",
			func(d document) (*bool, string) {
				if isText(d) {
					v.add(ReadLLMsTxt(d.body, parse(origin+"/llms.txt")))
				}
				return decide(isText(d), "text", "not plain text or Markdown")
			}))
		s.OpenAPI = combine(s.OpenAPI, v.openAPI(origin+"/openapi.json"))
		if path := strings.TrimRight(base, "/"); origin == api && !strings.EqualFold(path, api) {
			s.OpenAPI = combine(s.OpenAPI, v.openAPI(path+"/openapi.json"))
		}
		v.wellKnown(origin+wellKnownX402, ReadWellKnown)
		v.wellKnown(origin+wellKnownX402JSON, ReadWellKnown)
		v.wellKnown(origin+wellKnownMPP, ReadMPP)
		v.wellKnown(origin+wellKnownAgentCard, v.readAgentCard)
		v.apiCatalog(origin + wellKnownAPICatalog)
		if origin == api {
			v.record402(origin)
		}
	}
	s.Endpoints = FilterBelow(base, append(v.fromOpenAPI, v.fromWellKnown...))
	s.Candidates = first(FilterBelow(base, v.candidates), maxCandidates)
	s.Answers = v.answers
	return s
}

// originOf returns the scheme, host and port of a URL, "" if it has none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// sameSite reports whether two URLs are on one host, or on hosts of one registrable domain.
func sameSite(a, b string) bool {
	first, err := url.Parse(a)
	if err != nil {
		return false
	}
	second, err := url.Parse(b)
	if err != nil {
		return false
	}
	x, y := strings.ToLower(first.Hostname()), strings.ToLower(second.Hostname())
	if x == y {
		return true
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(x)
	return err == nil && net.ParseIP(x) == nil && (y == domain || strings.HasSuffix(y, "."+domain))
}

// combine combines two results: true if one is true, false if both are false, else nil.
func combine(a, b *bool) *bool {
	switch {
	case a != nil && *a:
		return a
	case a == nil || b != nil && *b:
		return b
	case b == nil:
		return nil
	}
	return a
}

// visit is the state of one survey.
type visit struct {
	f   *Fetcher
	ctx context.Context

	front         []byte // the body of the homepage of this origin
	fromOpenAPI   []Declared
	fromWellKnown []Declared
	candidates    []Declared
	answers       []Answer
}

// record records the answer to a request for a document. Other requests have no document.
func (v *visit) record(name, address string, d document, exists *bool, reason string) {
	if name != "" {
		v.answers = append(v.answers, Answer{name, address, d.status, d.mediaType, exists, reason})
	}
}

func robotsReason(exists *bool) string {
	switch {
	case exists == nil:
		return reasonNone
	case *exists:
		return "a document"
	}
	return "no document"
}

// Reasons that several documents have.
const (
	reasonNone     = "no answer that says anything about the document"
	reasonNotFound = "not found"
)

// decide returns whether a document exists, with the reason.
func decide(exists bool, yes, no string) (*bool, string) {
	if exists {
		return &exists, yes
	}
	return &exists, no
}

func (v *visit) robots(origin string) *bool {
	r, err := v.f.fetchRobots(v.ctx, origin)
	if err != nil || r.State == RobotsUnknown {
		return nil
	}
	return new(r.State == RobotsDocument)
}

// check requests one document and reports whether it exists; is judges an answer of 200. It records the answer if the
// document has a name.
func (v *visit) check(name, address, accept string, is func(document) (*bool, string)) *bool {
	doc, err := v.f.get(v.ctx, address, request{accept: accept, limit: maxDocument, polite: true})
	exists, reason := judgeDocument(doc, err, is)
	v.record(name, address, doc, exists, reason)
	return exists
}

// judgeDocument reports whether a document exists, nil if the answer does not say, and why.
func judgeDocument(doc document, err error, is func(document) (*bool, string)) (*bool, string) {
	switch {
	case errors.Is(err, ErrElsewhere):
		return new(false), ErrElsewhere.Error()
	case errors.Is(err, ErrDisallowed):
		return nil, ErrDisallowed.Error()
	case err != nil:
		return nil, reasonNone
	case doc.status == http.StatusOK:
		return is(doc)
	case doc.status >= 500, doc.status < 200:
		return nil, reasonNone
	}
	switch doc.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return nil, reasonNone
	}
	return new(false), reasonNotFound
}

func (v *visit) isHomepage(d document) (*bool, string) {
	v.front = d.body
	return decide(isHTML(d), "HTML", "not HTML")
}

// isPage reports whether an answer is readable for people or programs and differs from the homepage.
func (v *visit) isPage(d document) (*bool, string) {
	switch {
	case len(bytes.TrimSpace(d.body)) == 0:
		return new(false), "empty"
	case v.front != nil && bytes.Equal(v.front, d.body):
		return new(false), "the same as the homepage"
	}
	readable := isHTML(d) || isText(d) || d.mediaType == "application/pdf" || isJSON(d.mediaType) && json.Valid(d.body)
	return decide(readable, "HTML, text, PDF or JSON", "not HTML, text, PDF or JSON")
}

func (v *visit) openAPI(address string) *bool {
	return v.check(docOpenAPI, address, "application/json", func(d document) (*bool, string) {
		u, err := url.Parse(address)
		if err != nil || d.truncated && !isHTML(d) {
			return nil, "longer than the limit"
		}
		list, err := ReadOpenAPI(d.body, u)
		v.fromOpenAPI = append(v.fromOpenAPI, list...)
		return decide(err == nil, "an OpenAPI document", "no OpenAPI document")
	})
}

func (v *visit) wellKnown(address string, read func([]byte, *url.URL) ([]Declared, error)) {
	v.check("", address, "application/json", func(d document) (*bool, string) {
		if u, err := url.Parse(address); err == nil && !d.truncated {
			list, _ := read(d.body, u) // another kind of document declares nothing
			v.fromWellKnown = append(v.fromWellKnown, list...)
		}
		return nil, ""
	})
}

// add adds candidates.
func (v *visit) add(list []Declared) { v.candidates = append(v.candidates, list...) }

// readAgentCard adds the URLs of a paid agent to the candidates. The card declares no endpoint.
func (v *visit) readAgentCard(doc []byte, address *url.URL) ([]Declared, error) {
	list, err := ReadAgentCard(doc, address)
	v.add(list)
	return nil, err
}

// apiCatalog reads the OpenAPI documents that a catalogue of APIs names.
func (v *visit) apiCatalog(address string) {
	var descriptions []*url.URL
	v.check("", address, "application/linkset+json, application/json", func(d document) (*bool, string) {
		if !d.truncated {
			descriptions, _ = ReadAPICatalog(d.body, parse(address)) // another kind of document names none
		}
		return nil, ""
	})
	for _, u := range descriptions {
		v.check("", u.String(), "application/json", func(d document) (*bool, string) {
			if !d.truncated {
				list, _ := ReadOpenAPI(d.body, u)
				v.fromOpenAPI = append(v.fromOpenAPI, list...)
			}
			return nil, ""
		})
	}
}

// record402 reads the list of paid resources that the TXT record _x402 of an origin's host names.
func (v *visit) record402(origin string) {
	u := parse(origin)
	if v.f.o.LookupTXT == nil || net.ParseIP(u.Hostname()) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(v.ctx, connectLimit)
	defer cancel()
	records, err := v.f.o.LookupTXT(ctx, TXTLabel+strings.TrimSuffix(u.Hostname(), ".")+".")
	if err != nil {
		return // most hosts have no such record
	}
	if list := ReadTXT(records, u); list != nil {
		v.wellKnown(list.String(), ReadWellKnown)
	}
}

// parse parses a URL that was made of an origin.
func parse(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		return &url.URL{}
	}
	return u
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// isHTML decides by the media type, else by the body, because pages are sent with any type.
func isHTML(d document) bool {
	switch d.mediaType {
	case "text/html", "application/xhtml+xml":
		return true
	}
	return strings.HasPrefix(http.DetectContentType(d.body), "text/html")
}

// isText reports whether an answer is text but not HTML: plain or markdown by its type, or without a type.
func isText(d document) bool {
	switch d.mediaType {
	case "text/plain", "text/markdown", "text/x-markdown", "":
	default:
		return false
	}
	text := d.body
	if d.truncated { // the body may end within a character
		text = text[:max(0, len(text)-utf8.UTFMax)]
		for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
		text = text[:max(0, len(text)-1)]
	}
	return !isHTML(d) && utf8.Valid(text) && bytes.IndexByte(text, 0) < 0
}
