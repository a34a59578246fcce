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
	"tollbook/site/routes"
	"tollbook/site/serve"
)

// Nginx contains the options of the configuration.
type Nginx struct {
	Folder     string // of the publication; its link "current" points to the expanded tree
	Listen     string // in nginx's form: "80", "[::]:443 ssl"
	ServerName string
	Upstream   string // host and port of tollbook serve
	RateLimit  int    // requests a minute for each client
	MaxAge     int    // seconds for which caches may keep a response
}

// plain matches a path of at least one segment that needs no decoding and has no segment with a leading dot.
const plain = `(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)+`

// slug matches the slug of a service, category or network, and the name of a source.
var slug = fmt.Sprintf(`[a-z0-9](?:[a-z0-9-]{0,%d}[a-z0-9])?`, site.MaxSlug-2)

// segments maps the variable part of a path to the pattern of its values. Values with dots are left to serve, since
// they may name files.
var segments = map[string]string{
	"slug":        slug,
	"category":    slug,
	"network":     slug,
	"source":      slug,
	"incident":    `[a-z0-9-]+-[0-9]{6}`, // short for CloudFront; other values name no file
	"facilitator": fmt.Sprintf(`[A-Za-z0-9][A-Za-z0-9_-]{0,%d}`, routes.MaxFacilitatorID-1),
}

// nginxMap is a map of nginx: its source, the name of its variable, and its lines.
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
	Page    bool // whether a request for a page gets an HTML error
}

type nginxData struct {
	Nginx
	Root, Plain, Snapshot, Policy, Expose, Extensions, CharsetTypes, GzipTypes, PageIs string

	License string // value of Link in responses with JSON

	MaxQuery   int
	Common     string   // pattern of a value of a common parameter that only serve can answer
	Unknown    []string // for each route with JSON: the pattern of requests with a parameter that nginx does not know
	Aliases    []routes.Alias
	Routes     []nginxRoute
	Unnamed    []string
	Maps       []nginxMap
	Keys       []nginxKey
	Paged      []nginxPaged
	Successors []string
	Types      []struct{ Type, Ext string }
	Errors     []nginxError

	names map[string]string // names of maps by their source and lines
}

// Config returns the configuration of nginx for an expanded folder.
func (o Nginx) Config() ([]byte, error) {
	m := serve.NewHTTPPolicy()
	d := &nginxData{
		Nginx: o, Root: path.Join(o.Folder, "current"), Plain: plain, Policy: m.Policy, Expose: m.Expose,
		License:  m.License,
		Snapshot: strings.Trim(routes.SnapshotPattern, "^$"), MaxQuery: routes.Table().Limits.MaxQuery,
		names: map[string]string{},
	}
	for _, a := range routes.Table().Aliases { // "/api/v1/" to "/v1/" becomes "/api" before "/v1"
		common := strings.TrimSuffix(a.To, "/")
		d.Aliases = append(d.Aliases, routes.Alias{From: strings.TrimSuffix(strings.TrimSuffix(a.From, "/"), common),
			To: common})
	}
	for i := range routes.All {
		d.addRoute(&routes.All[i])
	}
	d.Unknown = append(d.Unknown, unknown("file", `[^ ]*\.json`, nil))
	d.Common = common()
	d.successors()
	d.types()
	if err := d.errors(m); err != nil {
		return nil, fmt.Errorf("write nginx configuration: %w", err)
	}
	return fillIn(d, "nginx.conf")
}

// walksByPage reports whether each page of a route's list is a file with its number in its name.
func walksByPage(r *routes.Route) bool { return r.Param("page") != nil && r.Rule != routes.RuleLog }

// unknown returns the pattern of a route's requests with a value of a parameter that is not one of these. Those are
// parameters that only serve can answer by their rules, and unknown ones, which serve names in a header.
func unknown(route, path string, params []string) string {
	for i := range routes.Common {
		params = append(params, routes.Common[i].Name)
	}
	return quote(`~^` + route + ` ` + path + ` (?:.*&)?(?!(?:` + strings.Join(params, "|") + `)=)[^&=]+=[^&]`)
}

// common returns the pattern of a common parameter with a value that only serve can answer.
func common() string {
	var list []string
	for i := range routes.Common {
		p := &routes.Common[i]
		pattern := p.Name + "=[^&]"
		if p.Kind == routes.KindChoice { // invalid values
			pattern = p.Name + "=(?!(?:" + strings.Join(p.Values, "|") + ")(?:&|$))[^&]"
		}
		list = append(list, pattern)
	}
	return strings.Join(list, "|")
}

// hasFiles reports whether some requests of a route are files. The other rules compute every response.
func hasFiles(r *routes.Route) bool {
	return slices.Contains([]routes.Rule{routes.RuleLiteral, routes.RuleWindow, routes.RuleLog, routes.RuleTrim},
		r.Rule)
}

// fileParams returns the parameters of a route that are in the keys of files.
func fileParams(r *routes.Route) (params []*routes.Param) {
	for i := range r.Params {
		if p := &r.Params[i]; p.Rule == "" || len(p.RuleValues) > 0 {
			params = append(params, p)
		}
	}
	return params
}

// addRoute adds the maps of a route, unless serve gets all its requests.
func (d *nginxData) addRoute(r *routes.Route) {
	pattern, match := "^"+regexp.QuoteMeta(r.Pattern), quote(r.Pattern)
	if head, rest, ok := strings.Cut(r.Pattern, "{"); ok {
		name, tail, _ := strings.Cut(rest, "}")
		pattern = "^" + regexp.QuoteMeta(head) + segments[name] + regexp.QuoteMeta(tail)
		match = quote("~" + pattern + "$")
	}
	paged := r.Param("page") != nil || r.Param("offset") != nil
	if paged && r.Ext == ".json" && (hasFiles(r) || r.Rule == routes.RuleScan) {
		d.Unnamed = append(d.Unnamed, quote("~"+pattern+`\.json$`))
	}
	if !hasFiles(r) || paged && !walksByPage(r) {
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
	if r.Ext == ".json" {
		var names []string
		for _, p := range fileParams(r) {
			names = append(names, p.Name)
		}
		d.Unknown = append(d.Unknown, unknown(r.Name, "[^ ]*", names))
	}
}

// addKey adds the maps of a route's parameters, and the key that consists of them.
func (d *nginxData) addKey(r *routes.Route) {
	key := nginxKey{Name: variable(r.Name), Ext: r.Ext}
	next := nginxPaged{Name: r.Name}
	var names []string
	for _, p := range fileParams(r) {
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
				// support this with a second table of successors
				panic("edge: the page of " + r.Name + " is another parameter than that of the routes before")
			}
			d.PageIs = is
			continue
		}
		next.NextFile += part
		next.NextQuery += d.linkParam(p)
	}
	key.Params = strings.Join(names, "|")
	if walksByPage(r) {
		next.NextFile += key.Guard + r.Ext
		d.Paged = append(d.Paged, next)
		key.Guard += "${tollbook_unpinned}"
	}
	d.Keys = append(d.Keys, key)
}

// first returns a regular expression for arguments in which the first non-empty value of a parameter matches value.
func first(name, value string) string {
	return `~^(?:(?!` + name + `=[^&])[^&]*&)*` + name + `=` + value + `(?:&|$)`
}

// param returns the variable with a parameter's part of a key. say returns the text of a value.
func (d *nginxData) param(p *routes.Param, suffix string, say func(string) string, atLargest bool) string {
	absent := ""
	if p.Default != "" {
		absent = say(p.Default)
	}
	if atLargest {
		absent = say(largest(p))
	}
	lines := []string{"default " + quote(absent) + ";", quote("") + " " + quote(absent) + ";"}
	capture := "${tollbook_v_" + variable(p.Name) + "}"
	named := func(pattern string) string { return "(?<tollbook_v_" + variable(p.Name) + ">" + pattern + ")" }
	switch {
	case p.Kind == routes.KindSet:
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

// linkParam returns the variable with a parameter's part of a Link header, which is empty if the parameter is absent.
func (d *nginxData) linkParam(p *routes.Param) string {
	q := *p
	q.Default = ""
	return d.param(&q, "_given", func(v string) string {
		return p.Name + "=" + strings.ReplaceAll(v, "~2c", "%2C") + "&"
	}, false)
}

// trimmed returns the variable that sends a request to serve if it asks for a part of its file.
func (d *nginxData) trimmed(r *routes.Route, p *routes.Param) string {
	is := d.param(p, "_is", func(v string) string { return v }, false)
	on, pattern := `"`+is+`"`, "~^(?!"+largest(p)+"$)"
	if name, value, ok := strings.Cut(p.Needs, "="); ok {
		with := r.Param(name)
		on = `"` + d.param(with, "", func(v string) string { return "/" + name + "=" + v }, false) + " " + is + `"`
		pattern = "~" + value + ".* (?!" + largest(p) + "$)"
	}
	return d.use(on, variable(p.Name)+"_trimmed", []string{`default "";`, quote(pattern) + ` "!";`})
}

// use adds a map, unless an equal one exists, and returns the map's variable.
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

// successors adds the lines of a map that adds one to a number of up to seven digits. Each line matches a digit and the
// nines after it.
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

// types adds the types of files by extension. nginx itself adds the charset.
func (d *nginxData) types() {
	types := routes.ContentTypes()
	var extensions, texts, small []string
	for _, ext := range slices.Sorted(maps.Keys(types)) {
		kind, charset, _ := strings.Cut(types[ext], ";")
		if slices.Contains(tableExtensions(), ext[1:]) {
			continue // serve sends them by ranges, and their days
		}
		d.Types = append(d.Types, struct{ Type, Ext string }{kind, ext[1:]})
		extensions = append(extensions, ext[1:])
		if kind == "text/html" {
			continue // nginx always adds it to both lists
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

// errors adds the error responses that nginx sends by itself.
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
