package site

import (
	"bytes"
	"errors"
	"fmt"
)

// A list is written with one row on each line, so that cutting a page out of it means splitting lines, not parsing:
//
//	{"data":[
//	{"slug":"acme"},
//	{"slug":"zeta"}
//	],"meta":{"total":2}}

// listEnd stands behind the meta of a list.
const listEnd = "}\n"

// ErrFrame marks bytes that Framing.List did not write.
var ErrFrame = errors.New("not a framed list")

// Around returns what a list has before its rows, and between its rows and its meta.
func (f Framing) Around() (beforeRows, beforeMeta string) {
	if f == (Framing{}) {
		return "{\"data\":[\n", "],\"meta\":"
	}
	return "{" + f.Lead + "\"" + f.Rows + "\":[\n", "],\"" + f.Meta + "\":" // the names of routes need no escapes
}

// List writes a list. Rows and meta are compact JSON, which has no newline.
func (f Framing) List(rows [][]byte, meta []byte) []byte {
	beforeRows, beforeMeta := f.Around()
	size := len(beforeRows) + len(beforeMeta) + len(meta) + len(listEnd)
	for _, r := range rows {
		size += len(r) + len(",\n")
	}
	return f.AppendList(make([]byte, 0, size), rows, meta)
}

// AppendList appends what List returns.
func (f Framing) AppendList(b []byte, rows [][]byte, meta []byte) []byte {
	beforeRows, beforeMeta := f.Around()
	b = append(b, beforeRows...)
	for i, r := range rows {
		b = AppendRowEnd(append(b, r...), i == len(rows)-1)
	}
	return AppendListEnd(append(append(b, beforeMeta...), meta...))
}

// AppendRowEnd appends what stands behind a row of a list.
func AppendRowEnd(b []byte, last bool) []byte {
	if !last {
		b = append(b, ',')
	}
	return append(b, '\n')
}

// AppendListEnd appends what stands behind the meta of a list.
func AppendListEnd(b []byte) []byte { return append(b, listEnd...) }

// FindMeta returns the meta of a list, found at its end without looking at the rows.
func (f Framing) FindMeta(file []byte) ([]byte, error) {
	_, beforeMeta := f.Around()
	body, ok := bytes.CutSuffix(file, []byte(listEnd))
	if !ok {
		return nil, fmt.Errorf("%w: no end", ErrFrame)
	}
	meta, ok := bytes.CutPrefix(body[bytes.LastIndexByte(body, '\n')+1:], []byte(beforeMeta))
	if !ok || len(meta) == 0 {
		return nil, fmt.Errorf("%w: no meta", ErrFrame)
	}
	return meta, nil
}

// Split is the inverse of List. Rows and meta are parts of file. It looks at lines alone and does not parse rows.
func (f Framing) Split(file []byte) (rows [][]byte, meta []byte, err error) {
	beforeRows, beforeMeta := f.Around()
	body, ok := bytes.CutPrefix(file, []byte(beforeRows))
	if !ok {
		return nil, nil, fmt.Errorf("%w: no head", ErrFrame)
	}
	if body, ok = bytes.CutSuffix(body, []byte(listEnd)); !ok {
		return nil, nil, fmt.Errorf("%w: no end", ErrFrame)
	}
	more := false // the line before ended in a comma
	for {
		line, rest, found := bytes.Cut(body, []byte{'\n'})
		if !found {
			if meta, ok = bytes.CutPrefix(body, []byte(beforeMeta)); !ok || more || len(meta) == 0 {
				return nil, nil, fmt.Errorf("%w: line %d is no meta", ErrFrame, len(rows)+2)
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
