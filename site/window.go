package site

import "strconv"

// Span is a run of rows of one file.
type Span struct {
	Key  string
	From int // first row, counted from 0
	To   int // one past the last
}

// Window is how many rows q wants of its list, and how many before them it passes over, by page and per_page or by
// limit and offset.
func (q Query) Window() (offset, limit int) {
	if q.Route.Param("offset") != nil {
		return q.Int("offset"), q.Int("limit")
	}
	limit = q.Int("per_page")
	return (q.Int("page") - 1) * limit, limit
}

// WindowFile is the request for the file of 100 rows, counted from 0, of q's list.
func (q Query) WindowFile(file int) Query {
	hundred := strconv.Itoa(MaxPageSize)
	if q.Route.Param("offset") != nil {
		return q.With("limit", hundred).With("offset", strconv.Itoa(file*MaxPageSize))
	}
	return q.With("per_page", hundred).With("page", strconv.Itoa(file+1))
}

// PageSpans names the files of 100 rows, two at most, that hold the rows of q's window in a list of total rows, and
// which rows of each. A window past the end has none. q's route must have page and per_page, or limit and offset.
func PageSpans(q Query, total int) []Span {
	from, limit := q.Window()
	to := min(from+limit, total)
	var spans []Span
	for at := from; at < to; {
		file := at / MaxPageSize
		end := min(to, (file+1)*MaxPageSize)
		first := file * MaxPageSize
		spans = append(spans, Span{Key: q.WindowFile(file).Key(), From: at - first, To: end - first})
		at = end
	}
	return spans
}

// WindowMeta is what q's answer says of a list of total rows.
func WindowMeta(q Query, total int) any {
	if q.Route.Framing == Catalogue {
		offset, limit := q.Window()
		return CataloguePagination{Limit: limit, Offset: offset, Total: total}
	}
	return pageMeta(q, total)
}

// Framing names the parts of a list: what stands before its rows, the member with the rows and the one that counts
// them. The zero Framing is that of the contract: data and meta.
type Framing struct {
	Lead string `json:"lead,omitempty"` // members before the rows, as they stand in JSON, each with its comma
	Rows string `json:"rows"`
	Meta string `json:"meta"`
}
