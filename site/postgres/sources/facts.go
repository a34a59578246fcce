package sources

import (
	"context"
	"time"

	"tollbook/site/postgres/rows"
)

// Facts is what a build needs of sources.
type Facts struct {
	Sources  []State             // by name, those that were ever asked
	Overlaps []Overlap           // of resources that are listed now
	ListedBy map[int64][]Listing // of each service, by the name of the source
}

// Overlap is the number of resources that exactly these sources list.
type Overlap struct {
	Sources   []int // ids, ascending
	Resources int
}

// Listing says that a source lists resources of a service.
type Listing struct {
	Source    string
	Since     time.Time  // first time that it listed one
	Until     *time.Time // when it dropped the last one; nil while it lists one
	Resources int        // that it lists now
}

// Read reads the facts in a transaction.
func Read(ctx context.Context, q rows.Querier) (Facts, error) {
	f := Facts{ListedBy: map[int64][]Listing{}}
	all, err := List(ctx, q)
	if err != nil {
		return f, err
	}
	for _, s := range all {
		if s.Last != nil {
			f.Sources = append(f.Sources, s)
		}
	}
	if len(f.Sources) == 0 {
		return f, nil
	}
	var o Overlap
	err = rows.Each(ctx, q, `
		SELECT by, count(*) FROM (
			SELECT array_agg(DISTINCT source_id ORDER BY source_id) AS by FROM source_resources WHERE until IS NULL
			GROUP BY resource
		) r GROUP BY by ORDER BY by`, []any{&o.Sources, &o.Resources}, func() {
		f.Overlaps = append(f.Overlaps, o)
		o = Overlap{}
	})
	if err != nil {
		return f, wrap("read the overlap of sources", err)
	}
	var service int64
	var l Listing
	err = rows.Each(ctx, q, `
		WITH `+homes+`, placed AS (
			SELECT DISTINCT ON (r.source_id, r.resource, r.method, r.tool, r.since) s.id AS service_id, r.source_id,
				r.since, r.until
			FROM source_resources r `+ofService+`
			ORDER BY r.source_id, r.resource, r.method, r.tool, r.since, `+homeOrder+`
		)
		SELECT service_id, o.name, min(since), CASE WHEN bool_and(until IS NOT NULL) THEN max(until) END,
			count(*) FILTER (WHERE until IS NULL)
		FROM placed JOIN sources o ON o.id = source_id GROUP BY service_id, o.name
		ORDER BY service_id, o.name COLLATE "C"`,
		[]any{&service, &l.Source, &l.Since, &l.Until, &l.Resources}, func() {
			f.ListedBy[service] = append(f.ListedBy[service], l)
			l = Listing{}
		})
	return f, wrap("read who lists services", err)
}
