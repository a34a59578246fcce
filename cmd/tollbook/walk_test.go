package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
	"tollbook/site/serve/mcp"
)

// need is what three users look for: speech to text, at most $0.01 on Base, reliable.
var need = struct {
	query     string // of the API
	arguments map[string]any
	line      []string // of the command line
}{
	"q=speech+to+text&network=BSE&max_price_usd=0.01&prefer=most_reliable",
	map[string]any{"q": "speech to text", "network": "Base", "max_price_usd": 0.01, "prefer": "most_reliable"},
	[]string{"speech", "to", "text", "--network", "base", "--max-price", "0.01"},
}

// testFindAsUsers checks that an agent and a developer get the same service and the reason for it in one step each: by
// one request, by one call of a tool, and by one command. A person gets it in a browser in two; use.mjs checks that.
func testFindAsUsers(t *testing.T, w *world) {
	const want = "brasshorn-speech"

	response, err := http.Get(w.url + "/v1/best?" + need.query)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	requested := decodeBest(t, body)
	checkRecommended(t, "GET /v1/best", want, requested)

	server, err := mcp.New(mcp.Options{Reader: w.handler, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := sdk.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "best_service", Arguments: need.arguments})
	if err != nil || result.IsError {
		t.Fatalf("best_service: %v %+v", err, result)
	}
	called, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	checkRecommended(t, "best_service", want, decodeBest(t, called))

	_, printed := runReader(t, append([]string{"best", "--json", "--prefer", "most_reliable", "--directory", w.url},
		need.line...)...)
	checkRecommended(t, "tollbook best", want, decodeBest(t, []byte(printed)))
	if status, printed := runReader(t, append([]string{"find", "--directory", w.url}, need.line...)...); status != 0 ||
		!strings.Contains(printed, want+" ") {
		t.Errorf("tollbook find: status %d\n%s", status, printed)
	}
}

// decodeBest returns the recommendations in JSON.
func decodeBest(t *testing.T, data []byte) []site.Recommendation {
	t.Helper()
	var list struct{ Data []site.Recommendation }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return list.Data
}

// checkRecommended checks the first recommendation: which service, what it costs on Base, and that it says why.
func checkRecommended(t *testing.T, from, slug string, list []site.Recommendation) {
	t.Helper()
	if len(list) == 0 {
		t.Errorf("%s recommends nothing", from)
		return
	}
	first := list[0]
	if first.Slug != slug || first.PriceUSD == nil || site.Decimal(*first.PriceUSD).Compare("0.01") > 0 ||
		!strings.Contains(first.Why, "uptime") {
		t.Errorf("%s recommends %+v", from, first)
	}
}
