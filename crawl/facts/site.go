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
		if sameSite(home, base) {
			s.Robots = combine(s.Robots, robots)
		}
		if robots == nil {
			continue // the origin does not answer: send no further requests
		}
		v.front = nil
		s.Homepage = combine(s.Homepage, v.check(home, "text/html", v.isHomepage))
		if !sameSite(home, base) {
			continue
		}
		s.Pricing = combine(s.Pricing, v.check(origin+"/pricing", "text/html", v.isPage))
		s.Terms = combine(s.Terms, v.check(origin+"/terms", "text/html", v.isPage))
		s.LLMsTxt = combine(s.LLMsTxt, v.check(origin+"/llms.txt", "text/plain, text/markdown",
			func(d document) *bool { return new(isText(d)) }))
		s.OpenAPI = combine(s.OpenAPI, v.openAPI(origin+"/openapi.json"))
		if path := strings.TrimRight(base, "/"); origin == api && !strings.EqualFold(path, api) {
			s.OpenAPI = combine(s.OpenAPI, v.openAPI(path+"/openapi.json"))
		}
		v.wellKnown(origin+wellKnownX402, ReadWellKnown)
		v.wellKnown(origin+wellKnownX402JSON, ReadWellKnown)
		v.wellKnown(origin+wellKnownMPP, ReadMPP)
	}
	s.Endpoints = FilterBelow(base, append(v.fromOpenAPI, v.fromWellKnown...))
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
}

func (v *visit) robots(origin string) *bool {
	r, err := v.f.fetchRobots(v.ctx, origin)
	if err != nil || r.State == RobotsUnknown {
		return nil
	}
	return new(r.State == RobotsDocument)
}

// check requests one document and reports whether it exists; is judges an answer of 200.
func (v *visit) check(address, accept string, is func(document) *bool) *bool {
	doc, err := v.f.get(v.ctx, address, request{accept: accept, limit: maxDocument, polite: true})
	switch {
	case errors.Is(err, ErrElsewhere):
		return new(false)
	case err != nil:
		return nil
	case doc.status == http.StatusOK:
		return is(doc)
	case doc.status >= 500, doc.status < 200:
		return nil
	}
	switch doc.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooEarly, http.StatusTooManyRequests:
		return nil
	}
	return new(false)
}

func (v *visit) isHomepage(d document) *bool {
	v.front = d.body
	return new(isHTML(d))
}

// isPage reports whether an answer is readable for people or programs and differs from the homepage.
func (v *visit) isPage(d document) *bool {
	if len(bytes.TrimSpace(d.body)) == 0 || v.front != nil && bytes.Equal(v.front, d.body) {
		return new(false)
	}
	readable := isHTML(d) || isText(d) || d.mediaType == "application/pdf" || isJSON(d.mediaType) && json.Valid(d.body)
	return &readable
}

func (v *visit) openAPI(address string) *bool {
	return v.check(address, "application/json", func(d document) *bool {
		u, err := url.Parse(address)
		if err != nil || d.truncated && !isHTML(d) {
			return nil
		}
		list, err := ReadOpenAPI(d.body, u)
		v.fromOpenAPI = append(v.fromOpenAPI, list...)
		return new(err == nil)
	})
}

func (v *visit) wellKnown(address string, read func([]byte, *url.URL) ([]Declared, error)) {
	v.check(address, "application/json", func(d document) *bool {
		if u, err := url.Parse(address); err == nil && !d.truncated {
			list, _ := read(d.body, u) // another kind of document declares nothing
			v.fromWellKnown = append(v.fromWellKnown, list...)
		}
		return nil
	})
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
