package archive

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/flate"
)

const (
	// DeflateLevel is the compression level of members.
	DeflateLevel = 6
	storeBelow   = 64 // bytes; smaller members are not compressed
)

// Packed is the content of a member as a zip stores it.
type Packed struct {
	sum      Sum
	crc      uint32
	size     int // of the content, in bytes
	bytes    []byte
	deflated bool // bytes are raw deflate, not the content itself
	copied   bool // taken from the previous zip
}

// Sum returns the SHA-256 of the content.
func (p Packed) Sum() Sum { return p.sum }

// Pack compresses the content of a member for AddPacked, and does not keep data. If the previous zip has the same
// content under that name, Pack returns it as Reuse does.
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

// Reuse returns a member of the previous zip for AddPacked, and false if the zip has no such member or a damaged one.
// Reuse unpacks the member and compares it with its sum, so that damage on disk never spreads to the next snapshot.
func (z *ZipWriter) Reuse(name string) (Packed, bool) {
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

// pack checks a member and returns its content as the zip stores it.
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

// Contents returns the unpacked content.
func (p Packed) Contents() ([]byte, error) {
	if !p.deflated {
		return p.bytes, nil
	}
	m := Member{Size: int64(p.size), Sum: p.sum, deflated: true}
	var data bytes.Buffer
	err := m.decode(&data, bytes.NewReader(p.bytes))
	return data.Bytes(), err
}

// deflater is a compressor with its buffer, for reuse.
type deflater struct {
	w *flate.Writer
	b bytes.Buffer
}

var deflaters = sync.Pool{New: func() any {
	d := &deflater{}
	var err error
	if d.w, err = flate.NewWriter(&d.b, DeflateLevel); err != nil {
		panic(err) // unreachable: the level is a constant
	}
	return d
}}

// deflate compresses data. It returns false if that does not make it smaller.
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
