package search_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// built is when the directory of the tests was built.
var built = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// directory is a Source in memory.
type directory struct {
	weigher *search.Weigher
	rows    []site.ServiceRow
}

func (d *directory) Index() (*site.TermIndex, error) { index := d.weigher.Index(); return &index, nil }

func (d *directory) Vocabulary() (*site.Vocabulary, error) {
	v := d.weigher.Vocabulary()
	return &v, nil
}

func (d *directory) Shard(name string) (*search.Shard, error) {
	var lines [][]byte
	for _, term := range d.weigher.Shards()[name] {
		line, err := encode.Row(d.weigher.Term(term))
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return search.ParseShard(lines, len(d.rows))
}

func (d *directory) Column(name string) (*search.Column, error) {
	values := []any{}
	for i := range d.rows {
		values = append(values, site.ColumnByName(name).Value(&d.rows[i]))
	}
	file, err := encode.JSON(values)
	if err != nil {
		return nil, err
	}
	return search.ParseColumn(name, file, len(d.rows))
}

func (d *directory) Built() time.Time { return built }

func (d *directory) Rows(places []int32) (parts []site.RowParts, err error) {
	for _, place := range places {
		row, err := encode.Row(&d.rows[place])
		if err != nil {
			return nil, err
		}
		part, ok := site.SplitRow(row)
		if !ok {
			return nil, fmt.Errorf("split %s", row)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// newDirectory returns three services: two that transcribe, one of them dearer and on another network, and a third.
func newDirectory() *directory {
	d := &directory{weigher: search.NewWeigher()}
	for i, s := range []struct{ name, about, network, price string }{
		{"Alpha", "Speech to text in real time.", "BSE", "0.02"},
		{"Beta", "Transcription of calls.", "SOL", "0.5"},
		{"Gamma", "Weather forecasts.", "BSE", "0.001"},
	} {
		row := site.ServiceRow{ServiceListItem: site.ServiceListItem{Slug: fmt.Sprint("s", i), Name: s.name,
			Description: s.about, Category: "AI", Status: site.StatusOnline, Networks: []string{s.network},
			AdviceLevel: site.AdviceGood}}
		row.Assessment = site.CompactAssessment{ComplianceGrade: "A", ComplianceFailedChecks: []string{},
			PricesUSD: map[string]string{s.network: s.price}, Protocols: []string{"x402"}, Methods: []string{"POST"}}
		for _, path := range []string{"/quote", "/transcribe"} {
			row.Endpoints = append(row.Endpoints, site.RowEndpoint{Method: "POST", Path: path,
				Networks: row.Networks, PriceUSD: &s.price})
		}
		if i == 2 {
			row.Endpoints = row.Endpoints[:1]
		}
		row.RiskLevel, row.Assessment.PaymentReady = site.RiskClean, i != 1
		row.Assessment.LastSuccessAt = new(site.NewTime(built))
		for k := range row.Endpoints {
			row.Endpoints[k].Payable = true
		}
		d.rows = append(d.rows, row)
		d.weigher.Add(search.Weigh(search.NewDocument(&row)))
	}
	return d
}

// get returns the results and the meta of a request.
func get(t *testing.T, query string) (list []site.SearchResult, meta site.SearchMeta) {
	t.Helper()
	q, err := routes.ParseRequest("/v1/search", query)
	if err != nil {
		t.Fatal(err)
	}
	d := newDirectory()
	rows, meta, err := search.ResultsPage(q, len(d.rows), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		var r site.SearchResult
		if err := json.Unmarshal(row, &r); err != nil {
			t.Fatalf("%s: %v", row, err)
		}
		list = append(list, r)
	}
	return list, meta
}

func TestPage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		query string
		want  []string
	}{
		{"q=speech to text", []string{"s0", "s1"}},
		{"q=speach to text", []string{"s0", "s1"}},
		{"q=transc", []string{"s1", "s0"}},
		{"q=stt&network=SOL", []string{"s1"}},
		{"q=stt&max_price_usd=0.02", []string{"s0"}},
		{"q=stt&sort=price", []string{"s0", "s1"}},
		{"q=forecast", []string{"s2"}},
		{"sort=price", []string{"s2", "s0", "s1"}},
		{"q=stt&per_page=1&page=2", []string{"s0"}},
		{"q=the", nil},
		{"q=zzzzzz", nil},
	} {
		var got []string
		list, _ := get(t, (&url.URL{Path: test.query}).EscapedPath())
		for _, r := range list {
			got = append(got, r.Slug)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.query, diff)
		}
	}
}

// TestBestOrder checks that sort=best has the order of /v1/best, excluded services at the end, and a reason in each row.
func TestBestOrder(t *testing.T) {
	t.Parallel()
	for _, query := range []string{"sort=best", "q=speech+to+text&sort=best", "q=best+speech+to+text&read_filters=true",
		"sort=best&network=BSE", "sort=best&per_page=1&page=3"} {
		list, _ := get(t, query)
		if len(list) == 0 {
			t.Errorf("%s: no results", query)
		}
		for _, r := range list {
			if excluded := r.Slug == "s1"; r.Why == "" || strings.HasPrefix(r.Why, "Not recommended: ") != excluded {
				t.Errorf("%s: the reason of %s is %q", query, r.Slug, r.Why)
			}
		}
	}
	list, _ := get(t, "sort=best")
	if got := []string{list[0].Slug, list[1].Slug, list[2].Slug}; !slices.Equal(got, []string{"s2", "s0", "s1"}) {
		t.Errorf("the order is %v; want the cheapest first and the excluded one last", got)
	}
	if list, _ := get(t, "sort=price"); list[0].Why != "" {
		t.Errorf("in another order the reason is %q", list[0].Why)
	}
}

func TestMatched(t *testing.T) {
	t.Parallel()
	list, meta := get(t, "q=speech+to+text&include=facets&network=BSE")
	if diff := cmp.Diff([]string{"description", "endpoints"}, list[0].Matched); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if first := list[0].Endpoints[0]; first.Path != "/transcribe" || first.Matched[0] != site.FieldPath {
		t.Errorf("the first endpoint is %+v", first)
	}
	want := map[string]map[string]int{"category": {"AI": 1}, "network": {"BSE": 1, "SOL": 1}, "protocol": {"x402": 1},
		"status": {"online": 1}, "verdict": {site.AdviceGood: 1}}
	if diff := cmp.Diff(want, meta.Facets); diff != "" {
		t.Errorf("facets (-want +got):\n%s", diff)
	}
	if list[0].Assessment != nil {
		t.Error("an assessment without include=assessment")
	}
	list, _ = get(t, "q=speech+to+text&include=assessment")
	if a := list[0].Assessment; a == nil || a.ComplianceGrade != "A" || len(list[0].Endpoints) == 0 {
		t.Errorf("with include=assessment the result is %+v", list[0])
	}
	list, meta = get(t, "q=stt&network=SOL&max_price_usd=0.1")
	if diff := cmp.Diff(map[string]int{"network": 1, "max_price_usd": 1}, meta.Without); diff != "" || len(list) > 0 {
		t.Errorf("%d results; without (-want +got):\n%s", len(list), diff)
	}
}
