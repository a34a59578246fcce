package output

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tollbook/output/archive"

	"github.com/google/go-cmp/cmp"
)

func byID(t testing.TB, s *Source, id string) *Snapshot {
	t.Helper()
	snap, err := s.ByID(id)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// publishMany publishes n snapshots a minute apart, follows each, and returns their ids.
func publishMany(t testing.TB, d *Folder, s *Source, n int) (ids []string) {
	t.Helper()
	for i := range n {
		ids = append(ids, mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i)).Checkpoint.Snapshot)
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// TestByID checks that the newest three snapshots stay readable when their files are gone. Others are opened while
// their files exist, and three of them stay open.
func TestByID(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	s := openSource(t, d.Root())
	ids := publishMany(t, d, s, 9)
	for i, id := range ids {
		snap := byID(t, s, id)
		built, _ := archive.ParseSnapshotID(id)
		if got := readString(t, snap, "index.html"); snap.ID != id || got != tree(i)["index.html"] ||
			!snap.Checkpoint.Built().Equal(built) || snap.Checkpoint.Digest != snap.Digest() {
			t.Errorf("%s is %s, %s: %+v", id, snap.ID, got, snap.Checkpoint)
		}
		if data, err := snap.ReadPack("2026112023", "v1/checks/block=0.json"); i < 15 &&
			(err != nil || string(data) != "rows of 2026112023") {
			t.Errorf("pack: %q, %v", data, err)
		}
		snap.Release()
	}
	if diff := cmp.Diff([]int{openNewest - 1, maxByID}, []int{len(s.recent), len(s.byID)}); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	for _, id := range ids {
		for _, path := range []string{d.snapshotPath(id), d.treePath(id)} {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, id := range ids {
		snap, err := s.ByID(id)
		if open := i >= len(ids)-openNewest-maxByID; open != (err == nil) || !open && !errors.Is(err, ErrNotRetained) {
			t.Errorf("%s, %d from the newest, whose file is gone: %v", id, len(ids)-1-i, err)
		}
		if err == nil {
			snap.Release()
		}
	}
	s.Close()
	for i, list := range [][]*Snapshot{s.recent, s.byID} {
		if len(list) > 0 {
			t.Errorf("list %d holds %d snapshots after Close", i, len(list))
		}
	}
}

// TestByIDFirst reads a snapshot by id before the source has read the pointer, and one whose tree alone is left.
func TestByIDFirst(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	id := mustPublish(t, d, t0, tree(1)).Checkpoint.Snapshot
	for range 2 {
		s := openSource(t, d.Root())
		snap := byID(t, s, id)
		if got := readString(t, snap, "index.html"); got != tree(1)["index.html"] {
			t.Errorf("reads %s", got)
		}
		snap.Release()
		if err := os.RemoveAll(d.snapshotPath(id)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNotRetained(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	s := openSource(t, d.Root())
	id := publishMany(t, d, s, 1)[0]
	for _, other := range []string{
		"", "x", "..", "../" + id, id + ".zip", strings.ToUpper(id), "20261120T234501Z-ffffff", id[:len(id)-1],
		"20261320T234501Z-3f2a9c", id + "\x00",
	} {
		if snap, err := s.ByID(other); !errors.Is(err, ErrNotRetained) {
			t.Errorf("%q: %v, %v", other, snap, err)
		}
	}
	// The bytes of one snapshot under the id of another one are rejected.
	if err := os.Rename(d.snapshotPath(id), d.snapshotPath("20261120T234501Z-000000")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ByID("20261120T234501Z-000000"); !errors.Is(err, archive.ErrDamaged) {
		t.Errorf("under another name: %v", err)
	}
}

// TestFollowBack checks that a rollback and its reversal open no snapshot twice.
func TestFollowBack(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	s := openSource(t, d.Root())
	first := mustPublish(t, d, t0, tree(0)).Checkpoint
	for i := range 6 {
		c := first
		if i%2 == 1 {
			c = mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i)).Checkpoint
		}
		if err := os.WriteFile(d.root+"/"+archive.CheckpointFile, c.Encode(), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, snap := range append([]*Snapshot{s.current}, s.recent...) {
			if seen[snap.ID] {
				t.Errorf("step %d: %s is open twice", i, snap.ID)
			}
			seen[snap.ID] = true
		}
	}
}

// TestByIDUnderLoad reads snapshots by id while others come and go: every file belongs to the right snapshot.
func TestByIDUnderLoad(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	s := openSource(t, d.Root())
	ids := publishMany(t, d, s, 12)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 150 {
				n := (i*(worker+1) + worker) % len(ids)
				snap, err := s.ByID(ids[n])
				if err != nil {
					t.Error(err)
					return
				}
				if data, err := snap.ReadFile("v1/services.json"); err != nil ||
					string(data) != tree(n)["v1/services.json"] {
					t.Errorf("snapshot %s reads %q, %v", snap.ID, data, err)
				}
				snap.Release()
			}
		})
	}
	for i := range 10 {
		mustPublish(t, d, t0.Add(time.Duration(100+i)*time.Minute), tree(i))
		if err := s.Refresh(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

// TestRetainedSnapshots checks that a build lists the other snapshots, but neither itself nor one of the same second.
// Running the build again gives the same list.
func TestRetainedSnapshots(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	s := openSource(t, d.Root())
	ids := publishMany(t, d, s, 3)
	for _, test := range []struct {
		about string
		after time.Duration // after the newest
		want  []string
	}{
		{"a minute later", time.Minute, []string{ids[2], ids[1], ids[0]}},
		{"in the same second", 300 * time.Millisecond, []string{ids[1], ids[0]}},
		{"days later", 72 * time.Hour, []string{ids[2]}},
	} {
		b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(2*time.Minute + test.after)})
		if err != nil {
			t.Fatal(err)
		}
		retained, err := b.RetainedSnapshots()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range retained {
			got = append(got, k.ID)
			if info, err := os.Stat(d.snapshotPath(k.ID)); err != nil || info.Size() != k.Bytes {
				t.Errorf("%s: %d bytes, %v", k.ID, k.Bytes, err)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.about, diff)
		}
		if data, err := b.ReadPrevious("index.html"); err != nil || string(data) != tree(2)["index.html"] ||
			b.Previous().Snapshot != ids[2] {
			t.Errorf("the previous one, %s: %s, %v", b.Previous().Snapshot, data, err)
		}
		b.Abort()
	}
	if digest, err := d.Digest(ids[2]); err != nil || !strings.HasPrefix(digest, ids[2][len(ids[2])-6:]) {
		t.Errorf("digest %s, %v", digest, err)
	}
}
