package edge

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/serve"
)

// CloudFront contains the options of the function.
type CloudFront struct {
	Bucket, Serve string // ids of the two origins
	RateLimit     int    // requests a minute for each client
	Lists         bool   // the bucket sends pages of lists too, without a Link header
}

// MaxFunction is the largest size of a CloudFront function in bytes.
// Source: https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html
const MaxFunction = 10 << 10

// Function returns the program of a CloudFront function that rewrites requests to the keys of files. An error is a
// program that is too large.
func (o CloudFront) Function() ([]byte, error) {
	var rows [][]any
	for i := range routes.All {
		if r := &routes.All[i]; hasFiles(r) {
			rows = appendRoute(rows, o.route(r))
		}
	}
	table, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("write function: %w", err)
	}
	var extensions []string
	for _, ext := range slices.Sorted(maps.Keys(routes.ContentTypes())) {
		extensions = append(extensions, ext[1:])
	}
	var names []string
	for i := range routes.Common {
		names = append(names, routes.Common[i].Name)
	}
	commonNames, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("write function: %w", err)
	}
	program, err := fillIn(struct {
		CloudFront
		Routes, Extensions, Common, Serves, License string
	}{o, strings.ReplaceAll(string(table), `],["^`, "],\n"+`["^`), strings.Join(extensions, "|"),
		string(commonNames), common(), serve.NewHTTPPolicy().License}, "cloudfront.js")
	if err == nil && len(program) > MaxFunction {
		err = fmt.Errorf("write function: it has %d bytes, of which CloudFront takes %d", len(program), MaxFunction)
	}
	return program, err
}

// appendRoute appends a row of the function's table. A row that differs from the last one in its pattern alone joins it,
// because CloudFront limits the size of a function.
func appendRoute(rows [][]any, row []any) [][]any {
	if n := len(rows) - 1; n >= 0 && reflect.DeepEqual(rows[n][1:], row[1:]) {
		patterns := strings.TrimSuffix(strings.TrimPrefix(rows[n][0].(string), "^(?:"), ")")
		if patterns == rows[n][0] {
			patterns = strings.TrimPrefix(patterns, "^")
		}
		rows[n][0] = "^(?:" + patterns + "|" + strings.TrimPrefix(row[0].(string), "^") + ")"
		return rows
	}
	return append(rows, row)
}

// route returns a row of the function's table, with these columns:
//
//   - the pattern, without the extension;
//   - the extension of its keys;
//   - its parameters;
//   - whether serve gets all requests of the route;
//   - whether serve gets requests for the route's file by name;
//   - whether a request without parameters has no file;
//   - for pages whose path has a variable part, the path before that part. Below it, only paths with the extension are
//     files.
func (o CloudFront) route(r *routes.Route) []any {
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
	serves := r.Rule == routes.RuleLog || r.Param("offset") != nil || paged && !o.Lists
	for _, p := range fileParams(r) {
		if serves {
			break
		}
		params = append(params, o.param(p))
	}
	return []any{pattern, r.Ext, params, flag(serves), flag(paged), flag(r.Rule == routes.RuleTrim), head}
}

// flag returns a condition as a number, which is shorter than its word in a program of limited size.
func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}

// param returns a parameter for the function's table: its name, the pattern of its values, its default, its largest
// value if it is trimmed, what it needs, its kind and its bounds.
func (o CloudFront) param(p *routes.Param) []any {
	may := valid(p)
	switch {
	case p.Kind == routes.KindSet:
		one := "(?:" + strings.Join(p.Values, "|") + ")"
		may = one + "(?:," + one + ")*"
	case p.Name == "per_page": // only these sizes are files
		may = fmt.Sprintf("%d|%d", site.PageSize, site.MaxPageSize)
	case p.Kind == routes.KindInteger && p.Trim:
		may = "[1-9][0-9]*"
	}
	most := ""
	if p.Trim {
		most = largest(p)
	}
	return []any{p.Name, may, p.Default, most, p.Needs, p.Kind, p.Min, p.Max}
}
