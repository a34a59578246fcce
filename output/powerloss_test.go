package output

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// lossyDisk knows which bytes and names of a folder a loss of power leaves: the bytes of files that were synced, and
// the names of folders that were.
type lossyDisk struct {
	root string

	mu       sync.Mutex
	unsynced map[string]bool            // files whose bytes are not durable
	durable  map[string]map[string]kept // by folder and name
}

// kept is what a durable name stands for.
type kept struct {
	mode fs.FileMode
	link string // of a link
	data []byte // of a file
}

func newLossyDisk(t *testing.T, root string) *lossyDisk {
	l := &lossyDisk{root: root, unsynced: map[string]bool{}, durable: map[string]map[string]kept{}}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			l.syncDir(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// syncDir makes the names in a folder durable.
func (l *lossyDisk) syncDir(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	names := map[string]kept{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		k := kept{mode: e.Type()}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			k.link, _ = os.Readlink(path)
		case e.Type().IsRegular() && !l.unsynced[path]:
			k.data, _ = os.ReadFile(path)
		}
		names[e.Name()] = k
	}
	l.durable[dir] = names
}

// did notes an operation that was done.
func (l *lossyDisk) did(op, path string) {
	switch op {
	case "create", "write":
		l.unsynced[path] = true
	case "sync":
		delete(l.unsynced, path)
		if names := l.durable[filepath.Dir(path)]; names != nil { // a name that was durable before its bytes
			if k, ok := names[filepath.Base(path)]; ok {
				k.data, _ = os.ReadFile(path)
				names[filepath.Base(path)] = k
			}
		}
	case "syncdir":
		l.syncDir(path)
	case "syncfs":
		_ = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
			delete(l.unsynced, path)
			return err
		})
		_ = filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				l.syncDir(path)
			}
			return err
		})
	}
}

// moved notes that what a name stands for has another one. What is durable of it stays so.
func (l *lossyDisk) moved(from, to string, stays bool) {
	under := func(path string) (string, bool) {
		rest, ok := strings.CutPrefix(path, from)
		return to + rest, ok && (rest == "" || rest[0] == filepath.Separator)
	}
	for path := range maps.Clone(l.unsynced) {
		if now, ok := under(path); ok {
			if l.unsynced[now] = true; !stays {
				delete(l.unsynced, path)
			}
		}
	}
	for path, names := range maps.Clone(l.durable) {
		if now, ok := under(path); ok {
			l.durable[now] = names
			delete(l.durable, path)
		}
	}
}

// all copies the folder with all names and the bytes that are durable.
func (l *lossyDisk) all(t *testing.T, to string) {
	err := filepath.WalkDir(l.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(l.root, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case e.IsDir():
			return os.MkdirAll(target, 0o755)
		case e.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		var data []byte
		if !l.unsynced[path] {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		return os.WriteFile(target, data, 0o644)
	})
	if err != nil {
		t.Error(err)
	}
}

// least copies the folder with the names and bytes that are durable.
func (l *lossyDisk) least(t *testing.T, dir, to string) {
	for name, k := range l.durable[dir] {
		target := filepath.Join(to, name)
		var err error
		switch {
		case k.mode.IsDir():
			if err = os.MkdirAll(target, 0o755); err == nil {
				l.least(t, filepath.Join(dir, name), target)
			}
		case k.link != "":
			err = os.Symlink(k.link, target)
		case k.mode.IsRegular():
			err = os.WriteFile(target, k.data, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestPowerLoss takes the power away before each operation of a publication. What was not synced is lost: the bytes of
// files, with all names or with those of synced folders alone. What is left is the snapshot before or the new one,
// whole, and the next run publishes.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	before := mustPublish(t, d, t0, dataTree(1))
	l := newLossyDisk(t, d.Root())
	type image struct{ root, after string }
	var images []image
	d.disk.Hook = func(op, path string, do func() error) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, least := range []bool{false, true} {
			to := tempDir(t)
			if least {
				l.least(t, l.root, to)
			} else {
				l.all(t, to)
			}
			images = append(images, image{to, "before " + op + " " + filepath.Base(path)})
		}
		was := snapshotOfNames(t, l.root)
		err := do()
		if info, statErr := os.Lstat(path); statErr == nil && (op == "rename" || op == "link") {
			for from, old := range was {
				if os.SameFile(info, old) && from != path {
					l.moved(from, path, op == "link")
				}
			}
		}
		l.did(op, path)
		return err
	}
	published := mustPublish(t, d, t0.Add(time.Minute), dataTree(2))
	if len(images) < 40 {
		t.Fatalf("%d images; is the hook called?", len(images))
	}
	for _, one := range images {
		if err := checkWhole(one.root); err != nil {
			t.Errorf("%s: %v", one.after, err)
			continue
		}
		left := openFolder(t, one.root)
		c, err := left.Checkpoint()
		if err != nil || c.Snapshot != before.Checkpoint.Snapshot && c.Snapshot != published.Checkpoint.Snapshot {
			t.Errorf("%s: %+v, %v", one.after, c, err)
		}
		mustPublish(t, left, t0.Add(2*time.Minute), dataTree(3))
		if err := checkWhole(one.root); err != nil {
			t.Errorf("%s, after the next run: %v", one.after, err)
		}
	}
}

// snapshotOfNames returns what each name of a folder stands for.
func snapshotOfNames(t *testing.T, root string) map[string]os.FileInfo {
	names := map[string]os.FileInfo{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && path != root {
			names[path], err = e.Info()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return names
}
