package serve

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/render"
	"tollbook/site"
)

func packed(rows [][]byte) *packedRows { return newPackedRows(newCache(1 << 20).rows.share(rows)) }

// What is put together of pieces unpacks to what would have been written at once, whatever the spans, and has a tag that
// tells its rows apart, and nothing else.
func TestPack(t *testing.T) {
	t.Parallel()
	var rows [][]byte
	for i := range 200 {
		rows = append(rows, fmt.Appendf(nil, `{"slug":"service-%d","text":%q}`, i, strings.Repeat("ab,", i%7)))
	}
	first, second := packed(rows[:100]), packed(rows[100:])
	meta := []byte(`{"total":200}`)
	seen := map[output.Sum]string{}
	for from := range 51 {
		for _, n := range []int{0, 1, 9, 10, 11, 50, 99} {
			at := from * 2
			spans := []span{{first, min(at, 100), min(at+n, 100)}, {second, max(at-100, 0), max(at+n-100, 0)}}
			for _, f := range []site.Framing{{}, site.Catalogue} {
				b, sum, err := pack(f, spans, meta)
				if err != nil {
					t.Fatal(err)
				}
				z, err := gzip.NewReader(bytes.NewReader(b.gzip))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(z)
				if err != nil {
					t.Fatalf("rows %d to %d: %v", at, at+n, err)
				}
				want := string(render.FrameAs(f, rows[at:at+n], meta))
				if diff := cmp.Diff(want, string(got)); diff != "" || b.length != len(want) {
					t.Fatalf("rows %d to %d, length %d (-want +got):\n%s", at, at+n, b.length, diff)
				}
				if other, ok := seen[sum]; ok && other != want {
					t.Fatalf("one tag for\n%s\nand\n%s", other, want)
				}
				seen[sum] = want
			}
		}
	}
	_, of, err := pack(site.Framing{}, []span{{packed(slices.Clone(rows[:100])), 4, 54}}, meta)
	if err != nil || seen[of] == "" {
		t.Errorf("the same rows of another file have another tag: %v", err)
	}
	// A window that lies across two files has the tag of the same rows from one.
	_, across, err := pack(site.Framing{}, []span{{packed(rows[:50]), 40, 50}, {packed(rows[50:]), 0, 10}}, meta)
	_, whole, err2 := pack(site.Framing{}, []span{{packed(rows), 40, 60}}, meta)
	if err != nil || err2 != nil || across != whole {
		t.Errorf("%v, %v, %v, %v", across, whole, err, err2)
	}
}

// What surrounds the rows may be longer than a block of deflate.
func TestPackLongEnds(t *testing.T) {
	t.Parallel()
	for _, size := range []int{maxStored - 1, maxStored, maxStored + 1, 3*maxStored + 7} {
		meta := fmt.Appendf(nil, `{"total":1,"note":%q}`, strings.Repeat("x", size))
		rows := [][]byte{[]byte(`{"slug":"a"}`)}
		b, _, err := pack(site.Framing{}, []span{{packed(rows), 0, 1}}, meta)
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(b.gzip))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(z)
		if want := render.FrameAs(site.Framing{}, rows, meta); err != nil || !bytes.Equal(want, got) {
			t.Errorf("meta of %d bytes: %d bytes, want %d; %v", len(meta), len(got), len(want), err)
		}
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
		p, err := cached(c, cacheKey{name: fmt.Sprint(file)}, (*packedRows).size, func() (*packedRows, error) { return newPackedRows(c.rows.share(rows)), nil })
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
	c.put(cacheKey{name: "large"}, newPackedRows(c.rows.share([][]byte{make([]byte, limit)})), limit)
	for at := c.order.Back(); at != nil; at = c.order.Back() {
		c.drop(at)
	}
	if used, _ := c.usage(); used != 0 || len(c.rows.bySum) != 0 {
		t.Errorf("%d bytes and %d rows of nothing", used, len(c.rows.bySum))
	}
}
