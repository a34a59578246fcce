package routes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// TestSplitRow checks that the parts of a row are those of its members, whatever a service's texts contain.
func TestSplitRow(t *testing.T) {
	t.Parallel()
	const odd = `","assessment":{"x":1},"endpoints":[{}],}`
	for _, name := range []string{"", "Acme", odd, odd + "\\" + odd} {
		row := site.ServiceRow{ServiceListItem: site.ServiceListItem{Slug: "acme", Name: name, Description: odd}}
		row.Assessment.CapabilityTags, row.Endpoints = &site.SynthesisList{Value: []string{odd}},
			[]site.RowEndpoint{{Path: odd, Description: &name}}
		parts, ok := site.SplitRow([]byte(encoded(t, row)))
		if !ok {
			t.Fatalf("%s is no row", encoded(t, row))
		}
		if diff := cmp.Diff(encoded(t, row.ServiceListItem), string(parts.Line(false))); diff != "" {
			t.Errorf("plain line (-want +got):\n%s", diff)
		}
		item := row.ServiceListItem
		item.Assessment = &row.Assessment
		if diff := cmp.Diff(encoded(t, item), string(parts.Line(true))); diff != "" {
			t.Errorf("line with assessment (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(encoded(t, row.Endpoints), string(parts.Endpoints)); diff != "" {
			t.Errorf("endpoints (-want +got):\n%s", diff)
		}
	}
	for _, row := range []string{"", "{}", `{"slug":"a","assessment":{}}`, `{"endpoints":[],"assessment":{}}`} {
		if _, ok := site.SplitRow([]byte(row)); ok {
			t.Errorf("%s is a row", row)
		}
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	row, err := encode.Row(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(row)
}

func TestHasScanKey(t *testing.T) {
	t.Parallel()
	index := routes.Index{Slugs: strings.Fields(strings.Repeat("slug ", site.RowsPerBlock+1))}
	for key, want := range map[string]bool{
		"v1/rows/0.json": true, "v1/rows/1.json": true, "v1/rows/2.json": false, "v1/rows/01.json": false,
		"v1/rows/-1.json": false, "v1/rows/0": false, "v1/columns/name.json": true, "v1/columns/name": false,
		"v1/columns/colour.json": false, "v1/columns/.json": false,
	} {
		if got := index.HasScanKey(key); got != want {
			t.Errorf("%s: %t", key, got)
		}
	}
	empty := routes.Index{}
	if empty.HasScanKey(routes.RowsKey(0)) || !empty.HasScanKey(routes.ColumnKey("name")) {
		t.Error("an empty directory has columns and no rows")
	}
}

// TestFiltersNameColumns checks that each filter of the services compares a column, in a way that its type allows, and
// that each order sorts by one.
func TestFiltersNameColumns(t *testing.T) {
	t.Parallel()
	allowed := map[routes.Compare][]site.ColumnType{
		routes.CompareIs:      {site.ColumnText, site.ColumnBoolean},
		routes.CompareHas:     {site.ColumnSet},
		routes.CompareAtMost:  {site.ColumnNumber, site.ColumnMoney, site.ColumnPrices},
		routes.CompareAtLeast: {site.ColumnNumber, site.ColumnMoney, site.ColumnText},
		routes.CompareWords:   {site.ColumnWords},
	}
	route := routes.ByName("services")
	for i := range route.Params {
		p := &route.Params[i]
		if !p.Filter || p.Name == "include" {
			continue
		}
		if c := site.ColumnByName(p.Column); c == nil || !slices.Contains(allowed[p.Compare], c.Type) {
			t.Errorf("the filter %s compares the column %q by %q: a column of Columns in site/rows.go must have a type "+
				"that its row of rowFilters in site/routes/filter.go can compare", p.Name, p.Column, p.Compare)
		}
	}
	for _, name := range route.Param("sort").Values {
		if o := site.OrderByName(name); site.ColumnByName(o.Column) == nil {
			t.Errorf("the order %s of site/order.go sorts by the column %q, which site/rows.go does not have", name,
				o.Column)
		}
	}
}
