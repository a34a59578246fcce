package facts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
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

	// Failure says why nothing is known of an origin; "" if it answers.
	Failure string
}

// Names of documents in Answer. Those after docTerms are only recorded if the site has them.
const (
	docHomepage   = "homepage"
	docOpenAPI    = "openapi"
	docPricing    = "pricing"
	docLLMsTxt    = "llms_txt"
	docRobots     = "robots"
	docTerms      = "terms"
	docManifest   = "manifest"
	docAgentCard  = "agent_card"
	docAPICatalog = "api_catalog"
)

// Answer is the answer to the request for one document.
type Answer struct {
	Document    string // as in site.EvidenceSiteAnswer
	URL         string // that was requested, before redirects
	Status      int    // 0 without an answer
	ContentType string // media type; "" for none
	Exists      *bool  // nil if the answer says nothing about the document
	Reason      string // why, in words

	// Of a document that declares endpoints:
	Problem  string    // why not all of it could be read, in words; "" if all was
	Declared *int      // endpoints of the service that it declares; nil if it could not be read
	Skipped  []Skipped // its other entries
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
	v := visit{f: f, ctx: ctx, base: base}
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
			v.recordRobots(origin, robots)
			s.Robots = combine(s.Robots, robots.exists())
		}
		if robots.exists() == nil {
			s.Failure = f.failures.cause(origin)
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
		if is := v.openAPI(origin + "/openapi.json"); is == nil || *is {
			s.OpenAPI = combine(s.OpenAPI, is)
		} else {
			s.OpenAPI = combine(s.OpenAPI, v.openAPI(origin+"/openapi.yaml"))
		}
		if path := strings.TrimRight(base, "/"); origin == api && !strings.EqualFold(path, api) {
			s.OpenAPI = combine(s.OpenAPI, v.openAPI(path+"/openapi.json"))
		}
		for _, path := range []string{wellKnownX402, wellKnownX402JSON, wellKnownMPP} {
			v.manifest(origin + path)
		}
		if is := v.agentCard(origin + wellKnownAgentCard); is == nil || !*is {
			v.agentCard(origin + wellKnownAgent)
		}
		for _, is := range v.apiCatalog(origin + wellKnownAPICatalog) {
			s.OpenAPI = combine(s.OpenAPI, is)
		}
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
	f    *Fetcher
	ctx  context.Context
	base string // of the service

	front         []byte // the body of the homepage of this origin
	fromOpenAPI   []Declared
	fromWellKnown []Declared
	candidates    []Declared
	answers       []Answer
}

// record records the answer to a request for a document.
func (v *visit) record(name, address string, d document, exists *bool, reason string) *Answer {
	v.answers = append(v.answers, Answer{Document: name, URL: address, Status: d.status, ContentType: d.mediaType,
		Exists: exists, Reason: reason})
	return &v.answers[len(v.answers)-1]
}

// recordRobots records whether an origin has a robots.txt; r is nil without an answer.
func (v *visit) recordRobots(origin string, r *Robots) {
	reason := "no document"
	exists := r.exists()
	switch {
	case exists == nil:
		reason = reasonNone
	case *exists:
		reason = "a document"
	}
	a := v.record(docRobots, origin+"/robots.txt", document{}, exists, reason)
	if r != nil && len(r.Body) == maxRobots {
		a.Problem = fmt.Sprintf("longer than %s; the rest is not read", size(maxRobots))
	}
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

// robots returns an origin's robots.txt, nil without an answer.
func (v *visit) robots(origin string) *Robots {
	r, err := v.f.fetchRobots(v.ctx, origin)
	if err != nil {
		return nil
	}
	return r
}

// exists reports whether the origin has a robots.txt, nil if unknown.
func (r *Robots) exists() *bool {
	if r == nil || r.State == RobotsUnknown {
		return nil
	}
	return new(r.State == RobotsDocument)
}

// check requests one document and reports whether it exists; is judges an answer of 200.
func (v *visit) check(name, address, accept string, is func(document) (*bool, string)) *bool {
	doc, err := v.f.get(v.ctx, address, request{accept: accept, limit: maxPage, polite: true})
	exists, reason := judgeDocument(doc, err, is)
	v.record(name, address, doc, exists, reason)
	return exists
}

// jsonDocuments are the documents that declare endpoints, in words.
var jsonDocuments = map[string]string{
	docOpenAPI: "an OpenAPI document", docManifest: "a list of resources", docAgentCard: "an agent card",
	docAPICatalog: "a catalogue of APIs",
}

// checkJSON requests a document that declares endpoints, and reports whether it exists. read reads its content. What
// prevents reading it is recorded, for its owner. An answer without such a document is only recorded if it is always
// of interest, which it is for OpenAPI.
func (v *visit) checkJSON(name, address, accept string, read func(doc []byte, u *url.URL) (Reading, error)) *bool {
	doc, err := v.f.get(v.ctx, address, request{accept: accept, limit: maxJSON, polite: true})
	article, noun, _ := strings.Cut(jsonDocuments[name], " ")
	a := Answer{}
	exists, reason := judgeDocument(doc, err, func(d document) (*bool, string) {
		if v.isAnyPage(d) {
			return new(false), "no " + noun
		}
		if d.truncated {
			a.Problem = fmt.Sprintf("larger than %s; nothing of it is read", size(maxJSON))
			return nil, "longer than the limit"
		}
		got, err := read(d.body, parse(address))
		if err != nil {
			a.Problem = cleanText(err.Error(), 200)
			return new(false), "no " + noun
		}
		if !utf8.Valid(d.body) {
			a.Problem = "it has bytes that are not UTF-8, which are read as U+FFFD"
		}
		if a.Skipped = got.Skipped; name == docOpenAPI || name == docManifest {
			a.Declared = new(len(got.Endpoints))
		}
		return new(true), article + " " + noun
	})
	if err != nil && doc.status == http.StatusOK && v.ctx.Err() == nil {
		a.Problem = fmt.Sprintf("the answer broke off after %s", size(len(doc.body)))
	}
	if name == docOpenAPI || a.Problem != "" || exists != nil && *exists {
		r := v.record(name, address, doc, exists, reason)
		r.Problem, r.Declared, r.Skipped = a.Problem, a.Declared, a.Skipped
	}
	return exists
}

// isAnyPage reports whether an answer is an HTML page that a site sends for any path.
func (v *visit) isAnyPage(d document) bool {
	return isHTML(d) && (bytes.Equal(d.body, v.front) || isHTMLType(d.mediaType))
}

// size writes a number of bytes as people read it.
func size(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
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

// openAPI reads an OpenAPI document.
func (v *visit) openAPI(address string) *bool {
	const accept = "application/json, application/yaml"
	return v.checkJSON(docOpenAPI, address, accept, func(doc []byte, u *url.URL) (Reading, error) {
		got, err := ReadOpenAPI(doc, u, v.base)
		v.fromOpenAPI = append(v.fromOpenAPI, got.Endpoints...)
		return got, err
	})
}

// manifest reads a list of what an origin sells.
func (v *visit) manifest(address string) {
	v.checkJSON(docManifest, address, "application/json", func(doc []byte, u *url.URL) (Reading, error) {
		got, err := ReadManifest(doc, u, v.base)
		v.fromWellKnown = append(v.fromWellKnown, got.Endpoints...)
		return got, err
	})
}

// add adds candidates.
func (v *visit) add(list []Declared) { v.candidates = append(v.candidates, list...) }

// agentCard adds the URLs of a paid agent to the candidates. The card declares no endpoint.
func (v *visit) agentCard(address string) *bool {
	return v.checkJSON(docAgentCard, address, "application/json", func(doc []byte, u *url.URL) (Reading, error) {
		list, err := ReadAgentCard(doc, u)
		v.add(list)
		return Reading{}, err
	})
}

// apiCatalog reads the OpenAPI documents that a catalogue of APIs and the catalogues in it name, and reports for each
// whether it exists. Catalogues are read level by level, each once.
func (v *visit) apiCatalog(address string) (exist []*bool) {
	var descriptions []*url.URL
	catalogs := []*url.URL{parse(address)}
	read := map[url.URL]bool{}
	for len(catalogs) > 0 && len(read) < maxCatalogs && len(descriptions) < maxDescriptions {
		next := catalogs[0]
		if catalogs = catalogs[1:]; read[*next] {
			continue
		}
		read[*next] = true
		v.checkJSON(docAPICatalog, next.String(), "application/linkset+json, application/json",
			func(doc []byte, u *url.URL) (Reading, error) {
				c, err := ReadAPICatalog(doc, u)
				descriptions, catalogs = append(descriptions, c.Descriptions...), append(catalogs, c.Catalogs...)
				return Reading{}, err
			})
	}
	for _, u := range first(descriptions, maxDescriptions) {
		if v.asked(u.String()) {
			continue // most catalogues name /openapi.json
		}
		exist = append(exist, v.openAPI(u.String()))
	}
	return exist
}

// asked reports whether a document at a URL was requested already.
func (v *visit) asked(address string) bool {
	return slices.ContainsFunc(v.answers, func(a Answer) bool { return a.URL == address })
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
		if !v.asked(list.String()) {
			v.manifest(list.String())
		}
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

// isHTMLType reports whether a media type is that of HTML.
func isHTMLType(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// isHTML decides by the media type, else by the body, because pages are sent with any type.
func isHTML(d document) bool {
	return isHTMLType(d.mediaType) || strings.HasPrefix(http.DetectContentType(d.body), "text/html")
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
