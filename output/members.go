package output

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Aside is where a ZipWriter puts what Close has to know of its members, instead of memory: it begins empty, is written from
// its beginning on, and read then.
type Aside interface {
	io.Writer
	io.ReaderAt
}

// members are those that a zip has so far: their names, sums and places lie aside, one after the other, for a large tree has
// millions.
type members struct {
	aside Aside
	out   *bufio.Writer
	size  int64 // bytes that went to out
	count int
	line  []byte // a member on its way
}

// memory is an Aside in memory.
type memory struct{ b []byte }

func (m *memory) Write(p []byte) (int, error) {
	m.b = append(m.b, p...)
	return len(p), nil
}

func (m *memory) ReadAt(p []byte, at int64) (int, error) { return bytes.NewReader(m.b).ReadAt(p, at) }

func newMembers(aside Aside) *members {
	if aside == nil {
		aside = &memory{}
	}
	return &members{aside: aside, out: bufio.NewWriterSize(aside, 64<<10)}
}

// asideHead is what lies before a name: its length, and an entry.
const asideHead = 2 + len(Sum{}) + 5*4

// add appends a member.
func (m *members) add(name string, e *entry) error {
	le := binary.LittleEndian
	b := le.AppendUint16(m.line[:0], uint16(len(name)))
	b = append(b, e.sum[:]...)
	for _, word := range []uint32{e.crc, e.packed, e.size, e.low, e.high} {
		b = le.AppendUint32(b, word)
	}
	m.line = append(b, name...)
	m.size += int64(len(m.line))
	m.count++
	_, err := m.out.Write(m.line)
	return err
}

// told are all members as they lie aside, and where each begins, in the order of writing.
type told struct {
	data  []byte
	begin []uint64
}

// read reads all members into memory.
func (m *members) read() (*told, error) {
	if err := m.out.Flush(); err != nil {
		return nil, err
	}
	t := &told{make([]byte, m.size, m.size+int64(asideHead+len(SumsFile))), make([]uint64, 0, m.count+1)}
	if n, err := m.aside.ReadAt(t.data, 0); n < len(t.data) {
		return nil, fmt.Errorf("read what was put aside: %d of %d bytes: %w", n, len(t.data), err)
	}
	for at := 0; at < len(t.data); at += asideHead + len(t.name(uint64(at))) {
		t.begin = append(t.begin, uint64(at))
	}
	return t, nil
}

// add adds the member of a line.
func (t *told) add(line []byte) {
	t.begin = append(t.begin, uint64(len(t.data)))
	t.data = append(t.data, line...)
}

// name is that of the member that begins at a place.
func (t *told) name(at uint64) []byte {
	from := at + uint64(asideHead)
	return t.data[from : from+uint64(binary.LittleEndian.Uint16(t.data[at:]))]
}

// entry is what is known of it beside its name.
func (t *told) entry(at uint64) (e entry) {
	b := t.data[at+2:]
	b = b[copy(e.sum[:], b):]
	for i, word := range []*uint32{&e.crc, &e.packed, &e.size, &e.low, &e.high} {
		*word = binary.LittleEndian.Uint32(b[4*i:])
	}
	return e
}

// sorted are the places of all members, by name.
func (t *told) sorted() []uint64 {
	order := slices.Clone(t.begin)
	slices.SortFunc(order, func(a, b uint64) int { return bytes.Compare(t.name(a), t.name(b)) })
	return order
}
