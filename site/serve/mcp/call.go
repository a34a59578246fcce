package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/routes"
)

// maxArguments is the maximum size of a call's arguments in bytes.
const maxArguments = 16 << 10

// metaSnapshot is the key of the snapshot's id in _meta of a result.
const metaSnapshot = "tollbook/snapshot"

// handler returns the handler of the tool's calls.
func (t tool) handler(r reader) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		values, wrong := t.values(req.Params.Arguments)
		if wrong != nil {
			return refused(wrong), nil
		}
		read := t.read
		if read == nil {
			read = t.ask
		}
		wrong = t.resolve(ctx, r, values)
		if wrong != nil {
			return refused(wrong), nil
		}
		a := read(ctx, r, values)
		if a.code != http.StatusOK {
			return refused(t.explain(ctx, r, values, a)), nil
		}
		result, err := t.result(a, values, understandsStructure(req.Session))
		if err != nil {
			r.logger.Error("tool failed", "tool", t.name, "err", err)
			return refused(failed(internalError)), nil
		}
		return result, nil
	}
}

// internalError is the response to a call that failed. The log says why.
var internalError = site.Error{Code: http.StatusInternalServerError, Type: site.ErrorInternal,
	Message: "internal error"}

// values returns the arguments of a call as strings, or an error response. null counts as absent, like an empty value
// in the API. Values that a query cannot contain and unknown names are errors.
func (t *tool) values(raw json.RawMessage) (map[string]string, *answer) {
	if len(raw) > maxArguments {
		return nil,
			failed(site.Error{Code: http.StatusBadRequest, Type: site.ErrorBadRequest,
				Message: fmt.Sprintf("the arguments must have at most %d bytes", maxArguments)})
	}
	decoded := map[string]any{}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&decoded); err != nil {
			return nil,
				failed(site.Error{Code: http.StatusBadRequest, Type: site.ErrorBadRequest,
					Message: "the arguments are not a JSON object"})
		}
	}
	values := map[string]string{}
	for i := range t.arguments {
		a := &t.arguments[i]
		value, ok := text(decoded[a.name])
		if !ok {
			return nil, invalid(a.name, "must be a string, a number or true or false: "+a.about)
		}
		delete(decoded, a.name)
		if a.required {
			if wrong := a.check(value); wrong != "" {
				return nil, invalid(a.name, wrong)
			}
		}
		if a.param == &paramDetail && value != "" && !slices.Contains(a.param.Values, value) {
			return nil, invalid(a.name, fmt.Sprintf("must be one of %s; got %.60q", strings.Join(a.param.Values, ", "),
				value))
		}
		if value == "" && a.name == paramPerPage && a.param != nil {
			value = a.param.Default
		}
		values[a.name] = value
	}
	if unknown := slices.Sorted(maps.Keys(decoded)); len(unknown) > 0 {
		names := make([]string, len(t.arguments))
		for i := range t.arguments {
			names[i] = t.arguments[i].name
		}
		return nil, failed(site.Error{
			Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter,
			Message: fmt.Sprintf("%s has no argument %s%s", t.name, quoted(unknown[0]),
				hint(unknown[0], names, "it has: "+strings.Join(names, ", "))),
		})
	}
	return values, nil
}

// text returns an argument as a query value; a list of strings is joined by commas.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case json.Number:
		return decimal(v), true
	case []any:
		list := make([]string, len(v))
		for i := range v {
			s, ok := v[i].(string)
			if !ok {
				return "", false
			}
			list[i] = s
		}
		return strings.Join(list, ","), true
	default:
		return "", false
	}
}

// decimal returns a number without an exponent, as the API reads it.
func decimal(n json.Number) string {
	if !strings.ContainsAny(n.String(), "eE") {
		return n.String()
	}
	f, err := n.Float64()
	if err != nil {
		return n.String() // the API refuses it
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// ask sends the request of a call.
func (t *tool) ask(ctx context.Context, r reader, values map[string]string) *answer {
	if p := routes.ByName(t.route).Param(argumentInclude); p != nil && t.isCompact(values) &&
		slices.Contains(p.Values, includeAssessment) { // the compact form has members of it
		values[argumentInclude] = strings.Trim(values[argumentInclude]+","+includeAssessment, ",")
	}
	path, query, wrong := t.request(values)
	if wrong != nil {
		return wrong
	}
	return r.ask(ctx, path, query)
}

// request returns the path and query of the API request for a call.
func (t *tool) request(values map[string]string) (path, query string, wrong *answer) {
	route := routes.ByName(t.route)
	if t.hashed != "" {
		normal, err := listing.NormalURL(values[t.hashed])
		if err != nil {
			return "", "", invalid(t.hashed, err.Error())
		}
		path = variable.ReplaceAllLiteralString(route.Pattern, site.Hash(normal))
	} else {
		path = variable.ReplaceAllStringFunc(route.Pattern, func(name string) string {
			return url.PathEscape(values[strings.Trim(name, "{}")])
		})
	}
	var pairs []string // in the order of the table
	for _, p := range slices.Concat(route.Params, routes.Common) {
		if value := values[p.Name]; value != "" {
			pairs = append(pairs, p.Name+"="+url.QueryEscape(value))
		}
	}
	return path, strings.Join(pairs, "&"), nil
}

// refused returns the result for an error of the API: its JSON, which agents can read and correct.
func refused(a *answer) *sdk.CallToolResult {
	data, _ := replaceInvisible(bytes.TrimSpace(a.body.Bytes()))
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(data)}}}
}

// isCompact reports whether a call gets the compact form of the response.
func (t *tool) isCompact(values map[string]string) bool {
	return compacts[t.route] != nil && values[paramDetail.Name] != detailFull && values[t.embeds] == ""
}

// result returns the result for a response of the API: its JSON, compact or not, and a summary. Clients without
// structured content get the JSON as text.
func (t *tool) result(a *answer, values map[string]string, structured bool) (*sdk.CallToolResult, error) {
	body := bytes.TrimSpace(a.body.Bytes())
	data, replaced := replaceInvisible(body)
	notes := a.notes(replaced)
	if !t.isCompact(values) {
		return t.assemble(a, body, data, notes, sizes[0], structured)
	}
	for i, limit := range sizes {
		limit.network = values[argumentNetwork]
		view, err := compacts[t.route](data, limit)
		if err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(view)
		if err != nil {
			return nil, fmt.Errorf("encode the compact response: %w", err)
		}
		result, err := t.assemble(a, body, encoded, notes, limit, structured)
		if err != nil {
			return nil, err
		}
		whole, err := json.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("encode the result: %w", err)
		}
		most := maxBytes(view)
		if !structured {
			most *= 2 // it contains the JSON as text
		}
		if len(whole) <= most || i == len(sizes)-1 {
			return result, nil
		}
	}
	return nil, errors.New("there are no sizes") // unreachable
}

// assemble returns a result with this JSON.
func (t *tool) assemble(a *answer, body, data []byte, notes string, limit size, structured bool) (*sdk.CallToolResult,
	error) {
	brief, err := t.brief(body, limit)
	if err != nil {
		return nil, err
	}
	result := &sdk.CallToolResult{
		Meta:              sdk.Meta{metaSnapshot: a.header.Get("X-Snapshot")},
		Content:           []sdk.Content{&sdk.TextContent{Text: brief + notes}},
		StructuredContent: json.RawMessage(data),
	}
	if !structured {
		result.Content = append(result.Content, &sdk.TextContent{Text: string(data)})
	}
	return result, nil
}

// notes returns the end of a summary: what was replaced, and how to request more rows.
func (a *answer) notes(replaced int) string {
	var b strings.Builder
	if replaced > 0 {
		fmt.Fprintf(&b, "Invisible characters, replaced by U+FFFD in the data: %d.\n", replaced)
	}
	if a.header.Get("X-Snapshot-Warning") != "" {
		b.WriteString("A newer snapshot may exist, but it can't be opened.\n")
	}
	snapshot := a.header.Get("X-Snapshot")
	if page, ok := nextPage(a.header.Get("Link")); ok {
		fmt.Fprintf(&b, "There are more rows: repeat the request with page %s and snapshot %s.\n", page, snapshot)
	} else {
		fmt.Fprintf(&b, "Snapshot %s.\n", snapshot)
	}
	return b.String()
}

// brief returns the summary of a response.
func (t *tool) brief(data []byte, limit size) (string, error) {
	if t.route == healthRoute {
		return briefHealth(data)
	}
	return brief(t.route, data, limit)
}

// nextPage returns the page in a Link header.
func nextPage(link string) (string, bool) {
	address, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	_, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", false
	}
	return values.Get("page"), values.Has("page")
}

// structuredSince is the version of the protocol that introduced structured content. Versions are dates.
const structuredSince = "2025-06-18"

// understandsStructure reports whether a client supports structured content, by its protocol version.
func understandsStructure(session *sdk.ServerSession) bool {
	p := session.InitializeParams()
	// Newer protocol versions send no initialize request; they support it.
	return p == nil || p.ProtocolVersion >= structuredSince
}
