package routes

import (
	"strconv"

	"tollbook/site"
)

// Span is a run of rows of one file.
type Span struct {
	Key  string
	From int // first row, counted from 0
	To   int // one past the last
}

// Window returns the number of rows that q selects and the number of rows before them, from page and per_page or from
// limit and offset.
func (q Query) Window() (offset, limit int) {
	if q.Route.Param("offset") != nil {
		return q.Int("offset"), q.Int("limit")
	}
	limit = q.Int("per_page")
	return (q.Int("page") - 1) * limit, limit
}

// WindowFile returns the request for a file of MaxPageSize rows of q's list; files are numbered from 0.
func (q Query) WindowFile(file int) Query {
	hundred := strconv.Itoa(site.MaxPageSize)
	if q.Route.Param("offset") != nil {
		return q.With("limit", hundred).With("offset", strconv.Itoa(file*site.MaxPageSize))
	}
	return q.With("per_page", hundred).With("page", strconv.Itoa(file+1))
}

// PageSpans returns the files of MaxPageSize rows, at most two, that contain q's window in a list of total rows, and
// the rows of each. It returns none for a window past the end. q's route must have page and per_page, or limit and
// offset.
func PageSpans(q Query, total int) []Span {
	from, limit := q.Window()
	to := min(from+limit, total)
	var spans []Span
	for at := from; at < to; {
		file := at / site.MaxPageSize
		end := min(to, (file+1)*site.MaxPageSize)
		first := file * site.MaxPageSize
		spans = append(spans, Span{Key: q.WindowFile(file).Key(), From: at - first, To: end - first})
		at = end
	}
	return spans
}

// WindowMeta returns the meta of the response to q, for a list of total rows.
func WindowMeta(q Query, total int) any {
	if q.Route.Framing == site.Catalogue {
		offset, limit := q.Window()
		return site.CataloguePagination{Limit: limit, Offset: offset, Total: total}
	}
	return pageMeta(q, total)
}
