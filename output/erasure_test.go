package output

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

func TestErasuresCover(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	e := Erasures{{Since: since, Clean: "20261120T120000Z-aaaaaa"}, {Clean: ""}}
	for id, want := range map[string]bool{
		"20261120T095959Z-ffffff": false, // before the service was listed
		"20261120T100000Z-000000": true,
		"20261120T115959Z-ffffff": true,
		"20261120T120000Z-000000": true, // of the same second: built before or after, nobody knows
		"20261120T120000Z-aaaaaa": false,
		"20261120T120001Z-000000": false,
		"no id":                   false,
	} {
		if got := e.Cover(id); got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

// commitErasure builds a snapshot that handles an erasure, without Prune, as if the process was killed before it.
func commitErasure(t *testing.T, d *Folder, since, now time.Time) archive.Checkpoint {
	t.Helper()
	b, err := d.Begin(t.Context(), BuildOptions{Now: now, Next: now})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	b.SetErasures(Erasures{{Since: since, Clean: archive.SnapshotID(now, "000000")}})
	b.SetErased(1)
	list, err := b.RetainedSnapshots()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	if err := b.Add("listed", []byte(strings.Join(ids, " "))); err != nil {
		t.Fatal(err)
	}
	r, err := b.Commit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.Checkpoint
}

func readListed(tree archive.Tree) ([]string, error) {
	data, err := tree.ReadFile("listed")
	return strings.Fields(string(data)), err
}

func zipsIn(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, archive.SnapshotsDir+"/") || !strings.HasSuffix(name, ".zip")
	})
}

// TestErasureDeletesSnapshots checks that Prune and Publish delete the snapshots that may contain what was erased,
// whatever the retention says, and their trees, and packs that were too old to be rewritten. Earlier snapshots stay. A publisher that fails between the pointer and the
// deletions leaves the new snapshot published, and the same command or prune finishes. Nobody can roll back to a
// deleted snapshot, or read one that a server has open.
func TestErasureDeletesSnapshots(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		for _, finish := range []string{"publish", "prune"} {
			plain, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
			var ids []string
			for i := range 4 {
				r := mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i+1))
				ids = append(ids, r.Checkpoint.Snapshot)
				mustPublishTo(t, plain, reg, d)
			}
			local, remote := openSource(t, d.Root()), OpenStoreSource(plain, 0, quiet())
			defer local.Close()
			defer remote.Close()
			for _, s := range []*Source{local, remote} {
				current(t, s).Release()
				byID(t, s, ids[2]).Release()
			}
			since := t0.Add(time.Minute)
			clean := commitErasure(t, d, since, t0.Add(time.Hour))
			old := archive.PackName("2026101012") // the folder has pruned it, the place not yet
			if _, err := plain.Put(t.Context(), old, strings.NewReader("rows"), objects.PutOptions{}); err != nil {
				t.Fatal(err)
			}

			// Killed here, the folder still has the old zips.
			_, _, err := d.Rollback(t.Context(), ids[3], RollbackOptions{ListSnapshots: readListed})
			if !errors.Is(err, ErrErased) {
				t.Errorf("rollback to a snapshot with what was erased: %v", err)
			}
			if err := local.Refresh(); err != nil {
				t.Fatal(err)
			}
			byID(t, local, ids[2]).Release() // a server opens it between the pointer and the deletion
			erasures := Erasures{{Since: since, Clean: clean.Snapshot}}
			d.SetErasures(erasures)
			if p, err := d.Prune(t0.Add(time.Hour), ""); err != nil || p.Erased != 3 || p.Snapshots != 0 {
				t.Errorf("prune of the folder: %+v, %v", p, err)
			}
			want := []string{archive.SnapshotName(ids[0]), archive.SnapshotName(clean.Snapshot)}
			if diff := cmp.Diff(want, zipsIn(listing(t, d.Root()))); diff != "" {
				t.Errorf("zips in the folder (-want +got):\n%s", diff)
			}
			for _, name := range listing(t, d.Root()) {
				if slices.ContainsFunc(ids[1:], func(id string) bool { return strings.Contains(name, id) }) {
					t.Errorf("%s stays in the folder", name)
				}
			}
			if err := checkWhole(d.Root()); err != nil {
				t.Error(err)
			}
			for _, id := range ids[1:] {
				if _, err := local.ByID(id); !errors.Is(err, ErrNotRetained) {
					t.Errorf("a server still has %s: %v", id, err)
				}
			}

			killed := errors.New("killed")
			faulty := &hookedStore{plain, func(op, name string, do func() error) error {
				if op == "delete" && strings.Contains(name, archive.SnapshotsDir+"/") {
					return killed
				}
				return do()
			}}
			with := func(o *PublishOptions) { o.Erasures = erasures }
			if _, err := publishTo(faulty, reg, d, with); !errors.Is(err, killed) {
				t.Fatalf("killed between the pointer and the deletions: %v", err)
			}
			if v := verifyWhole(t, plain); v.Snapshot != clean.Snapshot {
				t.Errorf("%s is published", v.Snapshot)
			}
			o := PublishOptions{Now: t0.Add(time.Hour), Erasures: erasures}
			if _, err := NewPublisher(plain, reg, o).Rollback(t.Context(), ids[3]); !errors.Is(err, ErrErased) {
				t.Errorf("rollback of the place: %v", err)
			}
			if finish == "publish" {
				if r := mustPublishTo(t, plain, reg, d, with); r.Erased != 3 || r.Moved {
					t.Errorf("the same command again: %+v", r)
				}
			} else if p, err := NewPublisher(plain, reg, o).Prune(t.Context(), d); err != nil || p.Erased != 3 {
				t.Errorf("prune of the place: %+v, %v", p, err)
			}
			if diff := cmp.Diff(want, zipsIn(namesIn(t, plain))); diff != "" {
				t.Errorf("%s: zips in the place (-want +got):\n%s", finish, diff)
			}
			if slices.Contains(namesIn(t, plain), old) {
				t.Errorf("%s: a pack with what was erased stays, because it was too old to be rewritten", finish)
			}
			verifyWhole(t, plain)
			if err := remote.Refresh(); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids[1:] {
				if _, err := remote.ByID(id); !errors.Is(err, ErrNotRetained) {
					t.Errorf("a server of the place still has %s: %v", id, err)
				}
			}
			if r := mustPublishTo(t, plain, reg, d, with); r.Erased != 0 {
				t.Errorf("a third time: %+v", r)
			}
		}
	})
}

// TestErasedSnapshotIsNotPublished checks that a folder that still has an old snapshot does not publish it again, and
// that nothing is deleted while the published snapshot is one of those with what was erased.
func TestErasedSnapshotIsNotPublished(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		mustPublishTo(t, s, reg, d)
		mustPublish(t, d, t0.Add(time.Minute), tree(2))
		erasures := Erasures{{Clean: archive.SnapshotID(t0.Add(time.Hour), "aaaaaa")}}
		with := func(o *PublishOptions) { o.Erasures = erasures }
		if _, err := publishTo(s, reg, d, with); !errors.Is(err, ErrErased) || !errors.Is(err, ErrSuccessor) {
			t.Errorf("published: %v", err)
		}
		p, err := NewPublisher(s, reg, PublishOptions{Now: t0, Erasures: erasures}).Prune(t.Context(), d)
		if err != nil || p.Erased != 0 {
			t.Errorf("%+v, %v", p, err)
		}
		verifyWhole(t, s)
	})
}
