package build

import (
	"fmt"
	"strconv"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
)

// pagedList is the rows of a list in one order, of which pages of several sizes are written. Each run of rows that a page of
// the smallest size has is deflated once, for the larger ones too.
type pagedList struct {
	total int
	runs  []*output.Piece // of site.PageSize rows each, the last of those that are left
}

func newPagedList(lines [][]byte) *pagedList {
	l := &pagedList{total: len(lines)}
	parts, between := make([][]byte, 0, 2*len(lines)), []byte(render.RowEnd)
	for from := 0; from < len(lines); from += site.PageSize {
		first := len(parts)
		for i, line := range lines[from:min(from+site.PageSize, len(lines))] {
			if i > 0 {
				parts = append(parts, between)
			}
			parts = append(parts, line)
		}
		l.runs = append(l.runs, output.NewPiece(parts[first:]...))
	}
	return l
}

// write writes every page of a size, which is a multiple of site.PageSize; a list without rows has its first page all the same.
func (l *pagedList) write(q site.Query, size int, to tree) error {
	for page := 1; page == 1 || (page-1)*size < l.total; page++ {
		if err := l.writePage(q.With("page", strconv.Itoa(page)).Key(), page, size, to); err != nil {
			return err
		}
	}
	return nil
}

func (l *pagedList) writePage(key string, page, size int, to tree) error {
	meta := site.NewPaginationMeta(l.total, page, size)
	m, err := render.Row(&meta)
	if err != nil {
		return fmt.Errorf("render meta of %s: %w", key, err)
	}
	p := &output.Pieced{Between: []byte(render.RowEnd)}
	if p.Head, p.Tail = render.Ends(site.Framing{}, m); l.total > 0 {
		p.Tail = append([]byte{'\n'}, p.Tail...)
		first := (page - 1) * size / site.PageSize
		p.Pieces = l.runs[first:min(first+size/site.PageSize, len(l.runs))]
	}
	return to.AddPieces(key, p)
}
