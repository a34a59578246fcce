package change_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/encode"
)

// record is a change record as it is stored.
type record struct{ summary, before, after json.RawMessage }

// newRecord returns the record of one type between two snapshots.
func newRecord(t *testing.T, kind string, before, after []site.SnapshotEntry) record {
	t.Helper()
	paid := func(list []site.SnapshotEntry) (to []change.Recipient) {
		for _, e := range list {
			to = append(to, change.Recipient{Endpoint: e.Endpoint, Network: e.Network, PayTo: e.PayTo})
		}
		return to
	}
	for _, set := range change.Compare(before, after, paid(before), paid(after)) {
		if set.Type == kind {
			return record{encoded(t, set.Summary), encoded(t, before), encoded(t, after)}
		}
	}
	t.Fatalf("no change of type %s", kind)
	return record{}
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := encode.Row(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// many returns n ways to pay. Those from the first unchanged ones on differ between variants.
func many(n, unchanged int, variant string) (list []site.SnapshotEntry) {
	for i := range n {
		v := variant
		if i < unchanged {
			v = ""
		}
		list = append(list, way(fmt.Sprintf("%d%s", 100+i, v), at(fmt.Sprintf("GET /%d", i)),
			extra(`{"x":"`+v+strings.Repeat("<", 50)+`"}`),
			func(e *site.SnapshotEntry) { e.PayTo = fmt.Sprint("to ", i, v) }))
	}
	return list
}

func TestCut(t *testing.T) {
	t.Parallel()
	type result struct{ Omitted *site.Omitted }
	for _, test := range []struct {
		name          string
		kind          string
		n, unchanged  int
		limit         int
		differences   int
		before, after int // entries that the snapshots must have; -1 for some
	}{
		{"small", site.PriceChanged, 10, 5, 32 << 10, 0, 10, 10},
		{"what is unchanged goes first", site.PriceChanged, 200, 190, 32 << 10, 0, 10, 10},
		{"schema, what is unchanged goes first", site.SchemaChanged, 200, 190, 32 << 10, 0, 10, 10},
		{"prices", site.PriceChanged, 2000, 0, 32 << 10, 1, -1, -1},
		{"schema", site.SchemaChanged, 2000, 0, 32 << 10, 1, -1, -1},
		{"recipients", site.PayToChanged, 2000, 0, 32 << 10, 1, -1, -1},
		{"short", site.PayToChanged, 2000, 0, 2 << 10, 1, -1, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			before, after := many(test.n, test.unchanged, "1"), many(test.n, test.unchanged, "2")
			r := newRecord(t, test.kind, before, after)
			summary, old, now := change.Cut(test.kind, r.summary, r.before, r.after, test.limit)
			if n := len(summary) + len(old) + len(now); n > test.limit {
				t.Errorf("%d bytes, more than %d", n, test.limit)
			}
			var was, is []site.SnapshotEntry
			var s result
			for text, into := range map[*json.RawMessage]any{&old: &was, &now: &is, &summary: &s} {
				if err := json.Unmarshal(*text, into); err != nil {
					t.Fatal(err)
				}
			}
			for _, side := range []struct {
				name string
				want int
				all  []site.SnapshotEntry
				got  []site.SnapshotEntry
			}{{"before", test.before, before, was}, {"after", test.after, after, is}} {
				if side.want < 0 {
					side.want = len(side.got)
				}
				if side.want == 0 {
					t.Errorf("no entry %s", side.name)
				}
				from := 0
				if test.n > side.want {
					from = test.unchanged
				}
				if diff := cmp.Diff(side.all[from:][:side.want], side.got); diff != "" {
					t.Errorf("entries %s (-want +got):\n%.1000s", side.name, diff)
				}
			}
			var want *site.Omitted
			if left := 2*test.n - len(was) - len(is); left > 0 {
				want = &site.Omitted{Entries: left}
			}
			if test.differences > 0 {
				want.Differences = differences(t, r.summary) - differences(t, summary)
				if want.Differences <= 0 {
					t.Error("no difference is left out: the test proves nothing")
				}
			}
			if diff := cmp.Diff(want, s.Omitted); diff != "" {
				t.Errorf("omitted (-want +got):\n%s", diff)
			}
			again, _, _ := change.Cut(test.kind, summary, old, now, test.limit)
			if diff := cmp.Diff(string(summary), string(again)); diff != "" {
				t.Errorf("cut once more (-want +got):\n%s", diff)
			}
		})
	}
}

// differences returns the number of differences in the lists of a summary.
func differences(t *testing.T, summary json.RawMessage) (n int) {
	t.Helper()
	var lists map[string]json.RawMessage
	if err := json.Unmarshal(summary, &lists); err != nil {
		t.Fatal(err)
	}
	for name, text := range lists {
		var list []any
		if name != "payToAdded" && name != "payToRemoved" && json.Unmarshal(text, &list) == nil {
			n += len(list)
		}
	}
	return n
}

// TestCutTwice checks that a record that is cut again counts what the first cut left out.
func TestCutTwice(t *testing.T) {
	t.Parallel()
	r := newRecord(t, site.PriceChanged, many(500, 0, "1"), many(500, 0, "2"))
	once, old, now := change.Cut(site.PriceChanged, r.summary, r.before, r.after, 8<<10)
	twice, old, now := change.Cut(site.PriceChanged, once, old, now, 2<<10)
	var s site.PriceSummary
	if err := json.Unmarshal(twice, &s); err != nil {
		t.Fatal(err)
	}
	var was, is []site.SnapshotEntry
	if err := json.Unmarshal(old, &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(now, &is); err != nil {
		t.Fatal(err)
	}
	want := &site.Omitted{Differences: 500 - len(s.PriceChanges), Entries: 1000 - len(was) - len(is)}
	if diff := cmp.Diff(want, s.Omitted); diff != "" {
		t.Errorf("omitted (-want +got):\n%s", diff)
	}
}

// TestCutDamaged checks that a record that cannot be read is cut, too.
func TestCutDamaged(t *testing.T) {
	t.Parallel()
	long := json.RawMessage(`["` + strings.Repeat("x", 40<<10) + `"]`)
	for _, test := range []struct {
		name, kind string
		in, want   record
	}{
		{"summary", site.PriceChanged, record{long, nil, nil}, record{json.RawMessage(`{}`), nil, nil}},
		{"snapshot", site.PriceChanged, record{json.RawMessage(`{"priceChanges":[]}`), long, nil},
			record{json.RawMessage(`{"priceChanges":[],"omitted":{"differences":0,"entries":0}}`), nil, nil}},
		{"grade", site.GradeChanged, record{json.RawMessage(`{"oldGrade":"A"}`), nil, long},
			record{json.RawMessage(`{"oldGrade":"A"}`), nil, nil}},
		{"grade of unlimited length", site.GradeChanged, record{long, nil, nil},
			record{json.RawMessage(`{}`), nil, nil}},
	} {
		var got record
		got.summary, got.before, got.after = change.Cut(test.kind, test.in.summary, test.in.before, test.in.after,
			32<<10)
		test.want.before, test.want.after = json.RawMessage(`[]`), json.RawMessage(`[]`)
		if diff := cmp.Diff(fmt.Sprintf("%s", test.want), fmt.Sprintf("%s", got)); diff != "" {
			t.Errorf("%s (-want +got):\n%.1000s", test.name, diff)
		}
	}
}

// TestYearOfChanges checks that the records of a service that changes all its terms at each visit have less than 100 MB
// in a year. A service has at most one record of each type an hour.
func TestYearOfChanges(t *testing.T) {
	t.Parallel()
	day := change.MaxDay + 24*len(site.OfferChangeTypes)*change.ShortRecord
	if year := 365 * day; year > 100_000_000 {
		t.Errorf("a year of records has up to %d bytes, want 100 MB at most", year)
	}
}
