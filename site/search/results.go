// This part of the package makes the response of /v1/search: the services that match a query and pass the filters,
// which of their members match, and what other filters would have given. It must never know where files are stored.

package search

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// resultsSource reads the files of a snapshot.
type resultsSource interface {
	Source
	Index() (*site.TermIndex, error)
	Column(name string) (*Column, error)
	Rows(places []int32) ([]site.RowParts, error)
	Built() time.Time
}

// ResultsPage returns the rows and the meta of the response to q, in a directory of n services.
func ResultsPage(q routes.Query, n int, from resultsSource) (rows [][]byte, meta site.SearchMeta, err error) {
	c := &candidates{q: q, n: n, from: from}
	places, err := c.places()
	if err != nil {
		return nil, meta, err
	}
	if meta, err = c.meta(len(places)); err != nil {
		return nil, meta, err
	}
	if len(c.near) > 0 {
		places = c.near
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
	q     routes.Query
	n     int
	from  resultsSource
	index *site.TermIndex // nil until it is read
	text  string          // the words to match
	read  filterWords     // only with read_filters=true
	match *Result         // nil without words to match
	found []int32         // in the order of relevance
	near  []int32         // the nearest services if nothing matches; only with read_filters=true
	score map[int32]int

	ranked *ranked // only in the order of /v1/best
}

// places returns the places of the services to list, in the order of the list. With read_filters=true, words of the text
// are read as filters first. If nothing matches then, words that may also say what a service does are left in the text.
// If nothing matches still, the list is empty and c.near has the nearest services.
func (c *candidates) places() (list []int32, err error) {
	asked := c.q
	if c.text = asked.Text("q"); !c.readsFilters() {
		return c.listed()
	}
	if c.index, err = c.from.Index(); err != nil {
		return nil, err
	}
	for allowWeak := true; ; allowWeak = false {
		c.q = asked
		if c.read, err = c.readFilters(asked.Text("q"), allowWeak); err != nil {
			return nil, err
		}
		c.text = c.read.rest
		for _, f := range c.read.filters {
			c.q = c.q.With(f.Name, f.Value)
		}
		if list, err = c.listed(); err != nil {
			return nil, err
		}
		if len(list) > 0 || !c.read.weak {
			break
		}
	}
	if len(list) == 0 {
		return list, c.findNear(asked)
	}
	if asked.Text("sort") == site.OrderRelevance && c.ranked == nil {
		err = c.putLast(list)
	}
	return list, err
}

// readsFilters reports whether words of the text are read as filters.
func (c *candidates) readsFilters() bool {
	return c.q.Text(routes.ParamReadFilters) == "true" && c.text != ""
}

// listed returns the services that match the text and pass the filters, in the order of the request.
func (c *candidates) listed() ([]int32, error) {
	if err := c.find(); err != nil {
		return nil, err
	}
	list, err := c.pass(c.q)
	if err != nil {
		return nil, err
	}
	c.ranked = nil
	switch name := c.q.Text("sort"); name {
	case site.OrderRelevance:
	case site.OrderBest:
		return c.rank(list)
	default:
		i := slices.IndexFunc(site.SearchOrders, func(o site.Order) bool { return o.Name == name })
		err = Sort(list, site.SearchOrders[i], c.q, c.from.Column)
	}
	return list, err
}

// putLast moves services whose verdict is not to pay them to the end, and before them, in an order that words stood for,
// services that match less than half as well as the best.
func (c *candidates) putLast(list []int32) error {
	verdicts, err := c.from.Column(site.ColumnAdvice)
	if err != nil {
		return err
	}
	best := 0
	if c.q.Text("sort") != site.OrderRelevance {
		for _, score := range c.score {
			best = max(best, score)
		}
	}
	rank := func(place int32) int {
		switch {
		case verdicts.Value(place) == site.AdviceDoNotPay:
			return 2
		case 2*c.score[place] < best:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b int32) int { return rank(a) - rank(b) })
	return nil
}

// findNear finds the nearest services: those that match without the filters, or else those that match a word.
func (c *candidates) findNear(asked routes.Query) (err error) {
	if len(c.found) == 0 {
		hits, err := findNearest(c.index, c.text, c.from)
		if err != nil {
			return err
		}
		for _, hit := range hits {
			c.found = append(c.found, int32(hit.Place))
		}
	}
	if c.near, err = c.pass(asked.Unfiltered()); err != nil {
		return err
	}
	if err = c.putLast(c.near); err == nil {
		c.near = c.near[:min(len(c.near), maxNearest)]
	}
	return err
}

// find finds the services that match the words. Without any, it finds all, the newest first.
func (c *candidates) find() (err error) {
	c.match, c.found, c.score = nil, nil, nil
	if c.text == "" {
		c.found = make([]int32, c.n)
		for i := range c.found {
			c.found[i] = int32(i)
		}
		return Sort(c.found, site.OrderByName(site.OrderNewest), c.q, c.from.Column)
	}
	if c.index == nil {
		if c.index, err = c.from.Index(); err != nil {
			return err
		}
	}
	if c.match, err = Find(c.index, c.text, c.from); err != nil {
		return err
	}
	c.score = make(map[int32]int, len(c.match.Hits))
	for _, hit := range c.match.Hits {
		c.found = append(c.found, int32(hit.Place))
		c.score[int32(hit.Place)] = c.match.Relevance(hit.Score)
	}
	return nil
}

// pass returns the places that pass the filters of a request, in the order of relevance.
func (c *candidates) pass(q routes.Query) ([]int32, error) {
	return filter(q, slices.Clone(c.found), c.from.Column)
}

// meta returns the meta of a list of so many services.
func (c *candidates) meta(total int) (meta site.SearchMeta, err error) {
	meta = site.SearchMeta{PaginationMeta: site.NewPaginationMeta(total, c.q.Int("page"), c.q.Int("per_page")),
		ReadAs: []site.Reading{}}
	if c.match != nil {
		meta.ReadAs = c.match.Readings
	}
	meta.ReadAs = append(append([]site.Reading{}, c.read.readings...), meta.ReadAs...)
	if meta.Filters = c.read.filters; len(meta.Filters) > 0 {
		meta.Text = &c.read.rest
	}
	meta.Nearest = len(c.near) > 0
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
	if c.ranked != nil && len(c.near) == 0 {
		why, err := c.ranked.reason(place, parts)
		if err != nil {
			return nil, err
		}
		text, err := encode.Row(why)
		if err != nil {
			return nil, err
		}
		row = fmt.Appendf(row, `,"why":%s`, text)
	}
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
