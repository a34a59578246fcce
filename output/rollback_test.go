package output

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/output/archive"

	"github.com/google/go-cmp/cmp"
)

func TestFolderRollback(t *testing.T) {
	t.Parallel()
	root := filepath.Join(tempDir(t), "public")
	d := openFolder(t, root)
	if _, _, err := d.Rollback(t.Context(), "20261120T234501Z-3f2a9c", RollbackOptions{}); !errors.Is(err, ErrEmpty) {
		t.Fatalf("before the first: %v, want %v", err, ErrEmpty)
	}
	if _, err := os.Stat(root); err == nil {
		t.Errorf("it created %s", root)
	}
	first := mustPublish(t, d, t0, tree(1)).Checkpoint
	second := mustPublish(t, d, t0.Add(time.Minute), tree(2)).Checkpoint
	s := openSource(t, root)
	for _, id := range []string{"20261120T234501Z-3f2a9c", "../checkpoint", ""} {
		if _, _, err := d.Rollback(t.Context(), id, RollbackOptions{}); !errors.Is(err, ErrNotRetained) {
			t.Errorf("rollback to %q: %v, want %v", id, err, ErrNotRetained)
		}
	}
	if err := d.removeTree(first.Snapshot); err != nil { // as Prune does later
		t.Fatal(err)
	}
	back, moved, err := d.Rollback(t.Context(), first.Snapshot, RollbackOptions{})
	if err != nil || !moved {
		t.Fatalf("%v, %v", moved, err)
	}
	want := first
	want.Generation, want.Previous, want.BuiltAt, want.NextAt = 3, &second.Snapshot,
		t0.Format("2006-01-02T15:04:05.000Z"), t0.Format("2006-01-02T15:04:05.000Z")
	want.Format, want.Needs = 0, 0 // another program may have written it
	now, err := d.Checkpoint()
	if diff := cmp.Diff([]archive.Checkpoint{want, want}, []archive.Checkpoint{back, now}); diff != "" || err != nil {
		t.Errorf("checkpoint, %v (-want +got):\n%s", err, diff)
	}
	if got := d.treeID(); got != first.Snapshot {
		t.Errorf("current -> %s", got)
	}
	if err := checkWhole(root); err != nil {
		t.Error(err)
	}
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	snap := current(t, s)
	if got := readString(t, snap, "index.html"); got != tree(1)["index.html"] {
		t.Errorf("readers get %s", got)
	}
	snap.Release()
	again, moved, err := d.Rollback(t.Context(), first.Snapshot, RollbackOptions{})
	if err != nil || moved || again.Generation != 3 {
		t.Errorf("again: %+v, %v, %v", again, moved, err)
	}
	if third := mustPublish(t, d, t0.Add(2*time.Minute), tree(3)).Checkpoint; third.Generation != 4 ||
		*third.Previous != first.Snapshot {
		t.Errorf("the next build: %+v", third)
	}

	// A rollback to a damaged snapshot fails.
	path := d.snapshotPath(second.Snapshot)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[30+int(data[26])+int(data[28])+2] ^= 1 // in the first file, behind its name and extra field
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Rollback(t.Context(), second.Snapshot, RollbackOptions{}); !errors.Is(err, archive.ErrDamaged) {
		t.Errorf("a damaged snapshot: %v, want %v", err, archive.ErrDamaged)
	}
}

// TestFolderRollbackOfZips checks that a rollback expands nothing in a folder without trees.
func TestFolderRollbackOfZips(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	var ids []string
	for i := range 2 {
		b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Duration(i) * time.Minute), Next: t0,
			Expand: ExpandNone})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Add("index.html", []byte(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
		r, err := b.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.Checkpoint.Snapshot)
	}
	if _, _, err := d.Rollback(t.Context(), ids[0], RollbackOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{".lock", "checkpoint.json", "packs", "snapshots", "snapshots/" + ids[0] + ".zip",
		"snapshots/" + ids[0] + zipSumExt, "snapshots/" + ids[1] + ".zip", "snapshots/" + ids[1] + zipSumExt, "tree"}
	if diff := cmp.Diff(want, listing(t, d.Root())); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestFolderRollbackFaults lets every operation of a rollback fail in two ways. The published files stay complete, and
// the same rollback run again succeeds.
func TestFolderRollbackFaults(t *testing.T) {
	t.Parallel()
	type folders struct {
		d             *Folder
		first, second string
	}
	make := func(t *testing.T, fault func(n int, op, path string) (bool, error)) folders {
		d := faultyFolder(t, fault)
		c, err := d.Checkpoint()
		if err != nil {
			t.Fatal(err)
		}
		plain := openFolder(t, d.Root())
		second := mustPublish(t, plain, t0.Add(time.Minute), tree(2)).Checkpoint
		if err := plain.removeTree(c.Snapshot); err != nil {
			t.Fatal(err)
		}
		return folders{d, c.Snapshot, second.Snapshot}
	}
	var operations atomic.Int64
	f := make(t, func(int, string, string) (bool, error) { operations.Add(1); return true, nil })
	if _, _, err := f.d.Rollback(t.Context(), f.first, RollbackOptions{}); err != nil {
		t.Fatal(err)
	}
	if operations.Load() < 15 {
		t.Fatalf("%d operations; is the hook called?", operations.Load())
	}
	for i := range int(operations.Load()) {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d,done=%v", i, done), func(t *testing.T) {
				t.Parallel()
				var what string
				f := make(t, func(n int, op, path string) (bool, error) {
					if n != i {
						return true, nil
					}
					what = op + " " + filepath.Base(path)
					return done, fmt.Errorf("%s %s: %w", op, path, errFault)
				})
				_, _, err := f.d.Rollback(t.Context(), f.first, RollbackOptions{})
				if err != nil && !errors.Is(err, errFault) || err == nil && what[:5] != "link " {
					t.Errorf("%s: %v", what, err)
				}
				if err := checkWhole(f.d.Root()); err != nil {
					t.Errorf("after %s: %v", what, err)
				}
				plain := openFolder(t, f.d.Root())
				if c, err := plain.Checkpoint(); err != nil || c.Snapshot != f.first && c.Snapshot != f.second {
					t.Errorf("after %s: %+v, %v", what, c, err)
				}
				if _, _, err := plain.Rollback(t.Context(), f.first, RollbackOptions{}); err != nil {
					t.Errorf("after %s, again: %v", what, err)
				}
				if c, err := plain.Checkpoint(); err != nil || c.Snapshot != f.first || c.Generation != 3 ||
					plain.treeID() != f.first {
					t.Errorf("after %s, again: %+v, %v, current %s", what, c, err, plain.treeID())
				}
			})
		}
	}
}
