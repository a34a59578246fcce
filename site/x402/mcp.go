package x402

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"tollbook/site/jsontext"
)

// maxMessages is the most messages of a stream that are read.
const maxMessages = 20

// ToolOf returns the name of the MCP tool that a URL of this directory names: what follows the "#". It returns "" for
// the URL of any other endpoint.
func ToolOf(address string) string {
	_, fragment, _ := strings.Cut(address, "#")
	if name, err := url.PathUnescape(fragment); err == nil {
		return name
	}
	return ""
}

// maxToolSchema is the most bytes of a tool's schema. A list of that length has less than maxMembers elements.
const maxToolSchema = 4 << 10

// ToolSchema returns the JSON schema of an MCP tool's input in the form of canonical. It returns "" for text that is no
// JSON object, is nested too deeply, or is longer than maxToolSchema.
func ToolSchema(raw json.RawMessage) string {
	if len(raw) > 4*maxToolSchema || kind(raw) != '{' || depth(raw) > maxDepth || !json.Valid(raw) {
		return ""
	}
	var b bytes.Buffer
	if canonical(&b, raw); b.Len() > maxToolSchema {
		return ""
	}
	return b.String()
}

// toolEnvelopes reads the envelopes in an answer to the call of an MCP tool, and reports whether it is one. In x402
// over MCP they are in the structuredContent of a result that is an error, and as text in its content. Other servers
// send them in _meta, or as the data of an error with code 402.
func toolEnvelopes(a Answer) (envelopes []Envelope, isTool bool) {
	if ToolOf(a.URL) == "" || a.Status != http.StatusOK {
		return nil, false
	}
	add := func(raw json.RawMessage) {
		if len(envelopes) > 0 || len(raw) == 0 || depth(raw) > maxDepth || !json.Valid(raw) {
			return
		}
		if e, ok := readEnvelope(raw, ChannelMCP, "json"); ok {
			envelopes = append(envelopes, e)
		}
	}
	for _, message := range Messages(a) {
		top, ok := members(message)
		if !ok {
			continue
		}
		if failed := object(top).child("error"); string(failed.get("code")) == "402" {
			add(failed.get("data"))
		}
		result := object(top).child("result")
		if string(result.get("isError")) != "true" {
			continue
		}
		add(result.get("structuredContent"))
		add(result.child("_meta").get("x402/error"))
		if content, _, ok := elements(result.get("content"), 1); ok && len(content) > 0 {
			item, _ := members(content[0])
			add(json.RawMessage(object(item).text("text")))
		}
	}
	return envelopes, true
}

// Messages returns the JSON-RPC messages in an answer over MCP's Streamable HTTP: the body, or the data of each event.
// A message that is not JSON is left out.
func Messages(a Answer) (messages []json.RawMessage) {
	add := func(text []byte) {
		if depth(text) <= maxDepth && json.Valid(text) && len(messages) < maxMessages {
			messages = append(messages, text)
		}
	}
	if contentType(a) != "text/event-stream" {
		add(bytes.TrimSpace(bytes.TrimPrefix(a.Body, []byte(jsontext.ByteOrderMark))))
		return messages
	}
	var data []byte
	for line := range bytes.Lines(append(bytes.Clone(a.Body), "\n\n"...)) {
		line = bytes.TrimRight(line, "\r\n")
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(append(data, bytes.TrimPrefix(text, []byte(" "))...), '\n')
		} else if len(line) == 0 && len(data) > 0 {
			add(bytes.TrimSpace(data))
			data = nil
		}
	}
	return messages
}

// SampleInput returns the smallest input that the JSON schema of a tool's input accepts, "{}" without one.
func SampleInput(schema json.RawMessage) json.RawMessage {
	if input := objectOnly(sample(schema, sampleDepth)); input != nil {
		return input
	}
	return json.RawMessage("{}")
}
