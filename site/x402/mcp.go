package x402

import (
	"bytes"
	"encoding/json"
	"iter"
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

// toolEnvelopes reads the first envelope in an answer to the call of an MCP tool, and reports whether it is one.
func toolEnvelopes(a Answer) (envelopes []Envelope, isTool bool) {
	if !isToolAnswer(a) {
		return nil, false
	}
	for raw := range toolTerms(a) {
		if e, ok := readEnvelope(raw, ChannelMCP, "json"); ok {
			return []Envelope{e}, true
		}
	}
	return nil, true
}

// isToolAnswer reports whether an answer may be one to the call of an MCP tool.
func isToolAnswer(a Answer) bool {
	return ToolOf(a.URL) != "" && (a.Status == http.StatusOK || a.Status == http.StatusPaymentRequired)
}

// ToolChallenges returns the challenges of the scheme Payment in an answer to the call of an MCP tool, as JSON objects.
func ToolChallenges(a Answer) (list []json.RawMessage) {
	if !isToolAnswer(a) {
		return nil
	}
	for raw := range toolTerms(a) {
		o, _ := members(raw)
		challenges, _, _ := elements(object(o).get("challenges"), maxChallenges)
		for _, c := range challenges {
			if kind(c) == '{' {
				list = append(list, c)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// maxContent is the largest number of content items of a result that are read.
const maxContent = 8

// toolTerms yields the values in an answer to the call of an MCP tool that may be terms: the data of an error, whatever
// its code, or parts of a result, and what is one level down in them.
//
//   - x402 over MCP: structuredContent and, as text, content of a result that is an error; paymentRequired of a result
//     of the type payment_required.
//   - MPP over JSON-RPC: the data of the error -32042, or _meta of a result.
//   - Other servers: _meta with a key of x402, a resource in content, the data of errors such as 402 and -32402.
//
// A result that is no error may contain terms as its subject; there only structuredContent counts, if it is all terms.
func toolTerms(a Answer) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		more := true
		try := func(raw json.RawMessage) {
			if more && len(raw) > 0 && depth(raw) <= maxDepth && json.Valid(raw) {
				more = yield(raw)
			}
		}
		tryNested := func(raw json.RawMessage) {
			try(raw)
			list, _ := members(raw)
			for _, key := range append(nestedKeys, "paymentRequirement") {
				try(object(list).get(key))
			}
		}
		for _, message := range Messages(a) {
			list, _ := members(message)
			top := object(list)
			tryNested(top.child("error").get("data"))
			result := top.child("result")
			if result == nil {
				continue
			}
			if result.text("resultType") == "payment_required" {
				try(result.get("paymentRequired"))
			}
			try(result.get("structuredContent"))
			for _, m := range result.child("_meta") {
				if strings.Contains(m.Key, "payment") || strings.HasPrefix(m.Key, "x402") {
					tryNested(m.Value)
				}
			}
			if string(result.get("isError")) != "true" {
				continue
			}
			tryNested(result.get("structuredContent"))
			content, _, _ := elements(result.get("content"), maxContent)
			for _, raw := range content {
				item, _ := members(raw)
				tryNested(json.RawMessage(object(item).text("text")))
				tryNested(json.RawMessage(object(item).child("resource").text("text")))
			}
		}
	}
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
