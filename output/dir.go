package output

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Dir is a tree of single files in a folder.
type Dir struct {
	root    string
	members map[string]Member
	names   []string
	digest  string
}

// OpenDir reads the SHA256SUMS of an expanded tree. It looks at no other file: one that is missing is an error when it
// is read.
func OpenDir(root string) (*Dir, error) {
	root, err := filepath.EvalSymlinks(root) // a link that moves later changes nothing for this tree
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(root, SumsFile))
	if err != nil {
		return nil, err
	}
	lines, err := parseSums(data)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", root, err)
	}
	digest := Sum(sha256.Sum256(data))
	d := &Dir{root: root, members: make(map[string]Member, len(lines)+1), digest: digest.String()}
	for _, l := range append(lines, named{SumsFile, digest}) {
		d.members[l.name] = Member{Name: l.name, Sum: l.sum}
		d.names = append(d.names, l.name)
	}
	slices.Sort(d.names)
	return d, nil
}

func (d *Dir) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

// Lookup implements Tree. A file that is listed but missing is found; reading it fails.
func (d *Dir) Lookup(name string) (Member, bool) {
	m, ok := d.members[name]
	if !ok {
		return Member{}, false
	}
	path := d.path(name)
	if info, err := os.Stat(path); err == nil {
		m.Size = info.Size()
	}
	m.section = func() (io.ReadCloser, int64, error) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, fmt.Errorf("read %s: %w: %w", name, ErrDamaged, err)
		}
		return f, m.Size, err
	}
	return m, true
}

// Names implements Tree.
func (d *Dir) Names() []string { return d.names }

// Digest implements Tree.
func (d *Dir) Digest() string { return d.digest }

// ReadFile implements fs.ReadFileFS.
func (d *Dir) ReadFile(name string) ([]byte, error) { return readFile(d, name) }

// Open implements fs.FS. A file is read and checked whole before the first byte is given out.
func (d *Dir) Open(name string) (fs.File, error) {
	m, ok := d.Lookup(name)
	if !ok {
		return os.DirFS(d.root).Open(name) // folders
	}
	data, err := m.Read()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	info, err := os.Stat(d.path(name))
	if err != nil {
		return nil, err
	}
	return &readMember{Reader: bytes.NewReader(data), info: info}, nil
}

var _ Tree = (*Dir)(nil)
