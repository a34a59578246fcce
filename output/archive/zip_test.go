package archive

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// makeZip writes files in the order of their names.
func makeZip(t testing.TB, files map[string]string, opts ZipOptions) ([]byte, Summary) {
	t.Helper()
	var b bytes.Buffer
	w := NewZipWriter(&b, opts)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := w.Add(name, []byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), sum
}

func openZip(t testing.TB, data []byte) *Zip {
	t.Helper()
	z, err := OpenZip(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// manyFiles returns a tree with stored, compressed, empty, large and incompressible files.
func manyFiles(n int) map[string]string {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	files := map[string]string{"empty": "", "noise": string(noise),
		"large": strings.Repeat("all work and no play ", 200_000)}
	for i := range n {
		files[fmt.Sprintf("v1/list/page=%d.json", i)] = strings.Repeat(fmt.Sprintf(`{"n":%d},`, r.IntN(1000)),
			r.IntN(2000))
	}
	return files
}

func TestZipReadsBack(t *testing.T) {
	t.Parallel()
	files := manyFiles(50)
	data, sum := makeZip(t, files, ZipOptions{Modified: t0})

	std, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range std.File {
		if !f.Modified.Equal(t0) && f.Modified.Unix()/2 != t0.Unix()/2 { // DOS times have steps of two seconds
			t.Errorf("%s: modified %v, want %v", f.Name, f.Modified, t0)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[f.Name] = string(b)
	}
	var sums strings.Builder
	total := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(files[name])), name)
		total += len(files[name])
	}
	want := maps.Clone(files)
	want[SumsFile] = sums.String()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("members (-want +got):\n%.2000s", diff)
	}
	if last := std.File[len(std.File)-1].Name; last != SumsFile {
		t.Errorf("the last member is %s", last)
	}
	wantSum := Summary{
		Files: len(want), Bytes: int64(total + sums.Len()), CompressedBytes: sum.CompressedBytes,
		Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(sums.String()))),
	}
	if diff := cmp.Diff(wantSum, sum); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if sum.CompressedBytes >= int64(len(data)) || sum.CompressedBytes < 5000 {
		t.Errorf("compressed bytes %d of a zip of %d", sum.CompressedBytes, len(data))
	}
}

func TestZip64Members(t *testing.T) {
	t.Parallel()
	const n = 70_000 // more than a directory without ZIP64 can count
	files := make(map[string]string, n)
	for i := range n {
		files[fmt.Sprintf("v1/%d.json", i)] = fmt.Sprint(i)
	}
	data, sum := makeZip(t, files, ZipOptions{Modified: t0})
	z := openZip(t, data)
	if got := len(z.Names()); got != n+1 || sum.Files != n+1 {
		t.Errorf("%d names, %d in the summary, want %d", got, sum.Files, n+1)
	}
	if err := Verify(context.Background(), z, sum.Digest); err != nil {
		t.Error(err)
	}
}

func TestZipIsFS(t *testing.T) {
	t.Parallel()
	a := txtar.Parse([]byte("-- index.html --\nhello\n-- v1/services.json --\n[]\n-- v1/services/acme.json --\n{}\n"))
	data, _ := makeZip(t, fromTxtar(a), ZipOptions{Modified: t0})
	z := openZip(t, data)
	if err := fstest.TestFS(z, "index.html", "v1/services.json", "v1/services/acme.json", SumsFile); err != nil {
		t.Error(err)
	}
	if _, err := z.ReadFile("v1/none.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestZipDamage damages each byte of a zip in turn: a reader gets an error or the right bytes.
func TestZipDamage(t *testing.T) {
	t.Parallel()
	files := tree(1)
	data, sum := makeZip(t, files, ZipOptions{Modified: t0})
	detected := 0
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x41
		z, err := OpenZip(bytes.NewReader(damaged), int64(len(damaged)))
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d: %v", i, err)
			}
			detected++
			continue
		}
		if err := Verify(context.Background(), z, sum.Digest); err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d: %v", i, err)
			}
			detected++
		}
		for name, want := range files {
			if got, err := z.ReadFile(name); err == nil && string(got) != want {
				t.Fatalf("byte %d: %s reads wrong", i, name)
			}
		}
	}
	if detected < len(data)/3 { // the rest is times, modes and what the directory repeats
		t.Errorf("%d of %d damaged bytes were detected", detected, len(data))
	}
}

func TestVerifyNamesTheFirst(t *testing.T) {
	t.Parallel()
	files := manyFiles(20)
	data, sum := makeZip(t, files, ZipOptions{Modified: t0})
	z := openZip(t, data)
	if err := Verify(context.Background(), z, strings.Repeat("0", 64)); !errors.Is(err, ErrDamaged) {
		t.Errorf("another digest: %v", err)
	}
	for _, name := range []string{"noise", "v1/list/page=7.json"} {
		m, _ := z.Lookup(name)
		data[m.at+localHead+int64(len(name))+3] ^= 0xff
	}
	err := Verify(context.Background(), openZip(t, data), sum.Digest)
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "noise") {
		t.Errorf("two damaged files: %v, want the first of them named", err)
	}
}

// TestMemberDeflated checks that the raw deflate of a member between GzipHead and GzipTail is a gzip body.
func TestMemberDeflated(t *testing.T) {
	t.Parallel()
	data, _ := makeZip(t, tree(1), ZipOptions{Modified: t0})
	z := openZip(t, data)
	m, ok := z.Lookup("v1/services.json")
	if !ok || !m.IsDeflated() {
		t.Fatalf("ok %v, deflated %v", ok, m.IsDeflated())
	}
	c, err := m.Load()
	if err != nil {
		t.Fatal(err)
	}
	r, size, crc, err := m.Deflated()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, c.Deflate) || size != int64(len(raw)) || crc != c.CRC32 ||
		string(c.Plain) != tree(1)["v1/services.json"] {
		t.Error("Deflated and Load differ")
	}
	small, _ := z.Lookup("v1/services/zeta.json")
	if r, _, _, err := small.Deflated(); r != nil || err != nil || small.IsDeflated() {
		t.Errorf("a stored member: %v, %v", r, err)
	}
}

func TestParseSums(t *testing.T) {
	t.Parallel()
	x := strings.Repeat("0a", 32)
	for _, test := range []struct {
		about, text string
		ok          bool
	}{
		{"nothing", "", true},
		{"two", x + "  a\n" + x + "  b\n", true},
		{"unsorted", x + "  b\n" + x + "  a\n", false},
		{"twice", x + "  a\n" + x + "  a\n", false},
		{"no end", x + "  a", false},
		{"upper case", strings.ToUpper(x) + "  a\n", false},
		{"no hex", strings.Repeat("xy", 32) + "  a\n", false},
		{"one space", x + " a\n", false},
		{"no name", x + "  \n", false},
		{"outside", x + "  ../a\n", false},
		{"itself", x + "  " + SumsFile + "\n", false},
	} {
		lines, err := ParseSums([]byte(test.text))
		if (err == nil) != test.ok || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v, want ok %v", test.about, err, test.ok)
		}
		if err == nil && string(FormatSums(lines)) != test.text {
			t.Errorf("%s: the round trip differs", test.about)
		}
	}
}

func FuzzOpenZip(f *testing.F) {
	data, _ := makeZip(f, tree(1), ZipOptions{Modified: t0})
	f.Add(data)
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, data []byte) {
		z, err := OpenZip(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, name := range z.Names() {
			m, _ := z.Lookup(name)
			if b, err := m.Read(); err == nil && Sum(sha256.Sum256(b)) != m.Sum {
				t.Fatalf("%s reads wrong", name)
			}
		}
	})
}

func BenchmarkZip(b *testing.B) {
	files := manyFiles(2000)
	first, sum := makeZip(b, files, ZipOptions{Modified: t0})
	previous := openZip(b, first)
	for name, opts := range map[string]ZipOptions{"full": {Modified: t0},
		"unchanged": {Modified: t0, Previous: previous}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(sum.Bytes)
			for b.Loop() {
				makeZip(b, files, opts)
			}
		})
	}
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(sum.Bytes)
		for b.Loop() {
			if err := Verify(context.Background(), previous, ""); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			openZip(b, first)
		}
	})
}

func TestZipEmpty(t *testing.T) {
	t.Parallel()
	data, sum := makeZip(t, nil, ZipOptions{Modified: t0})
	z := openZip(t, data)
	if diff := cmp.Diff([]string{SumsFile}, z.Names()); diff != "" || sum.Files != 1 || z.Digest() != sum.Digest {
		t.Errorf("%+v (-want +got):\n%s", sum, diff)
	}
}

// TestLoadIsBounded checks that a member that claims to be large is not read as a whole.
func TestLoadIsBounded(t *testing.T) {
	t.Parallel()
	if _, err := (Member{Name: "v1/index.json", Size: maxLoaded + 1}).Load(); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want %v", err, ErrDamaged)
	}
}
