package output

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"

	"github.com/google/go-cmp/cmp"
)

// idAt returns an id of some minutes before now.
func idAt(now time.Time, ago time.Duration) string {
	return archive.SnapshotID(now.Add(-ago), strings.Repeat("ab", 32))
}

// retain applies the default retention to snapshots of any size.
func retain(ids []string, now time.Time, current, previous string) []string {
	var list []RetainedSnapshot
	for _, id := range ids {
		list = append(list, RetainedSnapshot{ID: id, Bytes: 1 << 40})
	}
	return DefaultRetention.Retain(list, 0, now, current, previous)
}

func TestRetain(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 45, 0, 0, time.UTC)
	minutes := func(ns ...int) (ids []string) {
		for _, n := range ns {
			ids = append(ids, idAt(now, time.Duration(n)*time.Minute))
		}
		return ids
	}
	every := func(from, to, step int) (ns []int) {
		for n := from; n >= to; n -= step {
			ns = append(ns, n)
		}
		return ns
	}
	const hour, day = 60, 24 * 60
	for _, test := range []struct {
		about             string
		ids               []string
		current, previous string
		want              []string
	}{
		{about: "nothing"},
		{about: "what is no id is not kept, nor counted", ids: []string{"x", "../../etc", "20261120T234500Z"}},
		{about: "every quarter of an hour: all of the last two hours", ids: minutes(every(120, 0, 15)...),
			want: minutes(every(120, 0, 15)...)},
		{
			about: "every 5 minutes: what was current within the hour, then the newest of each hour",
			ids:   minutes(every(3*hour, 0, 5)...),
			want:  minutes(170, 110, 65, 60, 55, 50, 45, 40, 35, 30, 25, 20, 15, 10, 5, 0),
		},
		{
			about: "what was replaced an hour ago stays, whenever it was built",
			ids:   minutes(2*day+90, 2*day+80, 62, 60), want: minutes(2*day+80, 62, 60),
		},
		{
			about: "what was replaced more than an hour ago",
			ids:   minutes(5*hour+1, 4*hour+59, 4*hour+58, 61), current: idAt(now, 61*time.Minute),
			want: minutes(4*hour+58, 61),
		},
		{
			about: "hours of the day before: the newest of each, then of each day",
			ids:   minutes(every(26*hour, 20*hour, 30)...),
			want:  minutes(24*hour, 23*hour, 22*hour, 21*hour, 20*hour), // four an hour
		},
		{
			about: "days of a year: the newest of each",
			ids:   minutes(append(every(370*day, 2*day, day), every(370*day+hour, 2*day+hour, day)...)...),
			want:  minutes(every(366*day, 2*day, day)...),
		},
		{
			about: "current and previous stay whatever their age",
			ids:   minutes(400*day, 399*day, 398*day, 0), current: idAt(now, 399*day*time.Minute),
			previous: idAt(now, 400*day*time.Minute),
			want:     minutes(400*day, 399*day, 398*day, 0), // the last was current until now
		},
		{
			about: "a clock that is a year ahead: days stay",
			ids:   minutes(500*day+10, 500*day, 400*day+10, 400*day, 0), current: idAt(now, 0),
			want: minutes(500*day, 400*day, 0),
		},
		{about: "a clock that was ahead", ids: minutes(-30, -90), want: minutes(-30, -90)},
		{about: "order does not matter", ids: minutes(0, 15, 0, 30), want: minutes(30, 15, 0)},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			got := retain(test.ids, now, test.current, test.previous)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, retain(got, now, test.current, test.previous)); diff != "" {
				t.Errorf("keeping twice (-once +twice):\n%s", diff)
			}
		})
	}
}

// TestRetainBoundsReplaced checks the limit of snapshots that are retained for readers, with builds every few seconds.
func TestRetainBoundsReplaced(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 59, 59, 0, time.UTC)
	var ids []string
	for i := range 1500 {
		ids = append(ids, idAt(now, time.Duration(i)*2*time.Second))
	}
	slices.Reverse(ids)
	if diff := cmp.Diff(ids[len(ids)-maxReplaced:], retain(ids, now, "", "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRetainOverAYear builds a snapshot every 15 minutes and prunes every few hours. The number of snapshots follows
// the rule, and every day retains one.
func TestRetainOverAYear(t *testing.T) {
	t.Parallel()
	var ids []string
	now := t0
	for i := range 400 * 24 * 4 {
		now = now.Add(15 * time.Minute)
		ids = append(ids, idAt(now, 0))
		if i%20 > 0 && i < 399*24*4 {
			continue
		}
		ids = retain(ids, now, ids[len(ids)-1], ids[max(0, len(ids)-2)])
	}
	if len(ids) < 365+24 || len(ids) > 367+26+10 {
		t.Errorf("%d are kept", len(ids))
	}
	days := map[string]bool{}
	for _, id := range ids {
		days[id[:8]] = true
	}
	if len(days) < 365 || len(days) > 366 {
		t.Errorf("%d days are kept", len(days))
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	var results []Result
	for i := range 4 {
		results = append(results, mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i)))
	}
	for _, name := range []string{"snapshots/notes.txt", "snapshots/.tmp-snapshot.zip", "packs/2026112021.zip",
		"packs/2026112022.zip", "packs/2026112099.zip", "tree/mine", ".tmp-current"} {
		if err := os.WriteFile(filepath.Join(d.Root(), name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := d.Prune(t0.Add(48*time.Hour), "2026112023", "2026112021")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Pruned{Snapshots: 2, Trees: 2, Packs: 1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	id := func(i int) string { return results[i].Checkpoint.Snapshot }
	want := []string{
		".lock", ".notes", "checkpoint.json", "current", "packs", "packs/2026112021.zip", "packs/2026112023.zip",
		"packs/2026112099.zip",
		"snapshots", "snapshots/" + id(2) + ".zip", "snapshots/" + id(2) + zipSumExt, "snapshots/" + id(3) + ".zip",
		"snapshots/" + id(3) + zipSumExt, "snapshots/notes.txt",
		"tree", "tree/" + id(2), "tree/" + id(3), "tree/mine",
	}
	if diff := cmp.Diff(want, listing(t, d.Root())); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestPruneEmpty(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	if got, err := d.Prune(t0, "2026112023"); err != nil || got != (Pruned{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRetainSize checks the limits on the number of days and on the size of all snapshots and packs. The current, the
// previous and the snapshots that readers may still page through stay, whatever their size.
func TestRetainSize(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	ids := []string{idAt(now, 5*day), idAt(now, 4*day), idAt(now, 3*day), idAt(now, 90*time.Minute),
		idAt(now, 30*time.Minute), idAt(now, 0)}
	var list []RetainedSnapshot
	for _, id := range ids {
		list = append(list, RetainedSnapshot{id, 100})
	}
	for _, tt := range []struct {
		about             string
		r                 Retention
		packs             int64
		current, previous string
		want              []string
	}{
		{"any size", Retention{Daily: 365}, 1 << 40, ids[5], ids[4], ids},
		{"no days", Retention{}, 0, ids[5], ids[4], ids[3:]},
		{"two days: this one and one more", Retention{Daily: 2}, 0, ids[5], ids[4], ids[2:]},
		{"all fit exactly", Retention{Daily: 365, Size: 600}, 0, ids[5], ids[4], ids},
		{"one byte too much", Retention{Daily: 365, Size: 599}, 0, ids[5], ids[4], ids[1:]},
		{"packs count", Retention{Daily: 365, Size: 600}, 250, ids[5], ids[4], ids[3:]},
		{"readers keep what was current within the hour", Retention{Daily: 365, Size: 1}, 0, ids[5], ids[4], ids[3:]},
		{"after a rollback the current one is old", Retention{Daily: 365, Size: 1}, 0, ids[0], ids[1],
			[]string{ids[0], ids[1], ids[3], ids[4], ids[5]}},
	} {
		got := tt.r.Retain(list, tt.packs, now, tt.current, tt.previous)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.about, diff)
		}
	}
}

// TestPruneSize prunes a folder and a place to a size. The newest snapshots and all packs stay in both.
func TestPruneSize(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		var last Result
		var at time.Time
		for i := range 6 {
			at = t0.AddDate(0, 0, i)
			last = mustPublish(t, d, at, tree(1))
			mustPublishTo(t, s, reg, d)
		}
		list, err := d.Snapshots()
		if err != nil || len(list) != 6 {
			t.Fatalf("%d snapshots, %v", len(list), err)
		}
		packs, err := d.sharedBytes()
		if err != nil {
			t.Fatal(err)
		}
		d.SetRetention(Retention{Daily: 365, Size: packs + list[5].Bytes + list[4].Bytes + list[3].Bytes})
		want := []string{archive.SnapshotName(list[3].ID), archive.SnapshotName(list[4].ID),
			archive.SnapshotName(list[5].ID)}
		if p, err := d.Prune(at, ""); err != nil || p.Snapshots != 3 || p.Packs != 0 {
			t.Errorf("the folder: %+v, %v", p, err)
		}
		if err := checkWhole(d.Root()); err != nil {
			t.Error(err)
		}
		o := PublishOptions{Now: at}
		if p, err := NewPublisher(s, reg, o).Prune(t.Context(), d); err != nil || p.Snapshots != 3 || p.Packs != 0 {
			t.Errorf("the place: %+v, %v", p, err)
		}
		got := slices.DeleteFunc(namesIn(t, s), func(name string) bool {
			return !strings.HasPrefix(name, archive.SnapshotsDir+"/")
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the place (-want +got):\n%s", diff)
		}
		if v := verifyWhole(t, s); v.Snapshot != last.Checkpoint.Snapshot {
			t.Errorf("%s is current", v.Snapshot)
		}
	})
}
