package serve

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Any run of rows is, behind the row before it, what the standard library reads these rows in.
func TestDeflate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.SampledFrom([]string{`{"slug":"`, `","status":"online"`, "abc", "aaaa", "\x00\xff", strings.Repeat("long", 100), strings.Repeat("xy", 20_000)}),
			rapid.StringN(0, 20, 60))
		lines := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(word, 0, 12), func(w []string) []byte { return []byte(strings.Join(w, "")) }), 1, 30).Draw(t, "rows")
		shared := newCache(1 << 20).rows.share(lines)
		b := deflate(shared)
		from := rapid.IntRange(1, len(lines)).Draw(t, "from")
		to := rapid.IntRange(from, len(lines)).Draw(t, "to")
		var w bitWriter
		w.addRun(b, from, to)
		if bits := uint32(8*len(w.out)) + uint32(w.n); bits != b.runBits(from, to) {
			t.Fatalf("%d bits, want %d", bits, b.runBits(from, to))
		}
		w.addStored(0, nil, nil, true)
		got, err := io.ReadAll(flate.NewReaderDict(bytes.NewReader(w.out), lines[from-1]))
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		for _, line := range lines[from:to] {
			want = append(append(want, rowEnd...), line...)
		}
		if !bytes.Equal(want, got) {
			t.Fatalf("rows %d to %d: %q, want %q", from, to, got, want)
		}
	})
}

// Bits are copied as they are, wherever they begin and where they come to lie.
func TestBitWriterCopies(t *testing.T) {
	t.Parallel()
	from := make([]byte, 100)
	r := rand.New(rand.NewPCG(4020, 402))
	for i := range from {
		from[i] = byte(r.Uint32())
	}
	at := func(of []byte, bit int) byte { return of[bit/8] >> (bit % 8) & 1 }
	for range 20_000 {
		shift, begin := r.IntN(8), r.IntN(8*(len(from)-slack))
		end := begin + r.IntN(8*(len(from)-slack)-begin+1)
		var w bitWriter
		w.add(0, uint(shift))
		w.copy(from, uint32(begin), uint32(end))
		w.add(1, 1)
		w.align()
		if want := (shift + end - begin + 1 + 7) / 8; len(w.out) != want {
			t.Fatalf("bits %d to %d behind %d: %d bytes, want %d", begin, end, shift, len(w.out), want)
		}
		for i := range end - begin {
			if at(w.out, shift+i) != at(from, begin+i) {
				t.Fatalf("bits %d to %d behind %d: bit %d differs", begin, end, shift, i)
			}
		}
		if at(w.out, shift+end-begin) != 1 {
			t.Fatalf("bits %d to %d behind %d: what follows differs", begin, end, shift)
		}
	}
}

// A code uses up all its bits, is never longer than it may be, and gives what comes more often no more bits.
func TestCodeLengths(t *testing.T) {
	t.Parallel()
	fibonacci := []uint32{1, 1}
	for len(fibonacci) < 40 {
		fibonacci = append(fibonacci, fibonacci[len(fibonacci)-1]+fibonacci[len(fibonacci)-2])
	}
	check := func(t interface{ Fatalf(string, ...any) }, counts []uint32, most uint8) {
		lengths := codeLengths(counts, most)
		space := 0
		for i, n := range lengths {
			if n > most || (n == 0) != (counts[i] == 0) {
				t.Fatalf("%v: %v", counts, lengths)
			}
			if n > 0 {
				space += 1 << (most - n)
			}
			for j, m := range lengths {
				if counts[i] > counts[j] && counts[j] > 0 && n > m {
					t.Fatalf("%v: %v", counts, lengths)
				}
			}
		}
		if space != 1<<most {
			t.Fatalf("%v: %v leaves bits", counts, lengths)
		}
	}
	check(t, fibonacci, longestCode)
	check(t, fibonacci[:19], longestOfCodes)
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32Range(1, 9), rapid.Uint32Range(1, 1<<20)), 0, 284).Draw(t, "counts")
		check(t, append(counts, 1, 7), longestCode)
	})
}

// Rows of a list take a fourth of their bytes, each by itself.
func TestDeflateIsShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 100)
	var lines [][]byte
	n := 0
	for i, s := range w.services {
		line := fmt.Appendf(nil, `{"slug":%q,"rank":%d,"of":%q}`, s.slug, s.rank["uptime"], strings.Repeat(s.category+" ", 5+i%7))
		lines = append(lines, line)
		n += len(line)
	}
	if b := deflate(newCache(1 << 20).rows.share(lines)); 4*(len(b.head)+len(b.bits)) > n {
		t.Errorf("%d bytes of %d", len(b.head)+len(b.bits), n)
	}
}
