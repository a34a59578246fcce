package build

import (
	"fmt"
	"sync"

	"tollbook/site"
)

// buffers are used for one file after another: no receiver of a file keeps its bytes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// addFile adds a file that fill writes.
func addFile(key string, add func(string, []byte) error, fill func(b []byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	data, err := fill((*buffer)[:0])
	if err != nil {
		return fmt.Errorf("render %s: %w", key, err)
	}
	*buffer = data
	return add(key, data)
}

// addJSON writes a complete response.
func addJSON(key string, v any, add func(string, []byte) error) error {
	return addFile(key, add, func(b []byte) ([]byte, error) { return site.AppendJSON(b, v) })
}

// addList adds a list of encoded rows.
func addList(key string, framing site.Framing, lines [][]byte, meta any, add func(string, []byte) error) error {
	m, err := site.Row(meta)
	if err != nil {
		return fmt.Errorf("render meta of %s: %w", key, err)
	}
	return addFile(key, add, func(b []byte) ([]byte, error) { return framing.AppendList(b, lines, m), nil })
}

// addLine adds a file of one line of JSON without an envelope.
func addLine[T any](key string, v T, add func(string, []byte) error) error {
	return addFile(key, add, func(b []byte) ([]byte, error) {
		b, err := site.AppendRow(b, &v)
		return append(b, '\n'), err
	})
}

// bare is the request for a route without parameters.
func bare(route, slug string) site.Query {
	return site.Query{Route: site.ByName(route), Slug: slug, Bare: true}
}
