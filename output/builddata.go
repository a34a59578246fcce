package output

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// AddDataFile appends a file below data/ to the snapshot, which the zip stores as write writes it. The bytes go through
// a temporary file and are never in memory as a whole. If write returns an error, nothing is added.
func (b *Build) AddDataFile(name string, write func(io.Writer) error) (file archive.DataFile, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("add data file %.80q: %w", name, err)
		}
	}()
	if _, _, isDay := archive.ParseDataDay(name); isDay || !strings.HasPrefix(name, archive.DataDir+"/") ||
		name == archive.DataIndex {
		return file, fmt.Errorf("%w: want a file below %s/ that is not of a day", archive.ErrName, archive.DataDir)
	}
	d := b.folder
	f, err := d.disk.Create(filepath.Join(d.root, archive.SnapshotsDir, objects.TempPrefix+archive.DataDir))
	if err != nil {
		return file, err
	}
	// A crash here leaves a temporary file; the next Begin removes it.
	defer func() { err = errors.Join(err, f.Close(), d.disk.Remove(f.Name())) }()
	if err := write(d.disk.Writer(f)); err != nil {
		return file, err
	}
	info, err := f.Stat()
	if err != nil {
		return file, err
	}
	sum, err := b.zip.AddStored(name, f, info.Size())
	return archive.DataFile{Name: name, Bytes: info.Size(), Sum: sum}, err
}

// HasDataDay reports whether a table's file of a day ("2026-11-20") is published.
func (d *Folder) HasDataDay(table, day string) bool {
	_, err := os.Stat(d.dataPath(archive.DataDayName(table, day)))
	return err == nil
}

// AddDataDay writes a table's file of a day, which is published with the snapshot and belongs to every later one that
// names it in archive.DataIndex. If the file already exists, AddDataDay keeps it and does not call write.
func (b *Build) AddDataDay(table, day string, write func(io.Writer) error) error {
	name := archive.DataDayName(table, day)
	if _, _, ok := archive.ParseDataDay(name); !ok {
		return fmt.Errorf("add data day %.80q: %w: want a table and a day such as 2026-11-20", name, archive.ErrName)
	}
	if _, added := b.days[name]; added || b.folder.HasDataDay(table, day) {
		return nil
	}
	return b.writeDataDay(name, func(w io.Writer) (bool, error) { return true, write(w) })
}

// RewriteDataDay writes a published file of a day again. change reads the old file and writes the new one; if it
// returns false, the old file stays. Commit replaces the old file. A file that this build has already written counts as
// the old one.
func (b *Build) RewriteDataDay(table, day string,
	change func(old io.ReaderAt, size int64, w io.Writer) (changed bool, err error)) error {
	name := archive.DataDayName(table, day)
	path := b.folder.dataPath(name)
	if _, added := b.days[name]; added {
		path = b.tempDataDay(name)
	}
	old, err := objects.OpenBody(path)
	if err != nil {
		return fmt.Errorf("rewrite data day: %w", err)
	}
	defer old.Close()
	return b.writeDataDay(name, func(w io.Writer) (bool, error) { return change(old, old.Size(), w) })
}

// writeDataDay writes a file of a day under a temporary name and reads it back. It drops the file unless write returns
// true.
func (b *Build) writeDataDay(name string, write func(io.Writer) (wanted bool, err error)) error {
	d := b.folder
	if err := d.disk.Mkdir(filepath.Dir(d.dataPath(name))); err != nil {
		return fmt.Errorf("add data day: %w", err)
	}
	f, err := d.disk.Create(b.tempDataDay(name) + ".new")
	if err != nil {
		return fmt.Errorf("add data day: %w", err)
	}
	sum := sha256.New()
	count := &countedWriter{w: io.MultiWriter(d.disk.Writer(f), sum)}
	wanted, err := write(count)
	if err != nil || !wanted {
		if err := errors.Join(err, f.Close(), d.disk.Remove(f.Name())); err != nil {
			return fmt.Errorf("add data day %s: %w", name, err)
		}
		return nil
	}
	if err := d.disk.SyncAndClose(f); err != nil {
		return fmt.Errorf("add data day %s: %w", f.Name(), err)
	}
	if err := readBack(f.Name(), sum); err != nil {
		return fmt.Errorf("add data day: %w", err)
	}
	if err := d.disk.Rename(f.Name(), b.tempDataDay(name)); err != nil {
		return fmt.Errorf("add data day: %w", err)
	}
	if b.days == nil {
		b.days = map[string]archive.DataFile{}
	}
	b.days[name] = archive.DataFile{Name: name, Bytes: count.n, Sum: archive.Sum(sum.Sum(nil))}
	return nil
}

// countedWriter counts the bytes written to w.
type countedWriter struct {
	w io.Writer
	n int64
}

func (c *countedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func (b *Build) tempDataDay(name string) string {
	path := b.folder.dataPath(name)
	return filepath.Join(filepath.Dir(path), objects.TempPrefix+filepath.Base(path))
}

// DataDays returns the files of days as they are after Commit, by name: the published ones, and those that this build
// added or rewrote.
func (b *Build) DataDays() ([]archive.DataFile, error) {
	days, err := b.folder.dataDays(true)
	if err != nil {
		return nil, err
	}
	after := map[string]archive.DataFile{}
	for _, f := range days {
		after[f.Name] = f
	}
	maps.Copy(after, b.days)
	return slices.SortedFunc(maps.Values(after), compareNames), nil
}

func compareNames(a, b archive.DataFile) int { return strings.Compare(a.Name, b.Name) }

// publishDays gives the new files of days their names. The sum of a file is stored after the file, and an old sum is
// removed before: a missing sum is computed again, and a wrong one would damage every later snapshot.
func (b *Build) publishDays() error {
	d := b.folder
	var replaced, folders []string
	for _, name := range slices.Sorted(maps.Keys(b.days)) {
		folder := filepath.Dir(d.dataPath(name))
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		if _, err := os.Stat(d.dataSumPath(name)); err != nil {
			continue
		}
		if err := d.disk.Remove(d.dataSumPath(name)); err != nil {
			return err
		}
		if !slices.Contains(replaced, folder) {
			replaced = append(replaced, folder)
		}
	}
	for _, folder := range replaced {
		if err := d.disk.SyncDir(folder); err != nil {
			return err
		}
	}
	// A crash here leaves old files without sums; the next build computes them.

	for _, name := range slices.Sorted(maps.Keys(b.days)) {
		if err := d.disk.Rename(b.tempDataDay(name), d.dataPath(name)); err != nil {
			return err
		}
	}
	for _, folder := range folders {
		if err := d.disk.SyncDir(folder); err != nil {
			return err
		}
	}
	// A crash here leaves files of days without the snapshot that names them; the next build finds and keeps them. If a
	// file was rewritten, the current snapshot names its old bytes until the next build.

	for name, f := range b.days {
		if err := d.storeDataSum(name, f.Sum); err != nil {
			return err
		}
	}
	return nil
}
