package render

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"tollbook/site"
)

// Examples are answers of a snapshot by which its documents show what each route answers.
type Examples struct {
	Slug   string            // the service that routes of one service are shown by, "" without any
	Bodies map[string][]byte // by key: of each of Keys that there is
}

// Examples chooses the service for examples: the first by slug that is online and has a price, else the first.
func (e *Edition) Examples() Examples {
	x := Examples{Bodies: map[string][]byte{}}
	for i := range e.snapshot.Services {
		item := &e.snapshot.Services[i].Item
		if item.Status == site.StatusOnline && item.MinPriceUSD != nil {
			x.Slug = item.Slug
			break
		}
		if i == 0 {
			x.Slug = item.Slug
		}
	}
	return x
}

// Keys are the files that examples are made of: the answer of each JSON route without parameters, and each JSON file
// that answers to its own path; not the description itself.
func (x Examples) Keys() map[string]bool {
	keys := map[string]bool{}
	add := func(key string) {
		if !strings.Contains(key, "{") {
			keys[key] = true
		}
	}
	for i := range site.Routes {
		if r := &site.Routes[i]; r.Ext == ".json" {
			add(x.key(r.Pattern) + r.Ext)
		}
	}
	for _, f := range site.Files {
		if f.Pattern != "/"+site.OpenAPIFile {
			add(x.key(f.Pattern))
		}
	}
	return keys
}

// key is a path without its first slash, for the chosen service if there is one.
func (x Examples) key(pattern string) string {
	if x.Slug != "" {
		pattern = strings.Replace(pattern, "{slug}", x.Slug, 1)
	}
	return pattern[1:]
}

// of is the example for an operation, nil without.
func (x Examples) of(op *operation) (json.RawMessage, error) {
	key := x.key(op.pattern)
	if op.route != nil {
		key += op.route.Ext
	}
	body, ok := x.Bodies[key]
	if !ok {
		return nil, nil
	}
	example, err := clip(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return example, nil
}

// exampleValue is a value of a parameter that some service has or that differs from its default, "" where there is none.
func (e *Edition) exampleValue(p *site.Param, slug string) string {
	switch p.Kind {
	case site.KindChoice:
		for _, v := range p.Values {
			if v != p.Default {
				return v
			}
		}
	case site.KindSet:
		return strings.Join(p.Values, ",")
	case site.KindInteger:
		if p.Max <= 1000 {
			return fmt.Sprint(p.Max)
		}
	case site.KindText:
		return e.exampleText(p.Name, slug)
	}
	return ""
}

// exampleText takes a text from the service that examples are made of.
func (e *Edition) exampleText(name, slug string) string {
	for i := range e.snapshot.Services {
		item := &e.snapshot.Services[i].Item
		if item.Slug != slug {
			continue
		}
		switch name {
		case "network":
			if len(item.Networks) > 0 {
				return item.Networks[0]
			}
		case "category":
			return item.Category
		case "service":
			return item.Slug
		case "q":
			first, _, _ := strings.Cut(words(item.Name, maxName), " ")
			return first
		}
	}
	return ""
}

// exampleParams is how many parameters an example request shows.
const exampleParams = 3

// commands are requests for an operation, to paste into a shell: as plain as its example, and with parameters, "" without.
// Nothing in them can leave the quotes.
func (a *API) commands(op *operation) (plain, withParams string) {
	path := "/" + a.examples.key(op.pattern)
	if strings.Contains(path, "{") {
		return "", ""
	}
	address := endpointURL(a.edition.pages.site.BaseURL, path)
	plain = "curl '" + address + "'"
	if op.route == nil {
		return plain, ""
	}
	var values []string
	for i := range op.route.Params {
		p := &op.route.Params[i]
		if v := a.edition.exampleValue(p, a.examples.Slug); v != "" && len(values) < exampleParams {
			values = append(values, p.Name+"="+strings.ReplaceAll(url.QueryEscape(v), "%2C", ","))
		}
	}
	if len(values) == 0 {
		return plain, ""
	}
	return plain, "curl '" + address + "?" + strings.Join(values, "&") + "'"
}
