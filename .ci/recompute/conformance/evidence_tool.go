package conformance

import (
	"bytes"
	"strings"
)

// isToolAnswer reports whether a response is the answer to the call of an MCP tool.
func isToolAnswer(a *answer) bool { return a.Status == 200 && strings.Contains(a.url, "#") }

// readTool returns the terms in the answer to the call of a tool: the first that can be read, nil for none. They are in
// a result that is an error, or the data of an error with code 402.
func readTool(a *answer) *envelope {
	for _, message := range messages(a) {
		members, _ := parse(message).(object)
		failed, _ := members["error"].(object)
		result, _ := members["result"].(object)
		var places []any
		if string(marshal(failed["code"])) == "402" {
			places = append(places, failed["data"])
		}
		if result["isError"] == true {
			meta, _ := result["_meta"].(object)
			places = append(places, result["structuredContent"], meta["x402/error"])
			if content, _ := result["content"].([]any); len(content) > 0 {
				item, _ := content[0].(object)
				text, _ := item["text"].(string)
				places = append(places, parse(text))
			}
		}
		for _, place := range places {
			if place == nil {
				continue
			}
			if e, ok := readEnvelope(string(marshal(place)), "mcp", "json"); ok {
				return &e
			}
		}
	}
	return nil
}

// messages returns the JSON-RPC messages of a response: its body, or the data of each event.
func messages(a *answer) (list []string) {
	if a.mediaType() != "text/event-stream" {
		return []string{string(bytes.TrimSpace(a.body))}
	}
	for _, event := range strings.Split(strings.ReplaceAll(string(a.body), "\r\n", "\n"), "\n\n") {
		var data []string
		for line := range strings.Lines(event) {
			if text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "data:"); ok {
				data = append(data, strings.TrimPrefix(text, " "))
			}
		}
		if len(data) > 0 {
			list = append(list, strings.Join(data, "\n"))
		}
	}
	return list
}
