package routes_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tollbook/site"
	"tollbook/site/routes"
)

// TestPageSpans cuts every page out of files of 100 rows, as a reader does, and compares it with the plain list.
func TestPageSpans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 1500).Draw(t, "total")
		per := rapid.IntRange(1, site.MaxPageSize).Draw(t, "per_page")
		page := rapid.OneOf(rapid.IntRange(1, total/per+2), rapid.Just(site.MaxPage)).Draw(t, "page")
		filter := rapid.SampledFrom([]string{"", "category=AI&", "network=BSE&status=online&sort=uptime&"}).Draw(t,
			"filter")
		q := parse(t, "/v1/services", fmt.Sprintf("%sper_page=%d&page=%d", filter, per, page))

		list := make([]int, total)
		files := map[string][]int{} // the 100-row files of this list
		for i := range list {
			list[i] = i
		}
		n := 0
		for rows := range slices.Chunk(list, site.MaxPageSize) {
			n++
			files[q.With("per_page", "100").With("page", strconv.Itoa(n)).Key()] = rows
		}
		spans := routes.PageSpans(q, total)
		if len(spans) > 2 {
			t.Fatalf("%d spans, want at most 2", len(spans))
		}
		got := []int{}
		for _, s := range spans {
			file, exists := files[s.Key]
			if !exists || s.From >= s.To {
				t.Fatalf("span %+v: no rows, or not a file of this list", s)
			}
			got = append(got, file[s.From:s.To]...)
		}
		from := min((page-1)*per, total)
		if diff := cmp.Diff(list[from:min(from+per, total)], got); diff != "" {
			t.Fatalf("page %d of %d rows of %d (-want +got):\n%s", page, per, total, diff)
		}
	})
}

// TestOffsetSpans checks windows by limit and offset.
func TestOffsetSpans(t *testing.T) {
	t.Parallel()
	const list = "discovery/resources/type=http/limit=100/offset="
	for _, test := range []struct {
		query string
		total int
		want  []routes.Span
	}{
		{"", 250, []routes.Span{{Key: list + "0.json", From: 0, To: 100}}},
		{"limit=7&offset=98", 250, []routes.Span{{Key: list + "0.json", From: 98, To: 100},
			{Key: list + "100.json", From: 0, To: 5}}},
		{"limit=100&offset=101", 250, []routes.Span{{Key: list + "100.json", From: 1, To: 100},
			{Key: list + "200.json", From: 0, To: 1}}},
		{"offset=249", 250, []routes.Span{{Key: list + "200.json", From: 49, To: 50}}},
		{"offset=250", 250, nil},
		{"offset=1000000000", 250, nil},
		{"limit=1", 0, nil},
	} {
		q := parse(t, "/discovery/resources", test.query)
		if diff := cmp.Diff(test.want, routes.PageSpans(q, test.total)); diff != "" {
			t.Errorf("%s of %d (-want +got):\n%s", test.query, test.total, diff)
		}
		offset, limit := q.Window()
		want := site.CataloguePagination{Limit: limit, Offset: offset, Total: test.total}
		if diff := cmp.Diff(any(want), routes.WindowMeta(q, test.total)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.query, diff)
		}
	}
}

// fataler contains the common methods of *testing.T and *rapid.T.
type fataler interface{ Fatalf(string, ...any) }

func parse(t fataler, path, query string) routes.Query {
	q, err := routes.ParseRequest(path, query)
	if err != nil {
		t.Fatalf("ParseRequest(%s, %s): %v", path, query, err)
	}
	return q
}

func TestPaginationMeta(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ total, page, per, pages int }{
		{0, 1, 25, 0}, {1, 1, 25, 1}, {25, 1, 25, 1}, {26, 2, 25, 2}, {100, 1, 100, 1}, {101, 7, 1, 101},
		{10, 99, 25, 1},
	} {
		want := site.PaginationMeta{Total: test.total, Page: test.page, PerPage: test.per, TotalPages: test.pages}
		if diff := cmp.Diff(want, site.NewPaginationMeta(test.total, test.page, test.per)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// BenchmarkPageSpans cuts every page of a list of 2,000 rows at every size, and reports the number of files for each:
// none if the page is a file itself.
func BenchmarkPageSpans(b *testing.B) {
	const total = 2000
	files := [3]int{}
	for b.Loop() {
		files = [3]int{}
		for per := 1; per <= site.MaxPageSize; per++ {
			for page := 1; (page-1)*per < total; page++ {
				q, err := routes.ParseRequest("/v1/services", fmt.Sprintf("per_page=%d&page=%d", per, page))
				if err != nil {
					b.Fatal(err)
				}
				if per == site.PageSize || per == site.MaxPageSize {
					files[0]++
					continue
				}
				files[len(routes.PageSpans(q, total))]++
			}
		}
	}
	all := float64(files[0] + files[1] + files[2])
	b.ReportMetric(100*float64(files[0])/all, "%literal")
	b.ReportMetric(100*float64(files[1])/all, "%one-file")
	b.ReportMetric(100*float64(files[2])/all, "%two-files")
}
