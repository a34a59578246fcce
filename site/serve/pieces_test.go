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

// What is put together of pieces unpacks to what would have been written at once, whatever the spans, and has a tag that
// tells its rows apart, and nothing else.
func TestPack(t *testing.T) {
	t.Parallel()
	var rows [][]byte
	for i := range 200 {
		rows = append(rows, fmt.Appendf(nil, `{"slug":"service-%d","text":%q}`, i, strings.Repeat("ab,", i%7)))
	}
	first, second := newPackedRows(rows[:100]), newPackedRows(rows[100:])
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
	_, of, err := pack(site.Framing{}, []span{{newPackedRows(slices.Clone(rows[:100])), 4, 54}}, meta)
	if err != nil || seen[of] == "" {
		t.Errorf("the same rows of another file have another tag: %v", err)
	}
	// A window that lies across two files has the tag of the same rows from one.
	_, across, err := pack(site.Framing{}, []span{{newPackedRows(rows[:50]), 40, 50}, {newPackedRows(rows[50:]), 0, 10}}, meta)
	_, whole, err2 := pack(site.Framing{}, []span{{newPackedRows(rows), 40, 60}}, meta)
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
		b, _, err := pack(site.Framing{}, []span{{newPackedRows(rows), 0, 1}}, meta)
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
