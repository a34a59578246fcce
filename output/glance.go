package output

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Files are files of a tree, by name.
type Files interface {
	Lookup(name string) (Member, bool)
	ReadFile(name string) ([]byte, error)
}

// openFiles are Files that are closed when they were read.
type openFiles interface {
	Files
	io.Closer
}

// glance is a zip on disk of which the directory alone was read: a file is found, and held to its CRC, in a fifth of the time
// that it takes to read the sums of all.
type glance struct {
	zip   Zip // that members are read from
	names *hashed
	files []entry // in the order of names
	file  *os.File
}

func glanceAt(path string) (*glance, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	g := &glance{file: f}
	if err := g.read(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

func (g *glance) read() error {
	info, err := g.file.Stat()
	if err != nil {
		return err
	}
	g.zip = Zip{r: g.file, size: info.Size()}
	end, err := readZipEnd(g.file, info.Size())
	if err != nil {
		return err
	}
	g.names, g.files = newHashed(int(end.records)), make([]entry, 0, end.records)
	return eachRecord(g.file, end, func(rec record) error {
		if len(g.files) == cap(g.files) {
			return fmt.Errorf("%w: more files than its end says", ErrDamaged)
		}
		var e entry
		if err := g.zip.place(&e, rec); err != nil {
			return err
		}
		g.names.add(rec.name)
		g.files = append(g.files, e)
		return nil
	})
}

// Lookup implements Files.
func (g *glance) Lookup(name string) (Member, bool) {
	i, ok := g.names.find([]byte(name))
	if !ok {
		return Member{}, false
	}
	m := g.files[i].member(name, &g.zip)
	m.unsummed = true
	return m, true
}

// ReadFile implements Files.
func (g *glance) ReadFile(name string) ([]byte, error) {
	m, ok := g.Lookup(name)
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return m.Read()
}

// Close closes the file.
func (g *glance) Close() error { return g.file.Close() }
