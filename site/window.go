package site

import "strconv"

// Span is a run of rows of one file.
type Span struct {
	Key  string
	From int // first row, counted from 0
	To   int // one past the last
}

// PageSpans names the files of 100 rows, two at most, that hold the rows of q's page in a list of total rows, and which
// rows of each. A page past the end has none. q's route must have page and per_page.
func PageSpans(q Query, total int) []Span {
	per := q.Int("per_page")
	from := (q.Int("page") - 1) * per
	to := min(from+per, total)
	var spans []Span
	for at := from; at < to; {
		page := at/MaxPageSize + 1
		end := min(to, page*MaxPageSize)
		key := q.With("per_page", strconv.Itoa(MaxPageSize)).With("page", strconv.Itoa(page)).Key()
		first := (page - 1) * MaxPageSize
		spans = append(spans, Span{Key: key, From: at - first, To: end - first})
		at = end
	}
	return spans
}
