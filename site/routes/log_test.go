package routes_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
)

// drawLog draws an index of a log: some rows have been deleted, and the older full blocks are in packs.
func drawLog(t *rapid.T) site.LogIndex {
	x := site.LogIndex{First: rapid.Int64Range(0, 1000).Draw(t, "first")}
	x.Next = x.First + rapid.Int64Range(0, 1000).Draw(t, "rows")
	full := x.Next / site.BlockSize // blocks before this one are full
	for first := x.First / site.BlockSize; first < full && rapid.IntRange(0, 4).Draw(t, "more") > 0; {
		last := min(full-1, first+rapid.Int64Range(0, 3).Draw(t, "blocks"))
		x.Packs = append(x.Packs,
			site.LogPack{Pack: site.PackHour(time.Unix(0, 0).Add(time.Duration(first) * time.Hour)), First: first,
				Last: last})
		first = last + 1
	}
	return x
}

// TestLogSpans cuts a window out of blocks, as a reader does, and compares it with the plain list.
func TestLogSpans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := drawLog(t)
		limit := rapid.Int64Range(1, site.BlockSize).Draw(t, "limit")
		offset := rapid.OneOf(rapid.Int64Range(0, x.Total()+5), rapid.Just[int64](1_000_000_000)).Draw(t, "offset")

		newest := []int64{} // the whole log, newest first
		for n := x.Next - 1; n >= x.First; n-- {
			newest = append(newest, n)
		}
		if int64(len(newest)) != x.Total() {
			t.Fatalf("Total() = %d of %d rows", x.Total(), len(newest))
		}
		spans := site.LogSpans(x, limit, offset)
		if len(spans) > 2 {
			t.Fatalf("%d spans, want at most 2", len(spans))
		}
		got := []int64{}
		for _, s := range spans {
			if s.From >= s.To || s.From/site.BlockSize != s.Block || (s.To-1)/site.BlockSize != s.Block {
				t.Fatalf("span %+v: no rows, or rows of another block", s)
			}
			if want := packOf(x, s.Block); s.Pack != want {
				t.Fatalf("block %d: pack %q, want %q", s.Block, s.Pack, want)
			}
			for n := s.To - 1; n >= s.From; n-- {
				got = append(got, n)
			}
		}
		from := min(offset, x.Total())
		if diff := cmp.Diff(newest[from:min(from+limit, x.Total())], got); diff != "" {
			t.Fatalf("%d rows after %d of %+v (-want +got):\n%s", limit, offset, x, diff)
		}
	})
}

// packOf searches all packs and returns the one that contains the block.
func packOf(x site.LogIndex, block int64) string {
	for _, p := range slices.Backward(x.Packs) {
		if block >= p.First && block <= p.Last {
			return p.Pack
		}
	}
	return ""
}

func TestLogFiles(t *testing.T) {
	t.Parallel()
	all, acme := parse(t, "/v1/checks", "limit=3"), parse(t, "/v1/services/acme/checks", "")
	got := []string{all.LogKey(), all.BlockKey(12), acme.LogKey(), acme.BlockKey(0)}
	want := []string{"v1/checks/log.json", "v1/checks/block=12.json", "v1/services/acme/checks/log.json",
		"v1/services/acme/checks/block=0.json"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of logs (-want +got):\n%s", diff)
	}
}

func TestPackHour(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 23, 59, 59, 0, time.FixedZone("", -3600)) // 00:59:59 UTC the next day
	name := site.PackHour(at)
	if name != "2026112100" {
		t.Errorf("PackHour(%s) = %s", at, name)
	}
}
