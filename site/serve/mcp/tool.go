package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
	"tollbook/site/schema"
)

// tool is a request that agents can make: a route of the table under its own name. The route defines the arguments and
// the result.
type tool struct {
	name, title, about string

	route string // name of the route
	// name of the argument whose hashed normal form is the variable segment of the path; "" for none
	hashed string
	read   func(context.Context, reader, map[string]string) *answer
	body   any // body of the result, as in site.Responses; nil for the route's own

	arguments []argument // filled by describe
}

// tools are all tools. Clients see them sorted by name.
var tools = []tool{
	{
		name: "search_services", title: "Search services", route: "services",
		about: "Lists paid services with price, status, networks and uptime; filtered, sorted and paginated. " +
			"Request few rows (per_page) and use filters: list_networks and list_categories return their values.",
	},
	{
		name: "get_service", title: "One service", route: "service",
		about: "Returns one service by its slug: endpoints with prices and recipients, uptime, conformance and " +
			"risk. Other tools return slugs.",
	},
	{
		name: "lookup_address", title: "Look up a URL before paying", route: "lookup-url", hashed: "url",
		about: "Returns what to know before paying at a URL: its service, the current price, the recipient, " +
			"whether a standard client could sign a payment, the risk and the last change. A URL that is not " +
			"listed gets not_found.",
	},
	{
		name: "lookup_recipient", title: "Look up a recipient before paying", route: "lookup-pay-to",
		about: "Returns the listed services that are paid at a recipient's address on a network.",
	},
	{
		name: "list_changes", title: "Changes", route: "changes",
		about: "Lists changes of services, newest first: prices, payment schemas and recipients.",
	},
	{
		name: "list_facilitators", title: "Facilitators", route: "facilitators",
		about: "Lists facilitators, which settle payments, by the volume measured on chain, which is a lower bound.",
	},
	{
		name: "get_facilitator", title: "One facilitator", route: "facilitator",
		about: "Returns one facilitator by its id: networks, accounts, the last 90 days, and the listed services " +
			"whose payments it settles.",
	},
	{
		name: "list_networks", title: "Networks", route: "networks",
		about: "Lists the networks on which listed services accept payment, with the abbreviations for the filter " +
			"of search_services.",
	},
	{
		name: "list_categories", title: "Categories", route: "tags",
		about: "Lists the categories in use, with the number of services in each.",
	},
	{
		name: "coverage", title: "What is measured", route: "coverage",
		about: "Returns what is measured on chain and up to when, and what is not known.",
	},
	{
		name: "health", title: "Health of the directory", route: "stats", read: readHealth, body: Health{},
		about: "Returns the current snapshot, its age, and the directory's statistics.",
	},
}

// snapshotAbout is the description of the argument snapshot.
const snapshotAbout = "Id of the snapshot to read, from _meta of a previous result, so that several requests see " +
	"the same facts. The default is the newest snapshot."

// argument is one argument of a tool.
type argument struct {
	name     string
	required bool           // it is part of the path
	param    *site.Param    // query parameter; nil for an argument in the path
	valid    *regexp.Regexp // pattern of a value in the path; nil for any value
	max      int            // maximum length of a value in the path, in bytes
	about    string         // description
}

// maxAddress is the maximum length of a URL to look up, in bytes.
const maxAddress = 2048

var variable = regexp.MustCompile(`\{([a-z0-9]+)\}`)

// argumentsOf returns the arguments of a tool: the variable segments of its route's path, and its parameters.
func argumentsOf(t *tool) ([]argument, error) {
	if t.read != nil {
		return nil, nil
	}
	route := site.ByName(t.route)
	var list []argument
	for _, match := range variable.FindAllStringSubmatch(route.Pattern, -1) {
		if t.hashed != "" {
			list = append(list, argument{name: t.hashed, required: true, max: maxAddress,
				about: "Complete http or https URL of an endpoint; its query and fragment are ignored"})
			continue
		}
		segment := site.SegmentByName(match[1])
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
	for i := range route.Params {
		list = append(list, argument{name: route.Params[i].Name, param: &route.Params[i], about: route.Params[i].About})
	}
	for i := range site.Common {
		if p := &site.Common[i]; p.Kind == site.KindSnapshot {
			list = append(list, argument{name: p.Name, param: p, about: snapshotAbout})
		}
	}
	return list, nil
}

// describe returns the description of the tool for clients.
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
	input := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		input["required"] = required
	}
	body := t.body
	if body == nil {
		body = site.Responses[t.route]
	}
	output, err := schema.BodySchema(body)
	if err != nil {
		return nil, err
	}
	return &sdk.Tool{
		Name: t.name, Title: t.title, Description: t.about + " " + untrusted, InputSchema: input, OutputSchema: output,
		Annotations: &sdk.ToolAnnotations{Title: t.title, ReadOnlyHint: true, IdempotentHint: true,
			DestructiveHint: new(false), OpenWorldHint: new(false)},
	}, nil
}

// schema returns the JSON Schema of an argument. It is only a hint for clients; the API validates requests.
func (a *argument) schema() map[string]any {
	s := map[string]any{"type": "string", "description": a.about}
	p := a.param
	if p == nil {
		s["minLength"], s["maxLength"] = 1, a.max
		if a.valid != nil {
			s["pattern"] = a.valid.String()
		}
		return s
	}
	switch p.Kind {
	case site.KindInteger:
		s["type"], s["minimum"], s["maximum"] = "integer", p.Min, p.Max
	case site.KindChoice:
		s["enum"] = p.Values
	case site.KindSet:
		s["type"], s["items"], s["uniqueItems"] = "array", map[string]any{"type": "string", "enum": p.Values}, true
	case site.KindSnapshot:
		s["pattern"] = site.SnapshotPattern
	default:
		s["maxLength"] = site.MaxText
	}
	if p.Default != "" {
		s["default"] = p.Default
		if p.Kind == site.KindInteger {
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
