package output

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"tollbook/output/archive"
)

func openSource(t testing.TB, root string) *Source {
	t.Helper()
	s, err := OpenSource(root, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func current(t testing.TB, s *Source) *Snapshot {
	t.Helper()
	snap, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func readString(t testing.TB, tree archive.Tree, name string) string {
	t.Helper()
	data, err := tree.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestSourceFollows(t *testing.T) {
	t.Parallel()
	d := openFolder(t, filepath.Join(tempDir(t), "public"))
	s := openSource(t, d.Root())
	if _, err := s.Current(); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "tollbook build") {
		t.Fatalf("before the first: %v, want %v", err, ErrEmpty)
	}
	first := mustPublish(t, d, t0, tree(1))
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	old := current(t, s)
	if old.ID != first.Checkpoint.Snapshot || old.Checkpoint != first.Checkpoint {
		t.Errorf("open is %+v, published was %+v", old.Checkpoint, first.Checkpoint)
	}
	second := mustPublish(t, d, t0.Add(time.Minute), tree(2))
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	next := current(t, s)
	defer next.Release()
	if got := readString(t, next, "index.html"); next.ID != second.Checkpoint.Snapshot || got != tree(2)["index.html"] {
		t.Errorf("open is %s with %s", next.ID, got)
	}

	// A reader of the old snapshot can still read it, although the folder has lost it and three others came after it.
	// Its file is closed after that.
	if err := os.Remove(d.snapshotPath(old.ID)); err != nil {
		t.Fatal(err)
	}
	for i := range openNewest - 1 {
		mustPublish(t, d, t0.Add(time.Duration(i+2)*time.Minute), tree(i))
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	if got := readString(t, old, "index.html"); got != tree(1)["index.html"] {
		t.Errorf("the old one reads %s", got)
	}
	old.Release()
	if _, err := old.ReadFile("index.html"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the old one after its release: %v, want %v", err, os.ErrClosed)
	}
}

// TestSourceNotices checks that Current notices a new snapshot without Refresh, and without waiting.
func TestSourceNotices(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	s := openSource(t, d.Root())
	current(t, s).Release()
	want := mustPublish(t, d, t0.Add(time.Minute), tree(2)).Checkpoint.Snapshot
	for {
		s.mu.Lock()
		s.lookedAt = time.Time{} // as if the last read were long ago
		s.mu.Unlock()
		snap := current(t, s)
		id := snap.ID
		snap.Release()
		if id == want {
			break
		}
		runtime.Gosched() // Current has started a refresh in the background
	}
}

func TestSourceKeepsTheOld(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	first := mustPublish(t, d, t0, tree(1))
	var log bytes.Buffer
	s, err := OpenSource(d.Root(), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	current(t, s).Release()

	second := mustPublish(t, d, t0.Add(time.Minute), tree(2))
	path := d.snapshotPath(second.Checkpoint.Snapshot)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.triedAt = time.Time{}
		if err := s.Refresh(); !errors.Is(err, archive.ErrDamaged) {
			t.Fatalf("a damaged snapshot: %v, want %v", err, archive.ErrDamaged)
		}
	}
	snap := current(t, s)
	if snap.ID != first.Checkpoint.Snapshot {
		t.Errorf("open is %s, want the previous one", snap.ID)
	}
	snap.Release()
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), second.Checkpoint.Snapshot) {
		t.Errorf("logged %d lines:\n%s", n, &log)
	}

	// The source tries the same checkpoint again, because the file may come back.
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	s.triedAt = time.Time{}
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
}

func TestSourceOtherDigest(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	first := mustPublish(t, d, t0, tree(1))
	second := mustPublish(t, d, t0.Add(time.Minute), tree(2))
	if err := os.Rename(d.snapshotPath(first.Checkpoint.Snapshot),
		d.snapshotPath(second.Checkpoint.Snapshot)); err != nil {
		t.Fatal(err)
	}
	if _, err := openSource(t, d.Root()).Current(); !errors.Is(err, archive.ErrDamaged) {
		t.Errorf("another snapshot's zip under this one's name: %v, want %v", err, archive.ErrDamaged)
	}
}

// TestSourceOfTrees checks that a source reads a tree of single files as it reads a zip.
func TestSourceOfTrees(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	r := mustPublish(t, d, t0, tree(1))
	copied := filepath.Join(tempDir(t), "htdocs")
	if err := os.CopyFS(copied, os.DirFS(d.treePath(r.Checkpoint.Snapshot))); err != nil {
		t.Fatal(err)
	}
	beside := filepath.Join(tempDir(t), "bucket") // an expanded copy with its checkpoint
	if err := os.CopyFS(beside, os.DirFS(d.treePath(r.Checkpoint.Snapshot))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(beside, archive.CheckpointFile), r.Checkpoint.Encode(), 0o644); err != nil {
		t.Fatal(err)
	}
	noZip := openFolder(t, tempDir(t))
	mustPublish(t, noZip, t0, tree(1))
	if err := os.Remove(noZip.snapshotPath(r.Checkpoint.Snapshot)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		about, root string
		sameID      bool
		pack        bool
	}{
		{"the publication", d.Root(), true, true},
		{"current", filepath.Join(d.Root(), "current"), true, true},
		{"a copy without its name", copied, false, false},
		{"a copy with its checkpoint", beside, true, false},
		{"a publication without zips", noZip.Root(), true, true},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			snap := current(t, openSource(t, test.root))
			defer snap.Release()
			if _, ok := archive.ParseSnapshotID(snap.ID); !ok || test.sameID != (snap.ID == r.Checkpoint.Snapshot) {
				t.Errorf("id %s", snap.ID)
			}
			if snap.Digest() != r.Checkpoint.Digest || snap.Checkpoint.Digest != r.Checkpoint.Digest ||
				snap.Checkpoint.Built().IsZero() {
				t.Errorf("checkpoint %+v", snap.Checkpoint)
			}
			for name, want := range tree(1) {
				if got := readString(t, snap, name); got != want {
					t.Errorf("%s reads %.40q", name, got)
				}
			}
			data, err := snap.ReadPack("2026112023", "v1/checks/block=0.json")
			if (err == nil) != test.pack || test.pack && string(data) != "rows of 2026112023" {
				t.Errorf("pack: %q, %v", data, err)
			}
		})
	}
}

// TestSourceOfCurrentFollows checks that the source follows the link "current", even if no file of the tree has
// changed.
func TestSourceOfCurrentFollows(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	s := openSource(t, filepath.Join(d.Root(), "current"))
	current(t, s).Release()
	for i := 1; i <= 3; i++ {
		r := mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(1))
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
		snap := current(t, s)
		if snap.ID != r.Checkpoint.Snapshot {
			t.Errorf("open is %s, want %s", snap.ID, r.Checkpoint.Snapshot)
		}
		snap.Release()
	}
}

func TestReadPack(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	for i := range 2 * maxPacks {
		mustPublish(t, d, t0.Add(time.Duration(i)*time.Hour), tree(i))
	}
	s := openSource(t, d.Root())
	snap := current(t, s)
	defer snap.Release()
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 200 {
				hour := archive.HourOf(t0.Add(time.Duration((i*worker+i)%(2*maxPacks)) * time.Hour))
				data, err := snap.ReadPack(hour, "v1/checks/block=0.json")
				if err != nil || string(data) != "rows of "+hour {
					t.Errorf("pack %s: %q, %v", hour, data, err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(s.packs.list); n > maxPacks {
		t.Errorf("%d packs are open, want %d at most", n, maxPacks)
	}
	for _, test := range [][2]string{{"2026112023", "none"}, {"1999010100", "v1/checks/block=0.json"},
		{"../snapshots/x", "index.html"}} {
		if _, err := snap.ReadPack(test[0], test[1]); err == nil {
			t.Errorf("read %s of pack %s", test[1], test[0])
		}
	}
}

// TestSourceUnderLoad reads while snapshots come and go and old ones are pruned. Each reader gets files of one snapshot
// alone.
func TestSourceUnderLoad(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(0))
	s := openSource(t, d.Root())
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				snap, err := s.Current()
				if err != nil {
					t.Error(err)
					return
				}
				var n int
				page, err := snap.ReadFile("index.html")
				if err == nil {
					_, err = fmt.Sscanf(string(page), "<h1>Build %d</h1>", &n)
				}
				rows, err2 := snap.ReadFile("v1/services.json")
				if err != nil || err2 != nil || string(rows) != tree(n)["v1/services.json"] {
					t.Errorf("snapshot %s reads %q, %v, %v", snap.ID, page, err, err2)
				}
				snap.Release()
			}
		})
	}
	for i := 1; i < 30; i++ {
		mustPublish(t, d, t0.Add(time.Duration(i)*time.Second), tree(i))
		if _, err := d.Prune(t0.AddDate(10, 0, 0), ""); err != nil {
			t.Error(err)
		}
		if err := s.Refresh(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	wg.Wait()
}
