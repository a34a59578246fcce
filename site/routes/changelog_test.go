package routes_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/routes"
)

// changeRow is a record of a log.
type changeRow struct {
	day  string
	kind string
}

// indexOf numbers rows from the oldest, as a builder does.
func indexOf(rows []changeRow, kind string) site.LogIndex {
	x := site.LogIndex{}
	for _, r := range rows {
		if kind != "" && r.kind != kind {
			continue
		}
		if n := len(x.Days); n == 0 || x.Days[n-1].Day != r.day {
			x.Days = append(x.Days, site.LogDay{Day: r.day, First: x.Next})
		}
		x.Next++
	}
	return x
}

// TestChangeWindows cuts pages out of a random log and compares them with a list that is filtered, counted and sliced.
func TestChangeWindows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 45, 1, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		ages := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, 364)), 0, 400).Draw(t, "ages")
		slices.Sort(ages)
		slices.Reverse(ages)
		var rows []changeRow
		for _, age := range ages {
			rows = append(rows, changeRow{now.AddDate(0, 0, -age).Format(time.DateOnly),
				rapid.SampledFrom(site.ChangeTypes).Draw(t, "type")})
		}
		x := indexOf(rows, "")
		x.Types = map[string]site.LogIndex{}
		for _, kind := range site.ChangeTypes {
			if of := indexOf(rows, kind); of.Next > 0 {
				x.Types[kind] = of
			}
		}
		v := url.Values{}
		days, page, per := 90, 1, 25
		if rapid.Bool().Draw(t, "with days") {
			days = rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, 365)).Draw(t, "days")
			v.Set("days", strconv.Itoa(days))
		}
		if rapid.Bool().Draw(t, "with pages") {
			page, per = rapid.IntRange(1, 8).Draw(t, "page"), rapid.IntRange(1, 100).Draw(t, "per_page")
			v.Set("page", strconv.Itoa(page))
			v.Set("per_page", strconv.Itoa(per))
		}
		kind := rapid.SampledFrom(append([]string{""}, site.ChangeTypes...)).Draw(t, "only")
		if kind != "" {
			v.Set("type", kind)
		}
		q := parse(t, "/v1/changes", v.Encode())

		from := now.AddDate(0, 0, 1-days).Format(time.DateOnly)
		want := []int64{} // numbers in the log asked for, newest first
		counts := map[string]int64{}
		var all, n int64
		for _, r := range rows {
			if r.day >= from {
				all++
				counts[r.kind]++
			}
			if kind == "" || kind == r.kind {
				if r.day >= from {
					want = append(want, n)
				}
				n++
			}
		}
		slices.Reverse(want)
		wantMeta := site.ChangesMeta{
			PaginationMeta: site.NewPaginationMeta(len(want), page, per), WindowTotal: all,
			TypeCounts: site.TypeCounts{Schema: counts["schema_changed"], Price: counts["price_changed"],
				PayTo: counts["payto_changed"], Listed: counts["listed"], Dropped: counts["dropped"],
				Grade: counts["grade_changed"], Verdict: counts["verdict_changed"]},
		}
		want = want[min((page-1)*per, len(want)):min(page*per, len(want))]

		window, meta := routes.ChangeWindow(x, q, now)
		got := []int64{}
		spans := routes.ChangeSpans(window, q)
		if len(spans) > 2 {
			t.Fatalf("%d spans, want at most 2", len(spans))
		}
		for _, s := range spans {
			for n := s.To - 1; n >= s.From; n-- {
				got = append(got, n)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("rows of %s (-want +got):\n%s", v.Encode(), diff)
		}
		if diff := cmp.Diff(wantMeta, meta); diff != "" {
			t.Fatalf("meta of %s (-want +got):\n%s", v.Encode(), diff)
		}
	})
}

// TestChangesMeta checks the names and the order of the members of ChangesMeta.
func TestChangesMeta(t *testing.T) {
	t.Parallel()
	_, meta := routes.ChangeWindow(site.LogIndex{}, parse(t, "/v1/changes", "page=3&per_page=7"), time.Now())
	text, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"total":0,"page":3,"per_page":7,"total_pages":0,"type_counts":{"schema_changed":0,"price_changed":0,"payto_changed":0,"listed":0,"dropped":0,"grade_changed":0,"verdict_changed":0},"window_total":0}`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("meta without records (-want +got):\n%s", diff)
	}
}

func TestChangeFiles(t *testing.T) {
	t.Parallel()
	all, both := parse(t, "/v1/changes", ""), parse(t, "/v1/changes", "service=acme&type=price_changed&days=3&page=9")
	got := []string{
		all.Key(), all.Scope().LogKey(), all.BlockKey(7), all.With("type", "payto_changed").BlockKey(0),
		both.Key(), both.Scope().LogKey(), both.Scope().ListKey(), both.BlockKey(3),
	}
	want := []string{
		"v1/changes.json", "v1/changes/log.json", "v1/changes/block=7.json",
		"v1/changes/type=payto_changed/block=0.json",
		"v1/changes/service=acme/type=price_changed/days=3/per_page=25/page=9.json",
		"v1/changes/service=acme/log.json", "v1/changes/service=acme",
		"v1/changes/service=acme/type=price_changed/block=3.json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files of logs of changes (-want +got):\n%s", diff)
	}
}

func TestPeriodStart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ period, now, want string }{
		{"24h", "2026-11-20T12:30:00Z", "2026-11-19"},
		{"24h", "2026-11-20T00:00:00Z", "2026-11-19"},
		{"7d", "2026-11-20T12:30:00Z", "2026-11-14"},
		{"30d", "2026-11-20T12:30:00Z", "2026-10-22"},
		{"90d", "2026-11-20T23:59:59Z", "2026-08-23"},
		{"90d", "2026-11-21T01:00:00+02:00", "2026-08-23"},
		{"all", "2026-11-20T12:30:00Z", ""},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := site.PeriodStart(c.period, now); got != c.want {
			t.Errorf("%s to %s starts on %q, want %q", c.period, c.now, got, c.want)
		}
	}
}

func TestUntrimmed(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		trimmed bool
		key     string
	}{
		"":           {true, "v1/services/acme/price.json"},
		"period=7d":  {true, "v1/services/acme/price/period=all.json"},
		"period=90d": {true, "v1/services/acme/price/period=all.json"},
		"period=all": {false, "v1/services/acme/price/period=all.json"},
	} {
		q := parse(t, "/v1/services/acme/price", query)
		if q.NeedsTrim() != want.trimmed || q.Key() != want.key ||
			q.Untrimmed().Key() != "v1/services/acme/price/period=all.json" || q.Untrimmed().NeedsTrim() {
			t.Errorf("%q: needs trim %v, key %s, untrimmed %s", query, q.NeedsTrim(), q.Key(), q.Untrimmed().Key())
		}
	}
}
