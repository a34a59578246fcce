package serve

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/output"
	"tollbook/site"
)

func packed(t *testing.T, rows [][]byte) *packedRows {
	t.Helper()
	return pack(newCache(1 << 20).rows.share(rows))
}

// gunzip is what the standard library finds in a gzip body, of which it checks the CRC.
func gunzip(t *testing.T, body []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// spansOf are the rows from one to before another of files of so many rows.
func spansOf(files []*packedRows, per, from, to int) (spans []span) {
	for at := from; at < to; {
		end := min(to, at/per*per+per)
		spans = append(spans, span{files[at/per], at % per, end - at/per*per})
		at = end
	}
	return spans
}

// What is put together of pieces unpacks to what would have been written at once, whatever the rows, has the length that was
// told beforehand, and a sum that tells its rows apart, and nothing else.
func TestCutting(t *testing.T) {
	t.Parallel()
	var rows [][]byte
	for i := range 200 {
		row := fmt.Appendf(nil, `{"slug":"service-%d","text":%q}`, i, strings.Repeat("ab,", i%7))
		if i%31 == 0 { // longer than deflate looks back, and than a block that is kept as it is
			row = fmt.Appendf(nil, `{"slug":"service-%d","text":%q}`, i, strings.Repeat(fmt.Sprint(i, "x"), i*500))
		}
		rows = append(rows, row)
	}
	files := []*packedRows{packed(t, rows[:100]), packed(t, rows[100:])}
	seen := map[string]string{}
	rapid.Check(t, func(r *rapid.T) {
		from := rapid.IntRange(0, len(rows)).Draw(r, "from")
		to := min(len(rows), from+rapid.IntRange(0, 100).Draw(r, "rows"))
		f := rapid.SampledFrom([]site.Framing{{}, site.Catalogue}).Draw(r, "framing")
		meta := fmt.Appendf(nil, `{"total":%q}`, strings.Repeat("x", rapid.SampledFrom([]int{0, 1, maxStored - 40, maxStored, 3*maxStored + 7}).Draw(r, "meta")))
		c := newCutting(f, spansOf(files, 100, from, to), meta)
		want := string(f.List(rows[from:to], meta))
		if got := string(c.appendPlain(nil)); got != want || c.length() != len(want) {
			r.Fatalf("length %d (-want +got):\n%s", c.length(), cmp.Diff(want, got))
		}
		body := c.appendPacked([]byte("head"))[len("head"):]
		if got := gunzip(t, body); got != want || c.packedLength() != len(body) {
			r.Fatalf("packed length %d of %d (-want +got):\n%s", c.packedLength(), len(body), cmp.Diff(want, got))
		}
		sum := string(c.appendSummed(nil))
		if other, ok := seen[sum]; ok && other != want {
			r.Fatalf("one tag for\n%s\nand\n%s", other, want)
		}
		seen[sum] = want
	})
}

// The same rows have the same tag wherever they lie.
func TestCuttingIsTaggedByRows(t *testing.T) {
	t.Parallel()
	var rows [][]byte
	for i := range 100 {
		rows = append(rows, fmt.Appendf(nil, `{"slug":"service-%d"}`, i))
	}
	whole, parts := packed(t, rows), []*packedRows{packed(t, rows[:50]), packed(t, rows[50:])}
	meta := []byte(`{"total":100}`)
	for _, at := range []int{0, 5, 20, 45, 49, 50} {
		a, b := newCutting(site.Framing{}, spansOf([]*packedRows{whole}, 100, at, at+30), meta), newCutting(site.Framing{}, spansOf(parts, 50, at, at+30), meta)
		if !bytes.Equal(a.appendSummed(nil), b.appendSummed(nil)) {
			t.Errorf("rows from %d have another tag in another file", at)
		}
	}
}

// Packed pieces are the same bytes for the same rows, whatever was packed before: a tag tells these, too.
func TestPackIsTheSameAgain(t *testing.T) {
	t.Parallel()
	rows := func(n int) (rows [][]byte) {
		for i := range 60 {
			rows = append(rows, fmt.Appendf(nil, `{"slug":"service-%d","text":%q}`, i*n, strings.Repeat("ab,", i*n%97)))
		}
		return rows
	}
	var want []*packedRows
	for round := range 3 {
		for n := range 20 {
			got := packed(t, rows(n))
			if round == 0 {
				want = append(want, got)
			} else if !bytes.Equal(want[n].head, got.head) || !bytes.Equal(want[n].bits, got.bits) {
				t.Fatalf("round %d: %d is packed otherwise", round, n)
			}
		}
	}
}

// The CRC of what is put together is that of the whole.
func TestCRCBehind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.SliceOf(rapid.Byte()).Draw(t, "a"), rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		b = bytes.Repeat(b, rapid.SampledFrom([]int{1, 2, 999}).Draw(t, "times"))
		want := crc32.ChecksumIEEE(slices.Concat(a, b))
		if got := crcBehind(crc32.ChecksumIEEE(a), uint32(len(b))) ^ crc32.ChecksumIEEE(b); got != want {
			t.Fatalf("%x, want %x", got, want)
		}
	})
}

// What is too large to be rows of ours is not packed.
func TestPackIsBounded(t *testing.T) {
	t.Parallel()
	h := NewHandler(Options{Source: openSource(t, tempDir(t))}).(*handler)
	row := make([]byte, 1<<20)
	if _, err := h.pack(cacheKey{}, "v1/rows.json", slices.Repeat([][]byte{row}, maxRows/len(row)+1)); !errors.Is(err, output.ErrDamaged) || !strings.Contains(err.Error(), "v1/rows.json") {
		t.Error(err)
	}
	if used, _ := h.cache.usage(); used != 0 {
		t.Errorf("%d bytes are kept", used)
	}
}

// Rows of several files are kept once, as long as the cache has one of these, and are counted as long.
func TestSharedRows(t *testing.T) {
	t.Parallel()
	const limit = 400_000
	c := newCache(limit)
	row := func(i int) []byte {
		return fmt.Appendf(nil, `{"slug":"service-%d","text":%q}`, i, strings.Repeat("ab", i%50))
	}
	for file := range 400 {
		var rows [][]byte
		for i := range 100 {
			rows = append(rows, row((i*(1+file%7)+file/9)%1000))
		}
		p, err := cached(c, cacheKey{name: fmt.Sprint(file)}, (*packedRows).size, func() (*packedRows, error) { return pack(c.rows.share(rows)), nil })
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range p.rows {
			if !bytes.Equal(r.bytes, rows[i]) {
				t.Fatalf("file %d: row %d is %s, want %s", file, i, r.bytes, rows[i])
			}
		}
		if used, _ := c.usage(); used > limit {
			t.Fatalf("file %d: %d bytes", file, used)
		}
	}
	if kept := len(c.byKey); kept < 20 || kept == 400 {
		t.Errorf("%d files are kept", kept)
	}
	users, bytes := 0, 0
	for _, r := range c.rows.bySum {
		users += r.users
		bytes += len(r.bytes) + sharedRowBytes
	}
	if users != 100*len(c.byKey) || bytes != c.rows.size() {
		t.Errorf("%d users in %d files, %d bytes counted as %d", users, len(c.byKey), bytes, c.rows.size())
	}
	c.put(cacheKey{name: "large"}, pack(c.rows.share([][]byte{make([]byte, limit)})), limit)
	for at := c.order.Back(); at != nil; at = c.order.Back() {
		c.drop(at)
	}
	if used, _ := c.usage(); used != 0 || len(c.rows.bySum) != 0 {
		t.Errorf("%d bytes and %d rows of nothing", used, len(c.rows.bySum))
	}
}
