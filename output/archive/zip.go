package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/klauspost/compress/flate"
)

// Zip is a tree that is read in place from a zip that ZipWriter wrote.
type Zip struct {
	r      io.ReaderAt
	size   int64
	files  directory
	digest string
}

// OpenZip reads the directory and SHA256SUMS of a zip of size bytes. It returns an error that wraps ErrDamaged unless
// both list the same files.
func OpenZip(r io.ReaderAt, size int64) (*Zip, error) {
	z := &Zip{r: r, size: size}
	if err := z.open(); err != nil {
		return nil, fmt.Errorf("open zip: %w", err)
	}
	return z, nil
}

func (z *Zip) open() error {
	end, err := readZipEnd(z.r, z.size)
	if err != nil {
		return err
	}
	last, err := lastRecord(z.r, end)
	if err != nil {
		return err
	}
	if err := z.readSums(last, int(end.records)); err != nil {
		return fmt.Errorf("read %s: %w", SumsFile, err)
	}
	if int64(len(z.files.files)) != end.records {
		return fmt.Errorf("%w: %d files, %d sums", ErrDamaged, end.records-1, len(z.files.files)-1)
	}
	// The counts are equal and every record matches a different sum, so every sum has a record.
	return eachRecord(z.r, end, func(rec record) error {
		i, ok := find(&z.files, rec.name)
		if !ok {
			return fmt.Errorf("%w: %.80q has no sum", ErrDamaged, rec.name)
		}
		return z.setRecord(&z.files.files[i], rec)
	})
}

// maxGrow is for how many names memory is reserved because a zip says that it has so many.
const maxGrow = 1 << 20

// readSums reads SHA256SUMS, the only member whose sum is not in the zip, and checks it by its CRC. It adds its names
// and sums to the directory.
func (z *Zip) readSums(rec record, records int) error {
	var e entry
	if err := z.setRecord(&e, rec); err != nil {
		return err
	}
	raw, err := z.raw(&Member{Name: SumsFile, at: e.offset(), packed: e.packed})
	if err != nil {
		return err
	}
	var body io.Reader = bytes.NewReader(raw)
	if e.offsetHigh&entryDeflated != 0 {
		in := inflaters.Get().(io.ReadCloser)
		defer inflaters.Put(in)
		if err := in.(flate.Resetter).Reset(body, nil); err != nil {
			return asDamaged(err)
		}
		body = in
	}
	z.files.grow(min(records, maxGrow))
	crc := crc32.NewIEEE()
	count := &countedReader{r: io.LimitReader(body, int64(rec.size)+1)}
	digest, err := z.files.addSums(io.TeeReader(count, crc))
	switch {
	case err != nil:
		return asDamaged(err)
	case count.n != int64(rec.size) || crc.Sum32() != rec.crc:
		return fmt.Errorf("%w: its bytes do not match their sum", ErrDamaged)
	}
	z.digest = digest.String()
	return nil
}

// countedReader counts the bytes read from r.
type countedReader struct {
	r io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// setRecord stores the offset and sizes of a file. It rejects impossible sizes before a caller allocates memory for
// them.
func (z *Zip) setRecord(e *entry, rec record) error {
	switch most := uint64(z.size); {
	case e.offsetHigh&entryRecorded != 0:
		return fmt.Errorf("%w: %.80q is present twice", ErrDamaged, rec.name)
	case rec.method != methodStore && rec.method != methodDeflate:
		return fmt.Errorf("%w: %.80q has method %d", ErrDamaged, rec.name, rec.method)
	case rec.packed > most || rec.size > 1032*rec.packed+64 || rec.size >= 1<<32 || rec.packed >= 1<<32:
		return fmt.Errorf("%w: %.80q can't have %d bytes in %d", ErrDamaged, rec.name, rec.size, rec.packed)
	case rec.at > most || rec.at+localHead+uint64(len(rec.name))+rec.packed > most:
		return fmt.Errorf("%w: %.80q ends beyond the end of the zip", ErrDamaged, rec.name)
	}
	e.crc, e.packed, e.size = rec.crc, uint32(rec.packed), uint32(rec.size)
	e.setOffset(rec.at, rec.method == methodDeflate)
	return nil
}

// section implements source.
func (z *Zip) section(m *Member) (io.ReadCloser, int64, error) {
	offset, err := z.contentOffset(m)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(io.NewSectionReader(z.r, offset, int64(m.packed))), int64(m.packed), nil
}

// contentOffset returns the offset of a member's stored bytes, behind its local header.
func (z *Zip) contentOffset(m *Member) (int64, error) {
	head := make([]byte, localHead)
	err := readFullAt(z.r, head, m.at)
	skip := int64(0)
	if err == nil {
		skip, err = bodyOffset(head)
	}
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", m.Name, err)
	}
	return m.at + skip, nil
}

// raw reads a member as it is stored in the zip. One read includes its local header: a bucket needs a single request.
func (z *Zip) raw(m *Member) ([]byte, error) {
	b, err := z.read(m)
	if err != nil {
		return nil, err
	}
	return b[len(b)-int(m.packed):], nil
}

// read reads a member with at least its local header in front of it.
func (z *Zip) read(m *Member) ([]byte, error) {
	b := make([]byte, localHead+len(m.Name)+int(m.packed))
	err := readFullAt(z.r, b, m.at)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", m.Name, err)
	}
	skip, err := bodyOffset(b)
	// The header has an extra field, which ZipWriter never writes.
	if begins := int64(len(b)) - int64(m.packed); err == nil && skip != begins {
		err = readFullAt(z.r, b[begins:], m.at+skip)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", m.Name, err)
	}
	return b, nil
}

// bodyOffset returns the distance from the start of a local header to the bytes of the member.
func bodyOffset(head []byte) (int64, error) {
	le := binary.LittleEndian
	if le.Uint32(head) != localMark {
		return 0, fmt.Errorf("%w: its local header has a wrong signature", ErrDamaged)
	}
	return localHead + int64(le.Uint16(head[26:])) + int64(le.Uint16(head[28:])), nil
}

// Lookup implements Tree.
func (z *Zip) Lookup(name string) (Member, bool) {
	i, ok := find(&z.files, name)
	if !ok {
		return Member{}, false
	}
	return z.files.files[i].member(name, z), true
}

// member returns the entry as a Member of z.
func (e *entry) member(name string, z *Zip) Member {
	return Member{
		Name: name, Size: int64(e.size), Sum: e.sum, crc: e.crc, checkCRC: true,
		deflated: e.offsetHigh&entryDeflated != 0,
		at:       e.offset(), packed: e.packed, from: z,
	}
}

// Names implements Tree.
func (z *Zip) Names() []string { return z.files.list() }

// Digest implements Tree.
func (z *Zip) Digest() string { return z.digest }

// ReadFile implements fs.ReadFileFS.
func (z *Zip) ReadFile(name string) ([]byte, error) { return readFile(z, name) }

// Open implements fs.FS. It reads and checks the whole file first.
func (z *Zip) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	m, ok := z.Lookup(name)
	if !ok {
		return z.files.open(name)
	}
	data, err := m.Read()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &memberFile{Reader: bytes.NewReader(data), info: fileInfo{name, int64(len(data)), 0o444}}, nil
}

// memberFile is an open file whose content is in memory.
type memberFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *memberFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *memberFile) Close() error               { return nil }

// ZipFile is a Zip that owns its file.
type ZipFile struct {
	*Zip
	file io.Closer
}

// NewZipFile returns a zip whose Close closes file.
func NewZipFile(z *Zip, file io.Closer) *ZipFile { return &ZipFile{z, file} }

// OpenZipFile opens a zip on disk.
func OpenZipFile(path string) (*ZipFile, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	z, err := OpenZip(f, info.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &ZipFile{z, f}, nil
}

// Close closes the file. Members cannot be read after it.
func (z *ZipFile) Close() error { return z.file.Close() }

var _ Tree = (*Zip)(nil)
