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

// listed is a directory of names, each with a sum made of it.
func listed(t rapid.TB, names []string) *directory {
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

// A directory finds the names that it was made of, and no other, in whatever order they are asked for.
func TestDirectoryFindsItsNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.StringMatching(`[A-T](/[a-c]{1,3}){0,3}`)
		names := rapid.SliceOfNDistinct(few, 0, 200, rapid.ID[string]).Draw(t, "names")
		d := listed(t, names)
		want := slices.Sorted(slices.Values(append(slices.Clone(names), SumsFile)))
		if diff := cmp.Diff(want, d.list()); diff != "" {
			t.Fatalf("names (-want +got):\n%s", diff)
		}
		asked := append(rapid.SliceOf(few).Draw(t, "others"), rapid.Permutation(want).Draw(t, "order")...)
		for _, name := range asked {
			at, isThere := slices.BinarySearch(want, name)
			i, ok := find(d, name)
			if ok != isThere || isThere && i != at {
				t.Fatalf("%s is found at %d (%v), and is at %d (%v)", name, i, ok, at, isThere)
			}
		}
	})
}

// A directory whose records are not those that are summed is refused, whichever way they differ.
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
		at := bytes.LastIndex(broken, []byte(change.from)) // in the directory, which lies at the end
		copy(broken[at:], change.to)
		if _, err := OpenZip(bytes.NewReader(broken), int64(len(broken))); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// Places beyond 4 GB stand in a field of their own.
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
	b = append(b, 0xff, 0xff, 1, 0, 0) // somebody's
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

// likeServices are names as a directory of services has them, in the order in which they are built.
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

// directoryMost is what an open snapshot may hold of each of its names, in bytes. Before the names lay in runs it was
// 580.
const directoryMost = 80

// TestDirectoryMemory is not parallel, since it looks at the memory of the whole process.
func TestDirectoryMemory(t *testing.T) {
	files := map[string]string{}
	for i, name := range likeServices(2000) {
		files[name] = fmt.Sprint(i)
	}
	data, _ := makeZip(t, files, ZipOptions{Modified: t0})
	held := func() int64 {
		for range 3 { // what pools let go of is gone after the second
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
	if each > directoryMost {
		t.Errorf("%.1f bytes are held a name, want %d at most", each, directoryMost)
	}
	runtime.KeepAlive(z)
	runtime.KeepAlive(files)
	runtime.KeepAlive(data)
}

// A zip's folders are read as those of a file system, also a folder beside a file whose name begins as its does.
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
		t.Errorf("a folder that is not there: %v", err)
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
	asked := slices.Collect(maps.Keys(files))
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	b.Run("lookup", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, ok := z.Lookup(asked[i%len(asked)]); !ok {
				b.Fatal(asked[i%len(asked)])
			}
		}
	})
}
