package output

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestZipPackedMembers packs contents on several goroutines, in a buffer that each uses again: added in order they make the zip
// that Add makes.
func TestZipPackedMembers(t *testing.T) {
	t.Parallel()
	files := manyFiles(60)
	want, wantSum := makeZip(t, files, ZipOptions{Modified: t0})
	var b bytes.Buffer
	w := NewZipWriter(&b, ZipOptions{Modified: t0})
	names := slices.Sorted(maps.Keys(files))
	packed := make([]Packed, len(names))
	var workers sync.WaitGroup
	for first := range 4 {
		workers.Go(func() {
			var buf []byte
			for i := first; i < len(names); i += 4 {
				buf = append(buf[:0], files[names[i]]...)
				packed[i] = w.Pack(names[i], buf)
			}
			clear(buf)
		})
	}
	workers.Wait()
	for i, name := range names {
		add := func() error { return w.AddPacked(name, packed[i]) }
		if i%5 == 0 { // what waits comes before
			add = func() error { return w.Add(name, []byte(files[name])) }
		}
		if err := add(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.AddPacked(names[0], packed[0]); !errors.Is(err, ErrName) {
		t.Errorf("adding %s again: %v, want %v", names[0], err, ErrName)
	}
	sum, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantSum, sum); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Error("the bytes of the zips differ")
	}
}
