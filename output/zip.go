package output

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Zip is a tree read in place from a zip that ZipWriter wrote.
type Zip struct {
	r       io.ReaderAt
	size    int64
	zip     *zip.Reader
	members map[string]Member
	names   []string
	digest  string
}

// OpenZip reads the directory and SHA256SUMS of a zip of size bytes. It fails with ErrDamaged unless the two list the
// same files.
func OpenZip(r io.ReaderAt, size int64) (*Zip, error) {
	zr, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("open zip: %w", damaged(err))
	}
	if len(zr.File) == 0 || zr.File[len(zr.File)-1].Name != SumsFile {
		return nil, fmt.Errorf("open zip: %w: its last member is not %s", ErrDamaged, SumsFile)
	}
	z := &Zip{r: r, size: size, zip: zr, members: make(map[string]Member, len(zr.File)), names: make([]string, 0, len(zr.File))}
	sums, err := z.readSums(zr.File[len(zr.File)-1])
	if err != nil {
		return nil, fmt.Errorf("open zip: %w", err)
	}
	if err := z.list(zr.File, sums); err != nil {
		return nil, fmt.Errorf("open zip: %w", err)
	}
	return z, nil
}

// readSums reads the one member whose sum stands outside the zip, by its CRC.
func (z *Zip) readSums(f *zip.File) ([]byte, error) {
	if err := z.checkSize(f); err != nil {
		return nil, err
	}
	r, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", SumsFile, damaged(err))
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", SumsFile, damaged(err))
	}
	return data, nil
}

func (z *Zip) list(files []*zip.File, sums []byte) error {
	lines, err := parseSums(sums)
	if err != nil {
		return err
	}
	if len(lines) != len(files)-1 {
		return fmt.Errorf("%w: %d files, %d sums", ErrDamaged, len(files)-1, len(lines))
	}
	digest := Sum(sha256.Sum256(sums))
	z.digest = digest.String()
	byName := make(map[string]*zip.File, len(files))
	for _, f := range files {
		byName[f.Name] = f
	}
	for _, l := range append(lines, named{SumsFile, digest}) {
		f := byName[l.name]
		if f == nil {
			return fmt.Errorf("%w: %s is summed but not there", ErrDamaged, l.name)
		}
		if f.Method != zip.Store && f.Method != zip.Deflate {
			return fmt.Errorf("%w: %s has method %d", ErrDamaged, l.name, f.Method)
		}
		if err := z.checkSize(f); err != nil {
			return err
		}
		z.members[l.name] = z.member(f, l.sum)
		z.names = append(z.names, l.name)
	}
	slices.Sort(z.names)
	return nil
}

// checkSize refuses sizes that can't be true, before anybody makes room for them.
func (z *Zip) checkSize(f *zip.File) error {
	if body, most := f.CompressedSize64, uint64(z.size); body > most || f.UncompressedSize64 > 1032*body+64 {
		return fmt.Errorf("%w: %s can't have %d bytes in %d", ErrDamaged, f.Name, f.UncompressedSize64, body)
	}
	return nil
}

func (z *Zip) member(f *zip.File, sum Sum) Member {
	return Member{
		Name: f.Name, Size: int64(f.UncompressedSize64), Sum: sum,
		crc: f.CRC32, checkCRC: true, deflated: f.Method == zip.Deflate,
		section: func() (io.ReadCloser, int64, error) {
			at, err := f.DataOffset()
			if err != nil {
				return nil, 0, fmt.Errorf("read %s: %w", f.Name, damaged(err))
			}
			size := int64(f.CompressedSize64)
			return io.NopCloser(io.NewSectionReader(z.r, at, size)), size, nil
		},
	}
}

// Lookup implements Tree.
func (z *Zip) Lookup(name string) (Member, bool) {
	m, ok := z.members[name]
	return m, ok
}

// Names implements Tree.
func (z *Zip) Names() []string { return z.names }

// Digest implements Tree.
func (z *Zip) Digest() string { return z.digest }

// ReadFile implements fs.ReadFileFS.
func (z *Zip) ReadFile(name string) ([]byte, error) { return readFile(z, name) }

// Open implements fs.FS. A file is read and checked whole before the first byte is given out.
func (z *Zip) Open(name string) (fs.File, error) {
	m, ok := z.members[name]
	if !ok {
		f, err := z.zip.Open(name) // folders, and every error
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	data, err := m.Read()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	info, err := fs.Stat(z.zip, name)
	if err != nil {
		return nil, err
	}
	return &readMember{Reader: bytes.NewReader(data), info: info}, nil
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
