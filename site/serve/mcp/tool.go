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

// tool is a request that agents can make: a route of the table under a name of its own. What its arguments may be, and
// what it answers, is the table's.
type tool struct {
	name, title, about string

	route string // whose answer it gives
	// argument whose normal form, hashed, is the variable part of the route's path; "" where there is none
	hashed string
	read   func(context.Context, reader, map[string]string) *answer
	body   any // of the answer, as in site.Responses; nil for the route's own

	arguments []argument // filled by describe
}

// tools are all of them. Clients are told of them in the order of their names.
var tools = []tool{
	{
		name: "search_services", title: "Search services", route: "services",
		about: "Lists paid services, filtered, ordered and paged: price, state, networks, uptime of each. Ask for few rows (per_page) and filter: list_networks and list_categories name what can be filtered by.",
	},
	{
		name: "get_service", title: "One service", route: "service",
		about: "Everything about one service, by the slug that other tools tell: endpoints with prices and recipients, uptime, conformance, risk.",
	},
	{
		name: "lookup_address", title: "Look up an address before paying", route: "lookup-url", hashed: "url",
		about: "What to know before paying at an address: whose it is, what it costs now, who is paid, whether a standard client could sign, its risk and last change. An address that is not listed is not_found.",
	},
	{
		name: "lookup_recipient", title: "Look up a recipient before paying", route: "lookup-pay-to",
		about: "Which listed services are paid at a recipient, by network and account.",
	},
	{
		name: "list_changes", title: "Changes", route: "changes",
		about: "What services changed, newest first: prices, payment schemas, recipients.",
	},
	{
		name: "list_facilitators", title: "Facilitators", route: "facilitators",
		about: "Who settles payments, ranked by the volume seen settled on chain, which is a floor.",
	},
	{
		name: "get_facilitator", title: "One facilitator", route: "facilitator",
		about: "One facilitator by its id: networks, accounts, 90 days, and the listed services whose payments it settles.",
	},
	{
		name: "list_networks", title: "Networks", route: "networks",
		about: "Networks that listed services take payment on, with the abbreviations that search_services filters by.",
	},
	{
		name: "list_categories", title: "Categories", route: "tags",
		about: "Categories in use, with how many services each has.",
	},
	{
		name: "coverage", title: "What is measured", route: "coverage",
		about: "What is measured on chain, up to when, and what is not known.",
	},
	{
		name: "health", title: "Health of the directory", route: "stats", read: readHealth, body: Health{},
		about: "Which snapshot answers, how old it is, and the directory's counts.",
	},
}

// snapshotAbout is what the snapshot argument says of itself here.
const snapshotAbout = "id of the snapshot to answer from, as _meta of an earlier answer gives it, so that several requests see the same facts; the newest without it"

// argument is one of a tool's.
type argument struct {
	name     string
	required bool           // it stands in the path
	param    *site.Param    // of the query; nil where it stands in the path
	valid    *regexp.Regexp // of the whole value, where it stands in the path; nil for any
	max      int            // characters, where it stands in the path
	about    string         // what it is
}

// maxAddress bounds an address to look up, in bytes.
const maxAddress = 2048

var variable = regexp.MustCompile(`\{([a-z0-9]+)\}`)

// argumentsOf are what a tool can be given: the variable parts of its route's path, and its parameters.
func argumentsOf(t *tool) ([]argument, error) {
	if t.read != nil {
		return nil, nil
	}
	route := site.ByName(t.route)
	var list []argument
	for _, match := range variable.FindAllStringSubmatch(route.Pattern, -1) {
		if t.hashed != "" {
			list = append(list, argument{name: t.hashed, required: true, max: maxAddress,
				about: "whole address of an endpoint, http or https; query and fragment don't count"})
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
		list = append(list, argument{name: site.Common[i].Name, param: &site.Common[i], about: snapshotAbout})
	}
	return list, nil
}

// describe is the tool as clients are told of it.
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

// schema is the JSON Schema of an argument. It tells a client what will do; who judges is the reader.
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

// check says what is wrong with a value for the path, "" when nothing is.
func (a *argument) check(value string) string {
	switch {
	case value == "":
		return "it is missing: " + a.about
	case len(value) > a.max:
		return fmt.Sprintf("it is longer than %d bytes: %s", a.max, a.about)
	case a.valid != nil && !a.valid.MatchString(value), strings.ContainsRune(value, 0):
		return fmt.Sprintf("got %.60q, may be: %s", value, a.about)
	}
	return ""
}
