package archive

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

// TestZipStoredMember writes members that are not compressed between others, and reads them back whole and in parts.
func TestZipStoredMember(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("rows that would compress ", 100_000)
	var b bytes.Buffer
	z := NewZipWriter(&b, ZipOptions{})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(z.Add("a.json", []byte(content)))
	sum, err := z.AddStored("data/b.parquet", strings.NewReader(content), int64(len(content)))
	check(err)
	_, err = z.AddStored("data/c.parquet", strings.NewReader(""), 0)
	check(err)
	check(z.Add("d.json", []byte(content)))
	summary, err := z.Close()
	check(err)
	if sum != Sum(sha256.Sum256([]byte(content))) || summary.Files != 5 {
		t.Errorf("sum %s, %+v", sum, summary)
	}
	zip := openZip(t, b.Bytes())
	check(Verify(t.Context(), zip, summary.Digest))
	for name, want := range map[string]string{"data/b.parquet": content, "data/c.parquet": ""} {
		m, _ := zip.Lookup(name)
		r, offset, ok, err := m.Stored()
		if err != nil || !ok || r.Size() != int64(len(want)) {
			t.Fatalf("%s: %v, %v", name, ok, err)
		}
		if got := string(b.Bytes()[offset : offset+r.Size()]); got != want {
			t.Errorf("%s: other bytes at its offset", name)
		}
		if got, err := io.ReadAll(io.NewSectionReader(r, 1, 5)); err != nil || want != "" && string(got) != want[1:6] {
			t.Errorf("%s: part %q, %v", name, got, err)
		}
	}
	if m, _ := zip.Lookup("a.json"); !m.IsDeflated() {
		t.Error("a.json is stored")
	} else if _, _, ok, err := m.Stored(); ok || err != nil {
		t.Errorf("a.json: %v, %v", ok, err)
	}
}

// TestZipStoredFaults adds content that is shorter than promised, or whose name is taken.
func TestZipStoredFaults(t *testing.T) {
	t.Parallel()
	z := NewZipWriter(io.Discard, ZipOptions{})
	if _, err := z.AddStored("a", strings.NewReader("123"), 4); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short content: %v", err)
	}
	if _, err := z.AddStored("../a", strings.NewReader("123"), 3); !errors.Is(err, ErrName) {
		t.Errorf("bad name: %v", err)
	}
	if _, err := z.AddStored("a", strings.NewReader("123"), 3); err != nil {
		t.Errorf("after refused content: %v", err)
	}
	if _, err := z.AddStored("a", strings.NewReader("123"), 3); err != nil {
		t.Errorf("the same name: %v", err)
	}
	if _, err := z.Close(); !errors.Is(err, ErrName) {
		t.Errorf("close with one name twice: %v", err)
	}
}

// endless is content of any size.
type endless struct{}

func (endless) ReadAt(p []byte, _ int64) (int, error) { return len(p), nil }

// TestZipStoredMemory adds 512 MB and counts the bytes that are allocated meanwhile.
func TestZipStoredMemory(t *testing.T) {
	const size, most = 512 << 20, 2 << 20
	z := NewZipWriter(io.Discard, ZipOptions{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := z.AddStored("data/a.parquet", endless{}, size); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes were allocated for a member of %d", n, size)
	}
}
