// Package encode writes responses as JSON: one value, or a list in which each row is a line, so that a page can be cut
// without parsing JSON. It does not know what a row means.
package encode

import (
	"bytes"
	"errors"
	"fmt"
)

// Framing: members of a list that does not use data and meta.
//
// Framing names the members of a list: those before its rows, the one with the rows and the one with the counts. The
// zero Framing uses data and meta.
type Framing struct {
	// JSON before the rows.
	Lead string `json:"lead,omitempty"`
	// Name of the member that contains the rows.
	Rows string `json:"rows"`
	// Name of the member that contains the counts.
	Meta string `json:"meta"`
}

// Each row of a list is one line, so that a page can be cut without parsing JSON:
//
//	{"data":[
//	{"slug":"acme"},
//	{"slug":"zeta"}
//	],"meta":{"total":2},"provenance":{…}}
//
// Lists of earlier versions and lists that are no responses end after the meta.

// listEnd is the end of every response.
const listEnd = "}\n"

// beforeProvenance precedes the last member of a response. Within text its quotes would be escaped.
var beforeProvenance = []byte(`,"provenance":`)

// AppendProvenance adds the member provenance to the end of a response: the licence and the source, as JSON.
func AppendProvenance(response, provenance []byte) []byte {
	b := append(bytes.TrimSuffix(response, []byte(listEnd)), beforeProvenance...)
	return append(append(b, provenance...), listEnd...)
}

// FindProvenance returns the last member of a response, nil if it has no provenance.
func FindProvenance(response []byte) []byte {
	at := bytes.LastIndex(response, beforeProvenance)
	if at < 0 {
		return nil
	}
	return bytes.TrimSuffix(response[at+len(beforeProvenance):], []byte(listEnd))
}

// cutMeta returns the meta of the last line of a list, without what follows it.
func cutMeta(line []byte, beforeMeta string) ([]byte, bool) {
	meta, ok := bytes.CutPrefix(line, []byte(beforeMeta))
	if end := bytes.LastIndex(meta, beforeProvenance); end >= 0 {
		meta = meta[:end]
	}
	return meta, ok && len(meta) > 0
}

// ErrFrame is the error for bytes that are not a list as Framing.List writes it.
var ErrFrame = errors.New("not a framed list")

// Around returns the bytes of a list before its rows, and between its rows and its meta.
func (f Framing) Around() (beforeRows, beforeMeta string) {
	if f == (Framing{}) {
		return "{\"data\":[\n", "],\"meta\":"
	}
	return "{" + f.Lead + "\"" + f.Rows + "\":[\n", "],\"" + f.Meta + "\":"
}

// List returns a list. Rows and meta must be compact JSON, which contains no newline.
func (f Framing) List(rows [][]byte, meta []byte) []byte {
	beforeRows, beforeMeta := f.Around()
	size := len(beforeRows) + len(beforeMeta) + len(meta) + len(listEnd)
	for _, r := range rows {
		size += len(r) + len(",\n")
	}
	return f.AppendList(make([]byte, 0, size), rows, meta)
}

// AppendList appends the bytes that List returns.
func (f Framing) AppendList(b []byte, rows [][]byte, meta []byte) []byte {
	beforeRows, beforeMeta := f.Around()
	b = append(b, beforeRows...)
	for i, r := range rows {
		b = appendRowEnd(append(b, r...), i == len(rows)-1)
	}
	return appendListEnd(append(append(b, beforeMeta...), meta...))
}

// appendRowEnd appends the bytes that follow a row of a list.
func appendRowEnd(b []byte, last bool) []byte {
	if !last {
		b = append(b, ',')
	}
	return append(b, '\n')
}

// appendListEnd appends the bytes that follow the meta of a list.
func appendListEnd(b []byte) []byte { return append(b, listEnd...) }

// FindMeta returns the meta of a list. It reads only the end of the file.
func (f Framing) FindMeta(file []byte) ([]byte, error) {
	_, beforeMeta := f.Around()
	body, ok := bytes.CutSuffix(file, []byte(listEnd))
	if !ok {
		return nil, fmt.Errorf("%w: it does not end like one", ErrFrame)
	}
	meta, ok := cutMeta(body[bytes.LastIndexByte(body, '\n')+1:], beforeMeta)
	if !ok {
		return nil, fmt.Errorf("%w: no meta", ErrFrame)
	}
	return meta, nil
}

// Split is the inverse of List, also for a list with provenance. It returns slices of file and does not parse the rows.
func (f Framing) Split(file []byte) (rows [][]byte, meta []byte, err error) {
	beforeRows, beforeMeta := f.Around()
	body, ok := bytes.CutPrefix(file, []byte(beforeRows))
	if !ok {
		return nil, nil, fmt.Errorf("%w: it does not start like one", ErrFrame)
	}
	if body, ok = bytes.CutSuffix(body, []byte(listEnd)); !ok {
		return nil, nil, fmt.Errorf("%w: it does not end like one", ErrFrame)
	}
	more := false // the previous line ended with a comma
	for {
		line, rest, ok := bytes.Cut(body, []byte{'\n'})
		if !ok {
			if meta, ok = cutMeta(body, beforeMeta); !ok || more {
				return nil, nil, fmt.Errorf("%w: line %d is not the meta", ErrFrame, len(rows)+2)
			}
			return rows, meta, nil
		}
		if len(rows) > 0 && !more {
			return nil, nil, fmt.Errorf("%w: no comma before line %d", ErrFrame, len(rows)+2)
		}
		if line, more = bytes.CutSuffix(line, []byte{','}); len(line) == 0 {
			return nil, nil, fmt.Errorf("%w: line %d is empty", ErrFrame, len(rows)+2)
		}
		rows, body = append(rows, line[:len(line):len(line)]), rest
	}
}
