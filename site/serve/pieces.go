package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/flate"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
)

// Deflating a window costs many times what cutting it does. But deflate allows to put packed pieces one behind another, if
// each ends with a whole byte and none looks back into the one before. So the rows of a file are packed in groups of ten,
// each when a window first needs it, and rows at the ends of a window, which are no whole group, in halves of one. The
// few rows that are left are sent as they are: a row alone would lose but a third, for the most work. Most readers ask for 10,
// 20 or 50 rows: those are whole groups. Of others the answer is longer than if it was packed in one.

// pieceRows is how many rows a piece has, the most first.
var pieceRows = [...]int{10, 5}

// pieceLevel pays, since a piece is sent again and again.
const pieceLevel = 5

//
// The tag of a window is made of the sums of its lines, without their commas, for a like reason: those of rows are known.

// packedRows are the rows of a file, and those pieces that some window needed.
type packedRows struct {
	rows   []*sharedRow
	pieces [len(pieceRows)][]atomic.Pointer[[]byte] // of each so many rows
}

func newPackedRows(rows []*sharedRow) *packedRows {
	p := &packedRows{rows: rows}
	for i, n := range pieceRows {
		p.pieces[i] = make([]atomic.Pointer[[]byte], len(rows)/n)
	}
	return p
}

// pieceAt is the largest piece that begins with a row and ends before another, and its number of rows; nil for a row
// that is sent as it is.
func (p *packedRows) pieceAt(row, before int) (*atomic.Pointer[[]byte], int) {
	for i, n := range pieceRows {
		if row%n == 0 && row+n <= before {
			return &p.pieces[i][row/n], n
		}
	}
	return nil, 1
}

// packedRowBytes is what a row costs a file in memory, and packedPart the part of its bytes that pieces take at most: those of
// ten rows a quarter, those of five some more.
const (
	packedRowBytes = 8 + 20
	packedPart     = 0.6
)

func (p *packedRows) size() int {
	n := 0
	for _, r := range p.rows {
		n += len(r.bytes)
	}
	return int(packedPart*float64(n)) + packedRowBytes*len(p.rows)
}

var flaters = sync.Pool{New: func() any {
	z, err := flate.NewWriter(io.Discard, pieceLevel)
	if err != nil {
		panic(err) // the level is a constant
	}
	return z
}}

const rowEnd = ",\n" // between two rows

// piece is rows packed by themselves, made if need be. Two who miss at once both make it.
func piece(kept *atomic.Pointer[[]byte], rows []*sharedRow) ([]byte, error) {
	if p := kept.Load(); p != nil {
		return *p, nil
	}
	z := flaters.Get().(*flate.Writer)
	defer flaters.Put(z)
	var buf bytes.Buffer
	z.Reset(&buf)
	var err error
	for i, r := range rows {
		if i > 0 && err == nil {
			_, err = io.WriteString(z, rowEnd)
		}
		if err == nil {
			_, err = z.Write(r.bytes)
		}
	}
	if err == nil {
		err = z.Flush() // ends with a whole byte
	}
	if err != nil {
		return nil, fmt.Errorf("deflate: %w", err)
	}
	p := bytes.Clone(buf.Bytes())
	kept.Store(&p)
	return p, nil
}

// packing puts a gzip body together.
type packing struct {
	out    []byte
	crc    uint32
	length int // of the content
	rows   int
}

// maxStored is the most that deflate keeps in one block as it is (RFC 1951, 3.2.4).
const maxStored = 0xffff

// stored appends content as it is. The last of its blocks is marked so.
func (p *packing) stored(content []byte, last byte) {
	p.count(content)
	for {
		block, final := content, last
		if len(content) > maxStored {
			block, final = content[:maxStored], 0
		}
		content = content[len(block):]
		p.out = append(p.out, final)
		p.out = binary.LittleEndian.AppendUint16(p.out, uint16(len(block)))
		p.out = binary.LittleEndian.AppendUint16(p.out, ^uint16(len(block)))
		p.out = append(p.out, block...)
		if len(content) == 0 {
			return
		}
	}
}

func (p *packing) count(content []byte) {
	p.crc = crc32.Update(p.crc, crc32.IEEETable, content)
	p.length += len(content)
}

// add appends rows as one piece, or one row as it is.
func (p *packing) add(kept *atomic.Pointer[[]byte], rows []*sharedRow) error {
	if p.rows > 0 {
		p.stored([]byte(rowEnd), 0)
	}
	if kept == nil {
		p.stored(rows[0].bytes, 0)
		p.rows++
		return nil
	}
	packed, err := piece(kept, rows)
	if err != nil {
		return err
	}
	p.out = append(p.out, packed...)
	for i, r := range rows {
		if i > 0 {
			p.count([]byte(rowEnd))
		}
		p.count(r.bytes)
	}
	p.rows += len(rows)
	return nil
}

// span is a run of rows of a file.
type span struct {
	of       *packedRows
	from, to int
}

// pack is a list of the rows of spans, packed, and the sum of its lines' sums.
func pack(f site.Framing, spans []span, meta []byte) (*body, output.Sum, error) {
	head, tail := render.Ends(f, meta)
	first, last := sha256.Sum256(bytes.TrimSuffix(head, []byte{'\n'})), sha256.Sum256(bytes.TrimSuffix(tail, []byte{'\n'}))
	sums := append(make([]byte, 0, 4<<10), first[:]...)
	p := packing{out: append(make([]byte, 0, 8<<10), output.GzipHead()...)}
	p.stored(head, 0)
	for _, s := range spans {
		for _, row := range s.of.rows[s.from:s.to] {
			sums = append(sums, row.sum[:]...)
		}
		for at := s.from; at < s.to; {
			kept, n := s.of.pieceAt(at, s.to)
			if err := p.add(kept, s.of.rows[at:at+n]); err != nil {
				return nil, output.Sum{}, err
			}
			at += n
		}
	}
	if p.rows > 0 {
		tail = append([]byte{'\n'}, tail...)
	}
	p.stored(tail, 1)
	p.out = append(p.out, output.GzipTail(p.crc, int64(p.length))...)
	return &body{gzip: bytes.Clone(p.out), length: p.length}, sha256.Sum256(append(sums, last[:]...)), nil
}
