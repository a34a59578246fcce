package sample

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAnswer checks the answers to requests that a visitor sends, and to others.
func TestAnswer(t *testing.T) {
	t.Parallel()
	tools := []tool{{Name: "quote", Description: "A quote", Terms: `{"x402Version":2}`}}
	for _, tt := range []struct {
		request, want string
		status        int
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `"protocolVersion":"2025-06-18"`, 200},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``, 202},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"agents-x402/paymentRequired":true`, 200},
		{string(toolBody("/mcp#quote")), `"structuredContent":{"x402Version":2}`, 200},
		{string(toolBody("/mcp#other")), `"error":{"code":-32601`, 200},
		{`{"jsonrpc":"2.0","id":4,"method":"resources/list"}`, `"error":{"code":-32601`, 200},
		{`not JSON`, `{}`, 400}, {`[]`, `{}`, 400},
	} {
		status, body := toolAnswer([]byte(tt.request), tools)
		if status != tt.status || !strings.Contains(body, tt.want) || body != "" && !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s, want %d with %s", tt.request, status, body, tt.status, tt.want)
		}
	}
	if got := string(toolBody("/other")); got != "{}" || toolInput("/other") != nil || toolSchema("/other") != "" {
		t.Errorf("the endpoint that is no tool has the body %s, the input %v and the schema %q", got,
			toolInput("/other"), toolSchema("/other"))
	}
}
