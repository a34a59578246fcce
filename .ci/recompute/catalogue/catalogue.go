// Package catalogue recomputes the lists of paid endpoints in the format of a facilitator's catalogue. It reads a
// snapshot alone.
package catalogue

import (
	"cmp"
	"strconv"
	"strings"

	"tollbook/.ci/recompute/conformance"
	"tollbook/.ci/recompute/snapshot"
)

const rule = "Orders of the list"

// Recompute compares the lists of paid endpoints and of paid MCP tools. services are the data of services by slug.
// A service whose recipients change often is left out: the one that is named now may not be its own.
func Recompute(snap *snapshot.Snapshot, r *snapshot.Report, services []snapshot.Node) {
	rows := map[string][]any{} // by type
	for _, s := range services {
		for _, e := range s.Get("endpoints").Items() {
			if accepts := newAccepts(e); len(accepts) > 0 {
				path, tool, isTool := strings.Cut(e.Get("path").Text(), "#")
				kind, input := "http", map[string]any{"type": "http", "method": e.Get("method").Value}
				if isTool {
					kind, input = "mcp", map[string]any{"type": "mcp", "toolName": tool}
				}
				rows[kind] = append(rows[kind], map[string]any{
					"resource": s.Get("base_url").Text() + path, "type": kind, "x402Version": 2,
					"accepts": accepts, "lastUpdated": e.Get("last_seen_at").Value,
					"description": e.Get("description").Text(),
					"serviceName": shorten(s.Get("name").Text()),
					"tags":        []string{shorten(s.Get("category").Text())},
					"input":       input,
				})
			}
		}
	}
	for _, kind := range []string{"http", "mcp"} {
		if kind == "http" || len(rows[kind]) > 0 {
			r.Figure(rule, snap.JSON("v1/index.json").At("lists", "discovery/resources/type="+kind),
				len(rows[kind]))
		}
	}
	files := snap.Files("discovery/resources", ".json")
	for _, name := range files {
		offset, _ := strconv.Atoi(snapshot.Parameters(name)["offset"])
		figurePage(r, snap.JSON(name), rows[cmp.Or(snapshot.Parameters(name)["type"], "http")], offset)
	}
}

// shorten returns at most 32 characters of printable ASCII.
func shorten(text string) string { return strings.TrimSpace(text[:min(len(text), 32)]) }

// newAccepts returns the payment options of an endpoint for the catalogue, without extra.
func newAccepts(e snapshot.Node) []any {
	var accepts []any
	for _, p := range conformance.X402(e) {
		if !p.Get("network_caip2").HasValue() {
			continue
		}
		accept := map[string]any{
			"scheme": p.Get("scheme").Value, "network": p.Get("network_caip2").Value, "amount": p.Get("price").Value,
			"asset": p.Get("asset_address").Value, "payTo": p.Get("pay_to").Value, "maxTimeoutSeconds": 60,
		}
		if timeout := p.Get("max_timeout_seconds"); timeout.Int() > 0 {
			accept["maxTimeoutSeconds"] = timeout.Value
		}
		accepts = append(accepts, accept)
	}
	return accepts
}

// figurePage compares a page of the catalogue.
func figurePage(r *snapshot.Report, file snapshot.Node, rows []any, offset int) {
	r.Figure(rule, file.Get("x402Version"), 2)
	r.Figure(rule, file.At("pagination", "total"), len(rows))
	r.Figure(rule, file.At("pagination", "limit"), 100)
	r.Figure(rule, file.At("pagination", "offset"), offset)
	items, want := file.Get("items").Items(), rows[min(len(rows), offset):min(len(rows), offset+100)]
	if len(items) != len(want) {
		r.Compare(rule, file.Get("items"), strconv.Itoa(len(items)), strconv.Itoa(len(want)))
		return
	}
	for i, item := range items {
		row := want[i].(map[string]any)
		for _, name := range []string{"resource", "type", "x402Version", "lastUpdated", "description", "serviceName",
			"tags"} {
			r.Figure(rule, item.Get(name), row[name])
		}
		input := item.At("extensions", "bazaar", "info", "input")
		for name, value := range row["input"].(map[string]any) {
			r.Figure(rule, input.Get(name), value)
		}
		input.Get("inputSchema").Leaves(r.Input) // said by the server
		accepts := row["accepts"].([]any)
		for k, accept := range item.Get("accepts").Items() {
			for name, value := range accepts[min(k, len(accepts)-1)].(map[string]any) {
				r.Figure(rule, accept.Get(name), value)
			}
			accept.Get("extra").Leaves(r.Input)
		}
	}
}
