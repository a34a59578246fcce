package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// newDirectory returns a directory of names, each with a sum made of its name.
func newDirectory(t rapid.TB, names []string) *directory {
	t.Helper()
	lines := make([]Line, len(names))
	for i, name := range names {
		lines[i] = Line{name, Sum{byte(i), byte(i >> 8), byte(len(name))}}
	}
	d := &directory{}
	if _, err := d.addSums(bytes.NewReader(FormatSums(lines))); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDirectoryFindsItsNames checks that a directory finds all its names and no other, in any order.
func TestDirectoryFindsItsNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.StringMatching(`[A-T](/[a-c]{1,3}){0,3}`)
		names := rapid.SliceOfNDistinct(few, 0, 200, rapid.ID[string]).Draw(t, "names")
		d := newDirectory(t, names)
		want := slices.Sorted(slices.Values(append(slices.Clone(names), SumsFile)))
		if diff := cmp.Diff(want, d.list()); diff != "" {
			t.Fatalf("names (-want +got):\n%s", diff)
		}
		order := append(rapid.SliceOf(few).Draw(t, "others"), rapid.Permutation(want).Draw(t, "order")...)
		for _, name := range order {
			at, isThere := slices.BinarySearch(want, name)
			i, ok := find(d, name)
			if ok != isThere || isThere && i != at {
				t.Fatalf("%s: index %d (%v), want %d (%v)", name, i, ok, at, isThere)
			}
		}
	})
}

// TestDirectoryAndSumsDiffer checks that OpenZip rejects a zip whose records and sums list different names.
func TestDirectoryAndSumsDiffer(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a/1": "one", "a/2": "two", "b": "three"}
	data, _ := makeZip(t, files, ZipOptions{Modified: t0})
	for about, change := range map[string]struct{ from, to string }{
		"a name that is not summed":   {"a/2", "a/3"},
		"one twice, another missing":  {"a/2", "a/1"},
		"the sums under another name": {SumsFile, "SHA256SUMX"},
	} {
		broken := bytes.Clone(data)
		at := bytes.LastIndex(broken, []byte(change.from)) // in the directory, which is at the end
		copy(broken[at:], change.to)
		if _, err := OpenZip(bytes.NewReader(broken), int64(len(broken))); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// TestRecordBeyond32Bits checks that an offset beyond 4 GiB is in an extra field.
func TestRecordBeyond32Bits(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	b := le.AppendUint32(nil, recordMark)
	b = append(b, make([]byte, recordHead-4)...)
	le.PutUint16(b[28:], 1)
	le.PutUint16(b[30:], 5+12)
	le.PutUint32(b[20:], 7)
	le.PutUint32(b[24:], 9)
	le.PutUint32(b[42:], 1<<32-1)
	b = append(b, 'a')
	b = append(b, 0xff, 0xff, 1, 0, 0) // an unknown field
	b = append(b, extra64, 0, 8, 0)
	b = le.AppendUint64(b, 5<<32)
	rec, length, err := parseRecord(b)
	if err != nil || length != len(b) || string(rec.name) != "a" || rec.packed != 7 || rec.size != 9 ||
		rec.at != 5<<32 {
		t.Errorf("%+v, %d of %d bytes, %v", rec, length, len(b), err)
	}
	z := Zip{size: 6 << 32}
	var e entry
	if err := z.setRecord(&e, rec); err != nil || e.offset() != 5<<32 {
		t.Errorf("placed at %d: %v", e.offset(), err)
	}
	if err := z.setRecord(&e, rec); !errors.Is(err, ErrDamaged) {
		t.Errorf("placed twice: %v", err)
	}
}

// likeServices returns names like those of a directory of services, in the order of a build.
func likeServices(services int) []string {
	var names []string
	for i := range services {
		of := fmt.Sprintf("services/service-%d", i)
		names = append(names, "v1/"+of+".json", "v1/"+of+"/uptime/period=24h.json", "v1/"+of+"/uptime/period=90d.json",
			"v1/"+of+"/checks/block=85.json",
			"v1/"+of+"/price/period=all.json", of+".html", of+"/page.md", of+"/badge.svg", of+"/changes.json")
	}
	return names
}

// maxDirectoryBytes limits the memory of an open snapshot, in bytes a name. Without runs of names it was 580.
const maxDirectoryBytes = 80

// TestDirectoryMemory is not parallel, because it measures the memory of the whole process.
func TestDirectoryMemory(t *testing.T) {
	files := map[string]string{}
	for i, name := range likeServices(2000) {
		files[name] = fmt.Sprint(i)
	}
	data, _ := makeZip(t, files, ZipOptions{Modified: t0})
	held := func() int64 {
		for range 3 { // pooled memory is free after the second
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := held()
	z := openZip(t, data)
	each := float64(held()-before) / float64(len(files)+1)
	t.Logf("%.1f bytes a name", each)
	if each > maxDirectoryBytes {
		t.Errorf("%.1f bytes are used a name, want at most %d", each, maxDirectoryBytes)
	}
	runtime.KeepAlive(z)
	runtime.KeepAlive(files)
	runtime.KeepAlive(data)
}

// TestZipFolders checks that the folders of a zip read like those of a file system, including a folder beside a file
// whose name has the same beginning.
func TestZipFolders(t *testing.T) {
	t.Parallel()
	data, _ := makeZip(t, map[string]string{"a-b/x": "", "a.json": "", "a/b/c": "", "a/z": ""},
		ZipOptions{Modified: t0})
	z := openZip(t, data)
	got := map[string][]string{}
	for _, folder := range []string{".", "a", "a/b"} {
		entries, err := fs.ReadDir(z, folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			got[folder] = append(got[folder], e.Name())
		}
	}
	want := map[string][]string{".": {SumsFile, "a", "a-b", "a.json"}, "a": {"b", "z"}, "a/b": {"c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders (-want +got):\n%s", diff)
	}
	if _, err := z.Open("a/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

func BenchmarkDirectory(b *testing.B) {
	files := map[string]string{}
	names := likeServices(10_000)
	for _, name := range names {
		files[name] = fmt.Sprint(crc32.ChecksumIEEE([]byte(name)))
	}
	var buf bytes.Buffer
	w := NewZipWriter(&buf, ZipOptions{Modified: t0})
	for _, name := range names {
		if err := w.Add(name, []byte(files[name])); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			openZip(b, buf.Bytes())
		}
	})
	z := openZip(b, buf.Bytes())
	order := slices.Collect(maps.Keys(files))
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	b.Run("lookup", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, ok := z.Lookup(order[i%len(order)]); !ok {
				b.Fatal(order[i%len(order)])
			}
		}
	})
}
