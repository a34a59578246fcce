package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"sync"

	"github.com/klauspost/compress/flate"
)

// Tree is the files of one snapshot or pack, wherever they lie. Reading checks each file against its sum, so that a
// damaged one is an error that wraps ErrDamaged and never wrong bytes. All methods may be called concurrently.
type Tree interface {
	fs.FS
	fs.ReadFileFS
	// Lookup finds a file by name; it opens nothing outside the names that SHA256SUMS lists.
	Lookup(name string) (Member, bool)
	// Names are the files in order, SHA256SUMS among them.
	Names() []string
	// Digest is the sha256 of SHA256SUMS in hex.
	Digest() string
}

// Files are files of a tree, by name.
type Files interface {
	Lookup(name string) (Member, bool)
	ReadFile(name string) ([]byte, error)
}

// Member is one file of a tree. It can be read as long as its tree is open.
type Member struct {
	Name string
	Size int64 // of the content, in bytes
	Sum  Sum   // of the content

	crc      uint32 // of the content; where known, that is in a zip
	checkCRC bool
	deflated bool   // section gives raw deflate
	at       int64  // in a zip, of its local header
	packed   uint32 // in a zip, bytes
	from     source
}

// source is what a member is read from.
type source interface {
	// section opens the member's bytes as they are kept, and tells their number.
	section(m *Member) (io.ReadCloser, int64, error)
}

// Content is a file read whole and found right.
type Content struct {
	Plain   []byte
	Deflate []byte // the same as raw deflate, nil where the tree does not keep it so
	CRC32   uint32 // of Plain; together with Deflate all that a gzip body needs
}

// gzipHead begins a member without name and time, made on an unknown system.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// GzipHead and GzipTail around raw deflate make a gzip body; size is that of the content, in bytes.
func GzipHead() []byte { return gzipHead }

// GzipTail is the end of one.
func GzipTail(crc uint32, size int64) []byte {
	tail := binary.LittleEndian.AppendUint32(nil, crc)
	return binary.LittleEndian.AppendUint32(tail, uint32(size)) // modulo 2^32, as the format says
}

// Gzip is the content as a gzip body; there must be Deflate.
func (c Content) Gzip() []byte {
	b := make([]byte, 0, len(gzipHead)+len(c.Deflate)+8)
	b = append(append(b, gzipHead...), c.Deflate...)
	return append(b, GzipTail(c.CRC32, int64(len(c.Plain)))...)
}

// Load reads the file whole.
func (m Member) Load() (Content, error) {
	c := Content{CRC32: m.crc}
	raw, err := m.raw()
	if err != nil {
		return Content{}, err
	}
	if m.deflated {
		c.Deflate = raw
	}
	var b bytes.Buffer
	b.Grow(int(m.Size))
	if err := m.decode(&b, bytes.NewReader(raw)); err != nil {
		return Content{}, err
	}
	c.Plain = b.Bytes()
	return c, nil
}

// raw reads the member's bytes as they are kept.
func (m *Member) raw() ([]byte, error) {
	if z, ok := m.from.(*Zip); ok {
		return z.raw(m)
	}
	section, size, err := m.from.section(m)
	if err != nil {
		return nil, err
	}
	defer section.Close()
	raw := make([]byte, size)
	if _, err := io.ReadFull(section, raw); err != nil {
		return nil, fmt.Errorf("read %s: %w", m.Name, damaged(err))
	}
	return raw, nil
}

// damaged marks an error of reading as damage of what was read, unless it is one of reaching it.
func damaged(err error) error {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrCondition) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Read is Load for those who want the content alone.
func (m Member) Read() ([]byte, error) {
	c, err := m.Load()
	return c.Plain, err
}

// smallMember is what is read at once where the whole is not wanted in memory, in bytes.
const smallMember = 1 << 20

// CopyTo writes the content to w in pieces. What was written is only known to be right when it answers nil.
func (m Member) CopyTo(w io.Writer) error {
	if z, ok := m.from.(*Zip); ok && m.packed <= smallMember { // unpacked from memory it takes a third less time
		raw, err := z.raw(&m)
		if err != nil {
			return err
		}
		return m.decode(w, bytes.NewReader(raw))
	}
	section, _, err := m.from.section(&m)
	if err != nil {
		return err
	}
	defer section.Close()
	return m.decode(w, section)
}

// Deflated gives the raw deflate bytes unchecked, with their number and the CRC-32 of the content; a nil reader where
// the tree keeps none.
func (m Member) Deflated() (r io.ReadCloser, size int64, crc uint32, err error) {
	if !m.deflated {
		return nil, 0, 0, nil
	}
	r, size, err = m.from.section(&m)
	return r, size, m.crc, err
}

// copyPacked writes the content as a gzip body, its bytes unchecked: whoever unpacks it finds it by its CRC.
func (m Member) CopyGzip(w io.Writer) error {
	raw, _, crc, err := m.Deflated()
	if err != nil {
		return err
	}
	defer raw.Close()
	to := &sink{w: w}
	if _, err := io.Copy(to, io.MultiReader(bytes.NewReader(gzipHead), raw,
		bytes.NewReader(GzipTail(crc, m.Size)))); to.err != nil {
		return fmt.Errorf("copy %s: %w", m.Name, to.err)
	} else if err != nil {
		return fmt.Errorf("read %s: %w", m.Name, damaged(err))
	}
	return nil
}

// IsDeflated says whether Deflated and Load give raw deflate.
func (m Member) IsDeflated() bool { return m.deflated }

// decode inflates r into w and compares what came with size and sums.
func (m Member) decode(w io.Writer, r io.Reader) error {
	if m.deflated {
		in := inflaters.Get().(io.ReadCloser)
		defer inflaters.Put(in)
		if err := in.(flate.Resetter).Reset(r, nil); err != nil {
			return fmt.Errorf("read %s: %w", m.Name, err)
		}
		r = in
	}
	sum, crc := sha256.New(), crc32.NewIEEE()
	to := &sink{w: w}
	n, err := io.Copy(io.MultiWriter(to, sum, crc), io.LimitReader(r, m.Size+1))
	switch {
	case to.err != nil:
		return fmt.Errorf("copy %s: %w", m.Name, to.err)
	case err != nil:
		return fmt.Errorf("read %s: %w", m.Name, damaged(err))
	case n != m.Size:
		return fmt.Errorf("read %s: %w: its size is not %d", m.Name, ErrDamaged, m.Size)
	case Sum(sum.Sum(nil)) != m.Sum || m.checkCRC && crc.Sum32() != m.crc:
		return fmt.Errorf("read %s: %w: its bytes do not have their sum", m.Name, ErrDamaged)
	}
	return nil
}

// sink remembers that writing failed, so that a full disk is not taken for damage of what is read.
type sink struct {
	w   io.Writer
	err error
}

func (s *sink) Write(p []byte) (n int, err error) {
	n, s.err = s.w.Write(p)
	return n, s.err
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}

// readFile is ReadFile of any tree.
func readFile(t Tree, name string) ([]byte, error) {
	m, ok := t.Lookup(name)
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return m.Read()
}
