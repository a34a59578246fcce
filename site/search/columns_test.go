package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// files are the columns of six services. The last one is like the one before, and gone.
var files = map[string]string{
	"name":     `["Acme Quotes","Speech to text","Ácme Voice","東京都API","",""]`,
	"category": `["AI","Data","AI","Odd <even>/~","AI","AI"]`,
	"networks": `[["BSE"],["BSE","SOL"],[],["SOL"],["eip155:7"],["eip155:7"]]`,
	"gone":     `[false,false,null,false,false,true]`,
	"verified": `[true,false,true,false,false,false]`,
	"payable":  `[true,false,null,true,null,null]`,
	"source": `[["submitted"],["imported","imported:x"],["imported","imported:y"],["submitted"],` +
		`["submitted"],["submitted"]]`,
	"protocols":            `[["x402","x402-v2"],["mpp"],[],["x402","x402-v1"],["x402"],["x402"]]`,
	"grade":                `["B","A","unknown","F","A","A"]`,
	"prices_usd":           `[{"BSE":"0.01"},{"BSE":"0.5","SOL":"0.005"},{},{"SOL":"10"},{"eip155:7":"9"},{"eip155:7":"9"}]`,
	"uptime_30d":           `[99.5,100,null,0,99.49,99.49]`,
	"avg_response_time_ms": `[120,80,null,9,1000,1000]`,
	"volume_usd_30d":       `["9.5",null,"10","9.45","0","0"]`,
	"organic_buyers_30d":   `[3,null,40,0,12,0]`,
	"created_at": `["2026-11-02T00:00:00.000Z","2026-11-01T00:00:00.000Z","2026-11-02T00:00:00.000Z",` +
		`"2026-11-03T00:00:00.000Z","2026-11-01T00:00:00.000Z","2026-11-01T00:00:00.000Z"]`,
}

const services = 6

func read(name string) (*search.Column, error) {
	file, ok := files[name]
	if !ok {
		return nil, fmt.Errorf("no column %s", name)
	}
	return search.ParseColumn(name, []byte(`{"data":`+file+"}\n"), services)
}

// route is a list with all filters.
var route = &routes.Route{Omit: site.ColumnGone, Params: []routes.Param{
	{Name: "q", Filter: true, Column: "name", Compare: routes.CompareWords},
	{Name: "network", Filter: true, Column: "networks", Compare: routes.CompareHas},
	{Name: "category", Filter: true, Column: "category", Compare: routes.CompareIs},
	{Name: "verified", Filter: true, Column: "verified", Compare: routes.CompareIs},
	{Name: "payable", Filter: true, Column: "payable", Compare: routes.CompareIs},
	{Name: "source", Filter: true, Column: "source", Compare: routes.CompareHas},
	{Name: "protocol", Filter: true, Column: "protocols", Compare: routes.CompareHas},
	{Name: "min_grade", Filter: true, Kind: routes.KindChoice, Values: []string{"A", "B", "C", "D", "F"},
		Column: "grade", Compare: routes.CompareAtLeast},
	{Name: "max_price_usd", Filter: true, Column: "prices_usd", Compare: routes.CompareAtMost, Within: "network"},
	{Name: "min_uptime_30d", Filter: true, Column: "uptime_30d", Compare: routes.CompareAtLeast},
	{Name: "max_response_ms", Filter: true, Column: "avg_response_time_ms", Compare: routes.CompareAtMost},
	{Name: "include", Kind: routes.KindSet, Filter: true, Values: []string{site.IncludeAssessment, site.IncludeGone}},
	{Name: "page", Default: "1"},
}}

// query returns a request with values, in pairs of name and value.
func query(values ...string) routes.Query {
	q := routes.Query{Route: route}
	for i := 0; i < len(values); i += 2 {
		q = q.With(values[i], values[i+1])
	}
	return q
}

// selections are requests and the places of the services that pass their filters. The script reads them alike.
var selections = []struct {
	values string
	want   []int32
}{
	{"", []int32{0, 1, 2, 3, 4}},
	{"page=2", []int32{0, 1, 2, 3, 4}},
	{"include=gone", []int32{0, 1, 2, 3, 4, 5}},
	{"include=assessment,gone&network=eip155:7", []int32{4, 5}},
	{"include=assessment&network=eip155:7", []int32{4}},
	{"q=acme", []int32{0, 2}},
	{"q=acme voi", []int32{2}},
	{"q=都", []int32{3}},
	{"q=—", []int32{}},
	{"network=SOL", []int32{1, 3}},
	{"network=eip155:7", []int32{4}},
	{"network=sol", []int32{}},
	{"category=Odd <even>/~", []int32{3}},
	{"verified=true", []int32{0, 2}},
	{"verified=false", []int32{1, 3, 4}},
	{"payable=false", []int32{1}},
	{"source=imported", []int32{1, 2}},
	{"source=imported:y", []int32{2}},
	{"source=submitted", []int32{0, 3, 4}},
	{"protocol=x402", []int32{0, 3, 4}},
	{"protocol=x402-v1", []int32{3}},
	{"min_grade=B", []int32{0, 1, 4}},
	{"min_grade=F", []int32{0, 1, 3, 4}},
	{"max_price_usd=0.01", []int32{0, 1}},
	{"max_price_usd=9.99", []int32{0, 1, 4}},
	{"max_price_usd=0.01&network=BSE", []int32{0}},
	{"max_price_usd=10&network=SOL", []int32{1, 3}},
	{"min_uptime_30d=99.5", []int32{0, 1}},
	{"min_uptime_30d=0", []int32{0, 1, 3, 4}},
	{"max_response_ms=80", []int32{1, 3}},
	{"max_response_ms=80&category=Data&verified=false", []int32{1}},
}

// pairs returns the names and values of a request.
func pairs(request string) (values []string) {
	for pair := range strings.SplitSeq(request, "&") {
		if name, value, ok := strings.Cut(pair, "="); ok {
			values = append(values, name, value)
		}
	}
	return values
}

func TestSelect(t *testing.T) {
	t.Parallel()
	for _, test := range selections {
		got, err := search.Select(query(pairs(test.values)...), services, read)
		if err != nil {
			t.Fatalf("%s: %v", test.values, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.values, diff)
		}
	}
}

// orders are orders of the services of a request. The script sorts alike.
var orders = []struct {
	order  site.Order
	values string
	want   []int32
}{
	{site.OrderByName("newest"), "", []int32{3, 0, 2, 1, 4}},
	{site.OrderByName("cheapest"), "", []int32{1, 0, 4, 3, 2}},
	{site.OrderByName("volume"), "", []int32{2, 0, 3, 4, 1}},
	{site.OrderByName("organic_buyers"), "", []int32{2, 4, 0, 3, 1}},
	{site.OrderByName("grade"), "", []int32{1, 4, 0, 3, 2}},
	{site.OrderByName("response"), "", []int32{3, 1, 0, 4, 2}},
	{site.Order{Column: "prices_usd", Within: "network"}, "network=BSE", []int32{0, 1, 2, 3, 4}},
}

func TestSort(t *testing.T) {
	t.Parallel()
	for _, test := range orders {
		got := []int32{4, 3, 2, 1, 0}
		if err := search.Sort(got, test.order, query(pairs(test.values)...), read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.order, diff)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	networks, err := read("networks")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"BSE": 2, "SOL": 1}
	if diff := cmp.Diff(want, networks.Count([]int32{0, 1, 2})); diff != "" {
		t.Errorf("Count (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"BSE", "SOL"}, networks.Values(1)); diff != "" {
		t.Errorf("Values (-want +got):\n%s", diff)
	}
	prices, err := read("prices_usd")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		place   int32
		network string
		want    site.Decimal
	}{{1, "", "0.005"}, {1, "BSE", "0.5"}, {1, "POL", ""}, {2, "", ""}} {
		got, ok := prices.Lowest(test.place, test.network)
		if got != test.want || ok != (test.want != "") {
			t.Errorf("Lowest(%d, %q) = %q, %t, want %q", test.place, test.network, got, ok, test.want)
		}
	}
	payable, err := read("payable")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q %q", payable.Value(1), payable.Value(2)); got != `"false" ""` {
		t.Errorf("Value returns %s", got)
	}
}

// TestParseRefuses checks that a damaged column is an error and never an empty one.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, want string }{
		{"name", `{"data":["a"]}`, "1 values"},
		{"name", `{"data":["a","b","c"]}`, "3 values"},
		{"name", `{}`, "no data"},
		{"name", `{"data":["a","b"`, "unexpected end"},
		{"name", `{"data":[1,2]}`, "cannot unmarshal"},
		{"uptime_30d", `{"data":[1,-2]}`, "place 1"},
		{"prices_usd", `{"data":[{"BSE":"1"},{"BSE":"free"}]}`, "place 1"},
		{"verified", `{"data":["true","false"]}`, "cannot unmarshal"},
		{"colour", `{"data":[1,2]}`, "no such column"},
	} {
		if _, err := search.ParseColumn(test.name, []byte(test.file), 2); err == nil ||
			!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "read column "+test.name) {
			t.Errorf("%s %s: %v, want %q", test.name, test.file, err, test.want)
		}
	}
}
