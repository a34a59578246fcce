// This file answers as the MCP server of a sample service: it lists its tools and asks to be paid for each call. It
// must never know a service.

package sample

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// tool is a tool that is sold.
type tool struct {
	Name, Description string
	Terms             string // JSON that the call without a payment gets
}

// schema is the schema of the input of each tool, and sample an input that it accepts.
const (
	schema = `{"properties":{"q":{"default":"sample","type":"string"}},"required":["q"],"type":"object"}`
	sample = `{"q":"sample"}`
)

type object = map[string]any

// toolBody returns the body of a visitor's request to an endpoint: it calls the tool that the path names, and is {} for
// another endpoint.
func toolBody(path string) []byte {
	_, name, isTool := strings.Cut(path, "#")
	if !isTool {
		return []byte("{}")
	}
	return encodeTool(object{"jsonrpc": "2.0", "id": 3, "method": "tools/call",
		"params": object{"name": name, "arguments": json.RawMessage(sample)}})
}

// toolInput describes how to call the tool that a path names, nil for none.
func toolInput(path string) map[string]any {
	_, name, isTool := strings.Cut(path, "#")
	if !isTool {
		return nil
	}
	return object{"type": "mcp", "toolName": name, "inputSchema": json.RawMessage(schema)}
}

// toolSchema returns the schema of the input of the tool that a path names, "" for none.
func toolSchema(path string) string {
	if !strings.Contains(path, "#") {
		return ""
	}
	return schema
}

// toolAnswer returns the status and the body of the answer to a JSON-RPC request. The server keeps no sessions.
func toolAnswer(request []byte, tools []tool) (status int, body string) {
	var r struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if err := json.Unmarshal(request, &r); err != nil {
		return http.StatusBadRequest, "{}"
	}
	if r.ID == nil { // a notification
		return http.StatusAccepted, ""
	}
	answer := object{"jsonrpc": "2.0", "id": r.ID}
	switch at := slices.IndexFunc(tools, func(t tool) bool { return t.Name == r.Params.Name }); {
	case r.Method == "initialize":
		answer["result"] = object{"protocolVersion": "2025-06-18", "capabilities": object{"tools": object{}},
			"serverInfo": object{"name": "sample", "version": "1"}}
	case r.Method == "tools/list":
		answer["result"] = object{"tools": list(tools)}
	case r.Method == "tools/call" && at >= 0:
		answer["result"] = object{"isError": true, "structuredContent": json.RawMessage(tools[at].Terms),
			"content": []object{{"type": "text", "text": tools[at].Terms}}}
	default:
		answer["error"] = object{"code": -32601, "message": "no such method or tool"}
	}
	return http.StatusOK, string(encodeTool(answer))
}

func list(tools []tool) (out []object) {
	for _, t := range tools {
		out = append(out, object{"name": t.Name, "description": t.Description, "inputSchema": json.RawMessage(schema),
			"_meta": object{"agents-x402/paymentRequired": true}})
	}
	return out
}

// encodeTool encodes values that always can be.
func encodeTool(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
