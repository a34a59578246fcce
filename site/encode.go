package site

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSON returns the body of a complete response: {"data":v} and a newline, with <, > and & as they are. It fails as
// EncodeLine does.
func JSON(v any) ([]byte, error) { return AppendJSON(nil, v) }

// AppendJSON appends what JSON returns.
func AppendJSON(b []byte, v any) ([]byte, error) {
	return appendEncoded(b, struct {
		Data any `json:"data"`
	}{v})
}

// AppendList appends the body of a complete response whose data are rows of Row.
func AppendList(b []byte, rows [][]byte) []byte {
	b = append(b, `{"data":[`...)
	for i, r := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, r...)
	}
	return append(b, "]}\n"...)
}

// Row returns v on one line, without the newline that ends it: a row of a list, which is cut by lines.
func Row(v any) ([]byte, error) {
	b, err := EncodeLine(v)
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// AppendRow appends what Row returns.
func AppendRow[T any](b []byte, v *T) ([]byte, error) {
	b, err := appendEncoded(b, v)
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// RowsOf returns Row of each of a list, one behind the other in b.
func RowsOf[T any](b []byte, list []T) (rows [][]byte, used []byte, err error) {
	rows = make([][]byte, len(list))
	for i := range list {
		from := len(b)
		if b, err = AppendRow(b, &list[i]); err != nil {
			return nil, b, err
		}
		rows[i] = b[from:len(b):len(b)]
	}
	return rows, b, nil
}

// EncodeLine returns v on one line with a newline. It fails only for a value that is not of the contract: a number that
// JSON cannot say, or raw text that is not JSON.
func EncodeLine(v any) ([]byte, error) { return appendEncoded(nil, v) }

func appendEncoded(b []byte, v any) ([]byte, error) {
	e := json.NewEncoder((*appendWriter)(&b))
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return b, fmt.Errorf("encode %T: %w", v, err)
	}
	return b, nil
}

// appendWriter is bytes that a writer appends to.
type appendWriter []byte

func (w *appendWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// AppendFrameOf appends what f.List returns for a list whose rows and meta are not encoded yet.
func AppendFrameOf[T any](b []byte, f Framing, list []T, meta any) (_ []byte, err error) {
	beforeRows, beforeMeta := f.Around()
	b = append(b, beforeRows...)
	for i := range list {
		if b, err = AppendRow(b, &list[i]); err != nil {
			return b, err
		}
		b = AppendRowEnd(b, i == len(list)-1)
	}
	if b, err = AppendRow(append(b, beforeMeta...), &meta); err != nil {
		return b, err
	}
	return AppendListEnd(b), nil
}
