package x402

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"golang.org/x/net/idna"
)

// BazaarFault is a rule of the bazaar extension that an envelope breaks. Soft faults drop a field; any other keeps the
// resource out of a catalogue.
type BazaarFault struct {
	Detail string
	Soft   bool
}

// Limits of a schema that is applied.
const (
	maxSchemaBytes = 64 << 10
	maxSchemaDepth = 64
)

// CheckBazaar returns the rules of specs/extensions/bazaar.md that an envelope with the extension breaks, in the order
// of the specification. It returns nothing for an envelope without the extension: HasBazaar says so.
func CheckBazaar(e *Envelope) []BazaarFault {
	top, rows := e.parts()
	raw := bazaar(top, rows)
	if raw == nil {
		return nil
	}
	c := bazaarCheck{}
	c.extension(raw)
	c.metadata(top)
	return c.faults
}

// HasBazaar reports whether an envelope has the bazaar extension.
func (e *Envelope) HasBazaar() bool {
	top, rows := e.parts()
	return bazaar(top, rows) != nil
}

// parts returns the members of an envelope and its rows.
func (e *Envelope) parts() (top object, rows []object) {
	top, list, _ := envelopeParts(e.Raw, new(defects))
	for _, raw := range list {
		row, _ := members(raw)
		rows = append(rows, row)
	}
	return top, rows
}

type bazaarCheck struct{ faults []BazaarFault }

func (c *bazaarCheck) add(format string, args ...any) {
	c.faults = append(c.faults, BazaarFault{Detail: clip(cleanText(fmt.Sprintf(format, args...)), 200)})
}

// need adds a fault if a member fails a test.
func (c *bazaarCheck) need(o object, path, key, want string, test func(json.RawMessage) bool) bool {
	raw := o.get(key)
	if test(raw) {
		return true
	}
	c.add("%s", mustBe(path+key, want, raw))
	return false
}

func (c *bazaarCheck) extension(raw json.RawMessage) {
	list, ok := members(raw)
	if !ok {
		c.add("%s", mustBe("extensions.bazaar", "an object", raw))
		return
	}
	top := object(list)
	if c.need(top, "", "info", "an object", isObject) {
		info := top.child("info")
		if c.need(info, "info.", "input", "an object", isObject) {
			c.input(info.child("input"))
		}
		if out := info.get("output"); !absent(out) {
			if !isObject(out) {
				c.add("%s", mustBe("info.output", "an object", out))
			} else {
				c.need(info.child("output"), "info.output.", "type", "a string", isText)
			}
		}
	}
	if c.need(top, "", "schema", "an object", isObject) {
		c.schema(top.get("schema"), top.get("info"))
	}
	if template := top.get("routeTemplate"); !absent(template) {
		if text, ok := stringValue(template); !ok || text != "" && routeTemplate(text) == "" {
			c.faults = append(c.faults, BazaarFault{clip(cleanText("routeTemplate is not a path such as /users/:id: "+
				show(template)), 200), true})
		}
	}
}

// input checks info.input. Its type, and for HTTP the method, say which fields it has.
func (c *bazaarCheck) input(in object) {
	const at = "info.input."
	switch in.text("type") {
	case "http":
	case "mcp":
		c.need(in, at, "toolName", "a string that is not empty", isText)
		if c.need(in, at, "inputSchema", "an object", isObject) && in.child("inputSchema").text("type") != "object" {
			c.add("info.input.inputSchema must have the type object")
		}
		c.need(in, at, "description", "a string", orMissing(isString))
		c.need(in, at, "example", "an object", orMissing(isObject))
		c.need(in, at, "transport", "streamable-http or sse", orMissing(oneOf("streamable-http", "sse")))
		return
	default:
		c.add("%s", mustBe("info.input.type", "http or mcp", in.get("type")))
		return
	}
	methods := oneOf(http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodPost, http.MethodPut,
		http.MethodPatch)
	if !c.need(in, at, "method", "GET, HEAD, DELETE, POST, PUT or PATCH", methods) {
		return
	}
	c.need(in, at, "queryParams", "an object", orMissing(isObject))
	c.need(in, at, "headers", "an object", orMissing(isObject))
	c.need(in, at, "pathParams", "an object", orMissing(isObject))
	if !takesBody(in.text("method")) {
		for _, key := range []string{"body", "bodyType"} {
			if in.get(key) != nil {
				c.add("info.input.%s does not belong to the method %s", key, in.text("method"))
			}
		}
		return
	}
	c.need(in, at, "bodyType", "json, form-data or text", oneOf("json", "form-data", "text"))
	c.need(in, at, "body", "an object or a string", func(raw json.RawMessage) bool {
		return isObject(raw) || isString(raw) || kind(raw) == '['
	})
}

// oneOf returns a test for a string of a list.
func oneOf(list ...string) func(json.RawMessage) bool {
	return func(raw json.RawMessage) bool {
		text, ok := stringValue(raw)
		return ok && slices.Contains(list, text)
	}
}

// schemaDraft is the only dialect of JSON Schema that the extension allows.
var schemaDraft = regexp.MustCompile(`^https?://json-schema\.org/draft/2020-12/schema#?$`)

// schema checks the schema itself, then info against it.
func (c *bazaarCheck) schema(raw, info json.RawMessage) {
	list, _ := members(raw)
	s := object(list)
	if draft := s.get("$schema"); !absent(draft) {
		if text, _ := stringValue(draft); !schemaDraft.MatchString(text) {
			c.add("schema.$schema must be that of the draft 2020-12; got %s", show(draft))
		}
	}
	input := s.child("properties").child("input")
	if input == nil {
		c.add("schema describes no input: schema.properties.input is missing")
	}
	required, _, _ := elements(s.get("required"), maxRows)
	if input != nil && !slices.ContainsFunc(required, oneOf("input")) {
		c.add("schema.required does not name input")
	}
	if input.child("properties").child("type") == nil && input != nil {
		c.add("schema does not say that input.type is http or mcp")
	}
	refs := walkSchema(raw, 0)
	for _, ref := range refs.external {
		c.add("schema refers to another document: %s", ref)
	}
	if !isObject(info) || len(raw) > maxSchemaBytes || refs.deep || refs.any || len(info) > maxSchemaBytes {
		return // not applied: a schema that refers to itself need not end
	}
	var parsed jsonschema.Schema
	var value any
	if json.Unmarshal(raw, &parsed) != nil || json.Unmarshal(info, &value) != nil {
		c.add("schema is not a JSON Schema")
		return
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return // it uses what this library does not know
	}
	if err := resolved.Validate(value); err != nil {
		c.add("info does not match schema: %s", lastReason(err.Error()))
	}
}

// lastReason returns the part of an error that says what does not match.
func lastReason(text string) string {
	if at := strings.LastIndex(text, "validating "); at > 0 {
		return text[at:]
	}
	return text
}

// schemaRefs are the references in a schema.
type schemaRefs struct {
	any, deep bool
	external  []string
}

// walkSchema returns the references in a schema, at any depth.
func walkSchema(raw json.RawMessage, depth int) (out schemaRefs) {
	if depth > maxSchemaDepth {
		return schemaRefs{deep: true}
	}
	add := func(more schemaRefs) {
		out.any, out.deep = out.any || more.any, out.deep || more.deep
		out.external = append(out.external, more.external[:min(len(more.external), 4-len(out.external))]...)
	}
	switch kind(raw) {
	case '{':
		list, _ := members(raw)
		for _, m := range list {
			if text, ok := stringValue(m.Value); ok && (m.Key == "$ref" || m.Key == "$id" || m.Key == "$dynamicRef" ||
				m.Key == "$recursiveRef") {
				add(schemaRefs{any: true})
				if !strings.HasPrefix(text, "#") {
					add(schemaRefs{external: []string{clip(text, 80)}})
				}
			}
			add(walkSchema(m.Value, depth+1))
		}
	case '[':
		list, _, _ := elements(raw, maxSchemaBytes)
		for _, item := range list {
			add(walkSchema(item, depth+1))
		}
	}
	return out
}

// metadata checks what resource says about the service. A catalogue drops a field that breaks its rule.
func (c *bazaarCheck) metadata(top object) {
	resource := top.child("resource")
	soft := func(key, want string) {
		c.faults = append(c.faults, BazaarFault{clip(cleanText(mustBe("resource."+key, want, resource.get(key))), 200),
			true})
	}
	if raw := resource.get("serviceName"); !absent(raw) && !isLabel(raw) {
		soft("serviceName", "1 to 32 characters of printable ASCII")
	}
	if raw := resource.get("tags"); !absent(raw) {
		tags, more, ok := elements(raw, 5)
		seen := map[string]bool{}
		for _, tag := range tags {
			text, _ := stringValue(tag)
			ok = ok && isLabel(tag) && !seen[strings.ToLower(text)]
			seen[strings.ToLower(text)] = true
		}
		if !ok || more {
			soft("tags", "at most 5 different texts of 1 to 32 characters of printable ASCII")
		}
	}
	if raw := resource.get("iconUrl"); !absent(raw) {
		if text, ok := stringValue(raw); !ok || !isIconURL(text) {
			soft("iconUrl", "an https or http URL with a public name")
		}
	}
}

// loopbackNames are the names that an icon's host must not have.
var loopbackNames = []string{"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"}

// numericHost is the form of a host that is an address in disguise: 2130706433, 0x7f000001.
var numericHost = regexp.MustCompile(`^(0x[0-9a-fA-F]*|[0-9]+)$`)

// isIconURL reports whether a catalogue takes a URL as that of an icon.
func isIconURL(text string) bool {
	if len(text) > 2048 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	u, err := url.Parse(text) // decodes the host
	if err != nil || u.User != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	host, err := idna.Lookup.ToASCII(strings.TrimSuffix(u.Hostname(), "."))
	if _, isIP := netip.ParseAddr(host); isIP == nil {
		return false
	}
	return err == nil && host != "" && !slices.Contains(loopbackNames, host) &&
		!numericHost.MatchString(host)
}
