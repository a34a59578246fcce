package x402

import (
	"bytes"
	"encoding/json"
	"mime"
	"slices"
	"strings"

	"tollbook/site/jsontext"
)

// nestedKeys lists the members of a body in which services put an envelope or bare requirements.
var nestedKeys = []string{
	"paymentRequired", "payment_required", "PaymentRequired", "paymentRequirements", "payment_requirements",
	"PaymentRequirements", "x402", "data", "error", "detail",
}

// maxNested is the largest number of envelopes that are read from one body.
const maxNested = 8

// bodyEnvelopes reads the envelopes of a body: the body itself, one level down, or the script of a paywall page.
func bodyEnvelopes(a Answer, d *defects) []Envelope {
	if a.Truncated {
		d.add(bodyTruncated)
	}
	text, ok := decodeBody(a.Body)
	if !ok {
		if start := bytes.TrimSpace(a.Body); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
			if depth(start) > maxDepth {
				d.add(jsonTooDeep, "body")
			} else {
				d.add(bodyUnreadable)
			}
		}
		return pageEnvelopes(a.Body)
	}
	envelopes := textEnvelopes(text, contentType(a))
	for i := range envelopes {
		var own defects
		if envelopes[i].Channel == ChannelNested {
			own.add(bodyNested)
		}
		for _, code := range text.leniency {
			own.add(code)
		}
		envelopes[i].Defects = append(own.list, envelopes[i].Defects...)
	}
	return envelopes
}

// textEnvelopes reads an envelope that is the whole text, else those one level down.
func textEnvelopes(text decoded, mediaType string) []Envelope {
	if e, ok := readEnvelope(text.text, ChannelBody, text.variant); ok {
		return []Envelope{e}
	}
	list, _ := members(text.text)
	top := object(list)
	var envelopes []Envelope
	add := func(raw json.RawMessage, variant string) {
		if len(envelopes) < maxNested {
			if e, ok := readEnvelope(raw, ChannelNested, variant); ok {
				envelopes = append(envelopes, e)
			}
		}
	}
	for _, key := range nestedKeys {
		addNested(top.get(key), text.variant, add)
	}
	if mediaType == "application/problem+json" { // an extension member of any name
		for _, m := range list[:min(len(list), maxRows)] {
			if !slices.Contains(nestedKeys, m.Key) {
				addNested(m.Value, text.variant, add)
			}
		}
	}
	if result := top.child("result"); result != nil { // a JSON-RPC response of an MCP tool
		add(result.get("structuredContent"), text.variant)
	}
	return envelopes
}

// addNested reads a value that may be an envelope, requirements, or JSON text of either.
func addNested(raw json.RawMessage, variant string, add func(json.RawMessage, string)) {
	text, isText := stringValue(raw)
	if !isText {
		if raw != nil {
			add(raw, variant)
		}
		return
	}
	if inner := strings.TrimSpace(text); looksLikeJSON(inner) && depth([]byte(inner)) <= maxDepth &&
		json.Valid([]byte(inner)) {
		add(json.RawMessage(inner), variant+"+text")
	}
}

// contentType returns the media type of a response in lower case, without parameters.
func contentType(a Answer) string {
	for _, value := range a.Header.Values("Content-Type") {
		if mediaType, _, err := mime.ParseMediaType(value); err == nil {
			return mediaType
		}
	}
	return ""
}

// pageKeys lists the members of window.x402 that contain the requirements in the official paywalls.
var pageKeys = []string{"paymentRequired", "paymentRequirements"}

// pageEnvelopes reads the requirements in the script of a paywall page, window.x402 = {...}. The script is JavaScript,
// so only the values after known keys are JSON.
func pageEnvelopes(body []byte) []Envelope {
	_, script, ok := bytes.Cut(body, []byte("window.x402"))
	if !ok {
		return nil
	}
	script = bytes.TrimLeft(script, " \t\r\n")
	script, ok = bytes.CutPrefix(script, []byte("="))
	if !ok {
		return nil
	}
	var envelopes []Envelope
	add := func(raw json.RawMessage) bool {
		e, ok := readEnvelope(raw, ChannelHTML, "json")
		if ok {
			e.Defects = append([]Defect{{Code: bodyHTML}}, e.Defects...)
			envelopes = append(envelopes, e)
		}
		return ok
	}
	if raw := leadingJSON(script); raw != nil && add(raw) {
		return envelopes
	}
	for _, key := range pageKeys {
		_, rest, ok := bytes.Cut(script, []byte(key))
		if !ok {
			continue
		}
		rest = bytes.TrimLeft(rest, "\"' \t\r\n")
		if rest, ok = bytes.CutPrefix(rest, []byte(":")); ok {
			if raw := leadingJSON(rest); raw != nil && add(raw) {
				return envelopes
			}
		}
	}
	return envelopes
}

// leadingJSON returns the object or list that text begins with, nil when that is no valid JSON.
func leadingJSON(text []byte) json.RawMessage {
	if k := kind(text); k != '{' && k != '[' {
		return nil
	}
	raw := jsontext.First(text)
	if depth(raw) > maxDepth || !json.Valid(raw) {
		return nil
	}
	return raw
}
