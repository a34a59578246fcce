package objects

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"tollbook/output/archive"
)

// StoreDir is a store in a folder. Each object is a file, written under a temporary name and renamed. It keeps no
// headers. Every Put syncs file and folder; the first one without NoSync after some with it syncs the file system.
type StoreDir struct {
	root     string
	unsynced atomic.Bool // a Put with NoSync is not yet durable
	serial   atomic.Int64
	created  sync.Map // folders that exist
}

// TempPrefix begins the names of unfinished files; the next publisher removes them.
const TempPrefix = ".tmp-"

// storeLock is locked while a condition is checked and its object is written.
const storeLock = TempPrefix + "store.lock"

// etagBytes is the size up to which a file's ETag is its sum. The ETag of a larger file comes from its metadata, which
// may stay the same if the file is replaced twice within a tick of the clock.
const etagBytes = 64 << 10

// OpenStoreDir opens a folder. The first Put creates it.
func OpenStoreDir(root string) (*StoreDir, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", root, err)
	}
	if info, err := os.Stat(abs); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open store %s: not a folder", abs)
	}
	return StoreDirAt(abs), nil
}

// StoreDirAt opens a folder by its absolute path.
func StoreDirAt(path string) *StoreDir { return &StoreDir{root: path} }

// String implements Store.
func (d *StoreDir) String() string { return d.root }

// KeepsHeader implements Store.
func (d *StoreDir) KeepsHeader() bool { return false }

func (d *StoreDir) path(name string) (string, error) {
	if err := archive.CheckName(name); err != nil {
		return "", err
	}
	return filepath.Join(d.root, filepath.FromSlash(name)), nil
}

// Put implements Store.
func (d *StoreDir) Put(ctx context.Context, name string, body Body, o PutOptions) (etag string, err error) {
	path, err := d.path(name)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && (o.IfNone || o.IfMatch != "") {
		var unlock func()
		if unlock, err = d.lockFor(path, name, o); err == nil {
			defer unlock()
		}
	}
	if err == nil {
		err = d.write(ctx, path, body, &o)
	}
	if err != nil {
		return "", fmt.Errorf("put %s: %w", name, err)
	}
	obj, err := d.Stat(ctx, name)
	return obj.ETag, err
}

// lockFor locks the store and checks the condition of a Put under the lock.
func (d *StoreDir) lockFor(path, name string, o PutOptions) (unlock func(), err error) {
	if err := d.mkdir(d.root); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(d.root, storeLock), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	obj, err := d.stat(path, name)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case err != nil && !missing:
	case o.IfNone && !missing, o.IfMatch != "" && obj.ETag != o.IfMatch:
		err = archive.ErrCondition
	default:
		err = nil
	}
	if err != nil {
		d.unlock(f)
		return nil, err
	}
	return func() { d.unlock(f) }, nil
}

// unlock releases the lock. Closing the file is not enough: a process that starts meanwhile has every open file for a
// moment.
func (d *StoreDir) unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	f.Close()
}

// write writes a body and renames it to path.
func (d *StoreDir) write(ctx context.Context, path string, body Body, o *PutOptions) error {
	if err := d.mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	if !o.NoSync && d.unsynced.Swap(false) {
		if err := SyncFiles(d.root); err != nil {
			d.unsynced.Store(true)
			return err
		}
	}
	temp := filepath.Join(d.root, fmt.Sprintf("%s%d-%d", TempPrefix, os.Getpid(), d.serial.Add(1)))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.NewSectionReader(body, 0, body.Size()))
	if err == nil && !o.NoSync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = o.wait(ctx)
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	if o.NoSync {
		d.unsynced.Store(true)
		return nil
	}
	return SyncDir(filepath.Dir(path))
}

func (d *StoreDir) mkdir(path string) error {
	if _, ok := d.created.Load(path); ok {
		return nil
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	d.created.Store(path, true)
	return nil
}

// Get implements Store.
func (d *StoreDir) Get(_ context.Context, name string, o GetOptions) (Object, io.ReadCloser, error) {
	path, err := d.path(name)
	if err != nil {
		return Object{}, nil, fmt.Errorf("get %s: %w", name, err)
	}
	f, err := archive.OpenFile(path)
	if err != nil {
		return Object{}, nil, fmt.Errorf("get %s: %w", name, err)
	}
	obj, err := statFile(f, name)
	switch {
	case err != nil:
	case o.IfMatch != "" && obj.ETag != o.IfMatch:
		err = archive.ErrCondition
	case o.IfNone != "" && obj.ETag == o.IfNone:
		err = ErrSame
	case o.Offset < 0 || o.Offset > obj.Size:
		err = fmt.Errorf("%w: byte %d of %d", archive.ErrCondition, o.Offset, obj.Size)
	}
	if err != nil {
		f.Close()
		return Object{}, nil, fmt.Errorf("get %s: %w", name, err)
	}
	length := obj.Size - o.Offset
	if o.Length > 0 {
		length = min(length, o.Length)
	}
	return obj, &FileBody{io.NewSectionReader(f, o.Offset, length), f}, nil
}

// Stat implements Store.
func (d *StoreDir) Stat(_ context.Context, name string) (Object, error) {
	path, err := d.path(name)
	if err != nil {
		return Object{}, fmt.Errorf("stat %s: %w", name, err)
	}
	return d.stat(path, name)
}

func (d *StoreDir) stat(path, name string) (Object, error) {
	f, err := archive.OpenFile(path)
	if err != nil {
		return Object{}, fmt.Errorf("stat %s: %w", name, err)
	}
	defer f.Close()
	return statFile(f, name)
}

func statFile(f *os.File, name string) (Object, error) {
	info, err := f.Stat()
	if err != nil {
		return Object{}, err
	}
	if info.IsDir() {
		return Object{}, fmt.Errorf("%s is a folder: %w", name, fs.ErrNotExist)
	}
	obj := Object{Name: name, Size: info.Size(), Modified: info.ModTime()}
	if info.Size() <= etagBytes {
		h := sha256.New()
		if _, err := io.Copy(h, io.NewSectionReader(f, 0, info.Size())); err != nil {
			return Object{}, err
		}
		obj.ETag = fmt.Sprintf("%x", h.Sum(nil))
		return obj, nil
	}
	var inode uint64
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = st.Ino
	}
	obj.ETag = fmt.Sprintf("%x-%x-%x", inode, info.ModTime().UnixNano(), info.Size())
	return obj, nil
}

// List implements Store.
func (d *StoreDir) List(ctx context.Context, folder string) ([]Object, error) {
	var list []Object
	err := filepath.WalkDir(filepath.Join(d.root, filepath.FromSlash(folder)),
		func(path string, e fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), TempPrefix) {
				return err
			}
			info, err := e.Info()
			if err != nil {
				return err
			}
			name, err := filepath.Rel(d.root, path)
			list = append(list, Object{Name: filepath.ToSlash(name), Size: info.Size(), Modified: info.ModTime()})
			return err
		})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	slices.SortFunc(list, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Delete implements Store. It also removes folders that become empty.
func (d *StoreDir) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		path, err := d.path(name)
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete %s: %w", name, err)
		}
		for dir := filepath.Dir(path); dir != d.root; dir = filepath.Dir(dir) {
			d.created.Delete(dir)
			if os.Remove(dir) != nil {
				break // the folder is not empty
			}
		}
	}
	return nil
}

// Sweep implements Store. It removes all remains, because a Put begins anew.
func (d *StoreDir) Sweep(context.Context, string) error {
	entries, err := os.ReadDir(d.root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sweep %s: %w", d.root, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), TempPrefix) && e.Name() != storeLock {
			if err := os.Remove(filepath.Join(d.root, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("sweep: %w", err)
			}
		}
	}
	return nil
}

// Traffic implements Store.
func (d *StoreDir) Traffic() Traffic { return Traffic{} }

var _ Store = (*StoreDir)(nil)
