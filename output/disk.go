// This part of the package does the file operations of publishing, each of which a test may let fail, locks a folder,
// and measures the free space of a disk.
//
// It must never know which files make a publication or in which order they are written.

package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tollbook/output/objects"
)

// disk does the file operations of publishing. A test's hook may fail an operation before or after doing it. Every
// error names the file, as the errors of package os do.
type disk struct {
	Hook func(op, path string, do func() error) error
}

func (d disk) Do(op, path string, do func() error) error {
	if d.Hook == nil {
		return do()
	}
	return d.Hook(op, path, do)
}

func (d disk) Mkdir(path string) error {
	return d.Do("mkdir", path, func() error { return os.MkdirAll(path, 0o755) })
}

func (d disk) Rename(from, to string) error {
	return d.Do("rename", to, func() error { return os.Rename(from, to) })
}

func (d disk) Link(from, to string) error {
	return d.Do("link", to, func() error { return os.Link(from, to) })
}

func (d disk) Symlink(target, path string) error {
	return d.Do("symlink", path, func() error { return os.Symlink(target, path) })
}

func (d disk) Remove(path string) error {
	return d.Do("remove", path, func() error { return os.RemoveAll(path) })
}

// Create creates a file that must not exist.
func (d disk) Create(path string) (f *os.File, err error) {
	err = d.Do("create", path, func() error {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		return err
	})
	if err != nil && f != nil {
		f.Close()
	}
	return f, err
}

// Writer returns f, with each write as an operation of its own.
func (d disk) Writer(f *os.File) io.Writer {
	if d.Hook == nil {
		return f
	}
	return hookedWriter{d, f}
}

type hookedWriter struct {
	disk disk
	f    *os.File
}

func (w hookedWriter) Write(p []byte) (n int, err error) {
	err = w.disk.Do("write", w.f.Name(), func() error {
		n, err = w.f.Write(p)
		return err
	})
	return n, err
}

// SyncAndClose makes a file's bytes durable and closes it.
func (d disk) SyncAndClose(f *os.File) error {
	err := d.Do("sync", f.Name(), f.Sync)
	return errors.Join(err, f.Close())
}

// SyncDir makes the names in a folder durable.
func (d disk) SyncDir(path string) error {
	return d.Do("syncdir", path, func() error { return objects.SyncDir(path) })
}

// Write creates a file that must not exist and fills it. The file is not yet durable.
func (d disk) Write(path string, fill func(io.Writer) error) error {
	f, err := d.Create(path)
	if err != nil {
		return err
	}
	err = fill(d.Writer(f))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Replace replaces the file at path. A reader sees the whole old file or the whole new one, also after a power failure.
func (d disk) Replace(path, temporary string, data []byte) error {
	f, err := d.Create(temporary)
	if err != nil {
		return err
	}
	_, err = d.Writer(f).Write(data)
	if err := errors.Join(err, d.SyncAndClose(f)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := d.Rename(temporary, path); err != nil {
		return err
	}
	return d.SyncDir(filepath.Dir(path))
}
