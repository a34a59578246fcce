package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// origin is where a source reads a publication from. All methods may be called concurrently.
type origin interface {
	// readPointer returns the state of the pointer; before is the last one.
	readPointer(before pointer) (pointer, error)
	// open opens the snapshot of a pointer, retained once.
	open(p pointer) (*Snapshot, error)
	// openID opens a snapshot by its id, retained once. It returns an error that wraps fs.ErrNotExist if there is none.
	openID(c archive.Checkpoint) (*Snapshot, error)
	// hasSnapshot reports whether a snapshot with an id exists.
	hasSnapshot(id string) (bool, error)
	// openPack opens the pack of an hour; dir is the folder of the snapshot's packs.
	openPack(dir, hour string) (*archive.ZipFile, error)
	// objects returns the store that contains the zips of the publication.
	objects() objects.Store
	// pollInterval is the time between two reads of the pointer.
	pollInterval() time.Duration
	String() string
}

// pointer is the state of a publication's pointer. In a folder it consists of the metadata of the checkpoint's file or
// of a tree's files, in a store of the ETag and the checkpoint.
type pointer struct {
	files      []os.FileInfo
	etag       string
	checkpoint archive.Checkpoint
	err        error // why the checkpoint is invalid
}

func (p pointer) equal(q pointer) bool {
	if len(p.files) != len(q.files) || p.etag != q.etag {
		return false
	}
	for i := range p.files {
		if !os.SameFile(p.files[i], q.files[i]) || !p.files[i].ModTime().Equal(q.files[i].ModTime()) ||
			p.files[i].Size() != q.files[i].Size() {
			return false
		}
	}
	return true
}

// folderOrigin is an origin on disk: a Folder's root, or a tree by itself.
type folderOrigin struct{ root string }

func (f folderOrigin) String() string              { return f.root }
func (f folderOrigin) pollInterval() time.Duration { return 250 * time.Millisecond }
func (f folderOrigin) objects() objects.Store      { return objects.StoreDirAt(f.root) }

func (f folderOrigin) readPointer(pointer) (pointer, error) {
	if info, err := os.Stat(filepath.Join(f.root, archive.CheckpointFile)); err == nil {
		return pointer{files: []os.FileInfo{info}}, nil
	}
	var p pointer
	for _, path := range []string{f.root, filepath.Join(f.root, archive.SumsFile)} {
		if info, err := os.Stat(path); err == nil {
			p.files = append(p.files, info)
		}
	}
	return p, nil
}

func (f folderOrigin) open(pointer) (*Snapshot, error) {
	c, err := archive.ReadCheckpoint(filepath.Join(f.root, archive.CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return f.openTree()
	}
	if err != nil {
		return nil, err
	}
	snap, err := f.openID(c)
	if errors.Is(err, fs.ErrNotExist) {
		if dir, dirErr := archive.OpenDir(f.root); dirErr == nil { // a tree with its checkpoint beside it
			return newSnapshot(dir, c, filepath.Join(f.root, archive.PacksDir)), nil
		}
	}
	return snap, err
}

// openTree opens a tree without a checkpoint. The id is the name of the tree, or is made of the time and digest of its
// SHA256SUMS. The time of the next build is unknown; NextAt is the time of this one.
func (f folderOrigin) openTree() (*Snapshot, error) {
	dir, err := archive.OpenDir(f.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", f.root, ErrEmpty)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(dir.Path(archive.SumsFile))
	if err != nil {
		return nil, err
	}
	id, packs := filepath.Base(dir.Root()), filepath.Join(f.root, archive.PacksDir)
	built, ok := archive.ParseSnapshotID(id)
	if ok { // public/tree/<id>
		packs = filepath.Join(dir.Root(), "..", "..", archive.PacksDir)
	} else {
		built = info.ModTime()
		id = archive.SnapshotID(built, dir.Digest())
	}
	at := built.UTC().Format(archive.TimeLayout)
	return newSnapshot(dir, archive.Checkpoint{Snapshot: id, BuiltAt: at, NextAt: at, Digest: dir.Digest()}, packs), nil
}

// openID opens the zip of a snapshot, or its tree if the zip is missing.
func (f folderOrigin) openID(c archive.Checkpoint) (*Snapshot, error) {
	packs := filepath.Join(f.root, archive.PacksDir)
	z, err := archive.OpenZipFile(filepath.Join(f.root, archive.SnapshotsDir, c.Snapshot+".zip"))
	if err == nil {
		snap := newSnapshot(z, c, packs)
		snap.close = z.Close
		return snap, nil
	}
	if errors.Is(err, fs.ErrNotExist) { // return the error of the zip unless the tree exists
		if dir, dirErr := archive.OpenDir(filepath.Join(f.root, treeDir, c.Snapshot)); dirErr == nil {
			return newSnapshot(dir, c, packs), nil
		}
	}
	return nil, err
}

func (f folderOrigin) hasSnapshot(id string) (bool, error) {
	for _, path := range []string{filepath.Join(f.root, archive.SnapshotsDir, id+".zip"),
		filepath.Join(f.root, treeDir, id, archive.SumsFile)} {
		if _, err := os.Stat(path); err == nil {
			return true, nil
		}
	}
	return false, nil
}

func (f folderOrigin) openPack(dir, hour string) (*archive.ZipFile, error) {
	return archive.OpenZipFile(filepath.Join(dir, hour+".zip"))
}

// storeOrigin is an origin in a store, read by ranges.
type storeOrigin struct {
	store  objects.Store
	blocks *objects.BlockCache
}

func (r *storeOrigin) String() string         { return r.store.String() }
func (r *storeOrigin) objects() objects.Store { return r.store }

// pollInterval: each poll is one request. A million requests cost a few tenths of a dollar.
func (r *storeOrigin) pollInterval() time.Duration { return 2 * time.Second }

func (r *storeOrigin) readPointer(before pointer) (pointer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), objects.FetchTime)
	defer cancel()
	obj, data, err := objects.ReadObject(ctx, r.store, archive.CheckpointFile, objects.GetOptions{IfNone: before.etag},
		archive.MaxCheckpoint)
	switch {
	case errors.Is(err, objects.ErrSame):
		return before, nil
	case errors.Is(err, fs.ErrNotExist):
		return pointer{etag: "none", err: fmt.Errorf("%s: %w", r.store, ErrEmpty)}, nil
	case err != nil:
		return pointer{}, objects.Unreachable(err)
	}
	p := pointer{etag: obj.ETag}
	if p.checkpoint, p.err = archive.ParseCheckpoint(data); p.err != nil {
		p.err = fmt.Errorf("%s: %w", r.store, p.err)
	}
	return p, nil
}

func (r *storeOrigin) open(p pointer) (*Snapshot, error) {
	if p.err != nil {
		return nil, p.err
	}
	return r.openID(p.checkpoint)
}

func (r *storeOrigin) openID(c archive.Checkpoint) (*Snapshot, error) {
	z, err := objects.OpenZip(r.blocks, archive.SnapshotName(c.Snapshot))
	if err != nil {
		return nil, err
	}
	return newSnapshot(z, c, ""), nil
}

func (r *storeOrigin) hasSnapshot(id string) (bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), objects.FetchTime)
	defer cancel()
	_, err := r.store.Stat(ctx, archive.SnapshotName(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, objects.Unreachable(err)
}

func (r *storeOrigin) openPack(_, hour string) (*archive.ZipFile, error) {
	return objects.OpenZip(r.blocks, archive.PackName(hour))
}
