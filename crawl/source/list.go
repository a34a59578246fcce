package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"tollbook/site/jsontext"
)

// maxYAML is the largest list in YAML that is read, in bytes. Reading YAML takes far more time and memory than JSON.
const maxYAML = 2 << 20

// listNames are the members under which lists have their entries, and entries their endpoints.
var listNames = []string{"services", "resources", "endpoints", "items", "apis", "listings", "entries", "data"}

// addressNames are the members that name an entry's URL or path.
var addressNames = []string{"url", "resource", "endpoint", "base_url", "baseUrl", "serviceUrl", "path", "href"}

// readJSONList reads a list of URLs or of services, perhaps under one of listNames.
func readJSONList(doc []byte) (Page, error) {
	if !json.Valid(doc) {
		return Page{}, fmt.Errorf("%w: it is not JSON", ErrShape)
	}
	list := json.RawMessage(doc)
	if top := objectOf(doc); top != nil {
		if list = top.list(listNames...); list == nil {
			if top.text(addressNames...) == "" {
				return Page{}, fmt.Errorf("%w: it has no list of services", ErrShape)
			}
			list = slices.Concat([]byte("["), doc, []byte("]")) // a file with one service
		}
	}
	if jsontext.Kind(list) != '[' {
		return Page{}, fmt.Errorf("%w: it is no list", ErrShape)
	}
	return readList(list, readListed), nil
}

// readYAMLList reads the same shapes in YAML.
func readYAMLList(doc []byte) (Page, error) {
	if len(doc) > maxYAML {
		return Page{}, fmt.Errorf("%w: it is longer than %d MiB", ErrShape, maxYAML>>20)
	}
	var value any
	if err := yaml.Unmarshal(doc, &value); err != nil {
		return Page{}, fmt.Errorf("%w: it is not YAML", ErrShape)
	}
	text, err := json.Marshal(withTextKeys(value))
	if err != nil || len(text) > MaxBytes {
		return Page{}, fmt.Errorf("%w: it can't be written as JSON", ErrShape)
	}
	return readJSONList(text)
}

// withTextKeys returns a value of YAML without the keys that JSON can't have.
func withTextKeys(value any) any {
	switch v := value.(type) {
	case map[any]any:
		out := map[string]any{}
		for key, value := range v {
			if name, ok := key.(string); ok {
				out[name] = withTextKeys(value)
			}
		}
		return out
	case map[string]any:
		for key := range v {
			v[key] = withTextKeys(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withTextKeys(v[i])
		}
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
	}
	return value
}

// readListed reads an entry of a list: a service with endpoints, or one URL.
func readListed(e *entries, o object) {
	of := serviceRow(o, protocolOf(o.text("protocol")))
	of.Service = cmp.Or(o.line(MaxName, "provider"), of.Service)
	method, base := splitMethod(o.text(addressNames...))
	endpoints := o.list("endpoints", "resources", "routes", "paths")
	if endpoints == nil {
		of.URL, of.Method = base, cmp.Or(methodOf(o.text("method", "http_method")), method)
		of.Name, of.MimeType = o.line(MaxName, "name"), o.line(MaxName, "mimeType")
		of.Price = cmp.Or(o.line(MaxPrice, "price"), price(o, "price_usd", "USD", "price_sats", "sats"))
		e.add(of)
		return
	}
	for raw := range jsontext.Elements(endpoints) {
		row, ep := of, objectOf(raw)
		if ep == nil && jsontext.Kind(raw) != '"' {
			e.skip(NotObject, base)
			continue
		}
		own, path := splitMethod(cmp.Or(jsontext.Unquote(raw), ep.text(addressNames...)))
		row.URL, row.Method = join(base, placeholders(path)), cmp.Or(methodOf(ep.text("method")), own)
		row.Description = cmp.Or(ep.line(MaxText, "description", "summary"), of.Description)
		row.Name, row.Price = ep.line(MaxName, "name"), cmp.Or(ep.line(MaxPrice, "price"), ep.line(MaxPrice, "price_usd"))
		e.add(row)
	}
}
