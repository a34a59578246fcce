package archive

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

const (
	// DeflateLevel is the level that members are compressed with.
	DeflateLevel = 6
	storeBelow   = 64 // bytes; smaller members are stored
)

// Packed is the contents of a member as a zip stores them.
type Packed struct {
	sum      Sum
	crc      uint32
	size     int // of the contents, in bytes
	bytes    []byte
	deflated bool // bytes is raw deflate, else the contents
	copied   bool // from the previous zip
}

// Sum returns the sha256 of the contents.
func (p Packed) Sum() Sum { return p.sum }

// Pack packs the contents of a member for AddPacked, and does not keep data. Where the previous zip has the same
// contents under that name, it returns them as TakeOver does.
func (z *ZipWriter) Pack(name string, data []byte) Packed {
	p := Packed{sum: sha256.Sum256(data), crc: crc32.ChecksumIEEE(data), size: len(data)}
	if len(data) >= storeBelow {
		if m, ok := z.previous(name); ok && m.Sum == p.sum {
			if old, err := m.pack(); err == nil {
				return old
			}
		}
		p.bytes, p.deflated = deflate(data)
	}
	if !p.deflated {
		p.bytes = bytes.Clone(data)
	}
	return p
}

// TakeOver returns a member of the previous zip for AddPacked, and false where that has none, or a damaged one: it is
// unpacked and compared with its sum, so that damage on disk never spreads from one snapshot to the next.
func (z *ZipWriter) TakeOver(name string) (Packed, bool) {
	m, ok := z.previous(name)
	if !ok {
		return Packed{}, false
	}
	p, err := m.pack()
	return p, err == nil
}

func (z *ZipWriter) previous(name string) (Member, bool) {
	if z.opts.Previous == nil {
		return Member{}, false
	}
	return z.opts.Previous.Lookup(name)
}

// pack returns a member's contents as its zip stores them, after checking them.
func (m *Member) pack() (Packed, error) {
	c, err := m.Load()
	if err != nil {
		return Packed{}, err
	}
	p := Packed{sum: m.Sum, crc: c.CRC32, size: len(c.Plain), bytes: c.Deflate, deflated: m.deflated, copied: true}
	if !m.deflated {
		p.bytes = c.Plain
	}
	return p, nil
}

// Contents returns the contents unpacked.
func (p Packed) Contents() ([]byte, error) {
	if !p.deflated {
		return p.bytes, nil
	}
	m := Member{Size: int64(p.size), Sum: p.sum, deflated: true}
	var data bytes.Buffer
	err := m.decode(&data, bytes.NewReader(p.bytes))
	return data.Bytes(), err
}

// deflater is a compressor with its buffer, which are used again.
type deflater struct {
	w *flate.Writer
	b bytes.Buffer
}

var deflaters = sync.Pool{New: func() any {
	d := &deflater{}
	var err error
	if d.w, err = flate.NewWriter(&d.b, DeflateLevel); err != nil {
		panic(err) // the level is a constant
	}
	return d
}}

// deflate compresses data; it returns false where that does not make it smaller.
func deflate(data []byte) (_ []byte, smaller bool) {
	d := deflaters.Get().(*deflater)
	defer deflaters.Put(d)
	d.b.Reset()
	d.w.Reset(&d.b)
	if _, err := d.w.Write(data); err != nil {
		return nil, false
	}
	if err := d.w.Close(); err != nil || d.b.Len() >= len(data) {
		return nil, false
	}
	return bytes.Clone(d.b.Bytes()), true
}
