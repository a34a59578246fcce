package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"tollbook/site/jsontext"
)

// listNames are the members under which lists have their entries, and entries their endpoints.
var listNames = []string{"services", "resources", "endpoints", "items", "apis", "listings", "entries", "data"}

// addressNames are the members that name an entry's URL or path.
var addressNames = []string{"url", "resource", "endpoint", "base_url", "baseUrl", "serviceUrl", "path", "href"}

// readJSONList reads a list of URLs or of services, perhaps under one of listNames.
func readJSONList(doc []byte) (Page, error) {
	doc, err := readJSON(doc)
	if err != nil {
		return Page{}, err
	}
	list := json.RawMessage(doc)
	if top := objectOf(doc); !top.isAbsent() {
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
	text, err := jsontext.FromYAML(doc)
	if err != nil {
		return Page{}, fmt.Errorf("%w: %w", ErrShape, err)
	}
	return readJSONList(text)
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
		if ep.isAbsent() && jsontext.Kind(raw) != '"' {
			e.skip(NotObject, base)
			continue
		}
		own, path := splitMethod(cmp.Or(jsontext.Unquote(raw), ep.text(addressNames...)))
		row.URL, row.Method = join(base, placeholders(path)), cmp.Or(methodOf(ep.text("method")), own)
		row.Description = cmp.Or(ep.line(MaxText, "description", "summary"), of.Description)
		row.Name, row.Price = ep.line(MaxName, "name"),
			cmp.Or(ep.line(MaxPrice, "price"), ep.line(MaxPrice, "price_usd"))
		e.add(row)
	}
}
