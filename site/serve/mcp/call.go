package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tollbook/site"
	"tollbook/site/lookup"
)

// maxArguments bounds what a tool is called with, in bytes.
const maxArguments = 16 << 10

// metaSnapshot names, beside an answer, the snapshot that it comes from.
const metaSnapshot = "tollbook/snapshot"

// handler answers calls of the tool.
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
		a := read(ctx, r, values)
		if a.code != http.StatusOK {
			return refused(a), nil
		}
		result, err := t.result(a, understandsStructure(req.Session))
		if err != nil {
			r.logger.Error("tool failed", "tool", t.name, "err", err)
			return refused(failed(site.Error{Code: http.StatusInternalServerError, Type: site.ErrorInternal,
				Message: "internal error"})), nil
		}
		return result, nil
	}
}

// values are the arguments of a call as texts, or the answer that refuses them. What is null is absent, as in the API
// an empty value is; what a query can't say, and a name that the tool does not have, is refused.
func (t *tool) values(raw json.RawMessage) (map[string]string, *answer) {
	if len(raw) > maxArguments {
		return nil,
			failed(site.Error{Code: http.StatusBadRequest, Type: site.ErrorBadRequest,
				Message: fmt.Sprintf("the arguments have more than %d bytes", maxArguments)})
	}
	given := map[string]any{}
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&given); err != nil {
			return nil,
				failed(site.Error{Code: http.StatusBadRequest, Type: site.ErrorBadRequest,
					Message: "the arguments are not a JSON object"})
		}
	}
	values := map[string]string{}
	for i := range t.arguments {
		a := &t.arguments[i]
		value, ok := text(given[a.name])
		if !ok {
			return nil, invalid(a.name, "it may be one text or number: "+a.about)
		}
		delete(given, a.name)
		if a.required {
			if wrong := a.check(value); wrong != "" {
				return nil, invalid(a.name, wrong)
			}
		}
		values[a.name] = value
	}
	if unknown := slices.Sorted(maps.Keys(given)); len(unknown) > 0 {
		names := make([]string, len(t.arguments))
		for i := range t.arguments {
			names[i] = t.arguments[i].name
		}
		return nil, failed(site.Error{
			Code: http.StatusBadRequest, Type: site.ErrorInvalidParameter,
			Message: fmt.Sprintf("%s has no argument %.60q; it has: %s", t.name, unknown[0], strings.Join(names, ", ")),
		})
	}
	return values, nil
}

// text is an argument as a query says it; a list of texts is one with commas.
func text(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case json.Number:
		return v.String(), true
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

// ask makes the request that a call stands for.
func (t *tool) ask(ctx context.Context, r reader, values map[string]string) *answer {
	path, query, wrong := t.request(values)
	if wrong != nil {
		return wrong
	}
	return r.ask(ctx, path, query)
}

// request is the path and query of the API that values stand for.
func (t *tool) request(values map[string]string) (path, query string, wrong *answer) {
	route := site.ByName(t.route)
	if t.hashed != "" {
		normal, err := lookup.NormalURL(values[t.hashed])
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
	for _, p := range slices.Concat(route.Params, site.Common) {
		if value := values[p.Name]; value != "" {
			pairs = append(pairs, p.Name+"="+url.QueryEscape(value))
		}
	}
	return path, strings.Join(pairs, "&"), nil
}

// refused is an error of the API as a tool's: its JSON, to be read and mended.
func refused(a *answer) *sdk.CallToolResult {
	data, _ := replaceInvisible(bytes.TrimSpace(a.body.Bytes()))
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(data)}}}
}

// result is an answer of the API as a tool's: the JSON, and the same in short. Clients that know no structured content
// get the JSON as a text.
func (t *tool) result(a *answer, structured bool) (*sdk.CallToolResult, error) {
	body := bytes.TrimSpace(a.body.Bytes())
	data, replaced := replaceInvisible(body)
	brief, err := t.brief(body)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(brief)
	if replaced > 0 {
		fmt.Fprintf(&b, "Characters that are not seen, for which the data has U+FFFD: %d.\n", replaced)
	}
	if a.header.Get("X-Snapshot-Warning") != "" {
		b.WriteString("There may be a newer snapshot, which can't be opened now.\n")
	}
	snapshot := a.header.Get("X-Snapshot")
	if page, ok := nextPage(a.header.Get("Link")); ok {
		fmt.Fprintf(&b, "There is more: ask again with page %s and snapshot %s.\n", page, snapshot)
	} else {
		fmt.Fprintf(&b, "Snapshot %s.\n", snapshot)
	}
	result := &sdk.CallToolResult{
		Meta:              sdk.Meta{metaSnapshot: snapshot},
		Content:           []sdk.Content{&sdk.TextContent{Text: b.String()}},
		StructuredContent: json.RawMessage(data),
	}
	if !structured {
		result.Content = append(result.Content, &sdk.TextContent{Text: string(data)})
	}
	return result, nil
}

// brief is the answer in short.
func (t *tool) brief(data []byte) (string, error) {
	if t.read != nil {
		return briefHealth(data)
	}
	return brief(t.route, data)
}

// nextPage is the page that a Link header says follows.
func nextPage(link string) (string, bool) {
	address, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	_, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", false
	}
	return values.Get("page"), values.Has("page")
}

// structuredSince is the version of the protocol that brought structured content. Versions are days.
const structuredSince = "2025-06-18"

// understandsStructure says whether a client knows structured content, by the version that it speaks.
func understandsStructure(session *sdk.ServerSession) bool {
	p := session.InitializeParams()
	// without, each request names a version, which are later ones
	return p == nil || p.ProtocolVersion >= structuredSince
}
