// Package overlap makes the table of what public sources have in common. It must never know a page or a template.
package overlap

import (
	"tollbook/site"
	"tollbook/site/display"
)

// Table has a row and a column for each source, in the same order.
type Table struct {
	Names []string
	Rows  []Row
}

// Row compares a source with all sources.
type Row struct {
	Name  string
	Cells []Cell
}

// Cell is what the source of the row and the source of the column both list.
type Cell struct {
	Column string // name of the other source
	Own    bool   // both are the same source
	Count  int
	Share  string // of the resources of the row's source; "" for none
	Level  int    // 0 to 5: the share in steps, for a colour
}

const levels = 5

// New returns the table of sources.
func New(list []site.Source) Table {
	var t Table
	for i := range list {
		s := &list[i]
		t.Names = append(t.Names, display.Line(s.Source, display.MaxName))
		shared := map[string]int{s.Source: s.ResourceCount}
		for _, o := range s.Overlap {
			shared[o.Source] = o.ResourceCount
		}
		row := Row{Name: t.Names[i]}
		for k := range list {
			c := Cell{Column: display.Line(list[k].Source, display.MaxName), Own: i == k, Count: shared[list[k].Source]}
			if s.ResourceCount > 0 {
				percent := float64(c.Count) * 100 / float64(s.ResourceCount)
				c.Share = display.Percent(&percent)
				if c.Count > 0 {
					c.Level = max(1, c.Count*levels/s.ResourceCount)
				}
			}
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
