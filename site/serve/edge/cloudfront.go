package edge

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tollbook/site"
)

// CloudFront is what the function depends on.
type CloudFront struct {
	Bucket, Serve string // ids of the two origins
	RateLimit     int    // requests a minute of a client
	Lists         bool   // pages of lists come from the bucket too, without Link
}

// MaxFunction is how many bytes a CloudFront function may have.
const MaxFunction = 10 << 10

// Function is a CloudFront function that rewrites requests to the keys of files.
func (o CloudFront) Function() ([]byte, error) {
	var routes [][]any
	for i := range site.Routes {
		if r := &site.Routes[i]; r.Rule != site.RuleLookup {
			routes = append(routes, o.route(r))
		}
	}
	table, err := json.Marshal(routes)
	if err != nil {
		return nil, fmt.Errorf("write function: %w", err)
	}
	var extensions []string
	for _, ext := range slices.Sorted(maps.Keys(site.ContentTypes())) {
		extensions = append(extensions, ext[1:])
	}
	program, err := fillIn(struct {
		CloudFront
		Routes, Extensions string
	}{o, strings.ReplaceAll(string(table), `],["^`, "],\n"+`["^`), strings.Join(extensions, "|")}, "cloudfront.js")
	if err == nil && len(program) > MaxFunction {
		err = fmt.Errorf("write function: it has %d bytes, of which CloudFront takes %d", len(program), MaxFunction)
	}
	return program, err
}

// route is a row of the function's table: the pattern without its end, how keys end, parameters, whether all of it is
// for serve, whether its file by itself is, whether it is no file without parameters, and, of pages of many things, how
// their addresses begin: what ends otherwise there is no file.
func (o CloudFront) route(r *site.Route) []any {
	pattern := "^" + regexp.QuoteMeta(r.Pattern)
	if head, rest, ok := strings.Cut(r.Pattern, "{"); ok {
		name, tail, _ := strings.Cut(rest, "}")
		pattern = "^" + regexp.QuoteMeta(head) + segments[name] + regexp.QuoteMeta(tail)
	}
	paged := (r.Param("page") != nil || r.Param("offset") != nil) && r.Ext == ".json"
	params := [][]any{}
	head := ""
	if r.Ext == ".html" && strings.Contains(r.Pattern, "{") {
		head, _, _ = strings.Cut(r.Pattern, "{")
	}
	serves := r.Rule == site.RuleLog || r.Param("offset") != nil || paged && !o.Lists
	for i := range r.Params {
		p := &r.Params[i]
		if serves {
			break
		}
		params = append(params, o.param(p))
	}
	return []any{pattern, r.Ext, params, serves, paged, r.Rule == site.RuleTrim, head}
}

// param is name, what it may be, default, largest value where it is trimmed, what it needs, its kind and bounds.
func (o CloudFront) param(p *site.Param) []any {
	may := valid(p)
	switch {
	case p.Rule != "":
		may = "(?!)"
	case p.Kind == site.KindSet:
		one := "(?:" + strings.Join(p.Values, "|") + ")"
		may = one + "(?:," + one + ")*"
	case p.Name == "per_page": // the sizes that are files
		may = fmt.Sprintf("%d|%d", site.PageSize, site.MaxPageSize)
	case p.Kind == site.KindInteger && p.Trim:
		may = "[1-9][0-9]*"
	}
	most := ""
	if p.Trim {
		most = largest(p)
	}
	return []any{p.Name, may, p.Default, most, p.Needs, p.Kind, p.Min, p.Max}
}
