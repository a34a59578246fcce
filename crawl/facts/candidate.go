package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tollbook/site/jsontext"
)

// Paths of documents that name further documents or endpoints of an origin. SOURCES.md says where they are documented.
const (
	wellKnownAPICatalog = "/.well-known/api-catalog"
	wellKnownAgentCard  = "/.well-known/agent-card.json"
	wellKnownAgent      = "/.well-known/agent.json" // of agent cards before version 0.3 of A2A
)

// TXTLabel precedes a host in the name of its TXT records about x402.
const TXTLabel = "_x402."

// Limits of what such documents may name.
const (
	maxDescriptions = 4  // OpenAPI documents that a catalogue of APIs leads to
	maxCatalogs     = 4  // catalogues of APIs that are read, with those in others
	maxCandidates   = 10 // URLs of all documents that are asked for their price
	maxLinks        = 500
	maxTXT          = 20 // records of a name
)

// APICatalog is what a catalogue of APIs names on its host or below it: in order, each once.
type APICatalog struct {
	Descriptions []*url.URL // OpenAPI documents, at most maxDescriptions
	Catalogs     []*url.URL // further catalogues, at most maxCatalogs
}

// ReadAPICatalog reads a catalogue of APIs (RFC 9727): descriptions are the targets of service-desc, further catalogues
// those of api-catalog.
func ReadAPICatalog(doc []byte, address *url.URL) (c APICatalog, err error) {
	top, err := readTop(doc)
	if err != nil {
		return c, err
	}
	if !top.Has("linkset") {
		return c, fmt.Errorf("%w: it has no linkset", errNoDocument)
	}
	for _, raw := range first(top.list("linkset"), maxLinks) {
		context := objectOf(raw)
		c.Descriptions = appendTargets(c.Descriptions, context.Get("service-desc"), address, maxDescriptions)
		c.Catalogs = appendTargets(c.Catalogs, context.Get("api-catalog"), address, maxCatalogs)
	}
	return c, nil
}

// appendTargets appends the targets of a relation on the host of an address or below it, up to a number. A relation is
// a list, or one target where a catalogue is lax.
func appendTargets(all []*url.URL, relation json.RawMessage, address *url.URL, limit int) []*url.URL {
	targets := jsontext.List(relation)
	if jsontext.Kind(relation) == '{' {
		targets = []json.RawMessage{relation}
	}
	for _, target := range first(targets, maxLinks) {
		u, ok := ownURL(address, objectOf(target).text("href"))
		if ok && len(all) < limit && !slices.ContainsFunc(all, func(o *url.URL) bool { return *o == *u }) {
			all = append(all, u)
		}
	}
	return all
}

// ReadAgentCard returns the URLs of an agent whose card declares the x402 extension of A2A, with POST as their method.
// They are candidates: an agent may also ask for payment in an answer of 200, which is not an endpoint's 402.
func ReadAgentCard(doc []byte, address *url.URL) ([]Declared, error) {
	card, err := readTop(doc)
	if err != nil {
		return nil, err
	}
	if !card.Has("skills") && !card.Has("capabilities") {
		return nil, fmt.Errorf("%w: it has neither skills nor capabilities", errNoDocument)
	}
	isPaid := func(raw json.RawMessage) bool {
		u, err := url.Parse(objectOf(raw).text("uri"))
		return err == nil && strings.Contains(strings.ToLower(u.Path), "x402")
	}
	if !slices.ContainsFunc(first(card.child("capabilities").list("extensions"), maxLinks), isPaid) {
		return nil, nil
	}
	links := []string{card.text("url")}
	for _, name := range []string{"additionalInterfaces", "supportedInterfaces"} {
		for _, raw := range first(card.list(name), maxLinks) {
			links = append(links, objectOf(raw).text("url"))
		}
	}
	description := cleanText(card.text("description", "name"), 500)
	var out []Declared
	for _, link := range links {
		if u, ok := ownURL(address, link); ok {
			out = addCandidate(out, Declared{Method: "POST", URL: u.String(), Description: description,
				Origin: OriginAgentCard})
		}
	}
	return out, nil
}

// link matches a URL of a Markdown link or a bare one.
var link = regexp.MustCompile(`https?://[^\s<>()\[\]"'` + "`" + `|\\]+|\]\((/[^\s()]*)`)

// ReadLLMsTxt returns the URLs on the host of an llms.txt that it links, in order, each once, with GET as their
// method. They are candidates: most are pages. Nothing else may be sent to a URL that is only linked.
func ReadLLMsTxt(doc []byte, address *url.URL) []Declared {
	var out []Declared
	for _, match := range link.FindAllSubmatch(doc, maxLinks) {
		text := strings.TrimRight(string(match[0]), ".,;:!?*_")
		if len(match[1]) > 0 {
			text = string(match[1])
		}
		u, ok := ownURL(address, text)
		if ok && len(strings.Trim(u.Path, "/")) > 0 && !isPage(u.Path) {
			out = addCandidate(out, Declared{Method: "GET", URL: u.String(), Origin: OriginLLMsTxt})
		}
	}
	return out
}

// isPage reports whether a path names a document for readers, which no program pays for.
func isPage(path string) bool {
	for _, end := range []string{".md", ".txt", ".html", ".pdf", ".png", ".svg", ".xml", ".yaml", ".yml",
		"/openapi.json"} {
		if strings.HasSuffix(strings.ToLower(path), end) {
			return true
		}
	}
	return strings.HasPrefix(path, "/.well-known/")
}

// ReadTXT returns the URL of the list of paid resources that the TXT records of _x402.HOST name, nil for none. It is on
// the host or below it.
func ReadTXT(records []string, address *url.URL) *url.URL {
	for _, record := range first(records, maxTXT) {
		fields := map[string]string{}
		for field := range strings.SplitSeq(record[:min(len(record), 2048)], ";") {
			name, value, _ := strings.Cut(field, "=")
			fields[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
		if !strings.HasPrefix(fields["v"], "x402") {
			continue
		}
		if u, ok := ownURL(address, cmp.Or(fields["wk"], fields["url"])); ok {
			return u
		}
	}
	return nil
}

// addCandidate adds an endpoint that is not there yet, up to maxCandidates.
func addCandidate(list []Declared, d Declared) []Declared {
	same := func(o Declared) bool { return o.URL == d.URL }
	if len(list) >= maxCandidates || slices.ContainsFunc(list, same) {
		return list
	}
	return append(list, d)
}

// ownURL resolves a link of a document, and reports whether it leads to the document's host or a name below it.
func ownURL(address *url.URL, link string) (*url.URL, bool) {
	u, err := address.Parse(link)
	if err != nil || link == "" || len(link) > 2048 || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, false
	}
	u.Fragment, u.RawFragment = "", ""
	own, other := strings.ToLower(address.Hostname()), strings.ToLower(u.Hostname())
	isBelow := net.ParseIP(own) == nil && strings.HasSuffix(other, "."+own) && u.Port() == address.Port()
	return u, other == own && u.Port() == address.Port() || isBelow
}

// first returns at most n elements of a list.
func first[T any](list []T, n int) []T { return list[:min(len(list), n)] }
