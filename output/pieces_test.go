package output

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPieces: a member that is made of pieces holds them as anybody's reader of zips unpacks them, whatever is between them.
func TestPieces(t *testing.T) {
	t.Parallel()
	row := func(i int) []byte {
		return fmt.Appendf(nil, `{"slug":"service-%d","description":"%s"}`, i, strings.Repeat("word ", i%9))
	}
	run := func(from, to int) *Piece {
		var parts [][]byte
		for i := from; i < to; i++ {
			parts = append(parts, row(i), []byte(","))
		}
		return NewPiece(parts...)
	}
	a, b, long := run(0, 25), run(25, 50), run(0, 4000)
	head, tail := []byte("{\"data\":[\n"), []byte("],\"meta\":{}}\n")
	files := []struct {
		name string
		of   Pieced
	}{
		{"one", Pieced{Head: head, Between: []byte(",\n"), Tail: tail, Pieces: []*Piece{a}}},
		{"two", Pieced{Head: head, Between: []byte(",\n"), Tail: tail, Pieces: []*Piece{a, b}}},
		{"again", Pieced{Head: tail, Between: []byte("+"), Tail: head, Pieces: []*Piece{b, a, b}}},
		{"bare", Pieced{Pieces: []*Piece{b, a}}},
		{"none", Pieced{Head: head, Tail: bytes.Repeat(tail, 9)}},
		{"long", Pieced{Head: head, Tail: tail, Pieces: []*Piece{a, long}}},
		{"head", Pieced{Head: bytes.Repeat(head, math.MaxUint16/len(head)+1), Tail: tail, Pieces: []*Piece{a}}},
		{"short", Pieced{Head: head, Tail: tail, Pieces: []*Piece{NewPiece([]byte("x"))}}},
		{"dense", Pieced{Head: head, Tail: tail, Pieces: []*Piece{NewPiece([]byte("mZ8q#Lw0^tR5vYpX2&kDfH7!uJb4Ge@c")), NewPiece([]byte("9sNa*Qi6)oUx1(WzT3%rBlK8-EhM=gV/"))}}},
	}
	var written, before []byte
	for range 2 {
		var buf bytes.Buffer
		z := NewZipWriter(&buf, ZipOptions{})
		for _, f := range files {
			if err := z.AddPieces(f.name, &f.of); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := z.Close(); err != nil {
			t.Fatal(err)
		}
		before, written = written, buf.Bytes()
	}
	if !bytes.Equal(before, written) {
		t.Error("the same pieces gave other bytes")
	}
	r, err := zip.NewReader(bytes.NewReader(written), int64(len(written)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		m, err := r.Open(f.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(m)
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		if diff := cmp.Diff(string(f.of.AppendTo(nil)), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.name, diff)
		}
	}
	if a.packed == nil || bytes.Count(written, a.packed) < 3 {
		t.Error("a piece that several files have was not packed once for all")
	}
}
