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
	hook func(op, path string, do func() error) error
}

func (d disk) do(op, path string, do func() error) error {
	if d.hook == nil {
		return do()
	}
	return d.hook(op, path, do)
}

func (d disk) mkdir(path string) error {
	return d.do("mkdir", path, func() error { return os.MkdirAll(path, 0o755) })
}

func (d disk) rename(from, to string) error {
	return d.do("rename", to, func() error { return os.Rename(from, to) })
}

func (d disk) link(from, to string) error {
	return d.do("link", to, func() error { return os.Link(from, to) })
}

func (d disk) symlink(target, path string) error {
	return d.do("symlink", path, func() error { return os.Symlink(target, path) })
}

func (d disk) remove(path string) error {
	return d.do("remove", path, func() error { return os.RemoveAll(path) })
}

// create creates a file that must not exist.
func (d disk) create(path string) (f *os.File, err error) {
	err = d.do("create", path, func() error {
		f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		return err
	})
	if err != nil && f != nil {
		f.Close()
	}
	return f, err
}

// writer returns f, with each write as an operation of its own.
func (d disk) writer(f *os.File) io.Writer {
	if d.hook == nil {
		return f
	}
	return hookedWriter{d, f}
}

type hookedWriter struct {
	disk disk
	f    *os.File
}

func (w hookedWriter) Write(p []byte) (n int, err error) {
	err = w.disk.do("write", w.f.Name(), func() error {
		n, err = w.f.Write(p)
		return err
	})
	return n, err
}

// syncAndClose makes a file's bytes durable and closes it.
func (d disk) syncAndClose(f *os.File) error {
	err := d.do("sync", f.Name(), f.Sync)
	return errors.Join(err, f.Close())
}

// syncDir makes the names in a folder durable.
func (d disk) syncDir(path string) error {
	return d.do("syncdir", path, func() error { return objects.SyncDir(path) })
}

// write creates a file that must not exist and fills it. The file is not yet durable.
func (d disk) write(path string, fill func(io.Writer) error) error {
	f, err := d.create(path)
	if err != nil {
		return err
	}
	err = fill(d.writer(f))
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// replace replaces the file at path. A reader sees the whole old file or the whole new one, also after a power failure.
func (d disk) replace(path, temporary string, data []byte) error {
	f, err := d.create(temporary)
	if err != nil {
		return err
	}
	_, err = d.writer(f).Write(data)
	if err := errors.Join(err, d.syncAndClose(f)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := d.rename(temporary, path); err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}
