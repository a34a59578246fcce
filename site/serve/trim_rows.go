package serve

import (
	"bytes"
	"fmt"

	"tollbook/output/archive"
	"tollbook/site/routes"
)

// trimmedMember is the member of a row that the parameter days shortens.
const trimmedMember = `"timeseries":[`

// trimParam returns the parameter that selects a part of each row, or nil if q selects whole rows.
func trimParam(q routes.Query) *routes.Param {
	if !q.NeedsTrim() {
		return nil
	}
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Trim && p.Kind == routes.KindInteger {
			return p
		}
	}
	return nil
}

// trimKey returns a cache key that differs for each value of a trimmed parameter.
func trimKey(q routes.Query, key string) string {
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

// trimRows returns copies of rows with only the newest part of each series, as q selects. It does not change rows,
// which the cache shares.
func trimRows(q routes.Query, rows [][]byte) ([][]byte, error) {
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

// trimRow returns the row with only the last n elements of its series. In compact JSON the bytes of trimmedMember occur
// nowhere else, because quotes inside strings are escaped.
func trimRow(row []byte, n int) ([]byte, error) {
	at := bytes.Index(row, []byte(trimmedMember))
	if at < 0 {
		return row, nil
	}
	at += len(trimmedMember)
	starts, end := findElements(row[at:])
	if end < 0 {
		return nil, fmt.Errorf("%w: the series is not closed in %.80s", archive.ErrDamaged, row)
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

// findElements returns the start of each element of an array and the position of its closing bracket, or -1. b starts
// after the opening bracket.
func findElements(b []byte) (starts []int, end int) {
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
			starts = append(starts, i) // a number, true, false or null
		}
	}
	return nil, -1
}
