package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"tollbook/render/guide"
	"tollbook/site/display"
	"tollbook/site/encode"
	"tollbook/site/schema"
)

// quickstart returns the three calls with which most readers begin, with members of their responses. An empty directory
// has no service to ask about.
func (a *Document) quickstart() ([]quickCall, error) {
	var calls []quickCall
	add := func(id, title, about, target string, body []byte, members ...string) error {
		address := display.EndpointURL(a.directory.BaseURL, target)
		call := quickCall{ID: id, Title: title, About: about, Samples: guide.GetSamples(address)}
		if body != nil {
			answer, err := selectMembers(body, members)
			if err != nil {
				return fmt.Errorf("answer of the quickstart for %s: %w", target, err)
			}
			text, err := encode.Row(answer)
			if err != nil {
				return err
			}
			if text, err = clip(text); err != nil {
				return err
			}
			call.Answer = indent(text)
		}
		calls = append(calls, call)
		return nil
	}
	found := a.examples.answers["search"]
	if err := add("find", "Find services",
		"Services that match a description, with their endpoints, prices and advice.",
		"/v1/search?"+cmp.Or(found.query, "q=weather&status=online"), found.body,
		"data.slug", "data.name", "data.status", "data.min_price_usd", "data.advice_level", "data.endpoints.method",
		"data.endpoints.path", "data.endpoints.price_usd", "data.endpoints.payable", "meta.total"); err != nil {
		return nil, err
	}
	if slug := a.examples.Segments["slug"]; slug != "" {
		target := "/v1/services/" + slug
		if err := add("pay", "Ask whether one may be paid",
			"data.assessment.advice has the level and its reasons; data.endpoints has prices and recipients.", target,
			a.examples.bodies[target[1:]+".json"], "data.slug", "data.status", "data.endpoints.method",
			"data.endpoints.path", "data.endpoints.pricing.network", "data.endpoints.pricing.asset_name",
			"data.endpoints.pricing.price", "data.endpoints.pricing.price_usd", "data.endpoints.pricing.pay_to",
			"data.assessment.advice"); err != nil {
			return nil, err
		}
	}
	err := add("watch", "See what changed", "New prices, recipients and grades, newest first.", "/v1/changes",
		a.examples.bodies["v1/changes.json"], "data.slug", "data.type", "data.observed_at", "data.summary", "meta.total")
	return calls, err
}

// selectMembers returns the members of a response at some paths, such as "data.slug", in their order. Of a list it
// selects from the first entry.
func selectMembers(body json.RawMessage, paths []string) (any, error) {
	if body = bytes.TrimSpace(body); len(body) > 0 && body[0] == '[' {
		var rows []json.RawMessage
		if err := json.Unmarshal(body, &rows); err != nil || len(rows) == 0 {
			return rows, err
		}
		first, err := selectMembers(rows[0], paths)
		return []any{first}, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	var out schema.Object[any]
	for i := 0; i < len(paths); {
		name, _, nested := strings.Cut(paths[i], ".")
		var inner []string
		for ; i < len(paths); i++ {
			head, tail, _ := strings.Cut(paths[i], ".")
			if head != name {
				break
			}
			inner = append(inner, tail)
		}
		value, ok := members[name]
		switch {
		case !ok:
		case nested && !bytes.Equal(value, []byte("null")):
			selected, err := selectMembers(value, inner)
			if err != nil {
				return nil, err
			}
			out = append(out, schema.Member[any]{Name: name, Value: selected})
		default:
			out = append(out, schema.Member[any]{Name: name, Value: value})
		}
	}
	return out, nil
}

// Span is a run of text, as code or not.
type Span struct {
	Text string
	Code bool
}

// Spans splits text at its backticks.
func Spans(s string) []Span {
	var out []Span
	for i, text := range strings.Split(s, "`") {
		if text != "" {
			out = append(out, Span{text, i%2 == 1})
		}
	}
	return out
}
