package output

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// TestAutoExpansion publishes to places whose schedule changes. A place keeps the objects that it has, because readers
// may use them; one without objects gets all or none. An option that deletes them leaves none, also if the first attempt
// fails half-way; a rollback keeps the kind.
func TestAutoExpansion(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		contract := func(o *PublishOptions) {
			o.Expand = func(name string) bool { return strings.HasPrefix(name, "v1/") }
		}
		auto := func(o *PublishOptions) {
			contract(o)
			o.AllBelow = 1000 // the tree has 5 files: 480 writes a day at a build every 15 minutes
		}
		every := func(period time.Duration) func(*PublishOptions) {
			return func(o *PublishOptions) { o.Every = period }
		}
		objectNames := func() []string {
			return slices.DeleteFunc(namesIn(t, s), isOwn)
		}
		some := []string{"v1/services.json", "v1/services/acme.json", "v1/services/zeta.json"}
		all := slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(tree(1))), archive.SumsFile)))
		var snapshots []string
		n := 0
		build := func(next time.Duration) {
			t.Helper()
			n++
			at := t0.Add(time.Duration(n) * time.Second)
			if _, err := publishAs(d, BuildOptions{Now: at, Next: at.Add(next)}, tree(n)); err != nil {
				t.Fatal(err)
			}
		}
		step := func(about string, next time.Duration, want []string, all bool, options ...func(*PublishOptions)) {
			t.Helper()
			build(next)
			r := mustPublishTo(t, s, reg, d, append([]func(*PublishOptions){auto}, options...)...)
			snapshots = append(snapshots, r.Checkpoint.Snapshot)
			if r.Expansion == nil || r.Expansion.All != all || r.Expansion.Files != len(want) {
				t.Errorf("%s: %+v", about, r.Expansion)
			}
			if diff := cmp.Diff(want, objectNames(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: objects (-want +got):\n%s", about, diff)
			}
			verifyWhole(t, s)
		}
		step("a new place, and builds are frequent", time.Minute, nil, false)
		step("above the limit", 7*time.Minute, nil, false) // 1,029
		step("below the limit", 8*time.Minute, all, true)  // 900
		step("builds become frequent, and readers may use what is there", time.Minute, all, true)

		// a publisher that fails while it deletes the objects
		build(time.Minute)
		failing := &hookedStore{s, func(op, name string, do func() error) error {
			if op == "delete" {
				return archive.ErrUnreachable
			}
			return do()
		}}
		none := func(o *PublishOptions) { o.Expand = nil }
		if _, err := publishTo(failing, reg, d, none); err == nil {
			t.Error("a publisher whose deletions fail reports nothing")
		}
		mustPublishTo(t, s, reg, d, none)
		if diff := cmp.Diff([]string{}, objectNames(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("after --expand none: objects (-want +got):\n%s", diff)
		}
		step("none stays none", time.Minute, nil, false)
		build(time.Minute)
		mustPublishTo(t, s, reg, d, contract)
		step("a place with the contract's files keeps them", time.Minute, some, false)
		o := PublishOptions{Now: t0}
		auto(&o)
		if r, err := NewPublisher(s, reg, o).Rollback(t.Context(), snapshots[0]); err != nil || r.Expansion != nil {
			t.Errorf("rollback: %+v, %v", r.Expansion, err)
		}
		if diff := cmp.Diff(some, objectNames()); diff != "" {
			t.Errorf("after a rollback: objects (-want +got):\n%s", diff)
		}
		step("published less often than built", time.Minute, all, true, every(time.Hour))
	})
}

// TestLastPublished checks that a publication is counted as a server in between counts it, and that the folder keeps
// the count until the next publication.
func TestLastPublished(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		if _, ok, err := d.LastPublished(s.String()); ok || err != nil {
			t.Errorf("before a publication: %v, %v", ok, err)
		}
		mustPublish(t, d, t0, tree(1))
		r := mustPublishTo(t, s, reg, d)
		mustPublishTo(t, s, reg, d) // nothing to do, so that nothing is stored
		got, ok, err := d.LastPublished(s.String())
		if diff := cmp.Diff(r, got); !ok || err != nil || diff != "" {
			t.Errorf("%v, %v (-want +got):\n%s", ok, err, diff)
		}
		if got.PerDay != 96 {
			t.Errorf("%v publications a day, want 96", got.PerDay)
		}
		if _, isBucket := s.(*objects.Bucket); isBucket == (got.Traffic == objects.Traffic{}) {
			t.Errorf("traffic %+v", got.Traffic)
		}
	})
}
