package output

import (
	"errors"
	"os"
	"testing"
)

// At a glance a zip has the files that it has, and a file is the same as another when its content is; one that is damaged is not read.
func TestGlance(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	at := func(id string) (*glance, *ZipFile) {
		g, err := glanceAt(d.snapshotPath(id))
		if err != nil {
			t.Fatal(err)
		}
		z, err := OpenZipFile(d.snapshotPath(id))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { g.Close(); z.Close() })
		return g, z
	}
	g, z := at(mustPublish(t, d, t0, tree(1)).Checkpoint.Snapshot)
	second := mustPublish(t, d, t0.Add(1), tree(2)).Checkpoint.Snapshot
	_, next := at(second)
	for _, name := range z.Names() {
		want, err := z.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := g.ReadFile(name); err != nil || string(got) != string(want) {
			t.Errorf("%s reads %.40q, %v", name, got, err)
		}
		was, _ := g.Lookup(name)
		is, _ := next.Lookup(name)
		if old, _ := z.Lookup(name); was.Same(is) != old.Same(is) || was.Same(is) != (old.Sum == is.Sum) || !was.Same(old) {
			t.Errorf("%s is taken for the same: %v", name, was.Same(is))
		}
	}
	if _, ok := g.Lookup("v1/none.json"); ok {
		t.Error("a file that is not there is found")
	}
	if _, err := g.ReadFile("v1/none.json"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	flipByteOf(t, d.snapshotPath(second), "v1/services.json")
	damaged, _ := at(second)
	if _, err := damaged.ReadFile("v1/services.json"); !errors.Is(err, ErrDamaged) {
		t.Errorf("a damaged file: %v", err)
	}
}
