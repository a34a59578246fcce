package serve

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
)

// cutting is a window: runs of rows, between what a list begins and ends with.
type cutting struct {
	head, tail []byte // the tail without the newline behind the last row
	spans      []span
}

// span is a run of rows of a file; there is at least one.
type span struct {
	of       *packedRows
	from, to int
}

func newCutting(f site.Framing, spans []span, meta []byte) *cutting {
	c := &cutting{spans: spans}
	c.head, c.tail = render.Ends(f, meta)
	return c
}

// length is that of the content.
func (c *cutting) length() int {
	n := len(c.head) + len(c.tail)
	for _, s := range c.spans {
		n += int(s.of.marks[s.to].length - s.of.marks[s.from].length)
	}
	if len(c.spans) > 0 {
		n += len("\n") - len(rowEnd)
	}
	return n
}

// appendPlain appends the content.
func (c *cutting) appendPlain(to []byte) []byte {
	to = append(to, c.head...)
	for i, s := range c.spans {
		for j, row := range s.of.rows[s.from:s.to] {
			if i+j > 0 {
				to = append(to, rowEnd...)
			}
			to = append(to, row.bytes...)
		}
	}
	return append(append(to, c.lineEnd()...), c.tail...)
}

// lineEnd is what stands before the tail.
func (c *cutting) lineEnd() []byte {
	if len(c.spans) == 0 {
		return nil
	}
	return newline
}

var newline = []byte{'\n'}

// lead is what stands before the first row of a span.
func (c *cutting) lead(span int) []byte {
	if span == 0 {
		return c.head
	}
	return betweenRows
}

var betweenRows = []byte(rowEnd)

// packedLength is that of what appendPacked appends.
func (c *cutting) packedLength() int {
	n := len(output.GzipHead()) + storedLength(len(c.lineEnd())+len(c.tail)) + gzipTailBytes
	for i, s := range c.spans {
		single, fives, rest := s.of.run(s.from+1, s.to)
		n += storedLength(len(c.lead(i))+len(s.of.rows[s.from].bytes)) + len(single) + len(fives) + len(rest)
	}
	if len(c.spans) == 0 {
		n += storedLength(len(c.head))
	}
	return n
}

const gzipTailBytes = 8

// appendPacked appends the content as a gzip body.
func (c *cutting) appendPacked(to []byte) []byte {
	to = append(to, output.GzipHead()...)
	var crc uint32
	if len(c.spans) == 0 {
		to, crc = appendStored(to, 0, crc, c.head, nil)
	}
	for i, s := range c.spans {
		to, crc = appendStored(to, 0, crc, c.lead(i), s.of.rows[s.from].bytes)
		single, fives, rest := s.of.run(s.from+1, s.to)
		to = append(append(append(to, single...), fives...), rest...)
		from, end := &s.of.marks[s.from+1], &s.of.marks[s.to]
		crc = crcBehind(crc^from.crc, end.length-from.length) ^ end.crc
	}
	to, crc = appendStored(to, 1, crc, c.lineEnd(), c.tail)
	to = binary.LittleEndian.AppendUint32(to, crc)
	return binary.LittleEndian.AppendUint32(to, uint32(c.length()))
}

// maxStored is the most that deflate keeps in one block as it is (RFC 1951, 3.2.4).
const maxStored = 0xffff

const storedHead = 5 // bytes of such a block's

// storedLength is how long n bytes are that are kept as they are.
func storedLength(n int) int { return n + storedHead*max(1, (n+maxStored-1)/maxStored) }

// appendStored appends a and b as they are, and takes them into a CRC. The last of their blocks is marked so.
func appendStored(to []byte, last byte, crc uint32, a, b []byte) ([]byte, uint32) {
	for {
		block := min(len(a)+len(b), maxStored)
		final := last
		if len(a)+len(b) > block {
			final = 0
		}
		to = append(to, final)
		to = binary.LittleEndian.AppendUint16(to, uint16(block))
		to = binary.LittleEndian.AppendUint16(to, ^uint16(block))
		content := len(to)
		n := min(len(a), block)
		to = append(append(to, a[:n]...), b[:block-n]...)
		a, b = a[n:], b[block-n:]
		crc = crc32.Update(crc, crc32.IEEETable, to[content:])
		if len(a)+len(b) == 0 {
			return to, crc
		}
	}
}

// packs says whether pieces make a good answer: of few rows, or where a long one comes first, packing them as one is worth
// its time.
func (c *cutting) packs() bool {
	n := c.length()
	return n > gzipAbove && 3*c.packedLength() < 2*n
}

// appendSummed appends what the tag of a window is made of: its ends and the sums of its rows, which tell it as well as its
// bytes, and are known.
func (c *cutting) appendSummed(to []byte) []byte {
	to = append(append(to, c.head...), c.tail...)
	for _, s := range c.spans {
		to = append(to, s.of.sums[tagBytes*s.from:tagBytes*s.to]...)
	}
	return to
}

// body is the window as an answer; total is the number of rows of its list, or of the log that it is of.
func (c *cutting) body(total int, log *site.LogIndex) (*body, error) {
	sum := sha256.Sum256(c.appendSummed(nil))
	if c.packs() {
		b := &body{gzip: c.appendPacked(make([]byte, 0, c.packedLength())), length: c.length(), part: &part{c.head, c.tail, total, log}}
		return b.named(sum).counted(total), nil
	}
	b, err := newBody(sum, c.appendPlain(make([]byte, 0, c.length())))
	if err != nil {
		return nil, err
	}
	b.part = &part{c.head, c.tail, total, log}
	return b.counted(total), nil
}
