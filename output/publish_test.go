package output

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// TestPublishTo publishes to a store. The publication is complete, only changed objects are written, removed ones are
// deleted, and readers follow.
func TestPublishTo(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		if _, err := publishTo(s, reg, d); !errors.Is(err, ErrEmpty) {
			t.Fatalf("before a build: %v, want %v", err, ErrEmpty)
		}
		first := mustPublish(t, d, t0, tree(1)).Checkpoint
		got := mustPublishTo(t, s, reg, d)
		if !got.Moved || got.Packs != 1 || got.Written != 5 || got.Checkpoint.Generation != 1 ||
			got.Checkpoint.Previous != nil || got.Checkpoint.Snapshot != first.Snapshot {
			t.Errorf("the first: %+v", got)
		}
		if v := verifyWhole(t, s); v.Files != 5 || v.Objects != 5 || v.Packs != 1 || v.Snapshot != first.Snapshot {
			t.Errorf("verified %+v", v)
		}
		if again := mustPublishTo(t, s, reg, d); again.Moved || again.Written+again.Deleted+again.Packs > 0 ||
			again.Unchanged != 5 || again.Bytes != 0 {
			t.Errorf("the same again: %+v", again)
		}
		source := OpenStoreSource(s, 0, quiet())
		defer source.Close()
		current(t, source).Release()

		next := tree(2)
		delete(next, "v1/services/zeta.json")
		next["v1/services/zeta/sub.json"] = "a name under one that goes"
		mustPublish(t, d, t0.Add(time.Minute), next)
		got = mustPublishTo(t, s, reg, d)
		// index, services, sub and the sums are written; zeta is deleted; acme stays
		if !got.Moved || got.Packs != 0 || got.Written != 4 || got.Deleted != 1 || got.Unchanged != 1 ||
			got.Checkpoint.Generation != 2 || *got.Checkpoint.Previous != first.Snapshot {
			t.Errorf("the second: %+v", got)
		}
		verifyWhole(t, s)
		for name, want := range next {
			if got, err := content(s, name); err != nil || got != want {
				t.Errorf("%s reads %.40q, %v", name, got, err)
			}
		}
		if _, err := s.Stat(t.Context(), "v1/services/zeta.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a removed file: %v", err)
		}
		if err := source.Refresh(); err != nil {
			t.Fatal(err)
		}
		snap := current(t, source)
		defer snap.Release()
		if snap.ID != got.Checkpoint.Snapshot || readString(t, snap, "index.html") != next["index.html"] {
			t.Errorf("readers have %s", snap.ID)
		}
		if s.KeepsHeader() {
			for name, want := range map[string]objects.Header{
				"v1/services.json":                   {Type: "text/plain", Encoding: "gzip", Cache: "max-age=60"},
				"index.html":                         {Type: "text/plain", Cache: "max-age=60"},
				archive.CheckpointFile:               pointerHeader,
				archive.SnapshotName(first.Snapshot): immutableHeader,
			} {
				obj, err := s.Stat(t.Context(), name)
				if diff := cmp.Diff(want, obj.Header); err != nil || diff != "" {
					t.Errorf("header of %s, %v (-want +got):\n%s", name, err, diff)
				}
			}
		}
		if none := mustPublishTo(t, s, reg, d, func(o *PublishOptions) { o.Expand = nil }); none.Deleted != 5 {
			t.Errorf("expanding nothing any more: %+v", none)
		}
		want := []string{archive.CheckpointFile, expandedFile, archive.PackName(archive.HourOf(t0)),
			archive.SnapshotName(first.Snapshot), archive.SnapshotName(snap.ID)}
		slices.Sort(want)
		if diff := cmp.Diff(want, namesIn(t, s)); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
	})
}

// TestRollback checks that a rollback makes an older snapshot the current one, and that the replaced one is not
// published again without a new build.
func TestRollback(t *testing.T) {
	t.Parallel()
	s, reg, d := openStore(t, tempDir(t), nil), &memoryRegister{}, openFolder(t, tempDir(t))
	var ids []string
	for i := range 3 {
		ids = append(ids, mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i)).Checkpoint.Snapshot)
		mustPublishTo(t, s, reg, d)
	}
	back := func(id string) (Published, error) {
		return NewPublisher(s, reg, PublishOptions{Now: t0, Expand: everything}).Rollback(t.Context(), id)
	}
	for _, id := range []string{"", "../x", "20261120T234501Z-ffffff"} {
		if _, err := back(id); !errors.Is(err, ErrNotRetained) {
			t.Errorf("%q: %v, want %v", id, err, ErrNotRetained)
		}
	}
	for range 2 { // the second time changes nothing
		r, err := back(ids[0])
		if err != nil || r.Checkpoint.Snapshot != ids[0] || r.Checkpoint.Generation != 4 ||
			*r.Checkpoint.Previous != ids[2] {
			t.Errorf("%+v, %v", r, err)
		}
		if got, err := content(s, "index.html"); err != nil || got != tree(0)["index.html"] {
			t.Errorf("the page reads %s, %v", got, err)
		}
	}
	verifyWhole(t, s)
	if _, err := publishTo(s, reg, d); !errors.Is(err, ErrSuccessor) || !strings.Contains(err.Error(), ids[2]) {
		t.Errorf("the replaced snapshot: %v, want %v", err, ErrSuccessor)
	}
	mustPublish(t, d, t0.Add(time.Hour), tree(5))
	if r := mustPublishTo(t, s, reg, d); r.Checkpoint.Generation != 5 {
		t.Errorf("a new build: %+v", r)
	}
	verifyWhole(t, s)
}

// TestPublishSuccessor checks that a snapshot that may not follow the published one changes nothing without Force.
func TestPublishSuccessor(t *testing.T) {
	t.Parallel()
	s, reg, d := openStore(t, tempDir(t), nil), &memoryRegister{}, openFolder(t, tempDir(t))
	mustPublish(t, d, t0, tree(1))
	first := mustPublishTo(t, s, reg, d).Checkpoint
	mustPublish(t, d, t0.Add(time.Minute), tree(2))
	here := namesIn(t, s)
	var before string
	refuse := func(o *PublishOptions) {
		o.Check = func(a, b archive.Files) error {
			sums, err := a.ReadFile(archive.SumsFile)
			before = fmt.Sprintf("%x", sha256.Sum256(sums))
			return errors.Join(errors.New("half of the services are missing"), err)
		}
	}
	if _, err := publishTo(s, reg, d, refuse); !errors.Is(err, ErrSuccessor) ||
		!strings.Contains(err.Error(), "half of the services are missing") || before != first.Digest {
		t.Errorf("%v, compared with %s", err, before)
	}
	if diff := cmp.Diff(here, namesIn(t, s)); diff != "" || reg.record.Generation != 1 {
		t.Errorf("it changed (-before +after):\n%s", diff)
	}
	older := openFolder(t, tempDir(t))
	mustPublish(t, older, t0.Add(-time.Hour), tree(0))
	if _, err := publishTo(s, reg, older); !errors.Is(err, ErrSuccessor) || !strings.Contains(err.Error(), "older") {
		t.Errorf("an older one: %v", err)
	}
	if r := mustPublishTo(t, s, reg, d, refuse, func(o *PublishOptions) { o.Force = true }); !r.Moved {
		t.Errorf("forced: %+v", r)
	}
}

// TestPublishTwiceInASecond checks that a snapshot follows one of the same second, whatever the rest of their ids is.
func TestPublishTwiceInASecond(t *testing.T) {
	t.Parallel()
	s, reg, d := openStore(t, tempDir(t), nil), &memoryRegister{}, openFolder(t, tempDir(t))
	var ids []string
	for i := range 4 {
		mustPublish(t, d, t0.Add(time.Duration(i)*time.Millisecond), tree(i))
		ids = append(ids, mustPublishTo(t, s, reg, d).Checkpoint.Snapshot)
	}
	if slices.IsSorted(ids) {
		t.Errorf("the ids %q are in order, so they test nothing", ids)
	}
}

// TestPublishLostRegister checks that an empty register continues from the generation in the store.
func TestPublishLostRegister(t *testing.T) {
	t.Parallel()
	s, d := openStore(t, tempDir(t), nil), openFolder(t, tempDir(t))
	reg := &memoryRegister{}
	for i := range 3 {
		mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i))
		mustPublishTo(t, s, reg, d)
	}
	fresh := &memoryRegister{}
	if r := mustPublishTo(t, s, fresh, d); r.Moved || fresh.record.Generation != 3 {
		t.Errorf("%+v, register %+v", r, fresh.record)
	}
	mustPublish(t, d, t0.Add(time.Hour), tree(4))
	if r := mustPublishTo(t, s, fresh, d); r.Checkpoint.Generation != 4 {
		t.Errorf("%+v", r)
	}
}

// TestPublishErased checks that a pack that was rewritten because a service was erased replaces the old one in the
// store. Readers that have the old pack open read the new one.
func TestPublishErased(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		mustPublishTo(t, s, reg, d)
		const block = "v1/checks/block=0.json"
		hour := archive.HourOf(t0)
		var sources []*Source
		for _, source := range []*Source{OpenStoreSource(s, 0, quiet()), openSource(t, d.Root())} {
			defer source.Close()
			snap := current(t, source)
			if data, err := snap.ReadPack(hour, block); err != nil || string(data) != "rows of "+hour {
				t.Fatalf("%s, %v", data, err)
			}
			snap.Release()
			sources = append(sources, source)
		}
		b, err := d.Begin(t.Context(), BuildOptions{Now: t0.Add(time.Minute), Next: t0})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Abort()
		erased := strings.Repeat("x", len("rows of "+hour)) // of the same length
		if err := b.RewritePack(hour, func(string, []byte) ([]byte, error) { return []byte(erased), nil }); err != nil {
			t.Fatal(err)
		}
		b.SetErased(3)
		if err := b.Add("index.html", []byte("without it")); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := mustPublishTo(t, s, reg, d); r.Packs != 1 || r.Checkpoint.Erased != 3 {
			t.Errorf("%+v", r)
		}
		verifyWhole(t, s)
		for i, source := range sources {
			if err := source.Refresh(); err != nil {
				t.Fatal(err)
			}
			for _, snap := range []*Snapshot{current(t, source), byID(t, source, *previousIn(t, s))} {
				if data, err := snap.ReadPack(hour, block); err != nil || string(data) != erased {
					t.Errorf("source %d, snapshot %s: %s, %v", i, snap.ID, data, err)
				}
				snap.Release()
			}
		}
		back, err := NewPublisher(s, reg, PublishOptions{Now: t0}).Rollback(t.Context(), *previousIn(t, s))
		if err != nil || back.Checkpoint.Erased != 3 {
			t.Errorf("a rollback restores no pack: %+v, %v", back, err)
		}
	})
}

// previousIn returns the previous snapshot of a store's checkpoint.
func previousIn(t testing.TB, s objects.Store) *string {
	t.Helper()
	c, err := archive.ParseCheckpoint(readFileOf(t, s, archive.CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	return c.Previous
}
