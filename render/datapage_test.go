package render_test

import (
	"testing"

	. "tollbook/render/htmlcheck"
	"tollbook/site"
)

func TestDataPage(t *testing.T) {
	t.Parallel()
	rows := int64(53)
	text := func(s string) *string { return &s }
	file := func(name string, bytes int64) *site.DatasetFile {
		return &site.DatasetFile{Path: "/data/" + name, Bytes: bytes}
	}
	many := make([][]*string, 15)
	for i := range many {
		many[i] = []*string{text("<b>acme</b>"), nil}
	}
	d := &site.Dataset{SQLite: *file("tollbook.sqlite", 2_345_678),
		Tables: []site.DatasetTable{
			{Name: "services", Description: "A listed service.", RowCount: &rows,
				Parquet: file("services.parquet", 12_340), CSV: file("services.csv.gz", 980)},
			{Name: "checks", Description: "A visit.", Days: &site.DatasetDays{FileCount: 30, Bytes: 1_000_000,
				First: "2026-10-21", Last: "2026-11-19"}}},
		Questions: []site.DatasetAnswer{
			{Name: "cheapest", Title: "Which are the cheapest?", SQLite: "SELECT '<i>'", DuckDB: "SELECT 1 < 2",
				Columns: []string{"slug", "usd"}, Rows: many},
			{Name: "none", Title: "Which are free?", Columns: []string{"slug"}, Rows: [][]*string{}}}}
	w := world()
	w.Dataset = d
	expect(t, newRenderer(t, w).DataPage,
		In("h1", IsText("Data")), In("link[rel=alternate][type='application/json']", HasAttr("href", "/v1/data.json")),
		Nth(".figures > div", 1, In("dd", IsText("30"))), Nth(".figures > div", 2, In("dd", IsText("3.4 MB"))),
		Nth("section[aria-labelledby=tables] tbody tr", 0, HasText("services"), HasText("53"),
			In("a[href='/data/services.parquet']", IsText("12.3 kB")),
			In("a[href='/data/services.csv.gz']", IsText("980 bytes"))),
		Nth("section[aria-labelledby=tables] tbody tr", 1, HasText("30 1.0 MB, 2026-10-21 to 2026-11-19"),
			In("td[data-label=Rows]", HasText("not known"))),
		Nth(".question", 0, In("h3", HasAttr("id", "question-cheapest")), Count("tbody tr", 12),
			HasText("and 3 more in the JSON"), HasText("<b>acme</b>"), NotIn("b"), HasText("SELECT 1 < 2")),
		In("#question-none + details .empty", HasText("No row of this snapshot answers it.")),
		In("section[aria-labelledby=tables] pre", IsText("tollbook data pull https://tollbook.example")),
		In("section[aria-labelledby=python]", HasText(`read_csv("https://tollbook.example/data/services.csv.gz")`)))
	expect(t, newRenderer(t, world()).DataPage,
		In(".empty", IsText("This snapshot has no tables.")), NotIn("#questions"))
}
