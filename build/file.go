package build

import (
	"fmt"
	"sync"

	"tollbook/site/encode"
	"tollbook/site/routes"
)

// addFunc adds a file to a tree. It does not keep data.
type addFunc func(name string, data []byte) error

// buffers are reused for one file after another. An addFunc does not keep their bytes.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// addFile adds a file with the bytes that fill appends.
func addFile(key string, add addFunc, fill func(b []byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	data, err := fill((*buffer)[:0])
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	*buffer = data
	return add(key, data)
}

// addJSON adds a complete response.
func addJSON(key string, v any, add addFunc) error {
	return addFile(key, add, func(b []byte) ([]byte, error) { return encode.AppendJSON(b, v) })
}

// addList adds a list of encoded rows.
func addList(key string, framing encode.Framing, lines [][]byte, meta any, add addFunc) error {
	m, err := encode.Row(meta)
	if err != nil {
		return fmt.Errorf("encode meta of %s: %w", key, err)
	}
	return addFile(key, add, func(b []byte) ([]byte, error) { return framing.AppendList(b, lines, m), nil })
}

// addLine adds a file of one line of JSON without an envelope.
func addLine[T any](key string, v T, add addFunc) error {
	return addFile(key, add, func(b []byte) ([]byte, error) {
		b, err := encode.AppendRow(b, &v)
		return append(b, '\n'), err
	})
}

// bare returns the request for a route without parameters.
func bare(route, slug string) routes.Query {
	return routes.Query{Route: routes.ByName(route), Slug: slug, Bare: true}
}
