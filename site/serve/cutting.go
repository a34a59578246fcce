package serve

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"

	"tollbook/output"
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
	beforeRows, beforeMeta := f.Around()
	c.head, c.tail = []byte(beforeRows), site.AppendListEnd(append([]byte(beforeMeta), meta...))
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

const rowEnd = ",\n"

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
		n += storedLength(len(c.lead(i)) + len(s.of.rows[s.from].bytes))
		if bits := s.of.runBits(s.from+1, s.to); bits > 0 { // and what begins the next block is behind them
			n += int(bits+storedHeadBits+7)/8 - 1
		}
	}
	if len(c.spans) == 0 {
		n += storedLength(len(c.head))
	}
	return n
}

const gzipTailBytes = 8

// appendPacked appends the content as a gzip body.
func (c *cutting) appendPacked(to []byte) []byte {
	w := bitWriter{out: append(to, output.GzipHead()...)}
	var crc uint32
	if len(c.spans) == 0 {
		crc = w.addStored(crc, c.head, nil, false)
	}
	for i, s := range c.spans {
		crc = w.addStored(crc, c.lead(i), s.of.rows[s.from].bytes, false)
		w.addRun(s.of.block, s.from+1, s.to)
		from, end := &s.of.marks[s.from+1], &s.of.marks[s.to]
		crc = crcBehind(crc^from.crc, end.length-from.length) ^ end.crc
	}
	crc = w.addStored(crc, c.lineEnd(), c.tail, true)
	to = binary.LittleEndian.AppendUint32(w.out, crc)
	return binary.LittleEndian.AppendUint32(to, uint32(c.length()))
}

// runBits is how many addRun adds.
func (b *block) runBits(from, to int) uint32 {
	if from == to {
		return 0
	}
	return b.headBits + b.begins[to] - b.begins[from] + b.endBits
}

// addRun adds the rows from one to before another, of which the first follows the one before it.
func (w *bitWriter) addRun(b *block, from, to int) {
	if from == to {
		return
	}
	w.copy(b.head, 0, b.headBits)
	w.copy(b.bits, b.begins[from], b.begins[to])
	w.add(b.end, uint(b.endBits))
}

// maxStored is the most that deflate keeps in one block as it is (RFC 1951, 3.2.4).
const maxStored = 0xffff

// What begins such a block: bits, up to the end of their byte, and its length twice.
const (
	storedHeadBits = 3
	storedHead     = 5
)

// storedLength is how long n bytes are that are kept as they are.
func storedLength(n int) int { return n + storedHead*max(1, (n+maxStored-1)/maxStored) }

// addStored adds a and b as they are, and takes them into a CRC. The last block of all is marked so.
func (w *bitWriter) addStored(crc uint32, a, b []byte, last bool) uint32 {
	for {
		n := min(len(a)+len(b), maxStored)
		head := uint64(0)
		if last && len(a)+len(b) == n {
			head = 1
		}
		w.add(head, storedHeadBits)
		w.align()
		w.out = binary.LittleEndian.AppendUint16(w.out, uint16(n))
		w.out = binary.LittleEndian.AppendUint16(w.out, ^uint16(n))
		content := len(w.out)
		of := min(len(a), n)
		w.out = append(append(w.out, a[:of]...), b[:n-of]...)
		a, b = a[of:], b[n-of:]
		crc = crc32.Update(crc, crc32.IEEETable, w.out[content:])
		if len(a)+len(b) == 0 {
			return crc
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
