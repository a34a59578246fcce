package routes

import (
	"encoding/json"
	"strconv"
	"time"

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

// Scope returns the request for the records of q's service, or of all services, of any type and day. Its LogKey and
// ListKey name the index from which q is answered.
func (q Query) Scope() Query { return q.With("type", "") }

// ChangeWindow returns the part of q's log in the last q days up to now, and the meta of q's page. x is the index of
// q's Scope; the zero LogIndex has no records.
func ChangeWindow(x site.LogIndex, q Query, now time.Time) (site.LogIndex, site.ChangesMeta) {
	from := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-q.Int("days")).Format(time.DateOnly)
	of := func(kind string) int64 { return x.Types[kind].Since(from).Total() }
	log := x
	if kind := q.Text("type"); kind != "" {
		log = x.Types[kind]
	}
	log = log.Since(from)
	return log, site.ChangesMeta{
		PaginationMeta: site.NewPaginationMeta(int(log.Total()), q.Int("page"), q.Int("per_page")),
		TypeCounts: site.TypeCounts{Schema: of(site.SchemaChanged), Price: of(site.PriceChanged),
			PayTo: of(site.PayToChanged), Listed: of(site.SourceListed), Dropped: of(site.SourceDropped),
			Grade: of(site.GradeChanged), Verdict: of(site.VerdictChanged)},
		WindowTotal: x.Since(from).Total(),
	}
}

// ChangeSpans returns the blocks, at most two, that contain q's page of a window of a log.
func ChangeSpans(window site.LogIndex, q Query) []site.BlockSpan {
	per := int64(q.Int("per_page"))
	return site.LogSpans(window, per, (int64(q.Int("page"))-1)*per)
}

// echoMeta is the meta of a list that repeats parameters: the four counts, then each repeated value.
type echoMeta struct {
	site.PaginationMeta
	names, values []string
}

// MarshalJSON implements json.Marshaler.
func (m echoMeta) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(m.PaginationMeta)
	if err != nil {
		return nil, err
	}
	b = b[:len(b)-1]
	for i, name := range m.names {
		value, err := json.Marshal(m.values[i])
		if err != nil {
			return nil, err
		}
		b = append(append(append(append(b, `,"`...), name...), `":`...), value...)
	}
	return append(b, '}'), nil
}

// pageMeta returns the meta of q's page in a list of total rows: the counts and the parameters with Echo.
func pageMeta(q Query, total int) any {
	counts := site.NewPaginationMeta(total, q.Int("page"), q.Int("per_page"))
	m := echoMeta{PaginationMeta: counts}
	for i := range q.Route.Params {
		if p := &q.Route.Params[i]; p.Echo {
			m.names, m.values = append(m.names, p.Name), append(m.values, q.Text(p.Name))
		}
	}
	if m.names == nil {
		return counts
	}
	return m
}
