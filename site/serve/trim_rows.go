package serve

import (
	"bytes"
	"fmt"

	"tollbook/output/archive"
	"tollbook/site"
)

// trimmedMember is the member of a row that a trimmed number of days shortens.
const trimmedMember = `"timeseries":[`

// trimParam is the parameter by which q asks for less of each row than its file holds, nil when it takes all.
func trimParam(q site.Query) *site.Param {
	if !q.NeedsTrim() {
		return nil
	}
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Trim && p.Kind == site.KindInteger {
			return p
		}
	}
	return nil
}

// trimName tells what is cut under one key apart.
func trimName(q site.Query, key string) string {
	if !q.NeedsTrim() {
		return key
	}
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Trim {
			key += "?" + p.Name + "=" + q.Text(p.Name)
		}
	}
	return key
}

// trimRows keeps the newest part of each row's series, as q asks. The rows are shared: they stay as they are.
func trimRows(q site.Query, rows [][]byte) ([][]byte, error) {
	p := trimParam(q)
	if p == nil {
		return rows, nil
	}
	out := make([][]byte, len(rows))
	for i, row := range rows {
		var err error
		if out[i], err = trimRow(row, q.Int(p.Name)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// trimRow keeps the last n elements of a row's series. The bytes of trimmedMember stand nowhere else in compact JSON:
// inside a text its quotes would be escaped.
func trimRow(row []byte, n int) ([]byte, error) {
	at := bytes.Index(row, []byte(trimmedMember))
	if at < 0 {
		return row, nil
	}
	at += len(trimmedMember)
	starts, end := elements(row[at:])
	if end < 0 {
		return nil, fmt.Errorf("%w: a series without end in %.80s", archive.ErrDamaged, row)
	}
	if len(starts) <= n {
		return row, nil
	}
	from := end // none
	if n > 0 {
		from = starts[len(starts)-n]
	}
	out := make([]byte, 0, len(row)-from)
	return append(append(out, row[:at]...), row[at+from:]...), nil
}

// elements finds where each element of an array begins, and the bracket that ends it, -1 without. b begins behind the
// opening bracket.
func elements(b []byte) (starts []int, end int) {
	depth, text := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case text:
			if c == '\\' {
				i++
			}
			text = c != '"'
		case depth == 0 && c == ']':
			return starts, i
		case c == '"', c == '{', c == '[':
			if depth == 0 && (i == 0 || b[i-1] == ',') {
				starts = append(starts, i)
			}
			text = c == '"'
			if !text {
				depth++
			}
		case c == '}' || c == ']':
			depth--
		case depth == 0 && c != ',' && (i == 0 || b[i-1] == ','):
			starts = append(starts, i) // a number or a word
		}
	}
	return nil, -1
}
