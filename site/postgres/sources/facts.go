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
	Days     map[int][]Day       // of each source, by its id, oldest first
	Drops    map[int][]Drop      // likewise, newest first; at most MaxDrops
}

// Day counts the resources that a source began to list on a UTC day, and those that it dropped.
type Day struct {
	Date    time.Time
	Listed  int
	Dropped int
}

// Drop is a resource of a service that a source dropped.
type Drop struct {
	Service  int64 // id
	Endpoint string
	Since    time.Time
	Until    time.Time
}

// MaxDrops is the largest number of dropped resources that a build reads of one source.
const MaxDrops = 1000

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
	// Paths of these below the base address, each once, without a slash at the end; that of a tool is "/mcp#quote". At
	// most MaxPaths.
	Paths []string
}

// MaxPaths is the largest number of paths that a build reads of one source and service.
const MaxPaths = 500

// Read reads the facts in a transaction.
func Read(ctx context.Context, q rows.Querier) (Facts, error) {
	f := Facts{ListedBy: map[int64][]Listing{}, Days: map[int][]Day{}, Drops: map[int][]Drop{}}
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
				r.since, r.until, rtrim(substr(r.resource || '/', length(s.base)), '/')
					|| CASE WHEN r.tool <> '' THEN '#' || r.tool ELSE '' END AS path
			FROM source_resources r `+ofService+`
			ORDER BY r.source_id, r.resource, r.method, r.tool, r.since, `+homeOrder+`
		)
		SELECT service_id, o.name, min(since), CASE WHEN bool_and(until IS NOT NULL) THEN max(until) END,
			count(*) FILTER (WHERE until IS NULL),
			coalesce((array_agg(DISTINCT path COLLATE "C" ORDER BY path COLLATE "C") FILTER (WHERE until IS NULL))[1:$1],
				'{}')
		FROM placed JOIN sources o ON o.id = source_id GROUP BY service_id, o.name
		ORDER BY service_id, o.name COLLATE "C"`,
		[]any{&service, &l.Source, &l.Since, &l.Until, &l.Resources, &l.Paths}, func() {
			f.ListedBy[service] = append(f.ListedBy[service], l)
			l = Listing{}
		}, MaxPaths)
	if err != nil {
		return f, wrap("read who lists services", err)
	}
	return f, f.readHistory(ctx, q)
}

// readHistory reads how many resources each source listed and dropped by day, and its newest drops. Drops of hidden
// services are left out.
func (f *Facts) readHistory(ctx context.Context, q rows.Querier) error {
	var source int
	var day Day
	err := rows.Each(ctx, q, `
		SELECT source_id, date, sum(listed)::bigint, sum(dropped)::bigint FROM (
			SELECT source_id, (since AT TIME ZONE 'UTC')::date AS date, count(*) AS listed, 0 AS dropped
			FROM source_resources GROUP BY source_id, date
			UNION ALL
			SELECT source_id, (until AT TIME ZONE 'UTC')::date, 0, count(*)
			FROM source_resources WHERE until IS NOT NULL GROUP BY 1, 2
		) d GROUP BY source_id, date ORDER BY source_id, date`,
		[]any{&source, &day.Date, &day.Listed, &day.Dropped}, func() { f.Days[source] = append(f.Days[source], day) })
	if err != nil {
		return wrap("read how many resources sources listed", err)
	}
	var d Drop
	err = rows.Each(ctx, q, `
		WITH `+homes+`, placed AS (
			SELECT DISTINCT ON (r.source_id, r.resource, r.method, r.tool, r.since) s.id AS service_id, r.*
			FROM source_resources r `+ofService+` WHERE r.until IS NOT NULL
			ORDER BY r.source_id, r.resource, r.method, r.tool, r.since, `+homeOrder+`
		), numbered AS (
			SELECT placed.*, row_number() OVER (PARTITION BY source_id
				ORDER BY until DESC, resource, method, tool, since) AS place
			FROM placed JOIN services ON id = service_id AND listing_state <> 'hidden'
		)
		SELECT source_id, service_id, `+endpointName+`, since, until FROM numbered WHERE place <= $1
		ORDER BY source_id, place`, []any{&source, &d.Service, &d.Endpoint, &d.Since, &d.Until},
		func() { f.Drops[source] = append(f.Drops[source], d) }, MaxDrops)
	return wrap("read what sources dropped", err)
}
