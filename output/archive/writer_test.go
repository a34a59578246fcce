package archive

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestZipIsWrittenAsByArchiveZip holds the writer to the standard library's, to the byte: also of so many members that
// the end has its form for large zips.
func TestZipIsWrittenAsByArchiveZip(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 7, 66_000} {
		files := map[string]string{}
		for i := range count {
			files[fmt.Sprintf("v1/%05d.json", i)] = strings.Repeat("a", i%200)
		}
		got, _ := makeZip(t, files, ZipOptions{Modified: t0})
		z := openZip(t, got)

		var want bytes.Buffer
		w := zip.NewWriter(&want)
		for i := range count + 1 {
			name := SumsFile
			if i < count {
				name = fmt.Sprintf("v1/%05d.json", i)
			}
			m, ok := z.Lookup(name)
			if !ok {
				t.Fatalf("%s is not there", name)
			}
			c, err := m.Load()
			if err != nil {
				t.Fatal(err)
			}
			h := &zip.FileHeader{
				Name: name, CreatorVersion: 3<<8 | 20, ReaderVersion: 20, ExternalAttrs: 0o100644 << 16,
				CRC32: crc32.ChecksumIEEE(c.Plain), UncompressedSize64: uint64(len(c.Plain)),
				CompressedSize64: uint64(len(c.Plain)),
			}
			body := c.Plain
			if c.Deflate != nil {
				h.Method, h.CompressedSize64, body = zip.Deflate, uint64(len(c.Deflate)), c.Deflate
			}
			//lint:ignore SA1019 CreateRaw writes the fields that only this sets, not Modified.
			h.SetModTime(t0)
			part, err := w.CreateRaw(h)
			if err == nil {
				_, err = part.Write(body)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%d members: %d bytes are not the %d of archive/zip", count, len(got), want.Len())
		}
	}
}

// TestZipBeyond4GiB reads back what the directory says of a member that lies beyond what 32 bits hold.
func TestZipBeyond4GiB(t *testing.T) {
	t.Parallel()
	for _, at := range []uint64{0, math.MaxUint32 - 1, math.MaxUint32, 5 << 32} {
		e := entry{crc: 1, packed: 2, size: 3}
		e.setOffset(at, true)
		b := appendRecord(nil, &e, []byte("v1/a.json"), dosTime(t0))
		got, n, err := parseRecord(b)
		if err != nil || n != len(b) {
			t.Fatalf("read %d of %d bytes: %v", n, len(b), err)
		}
		want := record{name: []byte("v1/a.json"), method: methodDeflate, crc: 1, packed: 2, size: 3, at: at}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{})); diff != "" {
			t.Errorf("a member at %d (-want +got):\n%s", at, diff)
		}
	}
}

// TestZipPackedMembers packs contents on several goroutines, in a buffer that each uses again: added in order they make
// the zip that Add makes.
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
