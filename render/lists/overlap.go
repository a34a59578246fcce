// This file makes the table of what public sources have in common. It must never know a page or a template.

package lists

import (
	"tollbook/site"
	"tollbook/site/display"
)

// overlapTable has a row and a column for each source, in the same order.
type overlapTable struct {
	Names []string
	Rows  []overlapRow
}

// overlapRow compares a source with all sources.
type overlapRow struct {
	Name  string
	Cells []overlapCell
}

// overlapCell is what the source of the row and the source of the column both list.
type overlapCell struct {
	Column string // name of the other source
	Own    bool   // both are the same source
	Count  int
	Share  string // of the resources of the row's source; "" for none
	Level  int    // 0 to 5: the share in steps, for a colour
}

const levels = 5

// newOverlap returns the table of sources.
func newOverlap(list []site.SourceDetail) overlapTable {
	var t overlapTable
	for i := range list {
		s := &list[i].Source
		t.Names = append(t.Names, display.Line(s.Source, display.MaxName))
		shared := map[string]int{s.Source: s.ResourceCount}
		for _, o := range s.Overlap {
			shared[o.Source] = o.ResourceCount
		}
		row := overlapRow{Name: t.Names[i]}
		for k := range list {
			c := newOverlapCell(s, list[k].Source.Source, shared[list[k].Source.Source])
			c.Own = i == k
			row.Cells = append(row.Cells, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// newOverlapCell returns the cell of a source and another source that lists a number of the same resources.
func newOverlapCell(s *site.Source, other string, count int) overlapCell {
	c := overlapCell{Column: display.Line(other, display.MaxName), Count: count}
	if s.ResourceCount > 0 {
		percent := float64(count) * 100 / float64(s.ResourceCount)
		c.Share = display.Percent(&percent)
		if count > 0 {
			c.Level = max(1, count*levels/s.ResourceCount)
		}
	}
	return c
}
