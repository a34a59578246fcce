package crawl

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// terms is what a tool answers without payment.
const terms = `{"x402Version":2,"error":"Payment required","resource":{"url":"mcp://tool/quote"},"accepts":[{"sche` +
	`me":"exact","network":"eip155:8453","amount":"10000","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":` +
	`"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}]}`

// toolServer is an MCP server made of the official SDK for Go, with paid and free tools. It counts calls by tool.
func toolServer(t *testing.T, o *mcp.StreamableHTTPOptions) (http.Handler, func() map[string]int) {
	t.Helper()
	var mu sync.Mutex
	calls := map[string]int{}
	server := mcp.NewServer(&mcp.Implementation{Name: "acme", Version: "1"}, nil)
	paid := mcp.Meta{"agents-x402/paymentRequired": true, "agents-x402/priceUSD": 0.01}
	schema := json.RawMessage(`{"type": "object", "required": ["symbol", "days"], "properties": {
		"symbol": {"type": "string"}, "days": {"type": "integer", "default": 7}, "note": {"type": "string"}}}`)
	add := func(name string, meta mcp.Meta, hints *mcp.ToolAnnotations, result *mcp.CallToolResult) {
		server.AddTool(&mcp.Tool{Name: name, Description: "About " + name, Meta: meta, Annotations: hints,
			InputSchema: schema},
			func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				mu.Lock()
				defer mu.Unlock()
				calls[name]++
				var input map[string]any
				if err := json.Unmarshal(r.Params.Arguments, &input); err != nil || input["days"] != 7.0 {
					return nil, fmt.Errorf("arguments %s", r.Params.Arguments)
				}
				return result, nil
			})
	}
	asks := &mcp.CallToolResult{IsError: true, StructuredContent: json.RawMessage(terms),
		Content: []mcp.Content{&mcp.TextContent{Text: terms}}}
	add("quote", paid, nil, asks)
	add("in-text", paid, nil,
		&mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: terms}}})
	add("given-away", paid, nil, &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "here"}}})
	add("broken", paid, nil, &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "oops"}}})
	add("free", nil, nil, asks)
	add("deletes", paid, &mcp.ToolAnnotations{DestructiveHint: new(true)}, asks)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, o)
	return handler, func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return calls
	}
}

// TestTools checks that the paid tools of an MCP server become endpoints, that each visit asks them for their price
// without payment, and that no tool is called that is free, unknown or destructive. The server answers by events or by
// JSON, with sessions or without.
func TestTools(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*mcp.StreamableHTTPOptions{
		"events and sessions": nil, "JSON": {JSONResponse: true}, "stateless": {Stateless: true, JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, calls := toolServer(t, o)
			mux := http.NewServeMux()
			mux.Handle("/mcp", server)
			base, p := local(t, mux)
			m := open(t)
			l := oneEndpoint("acme", base, "/mcp", "/mcp#free", "/mcp#unknown")
			for i := range l.Endpoints {
				l.Endpoints[i].Method = "POST"
			}
			m.list(t, l)
			c := crawler(t, m, Options{Now: (&clock{now: dawn}).Now, Visit: time.Minute}, p)
			if g := gather(t, c); g.Endpoints != 4 {
				t.Errorf("%+v, want four new endpoints", g)
			}
			if n := len(calls()); n != 0 {
				t.Errorf("listing the tools called %d of them", n)
			}
			round(t, c)
			got := m.strings(t, `SELECT path || ' ' || class FROM endpoints ORDER BY path COLLATE "C"`)
			want := []string{"/mcp needs_input", "/mcp#broken needs_input", "/mcp#free needs_input",
				"/mcp#given-away open", "/mcp#in-text paid_ok", "/mcp#quote paid_ok", "/mcp#unknown gone"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("classes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]int{"broken": 1, "given-away": 1, "in-text": 1, "quote": 1},
				calls()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			prices := m.strings(t, `SELECT path || ' ' || amount || ' ' || p.network FROM prices p
				JOIN endpoints e ON e.id = endpoint_id ORDER BY path`)
			if !slices.Equal(prices, []string{"/mcp#in-text 10000 eip155:8453", "/mcp#quote 10000 eip155:8453"}) {
				t.Errorf("prices %s", prices)
			}
		})
	}
}

// TestHostileTools checks that a server that lies about its tools costs a visit no more than its limits.
func TestHostileTools(t *testing.T) {
	t.Parallel()
	many := `{"name": "a", "_meta": {"x/paymentRequired": true}},`
	for name, list := range map[string]string{
		"no JSON":      `<html>`,
		"deep":         strings.Repeat(`{"tools":[`, 50_000),
		"not a list":   `{"tools": {"name": "a"}}`,
		"odd names":    `{"tools": [{"name": "../x", "_meta": {"x/paymentRequired": true}}, {"name": 7}, {}]}`,
		"endless":      `{"tools": [` + many + `1], "nextCursor": "again"}`,
		"long cursor":  `{"tools": [], "nextCursor": "` + strings.Repeat("c", 100_000) + `"}`,
		"ten thousand": `{"tools": [` + strings.Repeat(many, 4_000) + `1]}`,
	} {
		var requests int
		base, p := local(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/mcp" {
				http.NotFound(w, r)
				return
			}
			requests++
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", strings.Repeat("s", 5000))
			result := list
			if strings.Contains(string(body), `"initialize"`) {
				result = `{"protocolVersion": "2025-06-18\u0000"}`
			}
			fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": 1, "result": %s}`, result)
		}))
		m := open(t)
		l := oneEndpoint("acme", base, "/mcp")
		l.Endpoints[0].Method = "POST"
		m.list(t, l)
		c := crawler(t, m, Options{Now: (&clock{now: dawn}).Now}, p)
		g := gather(t, c)
		if g.Endpoints > 1 || requests > 7 {
			t.Errorf("%s: %d endpoints after %d requests", name, g.Endpoints, requests)
		}
	}
}
