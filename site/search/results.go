// This part of the package makes the response of /v1/search: the services that match a query and pass the filters,
// which of their members match, and what other filters would have given. It must never know where files are stored.

package search

import (
	"encoding/json"
	"fmt"
	"slices"

	"tollbook/site"
	"tollbook/site/routes"
)

// resultsSource reads the files of a snapshot.
type resultsSource interface {
	Source
	Index() (*site.TermIndex, error)
	Column(name string) (*Column, error)
	Rows(places []int32) ([]site.RowParts, error)
}

// ResultsPage returns the rows and the meta of the response to q, in a directory of n services.
func ResultsPage(q routes.Query, n int, from resultsSource) (rows [][]byte, meta site.SearchMeta, err error) {
	c := &candidates{q: q, n: n, from: from}
	if err := c.find(); err != nil {
		return nil, meta, err
	}
	places, err := c.pass(q)
	if err != nil {
		return nil, meta, err
	}
	if name := q.Text("sort"); name != site.OrderRelevance {
		i := slices.IndexFunc(site.SearchOrders, func(o site.Order) bool { return o.Name == name })
		if err := Sort(places, site.SearchOrders[i], q, from.Column); err != nil {
			return nil, meta, err
		}
	}
	if meta, err = c.meta(len(places)); err != nil {
		return nil, meta, err
	}
	offset, limit := q.Window()
	shown := places[min(offset, len(places)):min(offset+limit, len(places))]
	parts, err := from.Rows(shown)
	if err != nil {
		return nil, meta, err
	}
	for i, place := range shown {
		row, err := c.row(place, parts[i])
		if err != nil {
			return nil, meta, fmt.Errorf("result at place %d: %w", place, err)
		}
		rows = append(rows, row)
	}
	return rows, meta, nil
}

// candidates are the services that match the words of a query.
type candidates struct {
	q      routes.Query
	n      int
	from   resultsSource
	match  *Result // nil without words to match
	places []int32 // in the order of relevance
	score  map[int32]int
}

// find finds the services that match the words. Without any, it finds all, the newest first.
func (c *candidates) find() (err error) {
	text := c.q.Text("q")
	if text == "" {
		c.places = make([]int32, c.n)
		for i := range c.places {
			c.places[i] = int32(i)
		}
		return Sort(c.places, site.OrderByName(site.OrderNewest), c.q, c.from.Column)
	}
	index, err := c.from.Index()
	if err != nil {
		return err
	}
	if c.match, err = Find(index, text, c.from); err != nil {
		return err
	}
	c.score = make(map[int32]int, len(c.match.Hits))
	for _, hit := range c.match.Hits {
		c.places = append(c.places, int32(hit.Place))
		c.score[int32(hit.Place)] = c.match.Relevance(hit.Score)
	}
	return nil
}

// pass returns the places that pass the filters of a request, in the order of relevance.
func (c *candidates) pass(q routes.Query) ([]int32, error) {
	return filter(q, slices.Clone(c.places), c.from.Column)
}

// meta returns the meta of a list of so many services.
func (c *candidates) meta(total int) (meta site.SearchMeta, err error) {
	meta = site.SearchMeta{PaginationMeta: site.NewPaginationMeta(total, c.q.Int("page"), c.q.Int("per_page")),
		ReadAs: []site.Reading{}}
	if c.match != nil {
		meta.ReadAs = c.match.Readings
	}
	if total == 0 {
		meta.Without = map[string]int{}
		for i := range c.q.Route.Params {
			p := &c.q.Route.Params[i]
			if p.Column == "" || c.q.Text(p.Name) == "" {
				continue
			}
			places, err := c.pass(c.q.With(p.Name, ""))
			if err != nil {
				return meta, err
			}
			meta.Without[p.Name] = len(places)
		}
	}
	if c.q.Has("include", site.IncludeFacets) {
		meta.Facets = map[string]map[string]int{}
		for _, name := range routes.Facets {
			places, err := c.pass(c.q.With(name, ""))
			if err != nil {
				return meta, err
			}
			column, err := c.from.Column(c.q.Route.Param(name).Column)
			if err != nil {
				return meta, err
			}
			meta.Facets[name] = column.Count(places)
		}
	}
	return meta, nil
}

// row returns the result of the service at a place.
func (c *candidates) row(place int32, parts site.RowParts) ([]byte, error) {
	var endpoints []json.RawMessage
	if err := json.Unmarshal(parts.Endpoints, &endpoints); err != nil {
		return nil, err
	}
	list, matched, err := c.endpoints(endpoints)
	if err != nil {
		return nil, err
	}
	fields, err := c.fields(parts)
	if err != nil {
		return nil, err
	}
	if matched {
		fields = append(fields, site.FieldEndpoints)
	}
	row := append([]byte{'{'}, parts.Item...)
	row = fmt.Appendf(row, `,"score":%d,"matched":%s,"endpoints":[`, c.score[place], quote(fields))
	for i, e := range list {
		if i > 0 {
			row = append(row, ',')
		}
		row = append(row, e...)
	}
	row = append(row, ']')
	if c.q.Has("include", site.IncludeAssessment) {
		row = append(append(row, `,"assessment":`...), parts.Assessment...)
	}
	return append(row, '}'), nil
}

// fields returns the members of a row other than its endpoints that match.
func (c *candidates) fields(parts site.RowParts) (matched []string, err error) {
	if c.match == nil {
		return nil, nil
	}
	var item struct{ Name, Category, Description string }
	var assessment struct {
		Tags []string `json:"capability_tags"`
	}
	if err := json.Unmarshal(slices.Concat([]byte{'{'}, parts.Item, []byte{'}'}), &item); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(parts.Assessment, &assessment); err != nil {
		return nil, err
	}
	texts := map[string][]string{site.FieldName: {item.Name}, site.FieldTags: assessment.Tags,
		site.FieldCategory: {item.Category}, site.FieldDescription: {item.Description}}
	for _, field := range site.SearchFields {
		if slices.ContainsFunc(texts[field], c.match.Matches) {
			matched = append(matched, field)
		}
	}
	return matched, nil
}
