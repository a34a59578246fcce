package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// expand writes the snapshot's files to tree/<id>. A file that the previous tree has with the same bytes becomes a link
// to it.
func (b *Build) expand(ctx context.Context, id string, r *Result) error {
	d := b.folder
	if _, err := os.Lstat(d.treePath(id)); err == nil {
		return nil // the rename to this name came last, so the tree is complete
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	z, err := archive.OpenZipFile(d.snapshotPath(id))
	if err != nil {
		return err
	}
	defer z.Close()
	temp := filepath.Join(d.root, treeDir, objects.TempPrefix+id)
	if err := d.disk.Remove(temp); err != nil {
		return err
	}
	e := expansion{disk: d.disk, to: temp, before: b.openPreviousTree(), packed: b.opts.Packed}
	if err := e.folders(z.Names()); err != nil {
		return err
	}
	if err := archive.EachMember(ctx, z, e.file); err != nil {
		return err
	}
	r.Written, r.Linked = int(e.written.Load()), int(e.linked.Load())
	if err := d.disk.Do("syncfs", temp, func() error { return objects.SyncFiles(temp) }); err != nil {
		return fmt.Errorf("sync %s: %w", temp, err)
	}
	if err := d.disk.Rename(temp, d.treePath(id)); err != nil {
		return err
	}
	return d.disk.SyncDir(filepath.Join(d.root, treeDir))
}

// openPreviousTree opens the tree that current names; nil if there is none to link to.
func (b *Build) openPreviousTree() *archive.Dir {
	id := b.folder.treeID()
	if id == "" || b.opts.Full {
		return nil
	}
	t, err := archive.OpenDir(b.folder.treePath(id))
	if err != nil {
		return nil
	}
	return t
}

// expansion writes one tree.
type expansion struct {
	disk            disk
	to              string
	before          *archive.Dir
	packed          bool // write a gzip body beside each file that the zip stores compressed
	written, linked atomic.Int64
}

// folders creates every folder of the tree.
func (e *expansion) folders(names []string) error {
	last := ""
	for _, name := range names {
		dir := filepath.Join(e.to, filepath.FromSlash(name), "..")
		if dir == last {
			continue
		}
		if err := e.disk.Mkdir(dir); err != nil {
			return err
		}
		last = dir
	}
	return nil
}

// file links or writes one file, and its gzip body if there is one.
func (e *expansion) file(m archive.Member) error {
	var same bool
	if e.before != nil {
		old, ok := e.before.Lookup(m.Name)
		same = ok && old.Sum == m.Sum && old.Size == m.Size
	}
	linked, err := e.put(m.Name, same, func(w io.Writer) error { return m.CopyTo(w) })
	if err != nil {
		return err
	}
	if linked {
		e.linked.Add(1)
	} else {
		e.written.Add(1)
	}
	if e.packed && m.IsDeflated() {
		_, err = e.put(m.Name+".gz", same, func(w io.Writer) error { return m.CopyGzip(w) })
	}
	return err
}

// put links a file to the same file of the previous tree if same is set, and otherwise writes it.
func (e *expansion) put(name string, same bool, fill func(io.Writer) error) (linked bool, err error) {
	path := filepath.Join(e.to, filepath.FromSlash(name))
	if same {
		if err := e.disk.Link(e.before.Path(name), path); err == nil {
			return true, nil
		}
		// Linking fails with too many links, on a file system without links, or if the file was removed. Write the file
		// instead.
		if err := e.disk.Remove(path); err != nil {
			return false, err
		}
	}
	return false, e.disk.Write(path, fill)
}
