package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

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

// Expansion is the choice between every file and those of Expand.
type Expansion struct {
	All    bool `json:"all"`    // every file is an object
	Files  int  `json:"files"`  // that are objects
	Writes int  `json:"writes"` // a day, if every file were an object and changed in each publication
	Limit  int  `json:"limit"`  // of Writes
}

// period returns the time from the publication of a snapshot to the next one. It is 0 if the snapshot does not say when
// the next build is due, as after a rollback.
func (o *PublishOptions) period(c archive.Checkpoint) time.Duration {
	next := c.Next().Sub(c.Built())
	if next <= 0 {
		return 0
	}
	return max(next, o.Every)
}

// perDay returns the number of periods in a day; 0 for an unknown period.
func perDay(period time.Duration) float64 {
	if period <= 0 {
		return 0
	}
	return float64(24*time.Hour) / float64(period)
}

// writesPerDay returns how many objects are written a day if all of them change in each publication.
func writesPerDay(files int, period time.Duration) int {
	return int(math.Ceil(float64(files) * perDay(period)))
}

// chooseExpansion returns the files of a tree that become objects, with their sums. A place keeps the objects that it
// has, whatever they cost, because readers may use them: it has all files, or those of Expand, to which the others are
// added when they are cheap. A place without objects gets all or none. If the schedule is unknown, nothing changes.
func (p *Publisher) chooseExpansion(tree archive.Tree, there map[string]archive.Sum, r *Published) (
	map[string]archive.Sum, error) {
	expand := p.o.Expand
	if len(there) == 0 {
		expand = nil
	}
	all := false // a file is there that is not of Expand
	for name := range there {
		all = all || expand == nil || !expand(name)
	}
	if period := p.o.period(r.Checkpoint); period > 0 {
		writes := writesPerDay(len(tree.Names()), period)
		all = all || writes <= p.o.AllBelow
		r.Expansion = &Expansion{All: all, Writes: writes, Limit: p.o.AllBelow}
	}
	if all {
		expand = func(string) bool { return true }
	}
	want, err := wantedSums(tree, expand)
	if r.Expansion != nil {
		r.Expansion.Files = len(want)
	}
	return want, err
}

// findExpanded finds objects that may have been expanded if the list is lost: every object whose name could be that of
// a snapshot's file. Objects of strangers are excluded, unless they are in a folder of the tree and, if the store keeps
// headers, have the cache policy that we give to their name.
func (p *Publisher) findExpanded(ctx context.Context, tree archive.Tree) (map[string]archive.Sum, error) {
	list, err := p.store.List(ctx, "")
	if err != nil {
		return nil, err
	}
	folders := map[string]bool{}
	for _, name := range tree.Names() {
		if top, _, nested := strings.Cut(name, "/"); nested {
			folders[top] = true
		}
	}
	expanded := map[string]archive.Sum{}
	var unsure []string
	for _, obj := range list {
		top, _, nested := strings.Cut(obj.Name, "/")
		switch _, inTree := tree.Lookup(obj.Name); {
		case archive.CheckName(obj.Name) != nil || isOwn(obj.Name):
		case inTree:
			expanded[obj.Name] = archive.Sum{}
		case folders[top] && (nested || p.store.KeepsHeader()):
			unsure = append(unsure, obj.Name)
		}
	}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(writersAtOnce)
	for _, name := range unsure {
		g.Go(func() error {
			ours, err := p.isOurs(gctx, name)
			if ours {
				mu.Lock()
				defer mu.Unlock()
				expanded[name] = archive.Sum{}
			}
			return err
		})
	}
	return expanded, g.Wait()
}

// isOurs reports whether an object has the cache policy that we would give to it.
func (p *Publisher) isOurs(ctx context.Context, name string) (bool, error) {
	if !p.store.KeepsHeader() || p.o.Header == nil {
		return true, nil
	}
	obj, err := p.store.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && obj.Header.Cache == p.o.Header(name).Cache, err
}
