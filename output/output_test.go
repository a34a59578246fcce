package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tollbook/output/archive"
)

var t0 = time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC)

// tempDir returns a folder on a memory file system if there is one: thousands of small files are slow on disks.
func tempDir(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-output-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// tree returns the files of a small snapshot; n changes some of them.
func tree(n int) map[string]string {
	return map[string]string{
		"index.html":            fmt.Sprintf("<h1>Build %d</h1>", n),
		"v1/services.json":      strings.Repeat(fmt.Sprintf("row %d, ", n), 500),
		"v1/services/acme.json": strings.Repeat("the same in every build, ", 100),
		"v1/services/zeta.json": "short",
	}
}

// publish builds and publishes files, with one pack and notes of the time.
func publish(d *Folder, now time.Time, files map[string]string) (Result, error) {
	return publishAs(d, BuildOptions{Now: now}, files)
}

func publishAs(d *Folder, o BuildOptions, files map[string]string) (Result, error) {
	now := o.Now
	if o.Next.IsZero() {
		o.Next = now.Add(15 * time.Minute)
	}
	b, err := d.Begin(context.Background(), o)
	if err != nil {
		return Result{}, err
	}
	defer b.Abort()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := addFile(b, name, files[name]); err != nil {
			return Result{}, err
		}
	}
	b.SetNotes([]byte(notesOf(now)))
	hour := archive.HourOf(now)
	if !d.HasPack(hour) {
		err = b.AddPack(hour, func(add func(string, []byte) error) error {
			return add("v1/checks/block=0.json", []byte("rows of "+hour))
		})
		if err != nil {
			return Result{}, err
		}
	}
	return b.Commit(context.Background())
}

// addFile adds a file of a snapshot as its name requires. The index names all days.
func addFile(b *Build, name, text string) error {
	write := func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
	table, day, isDay := archive.ParseDataDay(name)
	switch {
	case isDay:
		return b.AddDataDay(table, day, write)
	case name == archive.DataIndex:
		days, err := b.DataDays()
		if err != nil {
			return err
		}
		return b.Add(name, indexOf(days))
	case strings.HasPrefix(name, archive.DataDir+"/"):
		_, err := b.AddDataFile(name, write)
		return err
	}
	return b.Add(name, []byte(text))
}

// indexOf returns an index of the tables that names some days.
func indexOf(days []archive.DataFile) []byte {
	var parts []string
	for _, f := range days {
		path := strings.TrimPrefix(f.Name, archive.DataDir+"/")
		parts = append(parts, fmt.Sprintf(`{"path":%q,"bytes":%d,"hash":"sha256:%s"}`, path, f.Bytes, f.Sum))
	}
	return []byte(`{"resources":[{"parts":[` + strings.Join(parts, ",") + `]}]}`)
}

// dataTree returns the files of a snapshot with tables, of which each n has a day more.
func dataTree(n int) map[string]string {
	files := tree(n)
	files["data/services.parquet"] = strings.Repeat(fmt.Sprintf("service of %d ", n), 3000)
	files[dayOf(n)] = strings.Repeat(fmt.Sprintf("check of %d ", n), 2000)
	files["data/zz.parquet"] = "" // sorts after the index, which may be added at any time after the days
	files[archive.DataIndex] = ""
	return files
}

// dayOf returns the name of the file of a day that dataTree adds.
func dayOf(n int) string {
	return archive.DataDayName("checks", t0.AddDate(0, 0, n).Format(time.DateOnly))
}

func notesOf(now time.Time) string { return "of " + now.UTC().Format(archive.TimeLayout) }

func mustPublish(t testing.TB, d *Folder, now time.Time, files map[string]string) Result {
	t.Helper()
	r, err := publish(d, now, files)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func openFolder(t testing.TB, dir string) *Folder {
	t.Helper()
	d, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkWhole checks what must be true of a publication at every moment. The checkpoint names a snapshot that verifies,
// the link "current" points to a complete tree, every pack is complete, and notes with the digest of the snapshot are
// its own.
func checkWhole(root string) error {
	d, err := OpenFolder(root)
	if err != nil {
		return err
	}
	c, err := d.Checkpoint()
	switch {
	case errors.Is(err, ErrEmpty):
	case err != nil:
		return err
	default:
		z, err := archive.OpenZipFile(d.snapshotPath(c.Snapshot))
		if err != nil {
			return err
		}
		defer z.Close()
		if err := archive.Verify(context.Background(), z, c.Digest); err != nil {
			return err
		}
		if notes := readNotes(d, c.Snapshot); notes != "" && notes != notesOf(c.Built()) {
			return fmt.Errorf("notes %q of another snapshot than %s", notes, c.Snapshot)
		}
	}
	if _, err := os.Lstat(filepath.Join(root, currentLink)); err == nil {
		t, err := archive.OpenDir(filepath.Join(root, currentLink))
		if err != nil {
			return err
		}
		if err := archive.Verify(context.Background(), t, ""); err != nil {
			return fmt.Errorf("current: %w", err)
		}
		if id := d.treeID(); !strings.HasSuffix(id, t.Digest()[:6]) {
			return fmt.Errorf("current is %s, its tree has digest %s", id, t.Digest())
		}
	}
	if err := checkDays(d, c.Snapshot); err != nil {
		return err
	}
	packs, _ := filepath.Glob(filepath.Join(root, archive.PacksDir, "2*.zip"))
	for _, path := range packs {
		z, err := archive.OpenZipFile(path)
		if err != nil {
			return err
		}
		defer z.Close()
		if err := archive.Verify(context.Background(), z, ""); err != nil {
			return err
		}
	}
	return nil
}

// checkDays checks that every file of a day that the current snapshot names has its bytes, and that no stored sum is
// wrong.
func checkDays(d *Folder, current string) error {
	days, err := d.DataDays()
	if err != nil {
		return err
	}
	if current != "" {
		named, _, err := d.namedDays(current)
		if err != nil {
			return err
		}
		days = append(days, named...)
	}
	for _, f := range days {
		sum, err := sumFile(d.dataPath(f.Name))
		if err != nil {
			return err
		}
		if sum != f.Sum {
			return fmt.Errorf("%s has sum %s, not %s", f.Name, sum, f.Sum)
		}
	}
	return nil
}

// readNotes returns the notes of a snapshot, "" for none.
func readNotes(d *Folder, id string) string {
	data, err := os.ReadFile(d.notesPath())
	if err != nil {
		return ""
	}
	digest, notes, _ := strings.Cut(string(data), "\n")
	if own, err := d.Digest(id); err != nil || own != digest {
		return ""
	}
	return notes
}

// listing returns every name below root, without the files of trees.
func listing(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*", ".*", archive.SnapshotsDir + "/*", archive.SnapshotsDir + "/.*",
		archive.PacksDir + "/*", archive.PacksDir + "/.*", archive.DataDir + "/*/*", archive.DataDir + "/*/.*",
		treeDir + "/*", treeDir + "/.*"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
