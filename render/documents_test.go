package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tollbook/render"
	. "tollbook/render/htmlcheck"
	"tollbook/render/openapi"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// examplesOf renders the responses of the examples, as a build does.
func examplesOf(t *testing.T, e *render.Renderer, s *site.Snapshot) openapi.Examples {
	t.Helper()
	x := e.Examples(func(place int) []site.Endpoint { return s.Services[place].Detail.Endpoints })
	bodies := map[string]any{"v1/stats.json": s.Stats, "v1/status.json": s.Status, "v1/networks.json": s.Networks,
		"v1/routes.json": routes.Table()}
	for i := range s.Services {
		bodies["v1/services/"+s.Services[i].Item.Slug+".json"] = s.Services[i].Detail
	}
	for key, v := range bodies {
		data, err := encode.JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		x.Record(key, data)
	}
	var rows [][]byte
	for i := range s.Services {
		row, err := encode.Row(s.Services[i].Item)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	x.Record("v1/services.json", encode.Framing{}.List(rows,
		[]byte(`{"total":53,"page":1,"per_page":25,"total_pages":3}`)))
	return x
}

func apiOf(t *testing.T, s *site.Snapshot) *render.API {
	t.Helper()
	e := newRenderer(t, s)
	api, err := e.API(examplesOf(t, e, s))
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// document is the part of an OpenAPI document that these tests read.
type document struct {
	OpenAPI string
	Info    struct{ Version string }
	Servers []struct{ URL string }
	Paths   map[string]struct {
		Servers []struct{ URL string }
		Get     struct {
			OperationID string
			Parameters  []struct {
				Ref                   string `json:"$ref"`
				Name, In, Description string
				Required              bool
				Schema                documentSchema
				Example               any
			}
			Responses map[string]struct {
				Ref     string `json:"$ref"`
				Content map[string]struct {
					Schema  documentSchema
					Example json.RawMessage
				}
			}
		}
	}
	Components struct{ Schemas map[string]documentSchema }
}

type documentSchema struct {
	Ref              string `json:"$ref"`
	Description      string
	Type             any
	Format           string
	Enum             []any
	Minimum, Maximum *int
	MaxLength        int
	Default          any
	Items            *documentSchema
	Required         []string
	Properties       map[string]documentSchema
	AnyOf            []documentSchema
}

func parseDocument(t *testing.T, api *render.API) (document, []byte) {
	t.Helper()
	data, err := api.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		t.Fatal(err)
	}
	return d, data
}

// TestEveryRouteIsDescribed checks that each JSON route of the table has a path with exactly its parameters and a
// response type, and that every part is named and described. A new route needs a line in routes.Responses, a new field
// a comment.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	d, _ := parseDocument(t, apiOf(t, world()))
	if d.OpenAPI != "3.1.0" || d.Info.Version != "1.0.0" {
		t.Errorf("OpenAPI %s, description %s", d.OpenAPI, d.Info.Version)
	}
	paths := 0
	for _, r := range routes.All {
		if r.Ext != ".json" {
			continue
		}
		paths++
		if routes.Responses[r.Name] == nil {
			t.Errorf("route %s has no response type: give it a line in routes.Responses", r.Name)
		}
		item, ok := d.Paths[strings.TrimPrefix(r.Pattern, "/v1")]
		if !ok {
			t.Errorf("route %s is not described", r.Name)
			continue
		}
		if under := strings.HasPrefix(r.Pattern, "/v1/"); under != (len(item.Servers) == 0) {
			t.Errorf("route %s has the servers %v of its own", r.Name, item.Servers)
		}
		for _, common := range routes.Common {
			ok := false
			for _, p := range item.Get.Parameters {
				ok = ok || p.Ref == "#/components/parameters/"+common.Name
			}
			if !ok {
				t.Errorf("route %s does not take the parameter %s", r.Name, common.Name)
			}
		}
		var got, want []string
		for _, p := range item.Get.Parameters {
			if p.Ref != "" {
				continue // a parameter of all routes
			}
			if p.Description == "" {
				t.Errorf("parameter %s of route %s is not described", p.Name, r.Name)
			}
			if p.In == "query" {
				got = append(got, fmt.Sprintf("%s %t %s..%s %v %v", p.Name, p.Required, number(p.Schema.Minimum),
					number(p.Schema.Maximum), p.Schema.Enum, p.Schema.Default))
			} else if routes.SegmentByName(p.Name) == nil || !p.Required {
				t.Errorf("nothing in site.Segments says what {%s} of route %s is", p.Name, r.Name)
			}
		}
		for i := range r.Params {
			want = append(want, paramLine(&r.Params[i]))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("parameters of %s (-table +described):\n%s", r.Name, diff)
		}
	}
	for name := range routes.Responses {
		routes.ByName(name) // panics for a route that is not in the table
	}
	for _, c := range routes.Calls {
		if _, ok := d.Paths[strings.TrimPrefix(c.Pattern, "/v1")]; !ok {
			t.Errorf("call %s is not described", c.Name)
		}
	}
	if want := paths + len(routes.Files) + len(routes.CSVs) + len(routes.Calls); len(d.Paths) != want {
		t.Errorf("%d paths are described, %d routes, files, tables and calls there are", len(d.Paths), want)
	}
	for name, s := range d.Components.Schemas {
		if s.Description == "" {
			t.Errorf("type %s is not described: give it a line in site's vocabulary", name)
		}
		for field, f := range s.Properties {
			if f.Description == "" {
				t.Errorf("field %s of %s is not described: give it a line in site's vocabulary", field, name)
			}
		}
	}
}

func number(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// paramLine returns how the document must show a parameter of the table.
func paramLine(p *routes.Param) string {
	low, high := "", ""
	values := []any(nil)
	var standard any
	if p.Default != "" {
		standard = p.Default
	}
	switch p.Kind {
	case routes.KindInteger:
		low, high = fmt.Sprint(p.Min), fmt.Sprint(p.Max)
	case routes.KindDecimal:
		low = "0"
		if p.Max > 0 {
			high = fmt.Sprint(p.Max)
		}
	case routes.KindChoice:
		for _, v := range p.Accepted() {
			values = append(values, v)
		}
	}
	return fmt.Sprintf("%s %t %s..%s %v %v", p.Name, false, low, high, values, standard)
}

// TestSchemasAreTheTypes checks that fields that are always present are required, that fields that may be null say so,
// and that texts have their format.
func TestSchemasAreTheTypes(t *testing.T) {
	t.Parallel()
	d, _ := parseDocument(t, apiOf(t, world()))
	item := d.Components.Schemas["ServiceListItem"]
	for _, c := range []struct {
		field, want string
	}{
		{"slug", "string"}, {"base_url", "string uri"}, {"website_url", "[string null] uri"}, {"verified", "boolean"},
		{"status", "string [online degraded offline unknown]"}, {"endpoint_count", "integer"},
		{"min_price_usd", "[number null] 0.."},
		{"networks", "array"}, {"uptime_24h", "[number null] 0..100"}, {"avg_response_time_ms", "[integer null]"},
		{"last_checked_at", "[string null] date-time"}, {"created_at", "string date-time"},
	} {
		f := item.Properties[c.field]
		got := fmt.Sprint(f.Type)
		if f.Format != "" {
			got += " " + f.Format
		}
		if f.Enum != nil {
			got += " " + fmt.Sprint(f.Enum)
		}
		if f.Minimum != nil {
			got += " " + number(f.Minimum) + ".." + number(f.Maximum)
		}
		if got != c.want {
			t.Errorf("%s is described as %s, want %s", c.field, got, c.want)
		}
		if !slices.Contains(item.Required, c.field) {
			t.Errorf("%s is not required", c.field)
		}
	}
	if len(item.Properties) != 27 || len(item.Required) != 23 { // paused_at, delisted_at, gone_since, assessment may be absent
		t.Errorf("ServiceListItem has %d fields, %d required; want 27 and 23", len(item.Properties), len(item.Required))
	}
	divergence := d.Components.Schemas["Endpoint"].Properties["pay_to_divergence"]
	if len(divergence.AnyOf) != 2 || divergence.AnyOf[0].Ref != "#/components/schemas/PayToDivergence" ||
		divergence.AnyOf[1].Type != "null" {
		t.Errorf("pay_to_divergence is described as %+v", divergence)
	}
	if got := len(d.Components.Schemas["ChangeRecord"].Properties["summary"].AnyOf); got != 6 {
		t.Errorf("a change's summary is one of %d types, want 6", got)
	}
	if slices.Contains(d.Components.Schemas["Error"].Required, "fields") {
		t.Error("fields of an error are required; a 404 has none")
	}
}

// TestRouteTableIsPublished checks that routes.json decodes to the table.
func TestRouteTableIsPublished(t *testing.T) {
	t.Parallel()
	data, err := encode.JSON(routes.Table())
	if err != nil {
		t.Fatal(err)
	}
	var got site.One[routes.RouteTable]
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := routes.Table()
	unpublished := cmpopts.IgnoreFields(routes.Param{}, "Brief", "Usage", "Words")
	if diff := cmp.Diff(want, got.Data, unpublished); diff != "" {
		t.Errorf("read back (-table +file):\n%s", diff)
	}
	if len(want.Routes) != len(routes.All) || want.APIVersion != "1.0.0" || want.Index != "v1/index.json" {
		t.Errorf("the published table has %d routes of %d, version %s, index %s", len(want.Routes), len(routes.All),
			want.APIVersion, want.Index)
	}
	for _, r := range routes.All {
		rules := []routes.Rule{r.Rule}
		for _, p := range r.Params {
			if p.Rule != "" {
				rules = append(rules, p.Rule)
			}
		}
		for _, rule := range rules {
			if !slices.ContainsFunc(routes.Rules, func(text routes.RuleText) bool {
				return text.Name == rule && text.About != ""
			}) {
				t.Errorf("route %s: nothing in site.Rules says what the rule %s does", r.Name, rule)
			}
		}
	}
}

// TestExamples checks that examples are responses of the snapshot, shortened and without invisible characters.
func TestExamples(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	d, data := parseDocument(t, apiOf(t, world()))
	services := d.Paths["/services"].Get
	var list site.List[site.ServiceListItem, site.PaginationMeta]
	if err := json.Unmarshal(services.Responses["200"].Content["application/json"].Example, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Data) != 2 || list.Meta.Total != 53 {
		t.Errorf("the example list has %d rows, total %d; want 2, 53", len(list.Data), list.Meta.Total)
	}
	service := d.Paths["/services/{slug}"].Get
	if got := service.Parameters[0].Example; got != "acme" {
		t.Errorf("the example service is %v, want acme, which is online and has prices", got)
	}
	var detail site.One[site.ServiceDetail]
	if err := json.Unmarshal(service.Responses["200"].Content["application/json"].Example, &detail); err != nil {
		t.Fatal(err)
	}
	if detail.Data.Slug != "acme" || len(detail.Data.Endpoints) != 2 {
		t.Errorf("the example is %s with %d endpoints, want acme with 2", detail.Data.Slug, len(detail.Data.Endpoints))
	}
	if _, text := parseDocument(t,
		apiOf(t, &site.Snapshot{Now: site.NewTime(now), Services: []site.Listing{nasty()}})); strings.ContainsRune(
		string(text), '\u202e') {
		t.Error("an example turns the direction of text around")
	}
	if !bytes.Equal(data, mustOpenAPI(t)) {
		t.Error("the same snapshot gives another document")
	}
}

func mustOpenAPI(t *testing.T) []byte {
	_, data := parseDocument(t, apiOf(t, world()))
	return data
}

func TestReference(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	expect(t, apiOf(t, world()).Reference,
		In("nav[aria-label=Site] a[aria-current=page]", IsText("API"), HasAttr("href", "/reference.html")),
		In("h1", IsText("API reference")),
		In("link[rel=alternate]", HasAttr("href", "/v1/openapi.json")),
		In("#getServices", HasText("GET /v1/services"),
			HasText("curl 'https://tollbook.example/v1/services'"),
			HasText("curl 'https://tollbook.example/v1/services?network=BSE&status=online&category=Finance'"),
			In("tbody tr:first-child", HasText("network"), HasText("text up to 100 characters"),
				In("input", HasAttr("name", "network"))),
			In("form", HasAttr("action", "/v1/services")),
			Nth("tbody tr", 1, HasText("online, degraded, offline")),
			In("tbody tr:last-child", HasText("page"), HasText("1 to 1,000,000")),
			In(".twin code", HasText(`"slug": "acme"`)),
			In("a[href='#rule-window']")),
		In("#getService", HasText("curl 'https://tollbook.example/v1/services/acme'"),
			In("form", HasAttr("action", "/v1/services/acme")),
			In("a[href='/reference/types/services.html#type-ServiceDetail']")),
		In("#getUptime", In("tbody tr:first-child", HasText("{slug}"),
			HasText("part of the path"))),
		In("section[aria-labelledby=asking]", HasText("with the first value that is not empty"),
			HasText("a page above 1,000,000"), HasText("returns an empty list, not an error"),
			HasText("an empty list with the correct meta"), HasText("verifed (did you mean verified?)"),
			In("code", IsText("X-Unknown-Parameters"))),
		In("section[aria-labelledby=errors]", HasText(`"field": "per_page"`),
			HasText(`must be an integer from 1 to 100; got \"101\"`), HasText("not_found"), HasText("405")),
		In("section[aria-labelledby=verify]", HasText("sha256sum -c --ignore-missing SHA256SUMS"),
			HasText("https://tollbook.example/SHA256SUMS")),
		In("section[aria-labelledby=quickstart]", Count(".tabs", 3),
			HasText("curl 'https://tollbook.example/v1/services/acme'")),
		In("#getNetworks option:first-child, #getServices option:first-child", IsText("any")),
		NotIn("#getIndexFile"), In("a[href='/reference/files.html']"))
	expect(t, apiOf(t, world()).Files, In("#getIndexFile"), In("#getDaysTable"), NotIn("#getServices"))
	expect(t, apiOf(t, world()).Types,
		In("#type-Endpoint", HasAttr("href", "/reference/types/services.html#type-Endpoint")),
		In("#type-ErrorBody", HasAttr("href", "/reference/types/submissions.html#type-ErrorBody")))
	pages, err := apiOf(t, world()).TypesPages()
	if err != nil || len(pages) != 4 {
		t.Fatalf("%d pages of types: %v", len(pages), err)
	}
	expect(t, func() ([]byte, error) { return pages[0].Bytes, nil },
		In("#type-ServiceListItem", HasText("uptime_24h"), HasText("number or null")),
		In("#type-Endpoint", In("a[href='/reference/types/services.html#type-PayToDivergence']")))
	expect(t, apiOf(t, &site.Snapshot{Now: site.NewTime(now)}).Reference,
		In("section[aria-labelledby=quickstart]", Count(".tabs", 2)),
		In("#getService", NotIn("details"), NotIn("form"), NoText("curl")))
}

// TestDollarsHaveOneType checks that fields of US dollars with one name have one type, apart from those that had two
// before this rule, and that each of these says which it is.
func TestDollarsHaveOneType(t *testing.T) {
	t.Parallel()
	d, _ := parseDocument(t, apiOf(t, world()))
	fields := map[string]map[string][]string{} // types by name and kind
	for of, s := range d.Components.Schemas {
		for name, p := range s.Properties {
			kind := fmt.Sprint(p.Type)
			if name != "usd" && !strings.HasSuffix(name, "_usd") {
				continue
			}
			for _, k := range []string{"string", "number"} {
				if strings.Contains(kind, k) {
					if fields[name] == nil {
						fields[name] = map[string][]string{}
					}
					fields[name][k] = append(fields[name][k], of)
					slices.Sort(fields[name][k])
				}
			}
		}
	}
	mixed := map[string]map[string][]string{}
	for name, kinds := range fields {
		if len(kinds) < 2 {
			continue
		}
		mixed[name] = kinds
		for _, of := range slices.Concat(kinds["string"], kinds["number"]) {
			if about := d.Components.Schemas[of].Properties[name].Description; !strings.HasSuffix(about, " in some types.") {
				t.Errorf("%s.%s does not say which type it has: %s", of, name, about)
			}
		}
	}
	if diff := cmp.Diff(map[string]map[string][]string{
		"price_usd": {"number": {"AllowedOption", "CompactAssessment", "Economics", "Pick", "PriceObservation", "PricePoint"},
			"string": {"ConflictSide", "LookupPrice", "PricingEntry", "Recommendation", "RowEndpoint", "SearchEndpoint"}},
		"median_usd":       {"number": {"CategoryPrices", "NetworkPrices"}, "string": {"SettledPrice"}},
		"median_price_usd": {"number": {"StatsPricing"}, "string": {"RankingMeta"}},
	}, mixed); diff != "" {
		t.Errorf("dollars with two types (-want +got); give a new field the type that its name has:\n%s", diff)
	}
}

// TestEncode checks that a body decodes to its value, and that the same value gives the same bytes.
func TestEncode(t *testing.T) {
	t.Parallel()
	detail := acme().Detail
	first, err := encode.JSON(detail)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Data site.ServiceDetail }
	if err := json.Unmarshal(first, &body); err != nil {
		t.Fatal(err)
	}
	second, err := encode.JSON(body.Data)
	if err != nil || string(first) != string(second) {
		t.Errorf("%v: it was\n%s\nand became\n%s", err, first, second)
	}
}
