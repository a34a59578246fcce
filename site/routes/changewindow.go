package routes

import (
	"time"

	"tollbook/site"
)

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
			Grade: of(site.GradeChanged)},
		WindowTotal: x.Since(from).Total(),
	}
}

// ChangeSpans returns the blocks, at most two, that contain q's page of a window of a log.
func ChangeSpans(window site.LogIndex, q Query) []site.BlockSpan {
	per := int64(q.Int("per_page"))
	return site.LogSpans(window, per, (int64(q.Int("page"))-1)*per)
}
