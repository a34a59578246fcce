package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

// Examples contains responses of a snapshot, with which the documents show what each route returns.
type Examples struct {
	Segments map[string]string // values of the variable parts of paths; none in an empty directory

	now     time.Time             // when the snapshot was built
	service *site.ServiceListItem // the service of the examples; nil in an empty directory
	bodies  map[string][]byte     // of recorded files, by key
	answers map[string]answer     // of routes whose responses no file contains, by name
	keys    map[string]bool       // of the responses of routes without parameters, or of what they are cut from
	files   []*exampleFile        // at paths of their own
}

// answer is the response to a request that no file answers.
type answer struct {
	query string // of the request
	body  []byte
}

// ChooseExamples chooses the service of the examples: the first by slug that is online and has a price, else the first.
// endpoints returns the endpoints of the service at an index of the snapshot, which may not contain them yet.
func ChooseExamples(s *site.Snapshot, endpoints func(index int) []site.Endpoint) Examples {
	x := Examples{Segments: map[string]string{}, now: s.Now.Time, bodies: map[string][]byte{},
		answers: map[string]answer{}, keys: map[string]bool{}}
	x.chooseSegments(s, endpoints)
	for i := range routes.All {
		if r := &routes.All[i]; r.Ext == ".json" {
			if _, key, _ := x.source(r); key != "" {
				x.keys[key] = true
			}
		}
	}
	x.files = newExampleFiles(x)
	return x
}

// chooseSegments chooses the values of the variable parts of paths.
func (x *Examples) chooseSegments(s *site.Snapshot, endpoints func(index int) []site.Endpoint) {
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
		return
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
}

// Wants reports whether Record would keep a file.
func (x Examples) Wants(key string) bool {
	if x.keys[key] {
		return true
	}
	for _, f := range x.files {
		if f.isBetter(key) {
			return true
		}
	}
	return false
}

// Record keeps a copy of a file if the documents may show it as an example.
func (x Examples) Record(key string, data []byte) {
	if !x.Wants(key) {
		return
	}
	kept := bytes.Clone(data)
	if x.keys[key] {
		x.bodies[key] = kept
	}
	for _, f := range x.files {
		if f.isBetter(key) {
			f.key, f.isOwn, f.body = key, f.own.MatchString(key), kept
		}
	}
}

// Answer adds the response to a request of Questions.
func (x Examples) Answer(route, query string, body []byte) { x.answers[route] = answer{query, body} }

// Questions returns requests whose responses become examples although no file contains them: a query string by the name
// of its route.
func (x Examples) Questions() map[string]string {
	words := x.words()
	if words == "" {
		return nil
	}
	q := "q=" + url.QueryEscape(words)
	return map[string]string{"search": q + "&status=" + site.StatusOnline, "best": q}
}

// maxWords limits the words of a need in examples.
const maxWords = 4

// words returns what the service of the examples does: the beginning of its description; "" without one.
func (x Examples) words() string {
	if x.service == nil {
		return ""
	}
	text := strings.ToLower(display.Line(x.service.Description, display.MaxName))
	if i := strings.IndexAny(text, ",.;:"); i >= 0 {
		text = text[:i]
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words[:min(len(words), maxWords)], " ")
}

// path returns the path of the example of an operation with this pattern, and false without one.
func (x Examples) path(pattern string) (string, bool) {
	if f := x.file(pattern); f != nil && f.key != "" {
		return f.path(), true
	}
	return x.fill(pattern)
}

// file returns the file at a path of its own with this pattern, or nil.
func (x Examples) file(pattern string) *exampleFile {
	for _, f := range x.files {
		if f.pattern == pattern {
			return f
		}
	}
	return nil
}

// segment returns the value of a variable part of a pattern in the example of its operation; "" without one.
func (x Examples) segment(pattern, name string) string {
	if f := x.file(pattern); f != nil && f.key != "" {
		return f.any.FindStringSubmatch(f.key)[f.any.SubexpIndex(name)]
	}
	return x.Segments[name]
}

// fill replaces the variable parts of a pattern by Segments. It returns false if a value is unknown.
func (x Examples) fill(pattern string) (string, bool) {
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

// source returns the request for a route without parameters, the file with its response or from which that is cut, ""
// without one, and the hash of its row if the file is a shard.
func (x Examples) source(r *routes.Route) (q routes.Query, key, hash string) {
	path, ok := x.fill(r.Pattern)
	if !ok {
		return q, "", ""
	}
	q, err := routes.ParseRequest((&url.URL{Path: path}).EscapedPath(), "")
	if err != nil || q.Route == nil {
		return q, "", ""
	}
	switch r.Rule {
	case routes.RuleLookup:
		key, _, hash = q.LookupShard()
		return q, key, hash
	case routes.RuleTrim:
		return q, q.Untrimmed().Key(), ""
	}
	return q, q.Key(), ""
}

// of returns the example of an operation, nil without one.
func (x Examples) of(op *operation) (json.RawMessage, error) {
	body, err := x.body(op)
	if body == nil || err != nil {
		return nil, err
	}
	example, err := clip(body)
	if err != nil {
		return nil, fmt.Errorf("example of %s: %w", op.pattern, err)
	}
	return example, nil
}

// body returns the response that becomes the example of an operation, nil without one.
func (x Examples) body(op *operation) ([]byte, error) {
	if f := x.file(op.pattern); f != nil && f.body != nil {
		return f.body, nil
	}
	if body, err := x.sourceBody(op.pattern); body != nil || err != nil {
		return body, err
	}
	if op.route == nil {
		return nil, nil
	}
	if a, ok := x.answers[op.route.Name]; ok {
		return a.body, nil
	}
	if op.route.Rule == routes.RuleCatalogue {
		return x.catalogueSearch(op.route)
	}
	q, key, hash := x.source(op.route)
	body, ok := x.bodies[key]
	switch {
	case !ok:
		return nil, nil
	case hash != "":
		if body, ok = lookupAnswer(body, hash); !ok {
			return nil, nil
		}
	case q.Route.Rule == routes.RuleTrim:
		points, meta, err := q.Route.Framing.Split(body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		points = site.PointsSince(points, site.PeriodStart(q.Text("period"), x.now))
		return encode.AppendProvenance(q.Route.Framing.List(points, meta), encode.FindProvenance(body)), nil
	}
	return body, nil
}

// catalogueSearch returns the response of a search of the catalogue without a text: its rows are those of the list.
func (x Examples) catalogueSearch(r *routes.Route) ([]byte, error) {
	list := routes.ByName("discovery")
	body := x.bodies[routes.Query{Route: list, Bare: true}.Key()]
	if body == nil {
		return nil, nil
	}
	rows, _, err := list.Framing.Split(body)
	if err != nil {
		return nil, fmt.Errorf("example of %s: %w", r.Pattern, err)
	}
	limit := routes.Query{Route: r, Bare: true}.Int("limit")
	meta, err := encode.Row(site.CursorPagination{Limit: limit})
	return r.Framing.List(rows[:min(len(rows), limit)], meta), err
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
		switch {
		case p.Rule == routes.RuleCatalogue && p.Name == "network":
			return x.Segments["caip2"]
		case p.Name == "query" || p.Name == "q" && p.Compare != routes.CompareWords:
			return x.words()
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
	case "q": // of names
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
	if !ok || op.route == nil && op.example == nil {
		return "", ""
	}
	address := display.EndpointURL(a.directory.BaseURL, path)
	plain = "curl '" + address + "'"
	if op.route != nil && a.examples.answers[op.route.Name].query != "" {
		plain = "curl '" + address + "?" + a.examples.answers[op.route.Name].query + "'"
	}
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
