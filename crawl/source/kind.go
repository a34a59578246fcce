package source

import (
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

	paging paging
	size   int // entries requested a page
	read   func(doc []byte) (Page, error)
}

// paging is how the requests of a kind name the page that they want.
type paging int

const (
	wholly   paging = iota // one answer contains everything
	byOffset               // limit and offset
	byPage                 // page and page_size, from 1
	byCursor               // limit and cursor
)

// Position is a place in a source: everything that a request for the next page may depend on. The zero value is the
// beginning.
type Position struct {
	Offset int    // entries received
	Page   int    // answers received
	Cursor string // named by the last answer
}

// IsPaged reports whether reading a source of this kind may take several requests. The validators (ETag,
// Last-Modified) of a source that is not paged stand for all of it.
func (k Kind) IsPaged() bool { return k.paging != wholly }

// Read returns what an answer contains. An error wraps ErrShape.
func (k Kind) Read(doc []byte) (Page, error) {
	if len(doc) > MaxBytes {
		return Page{}, errTooLong
	}
	return k.read(doc)
}

// Request returns the URL of the page at a position. Parameters that the address has keep their values, unless they
// name a page.
func (k Kind) Request(address *url.URL, at Position) *url.URL {
	u := *address
	q := u.Query()
	switch k.paging {
	case wholly:
		return &u
	case byOffset:
		q.Set("limit", strconv.Itoa(k.size))
		q.Set("offset", strconv.Itoa(at.Offset))
	case byPage:
		q.Set("page", strconv.Itoa(at.Page+1))
		q.Set("page_size", strconv.Itoa(k.size))
	case byCursor:
		q.Set("limit", strconv.Itoa(k.size))
		if at.Cursor != "" {
			q.Set("cursor", at.Cursor)
		}
	}
	u.RawQuery = q.Encode()
	return &u
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

var kinds = []Kind{
	{
		Name: "x402-discovery", Accept: "application/json", paging: byOffset, size: 100, read: readDiscovery,
		Summary: "A facilitator's /discovery/resources, as the specification of x402 has it.",
	},
}
