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

// Site says which documents a service's site has. Nil is not known: robots.txt forbade the look, nobody answered, or
// the answer was about us (401, 403, 429, 5xx) or longer than is read.
type Site struct {
	Homepage, OpenAPI, Pricing, LLMsTxt, Robots, Terms *bool
	Endpoints                                          []Endpoint // that documents declare, the most trusted first
}

// Known says whether the look saw anything at all.
func (s Site) Known() bool {
	for _, known := range []*bool{s.Homepage, s.OpenAPI, s.Pricing, s.LLMsTxt, s.Robots, s.Terms} {
		if known != nil {
			return true
		}
	}
	return false
}

// Survey looks at the documents of a service: at its website, where one is listed, and at the origin of its base
// address. A document is there when either has it. Of a website on another domain, which may be a page on somebody's
// forge, only the page itself counts. What answers every path with one page has no documents but the homepage. It ends
// early, with what it has, only when ctx does.
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
			s.Robots = either(s.Robots, robots)
		}
		if robots == nil {
			continue // nobody answers there: nothing else is asked
		}
		v.front = nil
		s.Homepage = either(s.Homepage, v.look(home, "text/html", v.isHomepage))
		if !sameSite(home, base) {
			continue
		}
		s.Pricing = either(s.Pricing, v.look(origin+"/pricing", "text/html", v.isPage))
		s.Terms = either(s.Terms, v.look(origin+"/terms", "text/html", v.isPage))
		s.LLMsTxt = either(s.LLMsTxt, v.look(origin+"/llms.txt", "text/plain, text/markdown",
			func(d document) *bool { return new(isText(d)) }))
		s.OpenAPI = either(s.OpenAPI, v.openAPI(origin+"/openapi.json"))
		if path := strings.TrimRight(base, "/"); origin == api && !strings.EqualFold(path, api) {
			s.OpenAPI = either(s.OpenAPI, v.openAPI(path+"/openapi.json"))
		}
		v.wellKnown(origin+wellKnownX402, ReadWellKnown)
		v.wellKnown(origin+wellKnownX402JSON, ReadWellKnown)
		v.wellKnown(origin+wellKnownMPP, ReadMPP)
	}
	s.Endpoints = Below(base, append(v.fromOpenAPI, v.fromWellKnown...))
	return s
}

// originOf is the scheme, host and port of an address, "" when it has none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// sameSite says whether two addresses are of one host, or of hosts of one registrable domain.
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

// either is true when one of two looks saw the document, false when both looks missed it, and nil when one could not
// tell.
func either(a, b *bool) *bool {
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

// visit is one look at a service's documents.
type visit struct {
	f   *Fetcher
	ctx context.Context

	front         []byte // the body of the homepage of this origin
	fromOpenAPI   []Declared
	fromWellKnown []Declared
}

func (v *visit) robots(origin string) *bool {
	r, err := v.f.robots(v.ctx, origin)
	if err != nil || r.State == RobotsUnknown {
		return nil
	}
	return new(r.State == RobotsDocument)
}

// look asks for one document and says whether it is there; is judges an answer of 200.
func (v *visit) look(address, accept string, is func(document) *bool) *bool {
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

// isPage holds for anything that people or programs can read, unless it is the homepage again.
func (v *visit) isPage(d document) *bool {
	if len(bytes.TrimSpace(d.body)) == 0 || v.front != nil && bytes.Equal(v.front, d.body) {
		return new(false)
	}
	readable := isHTML(d) || isText(d) || d.mediaType == "application/pdf" || isJSON(d.mediaType) && json.Valid(d.body)
	return &readable
}

func (v *visit) openAPI(address string) *bool {
	return v.look(address, "application/json", func(d document) *bool {
		u, err := url.Parse(address)
		if err != nil || d.truncated && !isHTML(d) {
			return nil
		}
		found, err := ReadOpenAPI(d.body, u)
		v.fromOpenAPI = append(v.fromOpenAPI, found...)
		return new(err == nil)
	})
}

func (v *visit) wellKnown(address string, read func([]byte, *url.URL) ([]Declared, error)) {
	v.look(address, "application/json", func(d document) *bool {
		if u, err := url.Parse(address); err == nil && !d.truncated {
			found, _ := read(d.body, u) // one that is no document lists nothing
			v.fromWellKnown = append(v.fromWellKnown, found...)
		}
		return nil
	})
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// isHTML goes by the type, and by the body where the type says nothing of the sort: pages for everything come under
// any.
func isHTML(d document) bool {
	switch d.mediaType {
	case "text/html", "application/xhtml+xml":
		return true
	}
	return strings.HasPrefix(http.DetectContentType(d.body), "text/html")
}

// isText holds for text that is no page: plain or markdown by its type, or without a type.
func isText(d document) bool {
	switch d.mediaType {
	case "text/plain", "text/markdown", "text/x-markdown", "":
	default:
		return false
	}
	text := d.body
	if d.truncated { // it may end within a character
		text = text[:max(0, len(text)-utf8.UTFMax)]
		for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
		text = text[:max(0, len(text)-1)]
	}
	return !isHTML(d) && utf8.Valid(text) && bytes.IndexByte(text, 0) < 0
}
