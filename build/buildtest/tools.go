package buildtest

import (
	"fmt"
	"testing"
	"time"

	"tollbook/crawl/sample"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/load"
)

// toolCount is the number of paid tools that AddTools lists.
const toolCount = 12

// AddTools lists a service with an MCP server that has paid tools, and with one endpoint. at is the time of their
// newest 402.
func AddTools(t testing.TB, db *postgres.DB, at time.Time) {
	t.Helper()
	const slug = "mcp-almanac"
	since := at.AddDate(0, 0, -10)
	l := postgres.Listing{Slug: slug, Name: "MCP Almanac", Description: "Weather tools for agents.",
		BaseURL: "https://almanac.example", Category: "Data", Source: "imported:file", CreatedAt: since}
	h := load.History{Slug: slug}
	add := func(method, path string, amount int) {
		l.Endpoints = append(l.Endpoints, postgres.ListedEndpoint{Method: method, Path: path})
		h.Endpoints = append(h.Endpoints, load.EndpointHistory{Method: method, Path: path, FirstSeenAt: since,
			LastPaidAt: &at})
		h.Prices = append(h.Prices, checks.Price{EndpointID: postgres.EndpointID(slug, method, path), Since: since,
			Scheme: "exact", Network: "eip155:8453", NetworkCAIP2: new("eip155:8453"),
			Asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", Amount: fmt.Sprint(amount), X402Version: 2})
	}
	add("GET", "/climate", 5000)
	for i := range toolCount {
		add("POST", fmt.Sprintf("/mcp#forecast_%02d", i), 10_000+i)
	}
	if err := load.Sample(t.Context(), db, sample.Notice, []postgres.Listing{l}, []load.History{h}); err != nil {
		t.Fatal(err)
	}
}
