package output

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"tollbook/output/archive"
)

// TestReadBack checks that a zip is not published if the disk has changed any byte of it, including bytes that no
// member's sum covers.
func TestReadBack(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"first", "middle", "last"} {
		d := openFolder(t, t.TempDir())
		first := mustPublish(t, d, t0, tree(1))
		d.disk.Hook = func(op, path string, do func() error) error {
			err := do()
			if op == "sync" && strings.HasSuffix(path, "snapshot.zip") && err == nil {
				flipByte(t, path, where)
			}
			return err
		}
		if _, err := publish(d, t0.Add(time.Minute), tree(2)); !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("with its %s byte flipped it was published: %v", where, err)
		}
		d.disk.Hook = nil
		if c, err := d.Checkpoint(); err != nil || c.Snapshot != first.Checkpoint.Snapshot {
			t.Errorf("%s byte: current is %s (%v), want the previous snapshot", where, c.Snapshot, err)
		}
		if err := checkWhole(d.Root()); err != nil {
			t.Errorf("%s byte: %v", where, err)
		}
	}
}

func flipByte(t *testing.T, path, where string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[map[string]int{"first": 0, "middle": len(data) / 2, "last": len(data) - 1}[where]] ^= 0x10
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
