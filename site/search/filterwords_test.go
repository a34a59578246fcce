package search_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
	"tollbook/site/testgate"
)

// filterQueries are queries with how their words are read in the directory of newDirectory.
var filterQueries = []struct {
	query, text string
	filters     map[string]string
}{
	{"transcription under $0.05", "transcription", map[string]string{"max_price_usd": "0.05"}},
	{"transcription below 5 cents on Base", "transcription", map[string]string{"max_price_usd": "0.05", "network": "BSE"}},
	{"transcription below .5 cents", "transcription", map[string]string{"max_price_usd": "0.005"}},
	{"transcription for 50¢, cheapest", "transcription", map[string]string{"max_price_usd": "0.5", "sort": "price"}},
	{"cheapest transcription via solana", "transcription", map[string]string{"network": "SOL", "sort": "price"}},
	{"transcription within 1.5 s", "transcription", map[string]string{"max_response_ms": "1500"}},
	{"solana", "", map[string]string{"network": "SOL"}},
	{"solana services", "", map[string]string{"network": "SOL"}},
	{"calls solana", "calls", map[string]string{"network": "SOL"}},
	{"transcripton solona", "transcripton", map[string]string{"network": "SOL"}},
	{"forecasts via POST", "forecasts", map[string]string{"method": "POST"}},
	{"POST forecasts", "forecasts", map[string]string{"method": "POST"}},
	{"post forecasts", "", nil},         // what it does
	{`"under $0.01" speech`, "", nil},   // quoted
	{"speech for 5 languages", "", nil}, // no price
	{"max headroom", "", nil},           // no price
	{"unreliable", "", nil},             // another word
	{"offline forecasts", "", nil},      // none is offline
	{"lightning forecasts", "", nil},    // none over Lightning
	{"based on facts", "", nil},         // no network
	{"real time speech on", "", nil},    // no network
	{"forecasts on Aptos", "", nil},     // no service is on Aptos
	{"fast fast", "fast", map[string]string{"sort": "speed"}},
	{"online", "", map[string]string{"status": "online"}},
	{"reliable (on base)", "", map[string]string{"min_uptime_30d": "99", "network": "BSE"}},
}

// TestReadFilters checks which words of a query are filters.
func TestReadFilters(t *testing.T) {
	t.Parallel()
	for _, c := range filterQueries {
		_, meta := get(t, url.Values{"q": {c.query}, routes.ParamReadFilters: {"true"}}.Encode())
		var got map[string]string
		for _, f := range meta.Filters {
			if got == nil {
				got = map[string]string{}
			}
			got[f.Name] = f.Value
		}
		if diff := cmp.Diff(c.filters, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
		if meta.Text != nil && *meta.Text != c.text {
			t.Errorf("%s leaves %q, want %q", c.query, *meta.Text, c.text)
		}
	}
}

// TestReadFiltersOf checks that a request's own filter replaces the words, what is left without words, and that quoted
// words are none.
func TestReadFiltersOf(t *testing.T) {
	t.Parallel()
	_, meta := get(t, "q=calls+on+Base+under+$1&network=SOL&read_filters=true")
	if len(meta.Filters) != 1 || meta.Filters[0] != (site.FilterReading{Words: "under $1", Name: "max_price_usd", Value: "1",
		Without: "calls on Base"}) || *meta.Text != "calls" || meta.Total != 1 {
		t.Errorf("the meta is %+v", meta)
	}
	list, meta := get(t, "q=stt+on+solana+under+$0.1&read_filters=true")
	if diff := cmp.Diff(map[string]int{"network": 1, "max_price_usd": 1}, meta.Without); diff != "" || !meta.Nearest ||
		meta.Total != 0 || len(list) != 2 {
		t.Errorf("%d nearest services of %d; without (-want +got):\n%s", len(list), meta.Total, diff)
	}
	if list, meta = get(t, "q=zzzz+meteorology+rain+zzzzzz&read_filters=true"); len(list) == 0 {
		t.Errorf("no service is near: %+v", meta)
	}
	if _, meta = get(t, "q=speech+under+$1"); meta.Filters != nil || meta.Text != nil {
		t.Errorf("words are filters without the parameter: %+v", meta)
	}
}

// TestFilterScript checks that the script reads words, orders services and finds the nearest ones as Go does.
func TestFilterScript(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		testgate.Missing(t, "node is missing; install Node.js 20 or newer (Debian: apt-get install nodejs)")
	}
	d := newDirectory()
	d.rows[0].AdviceLevel, d.rows[1].AdviceLevel = site.AdviceDoNotPay, site.AdviceGood
	files := map[string]string{}
	put := func(key string, v any) {
		data, err := encode.JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		files[key] = string(data)
	}
	put(site.TermsFile, d.weigher.Index())
	put(site.VocabularyFile, d.weigher.Vocabulary())
	for name, terms := range d.weigher.Shards() {
		var lines [][]byte
		for _, term := range terms {
			line, err := encode.Row(d.weigher.Term(term))
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, line)
		}
		files[routes.TermShardKey(name)] = string(encode.Framing{}.List(lines, []byte(`{}`)))
	}
	for _, c := range site.Columns {
		values := []any{}
		for i := range d.rows {
			values = append(values, c.Value(&d.rows[i]))
		}
		put("v1/columns/"+c.Name+".json", values)
	}
	var rows [][]byte
	for i := range d.rows {
		row, err := encode.Row(&d.rows[i])
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	files["v1/rows/0.json"] = string(encode.Framing{}.List(rows, []byte(`{}`)))
	type response struct {
		Rows []json.RawMessage `json:"rows"`
		Meta json.RawMessage   `json:"meta"`
	}
	queries := []string{"q=zzzz+meteorology+rain", "q=kyc", "q=stt+on+solana+under+$0.1", "q=stt", "q=cheapest+stt", "sort=price",
		"q=the", "q=stt+calls+real&sort=price", "q=lightning", "q=%22on+base%22", "q=tra+under+$1&include=facets", "q=chepest+stt",
		"sort=best", "q=best+stt", "q=stt&sort=best&network=BSE", "sort=best&max_price_usd=0.01", "q=zzzz&sort=best",
		"q=best+speech&method=GET", "sort=best&per_page=1&page=3"}
	for _, c := range filterQueries {
		queries = append(queries, "q="+url.QueryEscape(c.query))
	}
	var requests []map[string]string
	var want []response
	for _, query := range queries {
		q, err := routes.ParseRequest("/v1/search", query+"&read_filters=true")
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]string{}
		for i := range q.Route.Params {
			values[q.Route.Params[i].Name] = q.Text(q.Route.Params[i].Name)
		}
		requests = append(requests, values)
		list, meta, err := search.ResultsPage(q, len(d.rows), d)
		if err != nil {
			t.Fatal(err)
		}
		r := response{Rows: []json.RawMessage{}}
		for _, row := range list {
			r.Rows = append(r.Rows, row)
		}
		if r.Meta, err = json.Marshal(meta); err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	route := routes.ByName("search")
	data, err := json.Marshal(map[string]any{"files": files, "requests": requests, "omit": route.Omit, "params": route.Params,
		"tables": search.NewScriptTables(), "built": built.UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "--eval", string(search.Script)+`
import { readFileSync } from "node:fs";
const { files, requests, omit, params, tables, built } = JSON.parse(readFileSync(0));
const load = async (key, parse) => parse(files[key]);
const reader = columns.newReader(tables, search.newText(tables.text), 3, load, { built: () => built });
const output = [];
for (const values of requests) {
	const { rows, meta } = await results.page(tables, { omit, params, value: (name) => values[name] }, reader);
	output.push({ rows: rows.map((row) => JSON.parse(row)), meta: JSON.parse(meta) });
}
console.log(JSON.stringify(output));`)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []response
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	plain := func(r response) (v [2]any) {
		rows, err := json.Marshal(r.Rows)
		if err == nil {
			err = json.Unmarshal(rows, &v[0])
		}
		if err == nil {
			err = json.Unmarshal(r.Meta, &v[1])
		}
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i := range want {
		if diff := cmp.Diff(plain(want[i]), plain(got[i])); diff != "" {
			t.Errorf("%s (-go +javascript):\n%s", queries[i], diff)
		}
	}
}
