package output

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"tollbook/output/archive"

	"github.com/google/go-cmp/cmp"
)

func TestPublish(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	d := openFolder(t, filepath.Join(root, "new", "public"))
	if _, err := d.Checkpoint(); !errors.Is(err, ErrEmpty) {
		t.Fatalf("before the first: %v, want %v", err, ErrEmpty)
	}
	first := mustPublish(t, d, t0, tree(1))
	second := mustPublish(t, d, t0.Add(15*time.Minute), tree(2))
	if err := checkWhole(d.Root()); err != nil {
		t.Fatal(err)
	}

	want := []string{
		".lock", ".notes", "checkpoint.json", "current", "packs", "packs/2026112023.zip", "packs/2026112100.zip",
		"snapshots",
		"snapshots/" + first.Checkpoint.Snapshot + ".zip", "snapshots/" + first.Checkpoint.Snapshot + zipSumExt,
		"snapshots/" + second.Checkpoint.Snapshot + ".zip", "snapshots/" + second.Checkpoint.Snapshot + zipSumExt,
		"tree", "tree/" + first.Checkpoint.Snapshot, "tree/" + second.Checkpoint.Snapshot,
	}
	if diff := cmp.Diff(want, listing(t, d.Root())); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if target, _ := os.Readlink(filepath.Join(d.Root(), "current")); target != "tree/"+second.Checkpoint.Snapshot {
		t.Errorf("current -> %s", target)
	}
	for name, content := range tree(2) {
		got, err := os.ReadFile(filepath.Join(d.Root(), "current", name))
		if err != nil || string(got) != content {
			t.Errorf("current/%s: %v, %.40q", name, err, got)
		}
	}
	if second.Linked != 2 || second.Written != 3 || second.Packs != 1 {
		t.Errorf("linked %d, wrote %d, packs %d; two files and the sums changed", second.Linked, second.Written,
			second.Packs)
	}

	data, err := os.ReadFile(filepath.Join(d.Root(), "checkpoint.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	wantPointer := map[string]any{
		"snapshot": "20261121T000001Z-" + second.Summary.Digest[:6], "previous": first.Checkpoint.Snapshot,
		"generation": 2.0,
		"built_at":   "2026-11-21T00:00:01.000Z", "next_at": "2026-11-21T00:15:01.000Z",
		"digest": second.Summary.Digest, "erased": 0.0, "signature": nil,
		"format": float64(archive.Format), "needs": float64(archive.Needs),
	}
	if diff := cmp.Diff(wantPointer, got); diff != "" {
		t.Errorf("checkpoint (-want +got):\n%s", diff)
	}
}

func TestPublishSameBytesAgain(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	first := mustPublish(t, d, t0, tree(1))
	same := mustPublish(t, d, t0, tree(1))
	if diff := cmp.Diff(first.Checkpoint, same.Checkpoint); diff != "" {
		t.Errorf("same bytes, same time: another checkpoint (-want +got):\n%s", diff)
	}
	later := mustPublish(t, d, t0.Add(time.Minute), tree(1))
	if later.Checkpoint.Generation != 2 || later.Checkpoint.Digest != first.Checkpoint.Digest ||
		later.Checkpoint.Snapshot == first.Checkpoint.Snapshot {
		t.Errorf("same bytes, later: %+v after %+v", later.Checkpoint, first.Checkpoint)
	}
	if later.Written != 0 || later.Linked != len(tree(1))+1 {
		t.Errorf("same bytes, later: wrote %d, linked %d", later.Written, later.Linked)
	}
	if err := checkWhole(d.Root()); err != nil {
		t.Error(err)
	}
}

// TestPublishFull checks that the same files give the same zip with and without a previous snapshot.
func TestPublishFull(t *testing.T) {
	t.Parallel()
	var zips [2][]byte
	for i, full := range []bool{false, true} {
		d := openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		b, err := d.Begin(context.Background(), BuildOptions{Now: t0.Add(time.Minute), Next: t0, Full: full,
			Expand: ExpandNone})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"v1/services/acme.json", "index.html"} {
			if err := b.Add(name, []byte(tree(1)[name])); err != nil {
				t.Fatal(err)
			}
		}
		r, err := b.Commit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if (r.Summary.Copied == 0) != full {
			t.Errorf("full %v: copied %d", full, r.Summary.Copied)
		}
		if zips[i], err = os.ReadFile(d.snapshotPath(r.Checkpoint.Snapshot)); err != nil {
			t.Fatal(err)
		}
		if id := d.treeID(); id == r.Checkpoint.Snapshot {
			t.Error("expanded in spite of ExpandNone")
		}
	}
	if string(zips[0]) != string(zips[1]) {
		t.Error("the zips differ")
	}
}

func TestPublishBusy(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	b, err := d.Begin(context.Background(), BuildOptions{Now: t0, Next: t0})
	if err != nil {
		t.Fatal(err)
	}
	_, err = openFolder(t, d.Root()).Begin(context.Background(), BuildOptions{Now: t0, Next: t0})
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), fmt.Sprintf("process %d since", os.Getpid())) {
		t.Errorf("a second publisher: %v, want %v and who it is", err, ErrBusy)
	}
	if _, err := d.Prune(t0, ""); !errors.Is(err, ErrBusy) {
		t.Errorf("prune beside a publisher: %v, want %v", err, ErrBusy)
	}
	b.Abort()
	if diff := cmp.Diff([]string{".lock", "packs", "snapshots", "tree"}, listing(t, d.Root())); diff != "" {
		t.Errorf("after Abort (-want +got):\n%s", diff)
	}
	mustPublish(t, d, t0, tree(1))
}

func TestPublishKeepsPack(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	before, err := os.ReadFile(d.packPath("2026112023"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Begin(context.Background(), BuildOptions{Now: t0.Add(time.Minute), Next: t0})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	if err := b.AddPack("2026112023", func(func(string, []byte) error) error {
		t.Error("fill was called for an existing pack")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, hour := range []string{"", "../x", "2026112024", "20261120", "202611202"} {
		if err := b.AddPack(hour, nil); err == nil {
			t.Errorf("pack %q was accepted", hour)
		}
	}
	boom := errors.New("boom")
	if err := b.AddPack("2026112022", func(func(string, []byte) error) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("a pack whose fill fails: %v", err)
	}
	if _, err := b.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(d.packPath("2026112023"))
	if err != nil || string(after) != string(before) || d.HasPack("2026112022") {
		t.Errorf("packs after: %v, %v", err, listing(t, d.Root()))
	}
}

func TestPublishDamagedCheckpoint(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	if err := os.WriteFile(filepath.Join(d.Root(), "checkpoint.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := publish(d, t0, tree(1)); !errors.Is(err, archive.ErrDamaged) ||
		!strings.Contains(err.Error(), "checkpoint.json") {
		t.Errorf("got %v, want the damaged file named", err)
	}
}

func TestPublishUnwritable(t *testing.T) {
	t.Parallel()
	root := tempDir(t)
	if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenFolder(filepath.Join(root, "file")); err == nil {
		t.Error("a file was accepted as a folder")
	}
	d := openFolder(t, filepath.Join(root, "file", "public"))
	if _, err := publish(d, t0, tree(1)); err == nil || !strings.Contains(err.Error(), filepath.Join(root, "file")) {
		t.Errorf("got %v, want the path named", err)
	}
}

func TestDirIsFS(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	dir, err := archive.OpenDir(filepath.Join(d.Root(), "current"))
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(dir, "index.html", "v1/services.json", "v1/services/acme.json",
		archive.SumsFile); err != nil {
		t.Error(err)
	}
	if _, err := dir.ReadFile("../checkpoint.json"); err == nil {
		t.Error("read a file outside the tree")
	}
}

func TestDirDamage(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	current := filepath.Join(d.Root(), "current")
	dir, err := archive.OpenDir(current)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(current, "index.html"), []byte("<h1>Build 7</h1>"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(current, "v1/services.json")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "v1/services.json"} {
		if _, err := dir.ReadFile(name); !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("%s: %v, want %v", name, err, archive.ErrDamaged)
		}
	}
}

// TestGzipBodies checks that each file that gzip makes smaller is also written in gzip, and linked like the file.
func TestGzipBodies(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	if bodies, _ := filepath.Glob(filepath.Join(d.Root(), "current", "v1", "*.gz")); len(bodies) > 0 {
		t.Errorf("without Packed: %v", bodies)
	}
	var inodes []fs.FileInfo
	for i := range 2 {
		if _, err := publishAs(d, BuildOptions{Now: t0.Add(time.Duration(i+1) * 15 * time.Minute), Packed: true},
			tree(i+2)); err != nil {
			t.Fatal(err)
		}
		if err := checkWhole(d.Root()); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, name := range slices.Collect(maps.Keys(tree(i + 2))) {
			data, err := os.ReadFile(filepath.Join(d.Root(), "current", name+".gz"))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			got[name] = string(plain)
		}
		want := tree(i + 2)
		delete(want, "index.html") // compressing does not make it smaller
		delete(want, "v1/services/zeta.json")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("bodies (-want +got):\n%s", diff)
		}
		info, err := os.Stat(filepath.Join(d.Root(), "current", "v1/services/acme.json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		inodes = append(inodes, info)
	}
	if !os.SameFile(inodes[0], inodes[1]) {
		t.Error("the gzip body of a file that did not change was written again")
	}
}
