package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// daysIn returns the names and sums of the files of days of a folder.
func daysIn(t testing.TB, d *Folder) map[string]string {
	t.Helper()
	days, err := d.DataDays()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range days {
		got[f.Name] = f.Sum.String()
	}
	return got
}

// TestDataDayIsWrittenOnce builds the same day twice: the first bytes stay.
func TestDataDayIsWrittenOnce(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	if r := mustPublish(t, d, t0, dataTree(1)); r.Days != 1 {
		t.Errorf("%d new days, want 1", r.Days)
	}
	first := daysIn(t, d)
	files := dataTree(1)
	files[dayOf(1)] = "other rows"
	if r := mustPublish(t, d, t0.Add(time.Minute), files); r.Days != 0 {
		t.Errorf("%d new days, want 0", r.Days)
	}
	if diff := cmp.Diff(first, daysIn(t, d)); diff != "" {
		t.Errorf("the day changed (-want +got):\n%s", diff)
	}
	if !d.HasDataDay("checks", "2026-11-21") || d.HasDataDay("checks", "2026-11-22") ||
		d.HasDataDay("a", "2026-11-21") {
		t.Error("HasDataDay returns another list")
	}
	if err := checkWhole(d.Root()); err != nil {
		t.Error(err)
	}
}

// TestRewriteDataDayTwice rewrites a day that the same build has written: nothing of the first change is lost.
func TestRewriteDataDayTwice(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, dataTree(1))
	b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Minute), Next: t0})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	for _, change := range []string{"a", "b", "", "c"} {
		err := b.RewriteDataDay("checks", "2026-11-21", func(old io.ReaderAt, size int64, w io.Writer) (bool, error) {
			if change == "a" {
				size = 0
			}
			_, err := io.Copy(w, io.NewSectionReader(old, 0, size))
			return change != "", errors.Join(err, second(io.WriteString(w, change)))
		})
		if err != nil {
			t.Fatalf("change %q: %v", change, err)
		}
	}
	if err := addFile(b, archive.DataIndex, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(d.dataPath(dayOf(1))); err != nil || string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
	if err := checkWhole(d.Root()); err != nil {
		t.Error(err)
	}
}

// TestDataFileNames refuses names outside data/, that of the index and those of days.
func TestDataFileNames(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	b, err := d.Begin(t.Context(), BuildOptions{Now: t0})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	nothing := func(io.Writer) error { return nil }
	for _, name := range []string{"a.parquet", "data/../a", archive.DataIndex, "data/checks/2026-11-20.parquet",
		"data/", "/data/a"} {
		if _, err := b.AddDataFile(name, nothing); !errors.Is(err, archive.ErrName) {
			t.Errorf("AddDataFile(%q): %v", name, err)
		}
	}
	for _, day := range []string{"2026-11-31", "", "../2026-11-20", "2026-11-20/x"} {
		if err := b.AddDataDay("checks", day, nothing); !errors.Is(err, archive.ErrName) {
			t.Errorf("AddDataDay(%q): %v", day, err)
		}
	}
	failed := errors.New("the table can't be read")
	fails := func(w io.Writer) error {
		_, err := io.WriteString(w, "half a file")
		return errors.Join(failed, err)
	}
	if _, err := b.AddDataFile("data/a.parquet", fails); !errors.Is(err, failed) {
		t.Errorf("AddDataFile: %v", err)
	}
	if err := b.AddDataDay("checks", "2026-11-20", fails); !errors.Is(err, failed) {
		t.Errorf("AddDataDay: %v", err)
	}
	// The same names may be added after a failure.
	if f, err := b.AddDataFile("data/a.parquet", nothing); err != nil || f.Bytes != 0 {
		t.Errorf("%+v, %v", f, err)
	}
	if err := b.AddDataDay("checks", "2026-11-20", nothing); err != nil {
		t.Error(err)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Error(err)
	}
}

// rewrite builds a snapshot whose files of days contain new for each old.
func rewrite(t *testing.T, d *Folder, now time.Time, files map[string]string, old, new string) (Result, error) {
	t.Helper()
	b, err := d.Begin(t.Context(), BuildOptions{Now: now, Next: now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	for name := range daysIn(t, d) {
		table, day, _ := archive.ParseDataDay(name)
		if err := b.RewriteDataDay(table, day, func(r io.ReaderAt, size int64, w io.Writer) (bool, error) {
			data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
			if err != nil {
				return false, err
			}
			next := bytes.ReplaceAll(data, []byte(old), []byte(new))
			_, err = w.Write(next)
			return !bytes.Equal(data, next), err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if name != archive.DataIndex {
			if err := addFile(b, name, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := addFile(b, archive.DataIndex, ""); err != nil {
		t.Fatal(err)
	}
	return b.Commit(context.Background())
}

// TestRewriteDataDay erases a row from one of two days, also where a crash lets half of the publication happen.
func TestRewriteDataDay(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) *Folder {
		d := openFolder(t, tempDir(t))
		for n := range 2 {
			mustPublish(t, d, t0.Add(time.Duration(n)*time.Minute), dataTree(n))
		}
		return d
	}
	counted := begin(t)
	var operations atomic.Int64 // parts of a snapshot are written at once
	counted.disk.Hook = func(_, _ string, do func() error) error { operations.Add(1); return do() }
	before := daysIn(t, counted)
	if r, err := rewrite(t, counted, t0.Add(time.Hour), tree(2), "check of 1 ", "gone "); err != nil || r.Days != 1 {
		t.Fatalf("%d days, %v", r.Days, err)
	}
	after := daysIn(t, counted)
	if before[dayOf(0)] != after[dayOf(0)] || before[dayOf(1)] == after[dayOf(1)] || len(after) != 2 {
		t.Errorf("%v became %v", before, after)
	}
	if err := checkWhole(counted.Root()); err != nil {
		t.Error(err)
	}
	for at := range operations.Load() {
		d := begin(t)
		var n atomic.Int64
		d.disk.Hook = func(op, path string, do func() error) error {
			if n.Add(1) > at {
				return fmt.Errorf("%s %s: %w", op, path, errFault) // as after a kill
			}
			return do()
		}
		_, _ = rewriteUntil(t, d)
		again := openFolder(t, d.Root())
		if _, err := rewrite(t, again, t0.Add(2*time.Hour), tree(3), "check of 1 ", "gone "); err != nil {
			t.Fatalf("after operation %d: %v", at, err)
		}
		if err := checkWhole(d.Root()); err != nil {
			t.Errorf("after operation %d: %v", at, err)
		}
		if diff := cmp.Diff(after, daysIn(t, again)); diff != "" {
			t.Errorf("after operation %d (-want +got):\n%s", at, diff)
		}
	}
}

// rewriteUntil rewrites on a folder whose disk fails at some point.
func rewriteUntil(t *testing.T, d *Folder) (Result, error) {
	b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Hour), Next: t0})
	if err != nil {
		return Result{}, err
	}
	defer b.Abort()
	err = b.RewriteDataDay("checks", "2026-11-21", func(r io.ReaderAt, size int64, w io.Writer) (bool, error) {
		data, err := io.ReadAll(io.NewSectionReader(r, 0, size))
		if err == nil {
			_, err = w.Write(bytes.ReplaceAll(data, []byte("check of 1 "), []byte("gone ")))
		}
		return true, err
	})
	if err == nil {
		err = addFile(b, archive.DataIndex, "")
	}
	if err != nil {
		return Result{}, err
	}
	return b.Commit(t.Context())
}

// TestDataSums damages files of days and their stored sums. A build does not read a file whose sum is stored; a torn or
// missing sum is computed again; verifying finds every damage.
func TestDataSums(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, dataTree(1))
	want := daysIn(t, d)
	for name, text := range map[string]string{"missing": "", "torn": "0123", "another name": want[dayOf(1)] + "  x\n"} {
		if err := os.Remove(d.dataSumPath(dayOf(1))); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(d.dataSumPath(dayOf(1)), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, daysIn(t, d)); diff != "" {
			t.Errorf("%s sum (-want +got):\n%s", name, diff)
		}
		mustPublish(t, d, t0.Add(time.Minute), dataTree(1))
		if sum, ok := d.storedDataSum(dayOf(1)); !ok || sum.String() != want[dayOf(1)] {
			t.Errorf("%s sum: the next build stores %s, %v", name, sum, ok)
		}
	}

	data, err := os.ReadFile(d.dataPath(dayOf(1)))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() []byte{
		"one bit":   func() []byte { c := bytes.Clone(data); c[len(c)/2] ^= 1; return c },
		"truncated": func() []byte { return data[:len(data)-1] },
		"longer":    func() []byte { return append(bytes.Clone(data), 0) },
	} {
		if err := os.WriteFile(d.dataPath(dayOf(1)), change(), 0o644); err != nil {
			t.Fatal(err)
		}
		mustPublish(t, d, t0.Add(2*time.Minute), dataTree(2)) // lists the stored sum
		v := faultsOf(t, objects.StoreDirAt(d.Root()))
		if !slices.Equal(v, []string{dayOf(1)}) {
			t.Errorf("%s: verify names %v", name, v)
		}
		to := openStore(t, tempDir(t), nil)
		if _, err := publishTo(to, &memoryRegister{}, d); !errors.Is(err, archive.ErrDamaged) ||
			!strings.Contains(err.Error(), dayOf(1)) {
			t.Errorf("%s: publish: %v", name, err)
		}
	}
}

// faultsOf verifies a place and returns the names of the faults.
func faultsOf(t testing.TB, s objects.Store) (names []string) {
	t.Helper()
	if _, err := VerifyStore(t.Context(), s, VerifyOptions{Report: func(name string, err error) {
		if !errors.Is(err, archive.ErrDamaged) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		names = append(names, name)
	}}); err != nil {
		t.Fatal(err)
	}
	return names
}

// TestPublishDataDays sends days once, before the pointer, replaces erased ones, and prunes those that no snapshot
// names.
func TestPublishDataDays(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(t testing.TB) objects.Store) {
		s, r, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		for n, want := range []int{1, 1, 0} { // days that are sent
			mustPublish(t, d, t0.Add(time.Duration(n)*time.Hour), dataTree(min(n, 1)))
			if p := mustPublishTo(t, s, r, d); p.Days != want {
				t.Errorf("publication %d sent %d days, want %d", n, p.Days, want)
			}
			if v := verifyWhole(t, s); v.Days != min(n, 1)+1 || v.Wrong != 0 {
				t.Errorf("publication %d: %+v", n, v)
			}
		}
		if p := mustPublishTo(t, s, r, d); p.Moved || p.Days != 0 {
			t.Errorf("the same again: %+v", p)
		}
		if _, err := rewrite(t, d, t0.Add(4*time.Hour), dataTree(1), "check of 0 ", "gone of 0 !"); err != nil {
			t.Fatal(err)
		}
		if p := mustPublishTo(t, s, r, d); p.Days != 1 {
			t.Errorf("after an erasure: %+v", p)
		}
		if _, text := mustGet(t, s, dayOf(0), objects.GetOptions{}); strings.Contains(text, "check of 0") {
			t.Error("the erased row is still in the store")
		}
		verifyWhole(t, s)

		// Two snapshots later nothing names the first day.
		for n := range 2 {
			files := dataTree(1)
			days, err := d.DataDays()
			if err != nil {
				t.Fatal(err)
			}
			delete(files, archive.DataIndex)
			b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Duration(5+n) * time.Hour), Next: t0})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(addFile(b, "data/services.parquet", fmt.Sprint(n)),
				b.Add(archive.DataIndex, indexOf(days[1:]))); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustPublishTo(t, s, r, d, func(o *PublishOptions) { o.Expand = nil })
			local, err := d.Prune(t0.Add(5*time.Hour), "")
			if err != nil || local.Days != n {
				t.Errorf("prune %d: %+v, %v", n, local, err)
			}
			remote, err := NewPublisher(s, r, PublishOptions{Now: t0}).Prune(t.Context(), d)
			if err != nil || remote.Days != n {
				t.Errorf("prune the store %d: %+v, %v", n, remote, err)
			}
		}
		want := []string{dayOf(1)}
		list, err := s.List(t.Context(), archive.DataDir+"/")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, obj := range list {
			got = append(got, obj.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in the store (-want +got):\n%s", diff)
		}
		if _, err := os.Stat(d.dataPath(dayOf(0))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder has %s: %v", dayOf(0), err)
		}
	})
}
