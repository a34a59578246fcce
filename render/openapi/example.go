package openapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

// Examples contains responses of a snapshot, with which the documents show what each route returns.
type Examples struct {
	Segments map[string]string // values of the variable parts of paths; none in an empty directory
	Bodies   map[string][]byte // by key; those of Keys that exist

	service *site.ServiceListItem // the service of the examples; nil in an empty directory
}

// ChooseExamples chooses the service of the examples: the first by slug that is online and has a price, else the first.
// endpoints returns the endpoints of the service at an index of the snapshot, which may not contain them yet.
func ChooseExamples(s *site.Snapshot, endpoints func(index int) []site.Endpoint) Examples {
	x := Examples{Segments: map[string]string{}, Bodies: map[string][]byte{}}
	for _, f := range s.Facilitators {
		if measured := f.Verification == site.VerificationOnChain; measured || x.Segments["facilitator"] == "" {
			x.Segments["facilitator"] = f.FacilitatorID
			if measured {
				break
			}
		}
	}
	if len(s.Sources) > 0 {
		x.Segments["source"] = s.Sources[0].Source.Source
	}
	var chosen *site.ServiceListItem
	index := 0
	for i := range s.Services {
		d := &s.Services[i].Item
		if d.GoneSince != nil {
			continue
		}
		if priced := d.Status == site.StatusOnline && d.MinPriceUSD != nil; priced || chosen == nil {
			chosen, index = d, i
			if priced {
				break
			}
		}
	}
	if chosen == nil {
		return x
	}
	x.service, x.Segments["slug"] = chosen, chosen.Slug
	x.Segments["number"], x.Segments["column"] = "0", "grade"
	for _, p := range endpoints(index) {
		address, err := listing.NormalURL(chosen.BaseURL + p.Path)
		prices := p.X402Pricing()
		if err != nil || len(prices) == 0 || prices[0].NetworkCAIP2 == nil {
			continue
		}
		hash := site.Hash(address)
		x.Segments["sha256"], x.Segments["shard"] = hash, hash[:2]
		x.Segments["caip2"], x.Segments["address"] = *prices[0].NetworkCAIP2, prices[0].PayTo
		break
	}
	return x
}

// Keys returns the files that examples come from: the response of each JSON route without parameters, or the shard that
// contains it, and each JSON file at a path of its own. The description itself is not among them.
func (x Examples) Keys() map[string]bool {
	keys := map[string]bool{}
	for i := range routes.All {
		if r := &routes.All[i]; r.Ext == ".json" {
			if key, _ := x.source(r); key != "" {
				keys[key] = true
			}
		}
	}
	for _, f := range routes.Files {
		if path, ok := x.path(f.Pattern); ok && f.Pattern != "/"+routes.OpenAPIFile {
			keys[path[1:]] = true
		}
	}
	return keys
}

// path replaces the variable parts of a pattern by values. It returns false if a value is unknown.
func (x Examples) path(pattern string) (string, bool) {
	var b strings.Builder
	for {
		before, after, variable := strings.Cut(pattern, "{")
		b.WriteString(before)
		if !variable {
			return b.String(), true
		}
		name, rest, _ := strings.Cut(after, "}")
		value := x.Segments[name]
		if value == "" {
			return "", false
		}
		b.WriteString(value)
		pattern = rest
	}
}

// source returns the file with the example of a route, "" without one, and the hash of its row if the file is a shard.
func (x Examples) source(r *routes.Route) (key, hash string) {
	path, ok := x.path(r.Pattern)
	if !ok {
		return "", ""
	}
	q, err := routes.ParseRequest((&url.URL{Path: path}).EscapedPath(), "")
	if err != nil || q.Route == nil {
		return "", ""
	}
	if r.Rule == routes.RuleLookup {
		key, _, hash = q.LookupShard()
		return key, hash
	}
	return q.Key(), ""
}

// of returns the example of an operation, nil without one.
func (x Examples) of(op *operation) (json.RawMessage, error) {
	key, hash := "", ""
	if op.route != nil {
		key, hash = x.source(op.route)
	} else if path, ok := x.path(op.pattern); ok {
		key = path[1:]
	}
	body, ok := x.Bodies[key]
	if !ok {
		return nil, nil
	}
	if hash != "" {
		if body, ok = lookupAnswer(body, hash); !ok {
			return nil, nil
		}
	}
	example, err := clip(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return example, nil
}

// lookupAnswer returns the row of a shard with a hash, as a response.
func lookupAnswer(shard []byte, hash string) ([]byte, bool) {
	rows, _, err := encode.Framing{}.Split(shard)
	if err != nil {
		return nil, false
	}
	for _, row := range rows {
		if routes.LookupHash(row) == hash {
			return encode.AppendProvenance(routes.LookupResponse(row), encode.FindProvenance(shard)), true
		}
	}
	return nil, false
}

// value returns a value of a parameter: for a filter one that selects something, for any other parameter one that
// differs from its default, and "" without one.
func (x Examples) value(p *routes.Param) string {
	switch p.Kind {
	case routes.KindChoice:
		if p.Filter && p.Default != "" {
			return p.Default
		}
		for _, v := range p.Values {
			if v != p.Default {
				return v
			}
		}
	case routes.KindSet:
		return strings.Join(p.Values, ",")
	case routes.KindInteger:
		if p.Max <= 1000 {
			return fmt.Sprint(p.Max)
		}
	case routes.KindAddress:
		return x.Segments["address"]
	case routes.KindText:
		if p.Rule == routes.RuleCatalogue && p.Name == "network" {
			return x.Segments["caip2"]
		}
		return x.text(p.Name)
	}
	return ""
}

// text returns a text of the service of the examples.
func (x Examples) text(name string) string {
	item := x.service
	if item == nil {
		return ""
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
	case "q", "query":
		first, _, _ := strings.Cut(display.Line(item.Name, display.MaxName), " ")
		return first
	}
	return ""
}

// exampleParams limits the parameters of an example request.
const exampleParams = 3

// commands returns requests as commands for a shell: without parameters, and with some, or "" if there are none. Their
// text cannot leave the quotes.
func (a *Document) commands(op *operation) (plain, withParams string) {
	if op.call != nil {
		return a.callCommand(op.call), ""
	}
	path, ok := a.examples.path(op.pattern)
	if !ok || op.route == nil && op.example == nil && op.pattern != "/"+routes.OpenAPIFile {
		return "", ""
	}
	address := display.EndpointURL(a.directory.BaseURL, path)
	plain = "curl '" + address + "'"
	if op.route == nil {
		return plain, ""
	}
	var values []string
	for i := range op.route.Params {
		p := &op.route.Params[i]
		if v := a.examples.value(p); v != "" && len(values) < exampleParams {
			values = append(values, p.Name+"="+strings.ReplaceAll(url.QueryEscape(v), "%2C", ","))
		}
	}
	if len(values) == 0 {
		return plain, ""
	}
	return plain, "curl '" + address + "?" + strings.Join(values, "&") + "'"
}
