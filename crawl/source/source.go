// Package source reads the answers of public sources: catalogues of facilitators, directories of paid services, and
// lists in repositories. A source says that a resource exists. It never says what the resource answers or costs: only
// the service itself does.
//
// All of the package is pure: bytes in, rows out. A Walk forms the requests that read a whole source, and its caller
// sends them. The package must never do I/O and must never know a clock, a database, or which services are listed.
//
// Everything from a source is hostile. An entry whose URL can't be the address of a paid service is skipped with a
// reason. Texts are cleaned and cut. Limits bound what a walk reads and keeps. SOURCES.md says where each shape is
// documented.
package source

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tollbook/site/listing"
)

// Limits of what is read from a source.
const (
	MaxBytes   = 16 << 20  // of one answer
	MaxEntry   = 1 << 20   // bytes of an entry of an answer
	MaxTotal   = 1 << 30   // bytes of all answers of a walk
	MaxStored  = 256 << 20 // bytes of all rows of a walk
	MaxRows    = 250_000   // rows that a walk returns, each resource once
	MaxPages   = 3_000     // requests of a walk
	MaxSkipped = 1_000     // skipped entries that a page or a walk describes; more are only counted
	MaxCursor  = 2_048     // bytes of a cursor
	MaxURL     = 2_048     // bytes of a resource's URL
	MaxName    = 100       // characters of a name, a category, a MIME type and a tag
	MaxText    = 500       // characters of a description
	MaxPrice   = 100       // characters of a price
	MaxTags    = 20        // tags of a row
	MaxDepth   = 64        // levels of nested JSON
)

// Protocols by which a resource can be paid, as a source names them.
const (
	X402 = "x402"
	MPP  = "mpp"
	L402 = "l402"
)

// Types of a resource.
const (
	HTTP = "http"
	MCP  = "mcp"
)

// Row is one listed resource: an endpoint, a tool of an MCP server, or a site of which the source names no endpoint.
type Row struct {
	URL         string // absolute, http or https, without userinfo; "{name}" in its path is a placeholder
	Method      string // upper case; "" if the source does not say
	Type        string // HTTP or MCP
	Tool        string // name of the MCP tool, "" for none
	Site        bool   // whether URL is a service's base URL or page; its endpoints are unknown
	Template    string // route template of which URL is an instance; "" for none
	Protocol    string // X402, MPP or L402; "" if the source does not say
	Service     string // name of the service, "" for none
	Name        string // name of the resource, "" for none
	Description string
	MimeType    string
	Category    string // as the source names it
	Tags        []string
	Price       string   // as the source writes it: evidence, never shown as the price
	Digest      [32]byte // SHA-256 of the entry's bytes in the answer
	Entry       int      // place of the entry in the answer, from 0
}

// size returns roughly how many bytes of memory the row takes.
func (r *Row) size() int64 {
	n := 512 + len(r.URL) + len(r.Tool) + len(r.Template) + len(r.Service) + len(r.Name) + len(r.Description) +
		len(r.MimeType) + len(r.Category) + len(r.Price)
	for _, tag := range r.Tags {
		n += 16 + len(tag)
	}
	return int64(n)
}

// Identity is what makes two rows the same resource, whichever source they are from.
type Identity struct {
	URL    string // canonical host, and path in the form of listing.NormalURL; without the scheme
	Method string // "" if the source does not say
	Tool   string // "" unless the resource is an MCP tool
}

// Identity returns the row's identity. It ignores the scheme, since sources write http for sites behind a proxy, and
// the query. A placeholder {name} in the path is the same as the parameter :name of a route template.
func (r *Row) Identity() Identity {
	normal, err := listing.NormalURL(r.URL)
	if err != nil {
		normal = r.URL // not reached: readers skip such rows
	}
	_, rest, _ := strings.Cut(normal, "://")
	host, path, _ := strings.Cut(rest, "/")
	host = CanonicalHost(host)
	rest = host + "/" + path
	if r.Template != "" {
		rest = host + r.Template
	} else if strings.Contains(path, "%7B") {
		rest = host + "/" + parameters(path)
	}
	return Identity{URL: rest, Method: r.Method, Tool: r.Tool}
}

// parameters writes the segments {name} of a normal path as :name.
func parameters(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if name, ok := strings.CutPrefix(s, "%7B"); ok && len(name) > 3 && strings.HasSuffix(name, "%7D") {
			segments[i] = ":" + strings.TrimSuffix(name, "%7D")
		}
	}
	return strings.Join(segments, "/")
}

// Page is what one answer of a source contains.
type Page struct {
	Rows    []Row  // in the order of the answer, duplicates included
	Entries int    // entries of the answer, skipped ones included
	Skipped []Skip // entries that give no row, at most MaxSkipped
	Reasons Reasons
	Total   *int   // entries of the whole source; nil if the answer does not say
	Next    string // cursor of the next answer; "" if this answer names none
	Last    bool   // whether the answer says that it is the last one
	Partial bool   // whether the source hides URLs from readers who do not pay
	Cut     bool   // whether the answer has more entries or resources than MaxRows; the others are skipped
}

// Reasons counts entries that give no row by reason, those that no Skip describes too.
type Reasons map[string]int

// Total returns the number of all.
func (r Reasons) Total() (n int) {
	for _, count := range r {
		n += count
	}
	return n
}

func (r *Reasons) add(reason string, n int) {
	if *r == nil {
		*r = Reasons{}
	}
	(*r)[reason] += n
}

// String returns the counts in words, the largest first, such as "2 relative-url, 1 page-about".
func (r Reasons) String() string {
	texts := []string{}
	for _, reason := range slices.SortedFunc(maps.Keys(r), func(a, b string) int {
		return cmp.Or(cmp.Compare(r[b], r[a]), cmp.Compare(a, b))
	}) {
		texts = append(texts, fmt.Sprintf("%d %s", r[reason], reason))
	}
	return strings.Join(texts, ", ")
}

// Skip describes an entry that gives no row.
type Skip struct {
	Entry  int    // place of the entry in the answer, from 0
	Reason string // NotObject or one of the others
	URL    string // as written, cleaned and cut; "" for none
}

// Reasons of skipping an entry.
const (
	NotObject = "not-an-object"   // the entry is no JSON object, or no link
	NoURL     = "no-url"          // it names no URL
	BadURL    = "bad-url"         // its URL is not http or https, is too long, has userinfo, or has no host
	Refused   = "refused-address" // its URL must not be visited, such as a private address
	NotPaid   = "not-paid"        // the source says that the resource is free or not offered any more
	About     = "page-about"      // it links to a page about services: code, packages, posts
	Relative  = "relative-url"    // its link is relative, or has no scheme of the web
	SameHost  = "same-host"       // another entry of the list names the same host
	TooLarge  = "too-large"       // the entry is larger or more deeply nested than any real one
)
