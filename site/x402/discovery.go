package x402

import (
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
