package archive

import (
	"bytes"
	"context"
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

// Tree is the files of one snapshot or pack, in any kind of storage. Reading checks each file against its sum: a
// damaged file is an error that wraps ErrDamaged, never wrong bytes. All methods may be called concurrently.
type Tree interface {
	fs.FS
	fs.ReadFileFS
	// Lookup returns a file by name. It opens nothing but the names that SHA256SUMS lists.
	Lookup(name string) (Member, bool)
	// Names returns all names in order, including SHA256SUMS.
	Names() []string
	// Digest returns the SHA-256 of SHA256SUMS in hex.
	Digest() string
}

// Files reads the files of a tree by name.
type Files interface {
	Lookup(name string) (Member, bool)
	ReadFile(name string) ([]byte, error)
}

// Member is one file of a tree. It can be read while its tree is open.
type Member struct {
	Name string
	Size int64 // of the content, in bytes
	Sum  Sum   // of the content

	crc      uint32 // of the content; only set in a zip
	checkCRC bool
	deflated bool   // section returns raw deflate
	at       int64  // in a zip, the offset of its local header
	packed   uint32 // in a zip, the length of the stored bytes
	from     source
}

// source is the storage of a member.
type source interface {
	// section opens the stored bytes of a member and returns their number.
	section(m *Member) (io.ReadCloser, int64, error)
}

// Content is a file that was read and checked.
type Content struct {
	Plain   []byte
	Deflate []byte // Plain as raw deflate; nil if the tree does not store it that way
	CRC32   uint32 // of Plain; a gzip body consists of it, Deflate and the length
}

// gzipHead is the header of a gzip body without name and time, from an unknown system.
var gzipHead = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// GzipHead returns the bytes of a gzip body before the raw deflate.
func GzipHead() []byte { return gzipHead }

// GzipTail returns the bytes of a gzip body after the raw deflate; size is that of the content, in bytes.
func GzipTail(crc uint32, size int64) []byte {
	tail := binary.LittleEndian.AppendUint32(nil, crc)
	return binary.LittleEndian.AppendUint32(tail, uint32(size)) // modulo 2^32, as RFC 1952 requires
}

// Gzip returns the content as a gzip body. Deflate must not be nil.
func (c Content) Gzip() []byte {
	b := make([]byte, 0, len(gzipHead)+len(c.Deflate)+8)
	b = append(append(b, gzipHead...), c.Deflate...)
	return append(b, GzipTail(c.CRC32, int64(len(c.Plain)))...)
}

// maxLoaded is the size in bytes up to which a member is read as a whole. The largest ones that are have some megabytes;
// a few bytes of a hostile zip may claim to be gigabytes.
const maxLoaded = 256 << 20

// Load reads and checks the whole file.
func (m Member) Load() (Content, error) {
	c := Content{CRC32: m.crc}
	if m.Size > maxLoaded {
		return c, fmt.Errorf("read %s: %w: it has %d MB, more than a file that is read at once may have", m.Name, ErrDamaged,
			m.Size>>20)
	}
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

// raw reads the stored bytes of a member.
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
		return nil, fmt.Errorf("read %s: %w", m.Name, asDamaged(err))
	}
	return raw, nil
}

// asDamaged wraps a read error in ErrDamaged, unless the storage was unreachable or replaced.
func asDamaged(err error) error {
	if errors.Is(err, ErrUnreachable) || errors.Is(err, ErrCondition) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}

// Read returns the content of the file as Load reads it.
func (m Member) Read() ([]byte, error) {
	c, err := m.Load()
	return c.Plain, err
}

// smallMember is the size in bytes up to which CopyTo reads a member at once.
const smallMember = 1 << 20

// CopyTo writes the content to w in pieces. The written bytes are only checked when CopyTo returns nil.
func (m Member) CopyTo(w io.Writer) error {
	// Unpacking from memory takes a third less time.
	if z, ok := m.from.(*Zip); ok && m.packed <= smallMember {
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

// Deflated returns the raw deflate bytes unchecked, with their number and the CRC-32 of the content. The reader is nil
// if the tree does not store raw deflate.
func (m Member) Deflated() (r io.ReadCloser, size int64, crc uint32, err error) {
	if !m.deflated {
		return nil, 0, 0, nil
	}
	r, size, err = m.from.section(&m)
	return r, size, m.crc, err
}

// CopyGzip writes the content as a gzip body. It does not check the bytes: unpacking the body checks its CRC.
func (m Member) CopyGzip(w io.Writer) error {
	raw, _, crc, err := m.Deflated()
	if err != nil {
		return err
	}
	defer raw.Close()
	to := &errorWriter{w: w}
	if _, err := io.Copy(to, io.MultiReader(bytes.NewReader(gzipHead), raw,
		bytes.NewReader(GzipTail(crc, m.Size)))); to.err != nil {
		return fmt.Errorf("copy %s: %w", m.Name, to.err)
	} else if err != nil {
		return fmt.Errorf("read %s: %w", m.Name, asDamaged(err))
	}
	return nil
}

// Stored returns the content of a member that its zip stores uncompressed, unchecked, and false for any other member.
// offset is that of the content in the zip.
func (m Member) Stored() (content *io.SectionReader, offset int64, ok bool, err error) {
	z, isZip := m.from.(*Zip)
	if !isZip || m.deflated {
		return nil, 0, false, nil
	}
	if int64(m.packed) != m.Size {
		return nil, 0, false, fmt.Errorf("read %s: %w: its size is not %d", m.Name, ErrDamaged, m.Size)
	}
	offset, err = z.contentOffset(&m)
	if err != nil {
		return nil, 0, false, err
	}
	return io.NewSectionReader(z.r, offset, m.Size), offset, true, nil
}

// rangeOpener is a zip in a store, which reads a long range by one request.
type rangeOpener interface {
	OpenRange(ctx context.Context, offset, length int64) (io.ReadCloser, error)
}

// OpenRange opens a range of the content, unchecked. Its tree must not store the content deflated.
func (m Member) OpenRange(ctx context.Context, offset, length int64) (io.ReadCloser, error) {
	if offset < 0 || length < 0 || offset+length > m.Size || m.deflated {
		return nil, fmt.Errorf("read %s: it has no bytes %d to %d", m.Name, offset, offset+length)
	}
	if d, ok := m.from.(*Dir); ok {
		return d.openRange(&m, offset, length)
	}
	content, at, _, err := m.Stored()
	if err != nil {
		return nil, err
	}
	if r, ok := m.from.(*Zip).r.(rangeOpener); ok {
		return r.OpenRange(ctx, at+offset, length)
	}
	return io.NopCloser(io.NewSectionReader(content, offset, length)), nil
}

// IsDeflated reports whether Deflated and Load return raw deflate.
func (m Member) IsDeflated() bool { return m.deflated }

// decode unpacks r into w, and checks the size and sums of the result.
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
	to := &errorWriter{w: w}
	n, err := io.Copy(io.MultiWriter(to, sum, crc), io.LimitReader(r, m.Size+1))
	switch {
	case to.err != nil:
		return fmt.Errorf("copy %s: %w", m.Name, to.err)
	case err != nil:
		return fmt.Errorf("read %s: %w", m.Name, asDamaged(err))
	case n != m.Size:
		return fmt.Errorf("read %s: %w: its size is not %d", m.Name, ErrDamaged, m.Size)
	case Sum(sum.Sum(nil)) != m.Sum || m.checkCRC && crc.Sum32() != m.crc:
		return fmt.Errorf("read %s: %w: its bytes do not match their sum", m.Name, ErrDamaged)
	}
	return nil
}

// errorWriter records that writing failed, so that a full disk is not reported as damage of the file that is read.
type errorWriter struct {
	w   io.Writer
	err error
}

func (s *errorWriter) Write(p []byte) (n int, err error) {
	n, s.err = s.w.Write(p)
	return n, s.err
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(bytes.NewReader(nil)) }}

// readFile implements fs.ReadFileFS for any tree.
func readFile(t Tree, name string) ([]byte, error) {
	m, ok := t.Lookup(name)
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return m.Read()
}
