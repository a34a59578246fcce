package serve

import (
	"fmt"
	"hash/crc32"

	"tollbook/output"
)

// Deflating a window costs many times what cutting it does. But deflate allows to put packed pieces one behind another, if
// each looks back only into what surely stands before it. So each row of a file is packed once, as what follows the row
// before (deflate.go). A window is then its first row, as it is, and behind it a run of bits as they lie here. Its CRC
// comes from those of the rows' ends. It is longer by a fifth than if it were packed in one.

// packedRows are the rows of a file, in the order in which they are sent.
type packedRows struct {
	first int64    // the lowest number of a row, in a log
	kept  cacheKey // where the cache has it
	rows  []*sharedRow
	sums  []byte // tagBytes of each row's
	marks []mark // what comes before each row, and before the end
	*block
}

// mark is what the rows before one have, each with rowEnd before it.
type mark struct{ length, crc uint32 }

// shared implements sharing.
func (p *packedRows) shared() []*sharedRow { return p.rows }

func (p *packedRows) size() int {
	const pointer, word = 8, 4
	return pointer*len(p.rows) + len(p.sums) + 2*word*len(p.marks) + p.block.size()
}

// pack packs rows, which it keeps.
func pack(rows []*sharedRow) *packedRows {
	p := &packedRows{rows: rows, sums: make([]byte, 0, tagBytes*len(rows)), marks: make([]mark, 0, len(rows)+1), block: deflate(rows)}
	var at mark
	for _, row := range rows {
		p.marks = append(p.marks, at)
		p.sums = append(p.sums, row.sum[:tagBytes]...)
		at.crc = crc32.Update(crc32.Update(at.crc, crc32.IEEETable, betweenRows), crc32.IEEETable, row.bytes)
		at.length += uint32(len(rowEnd) + len(row.bytes))
	}
	p.marks = append(p.marks, at)
	return p
}

// maxRows is the most bytes of a file of rows that is packed, far more than any has.
const maxRows = 64 << 20

// pack packs the rows of a file for the cache, which has them at a key.
func (h *handler) pack(at cacheKey, name string, rows [][]byte) (*packedRows, error) {
	n := 0
	for _, row := range rows {
		n += len(row)
	}
	if n > maxRows {
		return nil, fmt.Errorf("file %s: %w: its rows have %d bytes, may have %d", name, output.ErrDamaged, n, maxRows)
	}
	p := pack(h.cache.rows.share(rows))
	p.kept = at
	return p, nil
}
