package encode

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tollbook/site/invisible"
)

// JSON returns the body of a complete response, {"data":v} and a newline, without escaping <, > and &. Invisible
// characters are escaped, so that a terminal or an editor shows the bytes as they are. Its errors are those of Line.
func JSON(v any) ([]byte, error) { return AppendJSON(nil, v) }

// AppendJSON appends the bytes that JSON returns.
func AppendJSON(b []byte, v any) ([]byte, error) {
	return appendEncoded(b, struct {
		Data any `json:"data"`
	}{v})
}

// AppendList appends the body of a complete response whose data is a list of rows. Each row is a result of Row.
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

// Row returns v as JSON on one line, without a newline. Lists are cut by lines.
func Row(v any) ([]byte, error) {
	b, err := Line(v)
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// AppendRow appends the bytes that Row returns.
func AppendRow[T any](b []byte, v *T) ([]byte, error) {
	b, err := appendEncoded(b, v)
	return bytes.TrimSuffix(b, []byte("\n")), err
}

// RowsOf appends Row of each element of a list to b. It returns the rows, which are slices of b, and b itself.
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

// Line returns v as JSON on one line with a newline. It fails only for a value that JSON cannot represent, such
// as NaN or an invalid json.RawMessage.
func Line(v any) ([]byte, error) { return appendEncoded(nil, v) }

func appendEncoded(b []byte, v any) ([]byte, error) {
	from := len(b)
	e := json.NewEncoder((*appendWriter)(&b))
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return b, fmt.Errorf("encode %T: %w", v, err)
	}
	return invisible.EscapeEnd(b, from), nil
}

// appendWriter is an io.Writer that appends to a slice.
type appendWriter []byte

func (w *appendWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// AppendFramed encodes a list and its meta and appends the same bytes as Framing.List.
func AppendFramed[T any](b []byte, f Framing, list []T, meta any) (_ []byte, err error) {
	beforeRows, beforeMeta := f.Around()
	b = append(b, beforeRows...)
	for i := range list {
		if b, err = AppendRow(b, &list[i]); err != nil {
			return b, err
		}
		b = appendRowEnd(b, i == len(list)-1)
	}
	if b, err = AppendRow(append(b, beforeMeta...), &meta); err != nil {
		return b, err
	}
	return appendListEnd(b), nil
}
