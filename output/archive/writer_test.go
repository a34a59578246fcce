package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"tollbook/site/testgate"
)

// TestZipIsWrittenAsByArchiveZip compares the writer with that of archive/zip, byte for byte, including a number of
// members that needs ZIP64.
func TestZipIsWrittenAsByArchiveZip(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
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
				t.Fatalf("%s is missing", name)
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

// TestZipBeyond4GiB reads back the directory record of a member whose offset does not fit into 32 bits.
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

// TestZipPackedMembers packs content on several goroutines, each with one reused buffer. Added in order, the members
// make the same zip as Add.
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
		if i%5 == 0 { // queued members come first
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

func TestZipSameBytes(t *testing.T) {
	t.Parallel()
	files := manyFiles(200)
	first, sum := makeZip(t, files, ZipOptions{Modified: t0})
	again, _ := makeZip(t, files, ZipOptions{Modified: t0})
	copied, sumCopied := makeZip(t, files, ZipOptions{Modified: t0, Previous: openZip(t, first)})
	if !bytes.Equal(first, again) {
		t.Error("two runs gave different bytes")
	}
	if !bytes.Equal(first, copied) {
		t.Error("copying from the previous zip gave different bytes")
	}
	if sum.Copied != 0 || sumCopied.Copied < 150 {
		t.Errorf("copied %d, then %d", sum.Copied, sumCopied.Copied)
	}

	changed := maps.Clone(files)
	changed["large"] = strings.Repeat("something else ", 1000)
	want, _ := makeZip(t, changed, ZipOptions{Modified: t0})
	got, sumChanged := makeZip(t, changed, ZipOptions{Modified: t0, Previous: openZip(t, first)})
	if !bytes.Equal(want, got) {
		t.Error("a changed file gave different bytes with a previous zip")
	}
	if sumChanged.Copied != sumCopied.Copied-1 {
		t.Errorf("copied %d of a tree with one change, %d of one without", sumChanged.Copied, sumCopied.Copied)
	}
}

// TestZipMemory checks that memory is bounded by the members in flight, not by the size of the tree. It is not
// parallel, because it measures the memory of the whole process.
func TestZipMemory(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	w := NewZipWriter(io.Discard, ZipOptions{})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 { // MiB
		b := bytes.Repeat(binary.LittleEndian.AppendUint64(nil, r.Uint64()), 1<<17)
		if err := w.Add(fmt.Sprint(i), b); err != nil {
			t.Fatal(err)
		}
	}
	if used := int64(heap() - before); used > 64<<20 {
		t.Errorf("%d MiB are in use after 400", used>>20)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestZipDamagedPrevious checks that damage in the previous zip does not spread.
func TestZipDamagedPrevious(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a": strings.Repeat("hello ", 1000), "b": strings.Repeat("world ", 1000)}
	data, _ := makeZip(t, files, ZipOptions{Modified: t0})
	damaged := bytes.Clone(data)
	damaged[40] ^= 0x55 // in the content of a
	got, sum := makeZip(t, files, ZipOptions{Modified: t0, Previous: openZip(t, damaged)})
	if !bytes.Equal(data, got) {
		t.Error("the zip is not what it is without a previous one")
	}
	if sum.Copied != 1 { // the list of two files is not smaller when compressed
		t.Errorf("copied %d, want b alone", sum.Copied)
	}
}

func TestZipRefuses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"../a", "/a", "there", "there/below", "", SumsFile, SumsFile + "/a"} {
		w := NewZipWriter(io.Discard, ZipOptions{})
		if err := w.Add("there", nil); err != nil {
			t.Fatal(err)
		}
		added := w.Add(name, nil)
		if _, err := w.Close(); !errors.Is(errors.Join(added, err), ErrName) || added != nil && err != nil {
			t.Errorf("%q: Add: %v, Close: %v, want %v of one", name, added, err, ErrName)
		}
	}
}

type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestZipWriteFails(t *testing.T) {
	t.Parallel()
	w := NewZipWriter(&failingWriter{3 << 20}, ZipOptions{})
	r := rand.New(rand.NewPCG(1, 2))
	var err error
	for i := 0; i < 10_000 && err == nil; i++ {
		b := make([]byte, 10_000)
		for j := range b {
			b[j] = byte(r.Uint32())
		}
		err = w.Add(fmt.Sprint(i), b)
	}
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Add: %v", err)
	}
	if _, err := w.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Close: %v", err)
	}
}
