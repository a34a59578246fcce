package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a tree of single files in a folder.
type Dir struct {
	root   string
	files  directory
	digest string
}

// OpenDir reads the SHA256SUMS of an expanded tree. It does not look at the other files: a missing file is an error
// when it is read.
func OpenDir(root string) (*Dir, error) {
	// If the link moves later, this tree stays the same.
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	f, err := OpenFile(filepath.Join(root, SumsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := &Dir{root: root}
	digest, err := d.files.addSums(f)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, err)
	}
	d.digest = digest.String()
	return d, nil
}

// Root returns the path of the folder.
func (d *Dir) Root() string { return d.root }

// Path returns the path of a file.
func (d *Dir) Path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// Lookup implements Tree. It returns a member for a file that is listed but missing; reading that member fails.
func (d *Dir) Lookup(name string) (Member, bool) {
	i, ok := find(&d.files, name)
	if !ok {
		return Member{}, false
	}
	m := Member{Name: name, Sum: d.files.files[i].sum, from: d}
	if info, err := os.Stat(d.Path(name)); err == nil {
		m.Size = info.Size()
	}
	return m, true
}

// section implements source.
func (d *Dir) section(m *Member) (io.ReadCloser, int64, error) {
	f, err := OpenFile(d.Path(m.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("read %s: %w: %w", m.Name, ErrDamaged, err)
	}
	return f, m.Size, err
}

// openRange opens a range of a file.
func (d *Dir) openRange(m *Member, offset, length int64) (io.ReadCloser, error) {
	f, _, err := d.section(m)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f.(*os.File), offset, length), f}, nil
}

// Names implements Tree.
func (d *Dir) Names() []string { return d.files.list() }

// Digest implements Tree.
func (d *Dir) Digest() string { return d.digest }

// ReadFile implements fs.ReadFileFS.
func (d *Dir) ReadFile(name string) ([]byte, error) { return readFile(d, name) }

// Open implements fs.FS. It reads and checks the whole file first.
func (d *Dir) Open(name string) (fs.File, error) {
	m, ok := d.Lookup(name)
	if !ok {
		return os.DirFS(d.root).Open(name) // it may be a folder
	}
	data, err := m.Read()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	info, err := os.Stat(d.Path(name))
	if err != nil {
		return nil, err
	}
	return &memberFile{Reader: bytes.NewReader(data), info: info}, nil
}

var _ Tree = (*Dir)(nil)
