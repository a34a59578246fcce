package x402

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// readDiscovery reads how to call the resource: the bazaar extension of version 2 or the outputSchema of version 1.
func readDiscovery(top object, rows []object, version int, d *defects) *Discovery {
	if raw := bazaar(top, rows); raw != nil {
		return readBazaar(raw, d)
	}
	for _, row := range rows {
		if input := row.child("outputSchema").child("input"); input != nil {
			return &Discovery{
				Method:      methodName(input.text("method")),
				Body:        sampleFields(input.get("bodyFields")),
				QueryParams: sampleFields(input.get("queryParams")),
				MCP:         input.text("type") == "mcp",
			}
		}
	}
	return nil
}

// bazaar returns the bazaar extension of the envelope, or of the first row that has one.
func bazaar(top object, rows []object) json.RawMessage {
	if raw := top.child("extensions").get("bazaar"); !absent(raw) {
		return raw
	}
	for _, row := range rows {
		if raw := row.child("extensions").get("bazaar"); !absent(raw) {
			return raw
		}
	}
	return nil
}

func readBazaar(raw json.RawMessage, d *defects) *Discovery {
	list, ok := members(raw)
	input := object(list).child("info").child("input")
	if !ok || input == nil {
		d.add(discoveryUnread, "bazaar")
		return nil
	}
	schema := object(list).child("schema").child("properties").child("input").child("properties")
	out := &Discovery{
		Method:      methodName(input.text("method")),
		Body:        present(input.get("body")),
		QueryParams: objectOnly(input.get("queryParams")),
		MCP:         input.text("type") == "mcp" || input.get("toolName") != nil || input.get("tool") != nil,
	}
	if out.Body == nil && takesBody(out.Method) {
		out.Body = sample(schema.get("body"), sampleDepth)
	}
	if out.QueryParams == nil {
		out.QueryParams = objectOnly(sample(schema.get("queryParams"), sampleDepth))
	}
	if template := object(list).text("routeTemplate"); template != "" {
		if out.RouteTemplate = routeTemplate(template); out.RouteTemplate == "" {
			d.add(routeTemplateBad, template)
		}
	}
	return out
}

var routeTemplateForm = regexp.MustCompile(`^/[a-zA-Z0-9_/:.\-~%]+$`)

// routeTemplate returns a template if it is safe to use as a path, else "".
func routeTemplate(s string) string {
	plain, err := url.PathUnescape(s)
	if err != nil || len(s) > 512 || !routeTemplateForm.MatchString(s) || strings.Contains(plain, "..") ||
		strings.Contains(plain, "://") {
		return ""
	}
	return s
}

// methodName returns a method in capitals, or "" for a method that HTTP APIs do not use.
func methodName(s string) string {
	switch s = strings.ToUpper(strings.TrimSpace(s)); s {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return s
	}
	return ""
}

func takesBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

func present(raw json.RawMessage) json.RawMessage {
	if absent(raw) {
		return nil
	}
	return raw
}

func objectOnly(raw json.RawMessage) json.RawMessage {
	if kind(raw) != '{' {
		return nil
	}
	return raw
}

// sampleDepth is the largest depth to which a sample follows a schema. maxSample is its largest length in bytes.
const (
	sampleDepth = 6
	maxSample   = 16 << 10
)

// sample returns the smallest value that a JSON schema describes, with required members only. For each value it takes
// the schema's example, default or first allowed value, else "sample", 0 or false. It returns nil without a schema, and
// never follows references.
func sample(schema json.RawMessage, levels int) json.RawMessage {
	list, ok := members(schema)
	if !ok || levels == 0 {
		return nil
	}
	s := object(list)
	if value := ownExample(s); value != nil {
		return value
	}
	switch s.text("type") {
	case "string":
		return json.RawMessage(`"sample"`)
	case "integer", "number":
		return json.RawMessage(`0`)
	case "boolean":
		return json.RawMessage(`false`)
	case "array":
		return json.RawMessage(`[]`)
	case "null":
		return json.RawMessage(`null`)
	}
	if s.text("type") != "object" && s.get("properties") == nil {
		return nil
	}
	return sampleObject(s, levels)
}

// ownExample returns the value that a schema itself contains: its example, default or first allowed value.
func ownExample(s object) json.RawMessage {
	for _, key := range []string{"const", "example", "default"} {
		if value := s.get(key); !absent(value) && len(value) <= maxSample {
			return value
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if values, _, ok := elements(s.get(key), 1); ok && len(values) > 0 && len(values[0]) <= maxSample {
			return values[0]
		}
	}
	return nil
}

func sampleObject(s object, levels int) json.RawMessage {
	properties := s.child("properties")
	required, _, _ := elements(s.get("required"), maxRows)
	var out writer
	for _, raw := range required {
		if name, ok := stringValue(raw); ok {
			out.add(name, sample(properties.get(name), levels-1))
		}
	}
	return out.object()
}

// writer collects the members of an object, up to maxSample bytes.
type writer struct{ bytes.Buffer }

// add adds a member that has a value.
func (w *writer) add(name string, value json.RawMessage) {
	key, err := json.Marshal(name)
	if err != nil || value == nil || w.Len()+len(key)+len(value) > maxSample {
		return
	}
	if w.Len() > 0 {
		w.WriteByte(',')
	}
	w.Write(key)
	w.WriteByte(':')
	w.Write(value)
}

func (w *writer) object() json.RawMessage { return json.RawMessage("{" + w.String() + "}") }

// sampleFields reads version 1's field descriptions, a map of names to a type word, an example or a small schema, into
// an example value for each that is not optional. A type word stands for its smallest value.
func sampleFields(raw json.RawMessage) json.RawMessage {
	list, ok := members(raw)
	if !ok {
		return nil
	}
	var out writer
	for _, m := range list {
		out.add(m.Key, fieldExample(m.Value))
	}
	return out.object()
}

func fieldExample(raw json.RawMessage) json.RawMessage {
	word, isText := stringValue(raw)
	if !isText {
		if list, ok := members(raw); ok {
			if kind(object(list).get("required")) == 'f' {
				return nil
			}
			return sample(raw, sampleDepth)
		}
		return present(raw)
	}
	switch word {
	case "string":
		return json.RawMessage(`"sample"`)
	case "number", "integer":
		return json.RawMessage(`0`)
	case "boolean":
		return json.RawMessage(`false`)
	}
	return raw
}

// HasOutputSchema reports whether a row says how to call the resource as version 1 does: outputSchema with an input.
func (e *Envelope) HasOutputSchema() bool {
	_, rows := e.parts()
	for _, row := range rows {
		if row.child("outputSchema").child("input") != nil {
			return true
		}
	}
	return false
}
