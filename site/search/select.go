package search

import (
	"fmt"
	"slices"

	"tollbook/site"
	"tollbook/site/routes"
)

// Select returns the places of n services that the response to q may contain and that pass every filter of q that names
// a column, ascending.
func Select(q routes.Query, n int, read ColumnReader) ([]int32, error) {
	places := make([]int32, n)
	for i := range places {
		places[i] = int32(i)
	}
	return filter(q, places, read)
}

// filter returns the places that q does not omit and that pass every filter of q that names a column, in their order.
// It may change places.
func filter(q routes.Query, places []int32, read ColumnReader) ([]int32, error) {
	if omit := q.Omit(); omit != "" {
		column, err := read(omit)
		if err != nil {
			return nil, err
		}
		places = slices.DeleteFunc(places, func(place int32) bool { return column.Value(place) == "true" })
	}
	entries := map[string]bool{} // compared already
	for i := range q.Route.Params {
		p := &q.Route.Params[i]
		if p.Column == "" || q.Text(p.Name) == "" || entries[p.Entry] {
			continue
		}
		test := testParam
		if p.Entry != "" {
			entries[p.Entry], test = true, testEntry
		}
		passes, err := test(q, p, read)
		if err != nil {
			return nil, err
		}
		places = slices.DeleteFunc(places, func(place int32) bool { return !passes(place) })
	}
	return places, nil
}

// testEntry returns a function that reports whether an entry of a place passes all filters of q with the same Entry.
func testEntry(q routes.Query, same *routes.Param, read ColumnReader) (func(place int32) bool, error) {
	var all []*Column
	var passing [][]bool
	for i := range q.Route.Params {
		p := &q.Route.Params[i]
		if p.Entry != same.Entry || q.Text(p.Name) == "" {
			continue
		}
		column, err := read(p.Column)
		if err != nil {
			return nil, err
		}
		codes, err := column.passing(q, p)
		if err != nil {
			return nil, err
		}
		all, passing = append(all, column), append(passing, codes)
		if !slices.Equal(column.starts, all[0].starts) {
			return nil, fmt.Errorf("compare %s: a place has other numbers of entries in column %s than in another",
				p.Name, p.Column)
		}
	}
	return func(place int32) bool {
	entries:
		for i := all[0].starts[place]; i < all[0].starts[place+1]; i++ {
			for k, column := range all {
				if !passing[k][column.codes[i]] {
					continue entries
				}
			}
			return true
		}
		return false
	}, nil
}

// testParam returns a function that reports whether a place passes a filter.
func testParam(q routes.Query, p *routes.Param, read ColumnReader) (func(place int32) bool, error) {
	c, err := read(p.Column)
	if err != nil {
		return nil, err
	}
	passing, err := c.passing(q, p)
	if err != nil {
		return nil, err
	}
	network := ""
	if p.Within != "" {
		network = q.Text(p.Within)
	}
	return func(place int32) bool {
		for i := c.starts[place]; i < c.starts[place+1]; i++ {
			if passing[c.codes[i]] && c.counts(i, network) {
				return true
			}
		}
		return false
	}, nil
}

// passing reports for each distinct value whether it passes a filter.
func (c *Column) passing(q routes.Query, p *routes.Param) ([]bool, error) {
	value := q.Text(p.Name)
	var matches func(code int) bool
	switch p.Compare {
	case routes.CompareIs, routes.CompareHas:
		matches = func(code int) bool { return c.values[code] == value }
	case routes.CompareAtMost:
		matches = func(code int) bool { return c.compare(c.values[code], value) <= 0 }
	case routes.CompareAtLeast:
		matches = func(code int) bool { return c.compare(c.values[code], value) >= 0 }
		if p.Kind == routes.KindChoice { // the values are in order, the best first
			least := slices.Index(p.Values, value)
			matches = func(code int) bool {
				at := slices.Index(p.Values, c.values[code])
				return at >= 0 && at <= least
			}
		}
	case routes.CompareWords:
		words := NewQuery(value)
		matches = func(code int) bool { return words.Matches(c.words[code]) }
	default:
		return nil, fmt.Errorf("compare %s: unknown comparison %q", p.Name, p.Compare)
	}
	passing := make([]bool, len(c.values))
	for code := range passing {
		passing[code] = matches(code)
	}
	return passing, nil
}

// Sort sorts places by an order. Nulls are last, and ties are sorted by place, which is the order of slugs.
func Sort(places []int32, o site.Order, q routes.Query, read ColumnReader) error {
	column, err := read(o.Column)
	if err != nil {
		return err
	}
	network := ""
	if o.Within != "" {
		network = q.Text(o.Within)
	}
	const last = 1 << 31
	keys := make([]uint64, len(places)) // the code, then the place
	for i, place := range places {
		key := uint64(last)
		if code := column.lowest(place, network); code >= 0 {
			if key = uint64(code); o.Descending {
				key = last - 1 - key
			}
		}
		keys[i] = key<<32 | uint64(place)
	}
	slices.Sort(keys)
	for i, key := range keys {
		places[i] = int32(uint32(key))
	}
	return nil
}
