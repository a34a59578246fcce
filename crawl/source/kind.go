package source

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
)

// ErrShape is returned for an answer of another shape than the kind's, such as an HTML page or an error.
var ErrShape = errors.New("the answer does not have the expected shape")

// Kind is a shape of a source's answers. The zero value is no kind.
type Kind struct {
	Name    string // as in the configuration
	Summary string // one sentence: which sources answer so
	Accept  string // media types for the request's Accept header

	size  int // entries requested a page; 0 for a source that one answer contains
	query func(q url.Values, at Position, size int)
	read  func(doc []byte) (Page, error)
}

// Position is a place in a source: all that a request for the next page depends on. The zero value is the beginning.
type Position struct {
	Offset int    // entries received
	Page   int    // answers received
	Cursor string // named by the last answer
}

// IsPaged reports whether reading a source of this kind may take several requests. The validators (ETag,
// Last-Modified) of a source that is not paged stand for all of it.
func (k Kind) IsPaged() bool { return k.size > 0 }

// Read returns what an answer contains. An error wraps ErrShape.
func (k Kind) Read(doc []byte) (Page, error) {
	if len(doc) > MaxBytes {
		return Page{}, errTooLong
	}
	p, err := k.read(doc)
	if len(p.Next) > MaxCursor {
		p.Next = ""
	}
	return p, err
}

// Request returns the URL of the page at a position. Parameters of the address keep their values, unless they name a
// page.
func (k Kind) Request(address *url.URL, at Position) *url.URL {
	u := *address
	if k.IsPaged() {
		q := u.Query()
		k.query(q, at, k.size)
		u.RawQuery = q.Encode()
	}
	return &u
}

// byOffset names a page by the number of entries before it. An answer that names a cursor is followed by it instead.
func byOffset(q url.Values, at Position, size int) {
	q.Set("limit", strconv.Itoa(size))
	if q.Del("offset"); at.Cursor != "" {
		q.Set("cursor", at.Cursor)
		return
	}
	q.Set("offset", strconv.Itoa(at.Offset))
}

// byPage names a page by its number from 1.
func byPage(q url.Values, at Position, size int) {
	q.Set("page", strconv.Itoa(at.Page+1))
	q.Set("page_size", strconv.Itoa(size))
}

// x402scanPage names a page in the input of x402scan's query.
func x402scanPage(q url.Values, at Position, size int) {
	setInput(q, map[string]any{
		"pagination": map[string]int{"page": at.Page, "page_size": size},
		"sorting":    map[string]any{"id": "lastUpdated", "desc": true},
	})
}

// mppscanPage names a page in the input of MPPScan's query.
func mppscanPage(q url.Values, at Position, size int) {
	setInput(q, map[string]int{"timeframeDays": 0, "page": at.Page, "pageSize": size})
}

// setInput sets the input of a tRPC query.
func setInput(q url.Values, input any) {
	text, _ := json.Marshal(map[string]any{"json": input}) // maps of numbers and texts can always be encoded
	q.Set("input", string(text))
}

// Kinds returns all kinds, by name.
func Kinds() []Kind { return kinds }

// KindOf returns the kind of a name; ok is false for an unknown one.
func KindOf(name string) (k Kind, ok bool) {
	for _, k := range kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

const typeJSON = "application/json"

var kinds = []Kind{
	{
		Name: "402index", Accept: typeJSON, size: 200, query: byOffset, read: readIndex,
		Summary: "The services of 402 Index, which lists x402, MPP and L402.",
	},
	{
		Name: "b402", Accept: typeJSON, size: 100, query: byOffset, read: readB402,
		Summary: "The bazaar of Binance's facilitator B402: a discovery answer in an envelope with a code.",
	},
	{
		Name: "json-list", Accept: typeJSON, read: readJSONList,
		Summary: "A list of URLs or of services with endpoints, as JSON.",
	},
	{
		Name: "l402-directory", Accept: typeJSON, read: readL402Directory,
		Summary: "The services of l402.directory.",
	},
	{
		Name: "l402apps", Accept: "text/html", read: readL402Apps,
		Summary: "The page of l402apps.com, which contains its list as JSON.",
	},
	{
		Name: "markdown-list", Accept: "text/markdown, text/plain", read: readMarkdownList,
		Summary: "A list in Markdown, such as a README of links: one service an item or a table row.",
	},
	{
		Name: "mpp-services", Accept: typeJSON, read: readMPPServices,
		Summary: "The services of mpp.dev, by the schema of its registry.",
	},
	{
		Name: "mppscan", Accept: typeJSON, size: 100, query: mppscanPage, read: readMPPScan,
		Summary: "The sites that MPPScan has seen paid.",
	},
	{
		Name: "satring", Accept: typeJSON, size: 20, query: byPage, read: readSatring,
		Summary: "The services of Satring. It shows few URLs a day to readers who do not pay.",
	},
	{
		Name: "x402-discovery", Accept: typeJSON, size: 100, query: byOffset, read: readDiscovery,
		Summary: "A facilitator's /discovery/resources, as the specification of x402 has it.",
	},
	{
		Name: "x402scan", Accept: typeJSON, size: 250, query: x402scanPage, read: readX402Scan,
		Summary: "The resources of x402scan.",
	},
	{
		Name: "yaml-list", Accept: "application/yaml, text/yaml, text/plain", read: readYAMLList,
		Summary: "A list of URLs or of services with endpoints, as YAML.",
	},
}
