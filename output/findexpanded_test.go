package output

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/site/testgate"
)

// TestPublishWithoutList checks that a publication after the loss of the list finds unwanted objects, and leaves those
// of strangers.
func TestPublishWithoutList(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		put := func(name, cache string) {
			t.Helper()
			if _, err := s.Put(t.Context(), name, bytes.NewReader([]byte("x")),
				objects.PutOptions{Header: objects.Header{Type: "text/plain", Cache: cache}}); err != nil {
				t.Fatal(err)
			}
		}
		strangers := []string{"about.txt", "photos/cat.jpg", "snapshots/readme.txt", "packs/readme.txt"}
		if s.KeepsHeader() {
			strangers = append(strangers, "v1/mine.json")
		}
		for _, name := range strangers {
			put(name, "private")
		}
		mustPublish(t, d, t0, tree(1))
		mustPublishTo(t, s, reg, d)
		put("v1/services/older.json", "max-age=60") // of a much older snapshot
		if err := s.Delete(t.Context(), []string{expandedFile}); err != nil {
			t.Fatal(err)
		}
		next := tree(2)
		delete(next, "v1/services/zeta.json")
		mustPublish(t, d, t0.Add(time.Minute), next)
		if got := mustPublishTo(t, s, reg, d); got.Written != len(next)+1 || got.Deleted != 2 {
			t.Errorf("%+v", got)
		}
		verifyWhole(t, s)
		for _, name := range []string{"v1/services/older.json", "v1/services/zeta.json"} {
			if _, err := s.Stat(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range strangers {
			if _, err := s.Stat(t.Context(), name); err != nil {
				t.Errorf("a stranger's object: %v", err)
			}
		}
		if again := mustPublishTo(t, s, reg, d); again.Written+again.Deleted > 0 {
			t.Errorf("again: %+v", again)
		}
	})
}

// TestPublishListsOnce checks that a store without expanded objects is never listed completely, and one that begins to
// have them is listed once.
func TestPublishListsOnce(t *testing.T) {
	t.Parallel()
	lists := 0
	s := &hookedStore{openStore(t, tempDir(t), nil), func(op, name string, do func() error) error {
		if op == "list" && name == "" {
			lists++
		}
		return do()
	}}
	reg, d := &memoryRegister{}, openFolder(t, tempDir(t))
	for i, expand := range []bool{false, false, true, true, false} {
		mustPublish(t, d, t0.Add(time.Duration(i)*time.Minute), tree(i))
		mustPublishTo(t, s, reg, d, func(o *PublishOptions) { o.Expand = func(string) bool { return expand } })
		if want := min(1, i/2); lists != want {
			t.Errorf("after %d publications: listed %d times, want %d", i+1, lists, want)
		}
	}
}

// TestListedIsRetained publishes and prunes builds of more than a year. Readers can always read the snapshots that the
// current one lists, including the newest of each day of the last year.
func TestListedIsRetained(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	s, reg, d := openStore(t, tempDir(t), nil), &memoryRegister{}, openFolder(t, tempDir(t))
	end := t0.AddDate(1, 1, 0)
	var times []time.Time
	for at := t0; at.Before(end.AddDate(0, 0, -2)); at = at.Add(13 * time.Hour) {
		times = append(times, at)
	}
	for at := end.AddDate(0, 0, -2); at.Before(end); at = at.Add(15 * time.Minute) {
		times = append(times, at)
	}
	list := func(t archive.Tree) ([]string, error) {
		data, err := t.ReadFile("retained.txt")
		return strings.Fields(string(data)), err
	}
	for i, at := range times {
		b, err := d.Begin(t.Context(), BuildOptions{Now: at, Next: at, Expand: ExpandNone})
		if err != nil {
			t.Fatal(err)
		}
		retained, err := b.RetainedSnapshots()
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, k := range retained {
			ids = append(ids, k.ID)
		}
		if err := b.Add("retained.txt", []byte(strings.Join(ids, "\n")+"\n")); err != nil {
			t.Fatal(err)
		}
		r, err := b.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Prune(at, ""); err != nil {
			t.Fatal(err)
		}
		p := NewPublisher(s, reg, PublishOptions{Now: at.Add(14 * time.Minute), Listed: list})
		if _, err := p.Publish(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Prune(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if i%40 != 0 && i != len(times)-1 {
			continue
		}
		list, err := p.listZips(t.Context(), archive.SnapshotsDir, func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		var there []string
		for _, s := range list {
			there = append(there, s.ID)
		}
		slices.Sort(there)
		want := append(slices.Clone(ids), r.Checkpoint.Snapshot)
		slices.Sort(want)
		if diff := cmp.Diff(want, there); diff != "" {
			t.Fatalf("at %s (-listed +there):\n%s", at, diff)
		}
		if i == len(times)-1 {
			days := map[string]bool{}
			for _, id := range ids {
				days[id[:8]] = true
			}
			if len(days) < 365 {
				t.Errorf("%d days are retained", len(days))
			}
		}
	}
}
