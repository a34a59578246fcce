package search_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/search"
	"tollbook/site/testgate"
)

// decimals are texts that may be decimals.
var decimals = []string{"0", "00", "007", "1", "1.", ".5", "0.10", "0.0", "100.500", "-1", "+1", "1e3", "1,0", " 1", "",
	"١", "123456789012345678.123456789012345678", "0.000000000000000001", "10", "9.99", "9.9900"}

// scriptInput is what the script reads.
type scriptInput struct {
	Omit       string                     `json:"omit"`
	Params     []routes.Param             `json:"params"`
	Types      map[string]site.ColumnType `json:"types"`
	Files      map[string]string          `json:"files"`
	Selections []map[string]string        `json:"selections"` // values by name
	Orders     []scriptOrder              `json:"orders"`
	Decimals   []string                   `json:"decimals"`
}

type scriptOrder struct {
	By     site.Order        `json:"by"`
	Values map[string]string `json:"values"`
}

// scriptOutput is what the script makes of it.
type scriptOutput struct {
	Selections [][]int32 `json:"selections"`
	Orders     [][]int32 `json:"orders"`
	Decimals   []string  `json:"decimals"` // in canonical form; "" for other texts
	Compared   [][]int   `json:"compared"` // each decimal with each, in canonical form
}

// TestColumnScript checks that columns.js selects rows, orders them and reads numbers as Go does. The search page and
// the edge programs use it.
func TestColumnScript(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		testgate.Missing(t, "node is missing; install Node.js 20 or newer (Debian: apt-get install nodejs)")
	}
	in := scriptInput{Omit: route.Omit, Params: route.Params, Types: search.NewScriptTables().Columns,
		Files:    map[string]string{},
		Decimals: decimals}
	for name, file := range files {
		in.Files[name] = `{"data":` + file + "}\n"
	}
	values := func(request string) map[string]string {
		m := map[string]string{}
		for pair := range slices.Chunk(pairs(request), 2) {
			m[pair[0]] = pair[1]
		}
		return m
	}
	var want scriptOutput
	for _, s := range selections {
		in.Selections = append(in.Selections, values(s.values))
		want.Selections = append(want.Selections, s.want)
	}
	for _, o := range orders {
		in.Orders = append(in.Orders, scriptOrder{o.order, values(o.values)})
		want.Orders = append(want.Orders, o.want)
	}
	var valid []site.Decimal
	for _, text := range decimals {
		d, err := site.ParseDecimal(text)
		if err == nil {
			valid = append(valid, d)
		}
		want.Decimals = append(want.Decimals, string(d))
	}
	for _, a := range valid {
		var line []int
		for _, b := range valid {
			line = append(line, a.Compare(b))
		}
		want.Compared = append(want.Compared, line)
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "--eval", string(search.Script)+`
import { readFileSync } from "node:fs";
const input = JSON.parse(readFileSync(0)), n = 6;
const column = async (name) => columns.parseColumn(input.types[name], input.files[name], n);
const requestOf = (values) =>
	({ omit: input.omit, params: input.params,
		value: (name) => values[name] ?? input.params.find((p) => p.name === name).default ?? "" });
const output = { selections: [], orders: [], decimals: input.decimals.map((d) => columns.canonical(d) ?? "") };
for (const values of input.selections)
	output.selections.push(await columns.filter(requestOf(values), [0, 1, 2, 3, 4, 5], column));
for (const { by, values } of input.orders)
	output.orders.push(await columns.sort(requestOf(values), [4, 3, 2, 1, 0], by, column));
const valid = output.decimals.filter((d) => d !== "");
output.compared = valid.map((a) => valid.map((b) => Math.sign(columns.decimals(a, b))));
console.log(JSON.stringify(output));`)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(data), t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got scriptOutput
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns.js (-go +javascript):\n%s", diff)
	}
}
