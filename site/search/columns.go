// This part of the package picks and orders services by the columns of a snapshot. It reads a column, compares the
// filters of a request with it, orders places and counts values. A place is the index of a service in the order of
// slugs.
//
// It must never know where columns are stored, what a page is, or what a member means.

package search

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tollbook/site"
)

// Column is a parsed column. Its distinct values are sorted, and each place has codes, which are indexes of values: one
// in a column of single values, any number in a set or in prices, none for null. A Column never changes.
type Column struct {
	kind   site.ColumnType
	values []string   // distinct, ascending: numbers by value, texts by bytes
	words  [][]string // of each value; only in a column of words
	starts []int32    // place i has the codes from starts[i] up to starts[i+1]
	codes  []int32
	keys   []string // the network of each code; only in a column of prices
	bytes  int      // memory
}

// ColumnReader returns a column of a snapshot by its name.
type ColumnReader func(name string) (*Column, error)

// Len returns the number of places.
func (c *Column) Len() int { return len(c.starts) - 1 }

// Size returns about how many bytes of memory the column uses.
func (c *Column) Size() int { return c.bytes }

// ParseColumn reads the file of a column of n services.
func ParseColumn(name string, file []byte, n int) (*Column, error) {
	of := site.ColumnByName(name)
	if of == nil {
		return nil, fmt.Errorf("read column %s: no such column", name)
	}
	return ParseColumnAs(of.Type, name, file, n)
}

// ParseColumnAs reads the file of a column of n rows with values of a type.
func ParseColumnAs(kind site.ColumnType, name string, file []byte, n int) (*Column, error) {
	p := parser{column: &Column{kind: kind, starts: make([]int32, 1, n+1)}, code: map[string]int32{}}
	var err error
	switch kind {
	case site.ColumnSet:
		err = parseValues(file, &p, func(v []string) error { return p.addAll(v) })
	case site.ColumnPrices:
		err = parseValues(file, &p, func(v map[string]string) error { return p.addPrices(v) })
	case site.ColumnNumber:
		err = parseValues(file, &p, func(v *json.Number) error { return p.addAll(some((*string)(v))) })
	case site.ColumnBoolean:
		err = parseValues(file, &p, func(v *bool) error {
			if v == nil {
				return nil
			}
			return p.add(fmt.Sprint(*v))
		})
	default:
		err = parseValues(file, &p, func(v *string) error { return p.addAll(some(v)) })
	}
	if err != nil {
		return nil, fmt.Errorf("read column %s: %w", name, err)
	}
	if got := p.column.Len(); got != n {
		return nil, fmt.Errorf("read column %s: it has %d values for %d rows", name, got, n)
	}
	p.finish()
	return p.column, nil
}

// some returns a list of the value that v points to, nil for nil.
func some(v *string) []string {
	if v == nil {
		return nil
	}
	return []string{*v}
}

// parser collects the values of a column. Codes are in the order of first occurrence until finish sorts them.
type parser struct {
	column *Column
	code   map[string]int32
}

// parseValues calls add with the value of each place.
func parseValues[T any](file []byte, p *parser, add func(T) error) error {
	var body struct {
		Data []T `json:"data"`
	}
	if err := json.Unmarshal(file, &body); err != nil {
		return err
	}
	if body.Data == nil {
		return errors.New("it has no data")
	}
	for place, v := range body.Data {
		if err := add(v); err != nil {
			return fmt.Errorf("place %d: %w", place, err)
		}
		p.column.starts = append(p.column.starts, int32(len(p.column.codes)))
	}
	return nil
}

// add adds a value to the current place. Numbers are stored in canonical form.
func (p *parser) add(v string) error {
	if p.column.isNumeric() {
		d, err := site.ParseDecimal(v)
		if err != nil {
			return err
		}
		v = string(d)
	}
	code, ok := p.code[v]
	if !ok {
		code = int32(len(p.column.values))
		p.code[v] = code
		p.column.values = append(p.column.values, v)
	}
	p.column.codes = append(p.column.codes, code)
	return nil
}

func (p *parser) addAll(list []string) error {
	for _, v := range list {
		if err := p.add(v); err != nil {
			return err
		}
	}
	return nil
}

// addPrices adds the prices of a place, sorted by network.
func (p *parser) addPrices(by map[string]string) error {
	networks := make([]string, 0, len(by))
	for network := range by {
		networks = append(networks, network)
	}
	slices.Sort(networks)
	for _, network := range networks {
		if err := p.add(by[network]); err != nil {
			return err
		}
		p.column.keys = append(p.column.keys, network)
	}
	return nil
}

// finish sorts the values and sets the codes to the places in that order.
func (p *parser) finish() {
	c := p.column
	slices.SortFunc(c.values, c.compare)
	rank := make([]int32, len(c.values))
	for i, v := range c.values {
		rank[p.code[v]] = int32(i)
	}
	for i := range c.codes {
		c.codes[i] = rank[c.codes[i]]
	}
	c.bytes = 4*(len(c.starts)+len(c.codes)) + 16*(len(c.values)+len(c.keys))
	for _, v := range c.values {
		c.bytes += len(v)
	}
	if c.kind == site.ColumnWords {
		c.words = make([][]string, len(c.values))
		for i, v := range c.values {
			c.words[i] = Words(Fold(v))
			c.bytes += 24 + 16*len(c.words[i]) + len(v)
		}
	}
}

// isNumeric reports whether values are decimals.
func (c *Column) isNumeric() bool {
	return c.kind == site.ColumnNumber || c.kind == site.ColumnMoney || c.kind == site.ColumnPrices
}

func (c *Column) compare(a, b string) int {
	if c.isNumeric() {
		return site.Decimal(a).Compare(site.Decimal(b))
	}
	return strings.Compare(a, b)
}

// Values returns the values at a place: one for a single value, any number for a set or prices, none for null. Numbers
// are in canonical decimal form.
func (c *Column) Values(place int32) []string {
	list := make([]string, 0, 1)
	for _, code := range c.at(place) {
		list = append(list, c.values[code])
	}
	return list
}

// Value returns the single value at a place, "" for null.
func (c *Column) Value(place int32) string {
	if codes := c.at(place); len(codes) > 0 {
		return c.values[codes[0]]
	}
	return ""
}

// Lowest returns the lowest price at a place on a network, or on any network for "". ok is false without one.
func (c *Column) Lowest(place int32, network string) (price site.Decimal, ok bool) {
	code := c.lowest(place, network)
	if code < 0 {
		return "", false
	}
	return site.Decimal(c.values[code]), true
}

// Highest returns the highest price at a place on a network, or on any network for "". ok is false without one.
func (c *Column) Highest(place int32, network string) (price site.Decimal, ok bool) {
	most := int32(-1)
	for i := c.starts[place]; i < c.starts[place+1]; i++ {
		if c.counts(i, network) {
			most = max(most, c.codes[i])
		}
	}
	if most < 0 {
		return "", false
	}
	return site.Decimal(c.values[most]), true
}

func (c *Column) at(place int32) []int32 { return c.codes[c.starts[place]:c.starts[place+1]] }

// lowest returns the lowest code at a place, -1 without one. In a column of prices, only a network's entry counts,
// unless network is "".
func (c *Column) lowest(place int32, network string) int32 {
	least := int32(-1)
	for i := c.starts[place]; i < c.starts[place+1]; i++ {
		if c.counts(i, network) && (least < 0 || c.codes[i] < least) {
			least = c.codes[i]
		}
	}
	return least
}

// counts reports whether the ith code belongs to a network. Every code does if there are no networks, or network is "".
func (c *Column) counts(i int32, network string) bool {
	return network == "" || c.keys == nil || c.keys[i] == network
}

// Count returns how many of the places have each value. It counts a place of a set once for each of its values.
func (c *Column) Count(places []int32) map[string]int {
	count := make([]int, len(c.values))
	for _, place := range places {
		for _, code := range c.at(place) {
			count[code]++
		}
	}
	by := map[string]int{}
	for code, n := range count {
		if n > 0 {
			by[c.values[code]] = n
		}
	}
	return by
}
