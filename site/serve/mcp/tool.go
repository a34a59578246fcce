package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
	"tollbook/site/routes"
)

// tool is a request that agents can make: a route of the table under its own name. The route defines the arguments and
// the result.
type tool struct {
	name, title, about string

	route string // name of the route
	// name of the argument whose hashed normal form is the variable segment of the path; "" for none
	hashed string
	// name of the argument that embeds members in the rows, so that the result is not compact; "" for none
	embeds string
	// replaces the request to the route, and extra its arguments
	read  func(context.Context, reader, map[string]string) *answer
	extra []argument

	arguments []argument // filled by describe
}

// tools are all tools. Clients see them sorted by name.
var tools = []tool{
	{
		name: "search_services", title: "Search services", route: searchRoute,
		about: "Finds paid services, with price, networks, status, uptime, grade, risk and the endpoint that matches.",
	},
	{
		name: "best_service", title: "Recommended services", route: "best",
		about: "Recommends services for a need, best first, with the endpoint, its price, a score and why, and " +
			"those that are excluded.",
	},
	{
		name: "get_service", title: "One service", route: "service",
		about: "Returns one service by its slug: endpoints with prices and recipients, uptime, conformance, risk.",
	},
	{
		name: "compare_services", title: "Compare services", route: comparisonRoute, read: readComparison,
		extra: []argument{argumentSlugs, argumentSnapshot},
		about: "Compares services side by side: prices, uptime, speed, conformance, risk, settlements, and " +
			"in what each is best.",
	},
	{
		name: "lookup_address", title: "Look up a URL before paying", route: "lookup-url", hashed: "url",
		about: "Returns what to know before paying at a URL: its service, the current price, the recipient, " +
			"whether a standard client could pay, the risk and the last change.",
	},
	{
		name: "lookup_recipient", title: "Look up a recipient before paying", route: "lookup-pay-to",
		about: "Returns the listed services that are paid at a recipient's address on a network.",
	},
	{
		name: "list_changes", title: "Changes", route: "changes",
		about: "Lists changes of prices, payment schemas and recipients, newest first.",
	},
	{
		name: "list_facilitators", title: "Facilitators", route: "facilitators", embeds: argumentInclude,
		about: "Lists facilitators, which settle payments, by volume on chain, a lower bound.",
	},
	{
		name: "get_facilitator", title: "One facilitator", route: "facilitator",
		about: "Returns one facilitator by its id: volumes, accounts, and the listed services whose payments it " +
			"settles.",
	},
	{
		name: "list_networks", title: "Networks", route: "networks",
		about: "Lists the networks on which listed services accept payment.",
	},
	{
		name: "list_categories", title: "Categories", route: "tags",
		about: "Lists the categories in use, with their numbers of services.",
	},
	{
		name: "coverage", title: "What is measured", route: "coverage",
		about: "Returns what is measured on chain, up to when, and what is not known.",
	},
	{
		name: "health", title: "Health of the directory", route: healthRoute, read: readHealth,
		about: "Returns the current snapshot, its age, and the directory's statistics.",
	},
}

// searchRoute is the route that finds services by what they do.
const searchRoute = "search"

// argumentSnapshot is the parameter snapshot, which every request of the API has.
var argumentSnapshot = func() argument {
	i := slices.IndexFunc(routes.Common, func(p routes.Param) bool { return p.Kind == routes.KindSnapshot })
	return argument{name: routes.Common[i].Name, param: &routes.Common[i],
		about: "Id of a snapshot, from _meta of a result"}
}()

// paramDetail is the argument of each tool whose result has a compact form. The API does not have it.
var paramDetail = routes.Param{Name: "detail", Kind: routes.KindChoice, Values: []string{detailCompact, detailFull},
	Default: detailCompact} // the instructions describe it

// Values of the argument detail.
const (
	detailCompact = "compact"
	detailFull    = "full"
)

// paramPerPage is the parameter that limits the rows of a list. The API's default is larger than that of the tools.
const paramPerPage = "per_page"

// argument is one argument of a tool.
type argument struct {
	name     string
	required bool           // it is part of the path
	param    *routes.Param  // query parameter, or paramDetail; nil for an argument in the path
	valid    *regexp.Regexp // pattern of a value in the path; nil for any value
	max      int            // maximum length of a value in the path, in bytes
	list     bool           // several values
	about    string         // description
}

// maxAddress is the maximum length of a URL to look up, in bytes.
const maxAddress = 2048

var variable = regexp.MustCompile(`\{([a-z0-9]+)\}`)

// argumentsOf returns the arguments of a tool: the variable segments of its route's path, and its parameters.
func argumentsOf(t *tool) ([]argument, error) {
	list := slices.Clone(t.extra)
	if compacts[t.route] != nil {
		list = append(list, argument{name: paramDetail.Name, param: &paramDetail, about: paramDetail.About})
	}
	if t.read != nil {
		return list, nil
	}
	route := routes.ByName(t.route)
	for _, match := range variable.FindAllStringSubmatch(route.Pattern, -1) {
		if t.hashed != "" {
			list = append(list, argument{name: t.hashed, required: true, max: maxAddress,
				about: "An endpoint's http or https URL; query and fragment are ignored"})
			continue
		}
		segment := routes.SegmentByName(match[1])
		if segment == nil {
			return nil, fmt.Errorf("route %s: no segment %s", route.Name, match[1])
		}
		valid, err := regexp.Compile(segment.Pattern)
		if err != nil {
			return nil, fmt.Errorf("route %s: segment %s: %w", route.Name, match[1], err)
		}
		list = append(list, argument{name: segment.Name, required: true, valid: valid, max: segment.MaxLength,
			about: segment.About})
	}
	for _, p := range route.Params { // a copy
		if p.Name == routes.ParamReadFilters { // agents name filters
			continue
		}
		if p.Name == paramPerPage {
			p.Default = strconv.Itoa(minRows)
		}
		list = append(list, argument{name: p.Name, param: &p, about: aboutParam(&p)})
	}
	return append(list, argumentSnapshot), nil
}

// aboutParam returns the description of a parameter. That of a filter is short: agents pay for each byte, and know a
// filter by its name, its type and its values.
func aboutParam(p *routes.Param) string {
	if p.Brief != "" || p.Column != "" {
		return p.Brief
	}
	return p.About
}

// describe returns the description of the tool for clients. It has no schema of the result: the protocol does not need
// one for structured content, and the schemas of all tools have 70 kB, which each client would read before its first
// call. The OpenAPI document, which is a resource, describes every member.
func (t *tool) describe() (*sdk.Tool, error) {
	var err error
	if t.arguments, err = argumentsOf(t); err != nil {
		return nil, err
	}
	properties, required := map[string]any{}, []string{}
	for i := range t.arguments {
		a := &t.arguments[i]
		properties[a.name] = a.schema()
		if a.required {
			required = append(required, a.name)
		}
	}
	input := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		input["required"] = required
	}
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.about + " " + untrusted, InputSchema: input,
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)},
	}, nil
}

// schema returns the JSON Schema of an argument. It is only a hint for clients, and short: the API validates requests.
func (a *argument) schema() map[string]any {
	s := map[string]any{"type": "string"}
	if a.about != "" {
		s["description"] = a.about
	}
	p := a.param
	if p == nil {
		if a.list {
			s["type"], s["items"] = "array", map[string]any{"type": "string"}
		}
		return s
	}
	switch p.Kind {
	case routes.KindInteger:
		s["type"] = "integer"
		if p.Min > 0 { // no agent expects a count below 0 to work
			s["minimum"] = p.Min
		}
		if p.Max <= site.MaxPage {
			s["maximum"] = p.Max
		}
	case routes.KindDecimal:
		s["type"] = "number"
	case routes.KindBoolean:
		s["type"] = "boolean"
	case routes.KindChoice:
		s["enum"] = p.Values
	case routes.KindSet:
		s["type"], s["items"] = "array", map[string]any{"type": "string", "enum": p.Values}
	}
	if p.Default != "" {
		s["default"] = p.Default
		if p.Kind == routes.KindInteger {
			s["default"] = json.Number(p.Default)
		}
	}
	return s
}

// check returns what is wrong with a value in the path, or "".
func (a *argument) check(value string) string {
	switch {
	case value == "":
		return "is missing: " + a.about
	case len(value) > a.max:
		return fmt.Sprintf("must have at most %d bytes: %s", a.max, a.about)
	case a.valid != nil && !a.valid.MatchString(value), strings.ContainsRune(value, 0):
		return fmt.Sprintf("is invalid: %s; got %.60q", a.about, value)
	}
	return ""
}
