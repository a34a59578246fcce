package output

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// TestPublishZipSum checks that a zip that changed on the disk since the build is not published. The sum of the zip
// shows the change; without that sum, the sums of the files do. A missing or wrong sum of a complete zip does not
// prevent its publication.
func TestPublishZipSum(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		about     string
		flipped   bool // a byte of a file is changed
		seal      func(path string) error
		published bool
	}{
		{about: "as it was built", published: true},
		{about: "a byte of a file", flipped: true},
		{about: "a byte of a file, without a seal", flipped: true, seal: os.Remove},
		{about: "no seal", seal: os.Remove, published: true},
		{about: "another's seal", seal: func(path string) error {
			return os.WriteFile(path, []byte(strings.Repeat("0", 64)+"  x.zip\n"), 0o644)
		}, published: true},
	} {
		d, store := openFolder(t, t.TempDir()), openStoreDir(t, t.TempDir())
		c := mustPublish(t, d, t0, tree(1)).Checkpoint
		if test.flipped {
			flipByteOf(t, d.snapshotPath(c.Snapshot), "v1/services.json")
		}
		if test.seal != nil {
			if err := test.seal(d.zipSumPath(c.Snapshot)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := publishTo(store, &memoryRegister{}, d)
		if test.published && err != nil || !test.published && !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("%s: %v", test.about, err)
		}
		if _, statErr := store.Stat(t.Context(), archive.CheckpointFile); (statErr == nil) != test.published {
			t.Errorf("%s: the pointer: %v", test.about, statErr)
		}
	}
}

// TestZipSumCoversTheZip changes a byte between the files, which no sum of a file covers. The sum of the zip does not
// match, so every file is read; all of them are complete.
func TestZipSumCoversTheZip(t *testing.T) {
	t.Parallel()
	d := openFolder(t, t.TempDir())
	c := mustPublish(t, d, t0, tree(1)).Checkpoint
	path := d.snapshotPath(c.Snapshot)
	p := NewPublisher(nil, nil, PublishOptions{})
	check := func() (read int64, err error) { // returns the number of bytes read after opening
		zip, err := objects.OpenBody(path)
		if err != nil {
			t.Fatal(err)
		}
		defer zip.Close()
		counted := &countedBody{Body: zip}
		if _, err := archive.OpenZip(counted, counted.Size()); err != nil {
			t.Fatal(err)
		}
		opening := counted.n.Swap(0)
		_, err = p.check(t.Context(), target{}, d, c, counted)
		return counted.n.Load() - opening, err
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := check(); err != nil || n != info.Size() {
		t.Errorf("with its sum %d bytes of %d are read: %v", n, info.Size(), err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[10] ^= 1 // a time
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if n, err := check(); err != nil || n <= info.Size() {
		t.Errorf("with another time %d bytes of %d are read: %v", n, info.Size(), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second(p.check(ctx, target{}, d, c, bytes.NewReader(data))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// countedBody counts the bytes read.
type countedBody struct {
	objects.Body
	n atomic.Int64
}

func (c *countedBody) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Body.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

func openStoreDir(t *testing.T, root string) *objects.StoreDir {
	t.Helper()
	s, err := objects.OpenStoreDir(root)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// flipByteOf changes a byte of a member of a zip.
func flipByteOf(t *testing.T, path, member string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == member })
	at, err := z.File[i].DataOffset()
	if err != nil {
		t.Fatal(err)
	}
	data[at+2] ^= 0x10
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDamageIsNotCopied builds after a snapshot whose zip, or whose sum, changed on the disk. The build checks what it
// copies, and the new snapshot is complete.
func TestDamageIsNotCopied(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		about  string
		change func(t *testing.T, d *Folder, id string)
		copied bool // all compressed files
	}{
		{"as it was built", func(*testing.T, *Folder, string) {}, true},
		{"no seal", func(t *testing.T, d *Folder, id string) {
			if err := os.Remove(d.zipSumPath(id)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"a byte of a file", func(t *testing.T, d *Folder, id string) {
			flipByteOf(t, d.snapshotPath(id), bigFile)
		}, false},
	} {
		files := map[string]string{"index.html": "a page", bigFile: strings.Repeat("all work and no play ", 500)}
		d := openFolder(t, tempDir(t))
		first := mustPublish(t, d, t0, files)
		test.change(t, d, first.Checkpoint.Snapshot)
		next := mustPublish(t, d, t0.Add(time.Minute), files)
		if copied := next.Summary.Copied == 1; copied != test.copied {
			t.Errorf("%s: %d files were copied", test.about, next.Summary.Copied)
		}
		z, err := archive.OpenZipFile(d.snapshotPath(next.Checkpoint.Snapshot))
		if err != nil {
			t.Fatal(err)
		}
		if err := archive.Verify(t.Context(), z, next.Checkpoint.Digest); err != nil {
			t.Errorf("%s: the next snapshot: %v", test.about, err)
		}
		z.Close()
	}
}

const bigFile = "v1/big.json"
