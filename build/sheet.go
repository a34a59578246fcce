package build

import (
	"fmt"
	"sync"

	"tollbook/site"
)

// sheets are what files are written on, one after another: whoever takes a file keeps nothing of it.
var sheets = sync.Pool{New: func() any { return new([]byte) }}

// writeFile adds a file that fill writes.
func writeFile(key string, add func(string, []byte) error, fill func(b []byte) ([]byte, error)) error {
	sheet := sheets.Get().(*[]byte)
	defer sheets.Put(sheet)
	data, err := fill((*sheet)[:0])
	if err != nil {
		return fmt.Errorf("render %s: %w", key, err)
	}
	*sheet = data
	return add(key, data)
}

// writeJSON writes a complete response.
func writeJSON(key string, v any, add func(string, []byte) error) error {
	return writeFile(key, add, func(b []byte) ([]byte, error) { return site.AppendJSON(b, v) })
}

// addList adds a list of encoded rows.
func addList(key string, framing site.Framing, lines [][]byte, meta any, add func(string, []byte) error) error {
	m, err := site.Row(meta)
	if err != nil {
		return fmt.Errorf("render meta of %s: %w", key, err)
	}
	return writeFile(key, add, func(b []byte) ([]byte, error) { return framing.AppendList(b, lines, m), nil })
}

// addLine adds a file of one line of JSON without an envelope.
func addLine[T any](key string, v T, add func(string, []byte) error) error {
	return writeFile(key, add, func(b []byte) ([]byte, error) {
		b, err := site.AppendRow(b, &v)
		return append(b, '\n'), err
	})
}
