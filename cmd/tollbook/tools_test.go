package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// TestSDKToolsFromImportToCatalogue lists an MCP server made of the official SDK by its URL alone. Its paid tools must
// be in the catalogue as type mcp, with the prices that the server asks. No tool is called that is free or destructive:
// the server's free tool would fail, and a call of the other would be an endpoint.
func TestSDKToolsFromImportToCatalogue(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	var said struct{ Port int }
	startNode(t, "testdata/mcp", &said)
	host := fmt.Sprintf("127.0.0.1:%d", said.Port)
	dsn := postgrestest.NewDatabase(t)
	env, data := []string{"DATABASE_URL=" + dsn}, t.TempDir()
	list := filepath.Join(data, "services.json")
	write(t, list, fmt.Sprintf(`[{"service_name": "Almanac", "description": "Tools.", "url": "http://%s",
		"category": "Data", "endpoints": ["POST /mcp"]}]`, host))
	ran(t, env, "services", "import", list)
	crawl := []string{"crawl", "--once", "--data", data, "--crawl-host-gap", "1ms", "--crawl-allow-private", host}
	ran(t, env, crawl...) // finds the tools
	query(t, dsn, `UPDATE service_states SET next_check_at = now()`)
	ran(t, env, crawl...) // asks for their prices
	ran(t, env, "build", "--data", data)

	type row struct{ Resource, Tool, Amount string }
	read := func(query string) (rows []row) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(data, "public", "current", "discovery", "resources", query,
			"limit=100", "offset=0.json"))
		if err != nil {
			t.Fatal(err)
		}
		var page struct{ Items []site.CatalogueItem }
		if err := json.Unmarshal(text, &page); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if input := item.Extensions.Bazaar.Info.Input; item.Type != input.Type ||
				item.Type != strings.TrimPrefix(query, "type=") {
				t.Errorf("%s: type %s with input %+v", query, item.Type, input)
			}
			if input := item.Extensions.Bazaar.Info.Input; input.ToolName != "" &&
				!strings.Contains(string(input.InputSchema), `"properties":{"city":{"type":"string"}}`) {
				t.Errorf("%s: the schema of the input is %s, want the server's", input.ToolName, input.InputSchema)
			}
			rows = append(rows, row{item.Resource, item.Extensions.Bazaar.Info.Input.ToolName, item.Accepts[0].Amount})
		}
		return rows
	}
	server := "http://" + host + "/mcp"
	if diff := cmp.Diff([]row{{server, "climate", "2500"}, {server, "forecast", "10000"}},
		read("type=mcp")); diff != "" {
		t.Errorf("type=mcp (-want +got):\n%s", diff)
	}
	if got := read("type=http"); len(got) != 0 {
		t.Errorf("type=http has %v, want nothing", got)
	}
}

// TestLintTools lints an MCP server made of the official SDK, and single tools of it.
func TestLintTools(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	var said struct{ Port int }
	startNode(t, "testdata/mcp", &said)
	server := fmt.Sprintf("http://127.0.0.1:%d/mcp", said.Port)
	lint := func(want int, address string) string {
		t.Helper()
		code, stdout, stderr := tollbook(t, nil, "lint", "--json", "--crawl-allow-private", "127.0.0.1", address)
		if code != want {
			t.Fatalf("lint %s: exit %d, want %d\n%s%s", address, code, want, stdout, stderr)
		}
		return stdout
	}
	type report struct {
		Verdict, Grade string
		Asks           []struct {
			Dollars string `json:"price_usd"`
		}
	}
	type tool struct {
		Name              string
		Paid, Destructive bool
		Report            *report
	}
	asks := func(dollars string) *report { // without TLS the grade is C
		r := &report{Verdict: "paid", Grade: "C"}
		r.Asks = append(r.Asks, struct {
			Dollars string `json:"price_usd"`
		}{dollars})
		return r
	}
	if diff := cmp.Diff([]tool{{"forecast", true, false, asks("0.01")}, {"climate", true, false, asks("0.0025")},
		{"erase_history", true, true, nil}, {"cities", false, false, nil}},
		decode[struct{ Tools []tool }](t, lint(1, server)).Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(*asks("0.0025"), decode[report](t, lint(1, server+"#climate"))); diff != "" {
		t.Errorf("one tool (-want +got):\n%s", diff)
	}
	for name, want := range map[string]int{"cities": 4, "erase_history": 4, "nothing": 4} {
		lint(want, server+"#"+name)
	}
	_, text, _ := tollbook(t, nil, "lint", "--crawl-allow-private", "127.0.0.1", server)
	for _, want := range []string{"An MCP server. Of its 4 tools, 2 asked for payment.\n",
		"\n  cities: not called, because the server does not name it as paid\n", "\n  $0.0025 in USDC on Base"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not contain %q:\n%s", want, text)
		}
	}
}
