package serve

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Deflating a window costs many times what cutting it does. But deflate allows to put packed pieces one behind another, if
// each ends with a whole byte and looks back only into what surely stands before it. So each row of a file is packed once,
// by itself, as what follows the row before, and five rows together in the same way. A window is then its first row, as it is,
// and behind it three runs of bytes as they lie here: rows up to the next five, fives, and rows that are left. Its CRC comes
// from those of the rows' ends. It is longer by a fourth than if it were packed in one.

// packedTogether is how many rows a longer piece has.
const packedTogether = 5

// pieceLevel pays, since a piece is sent again and again.
const pieceLevel = 5

const rowEnd = ",\n" // between two rows

// packedRows are the rows of a file, in the order in which they are sent.
type packedRows struct {
	first  int64    // the lowest number of a row, in a log
	kept   cacheKey // where the cache has it
	rows   []*sharedRow
	sums   []byte // tagBytes of each row's
	marks  []mark // what comes before each row, and before the end
	single []byte // each row but the first, behind the one before it
	fives  []byte // each five rows but the first
}

// mark is what the rows before one have, each with rowEnd before it.
type mark struct {
	length, crc   uint32 // of their content
	single, fives uint32 // bytes of theirs; of fives only known where five begin
}

// shared implements sharing.
func (p *packedRows) shared() []*sharedRow { return p.rows }

func (p *packedRows) size() int {
	const pointer = 8
	return (pointer+tagBytes)*len(p.rows) + 16*len(p.marks) + len(p.single) + len(p.fives)
}

var flaters = sync.Pool{New: func() any {
	z, err := flate.NewWriter(io.Discard, pieceLevel)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

// pack packs rows, which it keeps.
func pack(rows []*sharedRow) (*packedRows, error) {
	p := &packedRows{rows: rows, sums: make([]byte, 0, tagBytes*len(rows)), marks: make([]mark, 0, len(rows)+1)}
	z := flaters.Get().(*flate.Writer)
	defer flaters.Put(z)
	var single, fives bytes.Buffer
	var at mark
	for i, row := range rows {
		p.marks = append(p.marks, at)
		p.sums = append(p.sums, row.sum[:tagBytes]...)
		at.crc = crc32.Update(crc32.Update(at.crc, crc32.IEEETable, []byte(rowEnd)), crc32.IEEETable, row.bytes)
		at.length += uint32(len(rowEnd) + len(row.bytes))
		if i == 0 {
			continue
		}
		if err := packPiece(z, &single, rows[i-1], rows[i:i+1]); err != nil {
			return nil, err
		}
		if i%packedTogether == 0 && i+packedTogether <= len(rows) {
			if err := packPiece(z, &fives, rows[i-1], rows[i:i+packedTogether]); err != nil {
				return nil, err
			}
		}
		at.single = uint32(single.Len())
		if (i+1)%packedTogether == 0 {
			at.fives = uint32(fives.Len())
		}
	}
	p.marks = append(p.marks, at)
	p.single, p.fives = bytes.Clone(single.Bytes()), bytes.Clone(fives.Bytes())
	return p, nil
}

// pack packs rows for the cache, which has them at a key.
func (h *handler) pack(at cacheKey, rows [][]byte) (*packedRows, error) {
	shared := h.cache.rows.share(rows)
	p, err := pack(shared)
	if err != nil {
		h.cache.rows.release(shared)
		return nil, err
	}
	p.kept = at
	return p, nil
}

// packPiece appends rows as they follow another.
func packPiece(z *flate.Writer, to *bytes.Buffer, before *sharedRow, rows []*sharedRow) error {
	z.ResetDict(to, before.bytes)
	for _, row := range rows {
		if _, err := io.WriteString(z, rowEnd); err != nil {
			return fmt.Errorf("deflate: %w", err)
		}
		if _, err := z.Write(row.bytes); err != nil {
			return fmt.Errorf("deflate: %w", err)
		}
	}
	if err := z.Flush(); err != nil { // ends with a whole byte
		return fmt.Errorf("deflate: %w", err)
	}
	return nil
}

// run is the pieces of the rows from one to before another, of which the first follows a row that is sent, too.
func (p *packedRows) run(from, to int) (single, fives, rest []byte) {
	five, end := (from+packedTogether-1)/packedTogether*packedTogether, to/packedTogether*packedTogether
	if five >= end {
		return p.single[p.marks[from].single:p.marks[to].single], nil, nil
	}
	return p.single[p.marks[from].single:p.marks[five].single], p.fives[p.marks[five].fives:p.marks[end].fives],
		p.single[p.marks[end].single:p.marks[to].single]
}
