package output

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// TestExpandsAll checks the choice between all files and some, and that a directory whose size moves around the limit
// changes its mode once.
func TestExpandsAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		files  int
		period time.Duration
		some   bool
		want   bool
	}{
		{1000, 15 * time.Minute, false, true},   // 96,000
		{1042, 15 * time.Minute, false, false},  // 100,032
		{1000, 15 * time.Minute, true, false},   // some, and above the half
		{520, 15 * time.Minute, true, true},     // 49,920
		{35_815, 24 * time.Hour, false, true},   // once a day
		{310_308, 24 * time.Hour, false, false}, //
		{1, 100 * time.Millisecond, false, false},
		{0, time.Minute, true, true},
	} {
		if got := expandsAll(writesPerDay(tt.files, tt.period), 100_000, tt.some); got != tt.want {
			t.Errorf("%d files every %s, some %v: %v, want %v", tt.files, tt.period, tt.some, got, tt.want)
		}
	}
	all, changes := true, 0
	for _, files := range []int{1000, 1040, 1045, 1039, 1060, 1000, 900, 1050, 600, 1041, 1042} {
		next := expandsAll(writesPerDay(files, 15*time.Minute), 100_000, !all)
		if next != all {
			changes++
		}
		all = next
	}
	if changes != 1 || all {
		t.Errorf("%d changes of mode, all files: %v; want one change, to some", changes, all)
	}
}

// TestAutoExpansion publishes to a place whose schedule changes. A change of mode leaves no object of the other mode,
// also if the first attempt fails half-way; a rollback keeps the mode.
func TestAutoExpansion(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		auto := func(o *PublishOptions) {
			o.Expand = func(name string) bool { return strings.HasPrefix(name, "v1/") }
			o.AllBelow = 1000 // the tree has 5 files: 480 writes a day at a build every 15 minutes
		}
		every := func(period time.Duration) func(*PublishOptions) {
			return func(o *PublishOptions) { auto(o); o.Every = period }
		}
		objectNames := func() []string {
			return slices.DeleteFunc(namesIn(t, s), isOwn)
		}
		some := []string{"v1/services.json", "v1/services/acme.json", "v1/services/zeta.json"}
		all := slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(tree(1))), archive.SumsFile)))
		var snapshots []string
		n := 0
		step := func(about string, next time.Duration, want []string, all bool, change ...func(*PublishOptions)) {
			t.Helper()
			n++
			at := t0.Add(time.Duration(n) * time.Second)
			if _, err := publishAs(d, BuildOptions{Now: at, Next: at.Add(next)}, tree(n)); err != nil {
				t.Fatal(err)
			}
			r := mustPublishTo(t, s, reg, d, append([]func(*PublishOptions){auto}, change...)...)
			snapshots = append(snapshots, r.Checkpoint.Snapshot)
			if r.Expansion == nil || r.Expansion.All != all || r.Expansion.Files != len(want) {
				t.Errorf("%s: %+v", about, r.Expansion)
			}
			if diff := cmp.Diff(want, objectNames()); diff != "" {
				t.Errorf("%s: objects (-want +got):\n%s", about, diff)
			}
			verifyWhole(t, s)
		}
		step("the first", 15*time.Minute, all, true)
		step("builds become frequent", time.Minute, some, false)
		step("a little below the limit", 8*time.Minute, some, false)
		step("below half of the limit", 15*time.Minute, all, true)
		step("published less often than built", time.Minute, all, true, every(time.Hour))

		// a publisher that fails while it deletes the objects of the mode before
		at := t0.Add(100 * time.Second)
		if _, err := publishAs(d, BuildOptions{Now: at, Next: at.Add(time.Minute)}, tree(9)); err != nil {
			t.Fatal(err)
		}
		failing := &hookedStore{s, func(op, name string, do func() error) error {
			if op == "delete" {
				return archive.ErrUnreachable
			}
			return do()
		}}
		if _, err := publishTo(failing, reg, d, auto); err == nil {
			t.Error("a publisher whose deletions fail reports nothing")
		}
		mustPublishTo(t, s, reg, d, auto)
		if diff := cmp.Diff(some, objectNames()); diff != "" {
			t.Errorf("after a failure: objects (-want +got):\n%s", diff)
		}
		o := PublishOptions{Now: t0}
		auto(&o)
		if r, err := NewPublisher(s, reg, o).Rollback(t.Context(), snapshots[0]); err != nil || r.Expansion != nil {
			t.Errorf("rollback: %+v, %v", r.Expansion, err)
		}
		if diff := cmp.Diff(some, objectNames()); diff != "" {
			t.Errorf("after a rollback: objects (-want +got):\n%s", diff)
		}
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
