package edge

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tollbook/site"
	"tollbook/site/serve"
)

// Nginx is what the configuration depends on.
type Nginx struct {
	Folder     string // of the publication: its link current names the expanded tree
	Listen     string // as nginx takes it: "80", "[::]:443 ssl"
	ServerName string
	Upstream   string // host and port of tollbook serve
	RateLimit  int    // requests a minute of a client
	MaxAge     int    // seconds that caches may keep an answer
}

// plain is a path of at least one segment that needs no decoding; a segment does not begin with a dot.
const plain = `(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+`

// slug is what the pages of services, categories and networks are called.
var slug = fmt.Sprintf(`[a-z0-9](?:[a-z0-9-]{0,%d}[a-z0-9])?`, site.MaxSlug-2)

// Patterns of what the variable part of a path names. Those with dots are left to serve, since they may be files.
var segments = map[string]string{
	"slug":        slug,
	"category":    slug,
	"network":     slug,
	"facilitator": fmt.Sprintf(`[A-Za-z0-9][A-Za-z0-9_-]{0,%d}`, site.MaxFacilitatorID-1),
}

// nginxMap is a map of nginx: what it looks at, what it makes, and its lines.
type nginxMap struct {
	On, Name string
	Lines    []string
}

type nginxRoute struct{ Name, Match, Key string }

type nginxKey struct{ Name, Params, Full, Ext, Guard string }

type nginxPaged struct{ Name, NextFile, NextQuery string }

type nginxError struct {
	Codes   string
	Code    int
	Headers []string
	Body    string
	Page    bool // for who asked for a page there is one
}

type nginxData struct {
	Nginx
	Root, Plain, Snapshot, Policy, Expose, Extensions, CharsetTypes, GzipTypes, PageIs string

	MaxQuery   int
	Aliases    []site.Alias
	Routes     []nginxRoute
	Unnamed    []string
	Maps       []nginxMap
	Keys       []nginxKey
	Paged      []nginxPaged
	Successors []string
	Types      []struct{ Type, Ext string }
	Errors     []nginxError

	names map[string]string // of maps, by what they say
}

// Config is a configuration for nginx over an expanded folder.
func (o Nginx) Config() ([]byte, error) {
	m := serve.NewHTTPPolicy()
	d := &nginxData{
		Nginx: o, Root: path.Join(o.Folder, "current"), Plain: plain, Policy: m.Policy, Expose: m.Expose,
		Snapshot: strings.Trim(site.SnapshotPattern, "^$"), MaxQuery: site.Table().Limits.MaxQuery,
		names: map[string]string{},
	}
	for _, a := range site.Table().Aliases { // "/api/v1/" to "/v1/": what both end in is the rest's windowStart
		common := strings.TrimSuffix(a.To, "/")
		d.Aliases = append(d.Aliases, site.Alias{From: strings.TrimSuffix(strings.TrimSuffix(a.From, "/"), common),
			To: common})
	}
	for i := range site.Routes {
		d.addRoute(&site.Routes[i])
	}
	d.successors()
	d.types()
	if err := d.errors(m); err != nil {
		return nil, fmt.Errorf("write nginx configuration: %w", err)
	}
	return fillIn(d, "nginx.conf")
}

// walksByPage says whether the next page of a route's list is a file whose name tells its number.
func walksByPage(r *site.Route) bool { return r.Param("page") != nil && r.Rule != site.RuleLog }

// addRoute adds what a route needs, unless all of it is for serve.
func (d *nginxData) addRoute(r *site.Route) {
	if r.Rule == site.RuleLookup {
		return
	}
	pattern, match := "^"+regexp.QuoteMeta(r.Pattern), quote(r.Pattern)
	if head, rest, ok := strings.Cut(r.Pattern, "{"); ok {
		name, tail, _ := strings.Cut(rest, "}")
		pattern = "^" + regexp.QuoteMeta(head) + segments[name] + regexp.QuoteMeta(tail)
		match = quote("~" + pattern + "$")
	}
	paged := r.Param("page") != nil || r.Param("offset") != nil
	if paged && r.Ext == ".json" {
		d.Unnamed = append(d.Unnamed, quote("~"+pattern+`\.json$`))
	}
	if paged && !walksByPage(r) {
		return
	}
	route := nginxRoute{Name: r.Name, Match: match, Key: quote("$tollbook_path" + r.Ext)}
	switch {
	case r.Pattern == "/":
		route.Key = quote("/index" + r.Ext)
	case len(r.Params) > 0:
		route.Key = "$tollbook_key_" + variable(r.Name)
		d.addKey(r)
	}
	d.Routes = append(d.Routes, route)
}

// addKey adds the maps of a route's parameters, and the key that they make.
func (d *nginxData) addKey(r *site.Route) {
	key := nginxKey{Name: variable(r.Name), Ext: r.Ext}
	next := nginxPaged{Name: r.Name}
	var names []string
	for i := range r.Params {
		p := &r.Params[i]
		names = append(names, p.Name)
		part := d.param(p, "", func(v string) string { return "/" + p.Name + "=" + v }, p.Trim)
		key.Full += part
		if p.Trim {
			key.Guard += d.trimmed(r, p)
		}
		if p.Name == "page" {
			next.NextFile += "/page=${tollbook_next}"
			next.NextQuery += "page=${tollbook_next}&"
			is := d.param(p, "_is", func(v string) string { return v }, false)
			if d.PageIs != "" && d.PageIs != is {
				// two tables of successors would do
				panic("edge: the page of " + r.Name + " is another parameter than that of the routes before")
			}
			d.PageIs = is
			continue
		}
		next.NextFile += part
		if p.Rule == "" {
			next.NextQuery += d.given(p)
		}
	}
	key.Params = strings.Join(names, "|")
	if walksByPage(r) {
		next.NextFile += key.Guard + r.Ext
		d.Paged = append(d.Paged, next)
		key.Guard += "${tollbook_unpinned}"
	}
	d.Keys = append(d.Keys, key)
}

// first is a regular expression for arguments whose first value of a parameter that is not empty is value.
func first(name, value string) string {
	return `~^(?:(?!` + name + `=[^&])[^&]*&)*` + name + `=` + value + `(?:&|$)`
}

// param is the variable of what a parameter is in a key; say makes the text of a value.
func (d *nginxData) param(p *site.Param, suffix string, say func(string) string, atLargest bool) string {
	absent := ""
	if p.Default != "" {
		absent = say(p.Default)
	}
	if atLargest {
		absent = say(largest(p))
	}
	lines := []string{"default " + quote(absent) + ";"}
	capture := "${tollbook_v_" + variable(p.Name) + "}"
	named := func(pattern string) string { return "(?<tollbook_v_" + variable(p.Name) + ">" + pattern + ")" }
	switch {
	case p.Rule != "": // another rule answers
	case p.Kind == site.KindSet:
		for _, set := range p.Sets() {
			for _, order := range permutations(strings.Split(set, ",")) {
				if set != "" {
					lines = append(lines, quote(first(p.Name, strings.Join(order, ",")))+" "+
						quote(say(strings.ReplaceAll(set, ",", "~2c")))+";")
				}
			}
		}
	default:
		value := capture
		if atLargest {
			value = largest(p)
		}
		lines = append(lines, quote(first(p.Name, named(valid(p))))+" "+quote(say(value))+";")
	}
	lines = append(lines, quote(first(p.Name, "[^&]+"))+` "!";`)
	return d.use("$args", variable(p.Name)+suffix, lines)
}

// given is the variable of a parameter as Link repeats it: nothing where it is absent.
func (d *nginxData) given(p *site.Param) string {
	q := *p
	q.Default = ""
	return d.param(&q, "_given", func(v string) string {
		return p.Name + "=" + strings.ReplaceAll(v, "~2c", "%2C") + "&"
	}, false)
}

// trimmed is the variable that sends a request to serve where it asks for less than its file holds.
func (d *nginxData) trimmed(r *site.Route, p *site.Param) string {
	is := d.param(p, "_is", func(v string) string { return v }, false)
	on, pattern := `"`+is+`"`, "~^(?!"+largest(p)+"$)"
	if name, value, ok := strings.Cut(p.Needs, "="); ok {
		with := r.Param(name)
		on = `"` + d.param(with, "", func(v string) string { return "/" + name + "=" + v }, false) + " " + is + `"`
		pattern = "~" + value + ".* (?!" + largest(p) + "$)"
	}
	return d.use(on, variable(p.Name)+"_trimmed", []string{`default "";`, quote(pattern) + ` "!";`})
}

// use adds a map, unless there is the same already, and answers the variable that it makes.
func (d *nginxData) use(on, name string, lines []string) string {
	body := on + "\n" + strings.Join(lines, "\n")
	if d.names[body] == "" {
		taken := slices.Collect(maps.Values(d.names))
		final := name
		for n := 2; slices.Contains(taken, final); n++ {
			final = name + "_" + strconv.Itoa(n)
		}
		d.names[body] = final
		d.Maps = append(d.Maps, nginxMap{on, final, lines})
	}
	return "${tollbook_" + d.names[body] + "}"
}

// valid is what a parameter may be where nothing need be decoded.
func valid(p *site.Param) string {
	switch {
	case p.Kind == site.KindChoice:
		return strings.Join(p.Values, "|")
	case p.Kind == site.KindInteger && p.Trim: // it stands in no key, so no file says that it is too large
		var all []string
		for n := p.Min; n <= p.Max; n++ {
			all = append(all, strconv.Itoa(n))
		}
		return strings.Join(all, "|")
	case p.Kind == site.KindInteger:
		return `[1-9][0-9]{0,9}`
	}
	return fmt.Sprintf(`[A-Za-z0-9._-]{1,%d}`, site.MaxText)
}

// largest is the value of a trimmed parameter in a key.
func largest(p *site.Param) string {
	if p.Kind == site.KindInteger {
		return strconv.Itoa(p.Max)
	}
	return p.Values[len(p.Values)-1]
}

// permutations are all orders of a few values.
func permutations(list []string) [][]string {
	if len(list) < 2 {
		return [][]string{list}
	}
	var all [][]string
	for i, v := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{v}, p...))
		}
	}
	return all
}

// successors adds one to a number of up to seven digits, by its last digit and the nines behind it.
func (d *nginxData) successors() {
	for nines := range 7 {
		for digit := range 9 {
			d.Successors = append(d.Successors,
				fmt.Sprintf(`"~^(?<tollbook_head>[0-9]*)%d9{%d}$" "${tollbook_head}%d%s";`, digit, nines, digit+1,
					strings.Repeat("0", nines)))
		}
		if nines > 0 {
			d.Successors = append(d.Successors, fmt.Sprintf(`"~^9{%d}$" "1%s";`, nines, strings.Repeat("0", nines)))
		}
	}
}

// types are the types of files by extension. nginx adds the charset.
func (d *nginxData) types() {
	types := site.ContentTypes()
	var extensions, texts, small []string
	for _, ext := range slices.Sorted(maps.Keys(types)) {
		kind, charset, _ := strings.Cut(types[ext], ";")
		d.Types = append(d.Types, struct{ Type, Ext string }{kind, ext[1:]})
		extensions = append(extensions, ext[1:])
		if kind == "text/html" {
			continue // it is in both lists anyway
		}
		if charset != "" {
			texts = append(texts, kind)
		}
		if charset != "" || kind == "image/svg+xml" {
			small = append(small, kind)
		}
	}
	d.Extensions, d.CharsetTypes, d.GzipTypes = strings.Join(extensions, "|"), strings.Join(texts, " "),
		strings.Join(small, " ")
}

// errors are the answers that nginx makes by itself.
func (d *nginxData) errors(m serve.HTTPPolicy) error {
	unavailable := m.Errors["unreachable"]
	unavailable.Message = "what answers this can't be reached now"
	for _, e := range []struct {
		codes   string
		error   site.Error
		headers []string
	}{
		{"400 413 414 494 501", m.Errors["unreadable"], nil},
		{"405", m.Errors["method"], []string{`Allow "` + m.Allowed + `"`}},
		{"429", m.Errors["rate_limited"], []string{"Retry-After 1"}},
		{"500 502 503 504", unavailable, []string{"Retry-After 5"}},
	} {
		body, err := json.Marshal(site.ErrorBody{Error: e.error})
		if err != nil {
			return err
		}
		d.Errors = append(d.Errors, nginxError{e.codes, e.error.Code, e.headers,
			strings.ReplaceAll(string(body), "'", `\'`), e.error.Code == unavailable.Code})
	}
	return nil
}

func quote(s string) string { return `"` + s + `"` }

// variable is a name as nginx takes it.
func variable(name string) string { return strings.ReplaceAll(name, "-", "_") }
