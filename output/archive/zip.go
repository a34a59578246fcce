package archive

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/flate"
)

// Zip is a tree read in place from a zip that ZipWriter wrote.
type Zip struct {
	r      io.ReaderAt
	size   int64
	files  directory
	digest string
}

// OpenZip reads the directory and SHA256SUMS of a zip of size bytes. It fails with ErrDamaged unless the two list the
// same files.
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
	// As many records as sums, each found among these and none twice: so no sum is without a record.
	return eachRecord(z.r, end, func(rec record) error {
		i, ok := find(&z.files, rec.name)
		if !ok {
			return fmt.Errorf("%w: %.80q is there but not summed", ErrDamaged, rec.name)
		}
		return z.place(&z.files.files[i], rec)
	})
}

// readSums reads the one member whose sum stands outside the zip, by its CRC, and takes names and sums from it.
func (z *Zip) readSums(rec record, records int) error {
	var e entry
	if err := z.place(&e, rec); err != nil {
		return err
	}
	raw, err := z.raw(&Member{Name: SumsFile, at: e.at(), packed: e.packed})
	if err != nil {
		return err
	}
	var body io.Reader = bytes.NewReader(raw)
	if e.high&entryDeflated != 0 {
		in := inflaters.Get().(io.ReadCloser)
		defer inflaters.Put(in)
		if err := in.(flate.Resetter).Reset(body, nil); err != nil {
			return damaged(err)
		}
		body = in
	}
	z.files.grow(records)
	crc := crc32.NewIEEE()
	count := &countedReader{r: io.LimitReader(body, int64(rec.size)+1)}
	digest, err := z.files.addSums(io.TeeReader(count, crc))
	switch {
	case err != nil:
		return damaged(err)
	case count.n != int64(rec.size) || crc.Sum32() != rec.crc:
		return fmt.Errorf("%w: its bytes do not have their sum", ErrDamaged)
	}
	z.digest = digest.String()
	return nil
}

// countedReader counts what is read.
type countedReader struct {
	r io.Reader
	n int64
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// place notes where a file lies. It refuses sizes that can't be true, before anybody makes room for them.
func (z *Zip) place(e *entry, rec record) error {
	switch most := uint64(z.size); {
	case e.high&entryPlaced != 0:
		return fmt.Errorf("%w: %.80q is there twice", ErrDamaged, rec.name)
	case rec.method != methodStore && rec.method != methodDeflate:
		return fmt.Errorf("%w: %.80q has method %d", ErrDamaged, rec.name, rec.method)
	case rec.packed > most || rec.size > 1032*rec.packed+64 || rec.size >= 1<<32 || rec.packed >= 1<<32:
		return fmt.Errorf("%w: %.80q can't have %d bytes in %d", ErrDamaged, rec.name, rec.size, rec.packed)
	case rec.at > most || rec.at+localHead+uint64(len(rec.name))+rec.packed > most:
		return fmt.Errorf("%w: %.80q does not end within the zip", ErrDamaged, rec.name)
	}
	e.crc, e.packed, e.size = rec.crc, uint32(rec.packed), uint32(rec.size)
	e.setPlace(rec.at, rec.method == methodDeflate)
	return nil
}

// section implements source.
func (z *Zip) section(m *Member) (io.ReadCloser, int64, error) {
	head := make([]byte, localHead)
	if err := readFullAt(z.r, head, m.at); err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", m.Name, err)
	}
	skip, err := bodyAfter(head)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", m.Name, err)
	}
	return io.NopCloser(io.NewSectionReader(z.r, m.at+skip, int64(m.packed))), int64(m.packed), nil
}

// raw reads a member as it lies in the zip, with its local header at once: of a bucket that is one request.
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
	skip, err := bodyAfter(b)
	// an extra field, which we write none of
	if begins := int64(len(b)) - int64(m.packed); err == nil && skip != begins {
		err = readFullAt(z.r, b[begins:], m.at+skip)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", m.Name, err)
	}
	return b, nil
}

// bodyAfter is how far behind the beginning of a local header the member's bytes begin.
func bodyAfter(head []byte) (int64, error) {
	le := binary.LittleEndian
	if le.Uint32(head) != localMark {
		return 0, fmt.Errorf("%w: it has no header", ErrDamaged)
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

// member is a file of a zip.
func (e *entry) member(name string, z *Zip) Member {
	return Member{
		Name: name, Size: int64(e.size), Sum: e.sum, crc: e.crc, checkCRC: true, deflated: e.high&entryDeflated != 0,
		at: e.at(), packed: e.packed, from: z,
	}
}

// Names implements Tree.
func (z *Zip) Names() []string { return z.files.list() }

// Digest implements Tree.
func (z *Zip) Digest() string { return z.digest }

// ReadFile implements fs.ReadFileFS.
func (z *Zip) ReadFile(name string) ([]byte, error) { return readFile(z, name) }

// Open implements fs.FS. A file is read and checked whole before the first byte is given out.
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
	return &readMember{Reader: bytes.NewReader(data), info: fileInfo{name, int64(len(data)), 0o444}}, nil
}

// readMember is an open file whose content is in memory.
type readMember struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *readMember) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *readMember) Close() error               { return nil }

// ZipFile is a Zip with what it is read from.
type ZipFile struct {
	*Zip
	file io.Closer
}

// newZipFile returns a zip whose Close closes file.
func NewZipFile(z *Zip, file io.Closer) *ZipFile { return &ZipFile{z, file} }

// OpenZipFile opens a zip on disk.
func OpenZipFile(path string) (*ZipFile, error) {
	f, err := os.Open(path)
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

// Close closes the file; members can no longer be read.
func (z *ZipFile) Close() error { return z.file.Close() }

var _ Tree = (*Zip)(nil)
