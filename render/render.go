// Package render turns a resource into bytes: JSON as the contract frames it, and pages from package templates. The same
// value gives the same bytes.
//
// It does no I/O, has no clock (times come with the snapshot), and must never know where facts are kept, how they are
// judged or where the bytes go.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// JSON is the body of a complete response: {"data":v} and a newline, with <, > and & as they are.
func JSON(v any) ([]byte, error) {
	return encode(struct {
		Data any `json:"data"`
	}{v})
}

// List is the body of a complete response whose data are rows of Row.
func List(rows [][]byte) []byte {
	size := len(`{"data":[]}`) + 1
	for _, r := range rows {
		size += len(r) + 1
	}
	b := append(make([]byte, 0, size), `{"data":[`...)
	for i, r := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, r...)
	}
	return append(b, "]}\n"...)
}

// Row is v on one line, without the newline that ends it: a row of a list, which is cut by lines.
func Row(v any) ([]byte, error) {
	b, err := encode(v)
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// RowsOf is Row of each of a list, side by side in one piece of memory, which is made by what the first of them takes.
func RowsOf[T any](list []T) ([][]byte, error) {
	rows := make([][]byte, len(list))
	var b []byte
	for i := range list {
		from := len(b)
		var ok bool
		if b, ok = appendRow(b, &list[i]); !ok {
			row, err := Row(&list[i])
			if err != nil {
				return nil, err
			}
			b = append(b[:from], row...)
		}
		if i == 0 {
			b = slices.Grow(b, (len(b)+rowSlack)*(len(list)-1))
		}
		rows[i] = b[from:len(b):len(b)]
	}
	return rows, nil
}

// rowSlack is how many bytes longer than the first row of a list the others are taken to be.
const rowSlack = 8

// encode fails only for a value that is not of the contract: a number that JSON cannot say, raw text that is not JSON.
func encode(v any) ([]byte, error) {
	b := drafts.Get().(*bytes.Buffer)
	defer drafts.Put(b)
	b.Reset()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.Clone(b.Bytes()), nil
}

// drafts are buffers in which files are written before they are copied at their size: growing one for each file costs
// more than all else of it.
var drafts = sync.Pool{New: func() any { return new(bytes.Buffer) }}
