package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
	"tollbook/site/x402"
)

// Arguments whose values are names that an agent may write in several ways, or wrongly.
const (
	argumentNetwork  = "network"
	argumentCAIP2    = "caip2"
	argumentCategory = "category"
	argumentService  = "service"
)

// argumentInclude is the parameter that adds members to rows.
const argumentInclude = "include"

// includeAssessment is the value of include that adds the compact assessment of a service.
const includeAssessment = "assessment"

// resolve replaces the names of networks and categories in a call by those of the API. It returns an error response for
// a name that the directory does not have, because a filter by it would only find nothing.
func (t *tool) resolve(ctx context.Context, r reader, values map[string]string) *answer {
	for i := range t.arguments {
		name := t.arguments[i].name
		value := values[name]
		if value == "" {
			continue
		}
		var wrong *answer
		switch name {
		case argumentNetwork, argumentCAIP2:
			value, wrong = r.network(ctx, name, value)
		case argumentCategory:
			value, wrong = r.category(ctx, value)
		case argumentService:
			if a := r.service(ctx, value, values); a.code == http.StatusNotFound && a.header.Get("X-Snapshot") != "" {
				wrong = r.unknownService(ctx, name, value)
			}
		}
		if wrong != nil {
			return wrong
		}
		values[name] = value
	}
	return nil
}

// network returns the abbreviation of a network, or for argumentCAIP2 its id. The value is an abbreviation, an id or a
// name, such as base.
func (r reader) network(ctx context.Context, argument, value string) (string, *answer) {
	id, _ := x402.ResolveNetwork(value)
	n, ok := x402.NetworkByAbbreviation(value)
	if !ok {
		n, ok = x402.NetworkByID(id)
	}
	list, err := readData[[]site.Network](ctx, r, routes.ByName("networks").Pattern)
	if err != nil {
		return value, nil // the request itself says why
	}
	var names []string
	for _, listed := range list {
		if ok && listed.CAIP2 == n.ID || !ok && (strings.EqualFold(listed.Name, value) || listed.CAIP2 == value) {
			n, ok = x402.Network{ID: listed.CAIP2, Abbreviation: listed.Abbreviation}, true
			break
		}
		names = append(names, listed.Name, listed.Abbreviation, listed.CAIP2)
	}
	switch {
	case !ok:
		return "", invalid(argument, fmt.Sprintf("no listed service accepts payment on %s%s", quoted(value),
			hint(value, names, "list_networks returns all networks")))
	case argument == argumentCAIP2 || n.Abbreviation == "":
		return n.ID, nil
	}
	return n.Abbreviation, nil
}

// category returns the name of a category, as the directory writes it.
func (r reader) category(ctx context.Context, value string) (string, *answer) {
	tags, err := readData[[]site.Tag](ctx, r, routes.ByName("tags").Pattern)
	if err != nil {
		return value, nil
	}
	var names []string
	for _, tag := range tags {
		if strings.EqualFold(tag.Tag, value) {
			return tag.Tag, nil
		}
		names = append(names, tag.Tag)
	}
	return "", invalid(argumentCategory, fmt.Sprintf("no listed service is in the category %s%s", quoted(value),
		hint(value, names, "list_categories returns all categories")))
}

// explain returns the response for a path that names nothing: the argument, its value and the nearest known value.
func (t *tool) explain(ctx context.Context, r reader, values map[string]string, a *answer) *answer {
	if a.code != http.StatusNotFound || a.header.Get("X-Snapshot") == "" { // or it is the snapshot that is unknown
		return a
	}
	switch t.route {
	case "service":
		return r.unknownService(ctx, "slug", values["slug"])
	case "facilitator":
		id := values["facilitator"]
		var ids []string
		list, err := readData[[]site.FacilitatorListItem](ctx, r,
			fmt.Sprintf("%s?per_page=%d", routes.ByName("facilitators").Pattern, site.MaxPageSize))
		if err == nil {
			for i := range list {
				ids = append(ids, list[i].FacilitatorID)
			}
		}
		return unknown("facilitator", fmt.Sprintf("no facilitator has the id %s%s", quoted(id),
			hint(id, ids, "list_facilitators returns ids")))
	case "lookup-url":
		return unknown("url", fmt.Sprintf("no listed service has an endpoint at %s; search_services finds services",
			quoted(values["url"])))
	case "lookup-pay-to":
		return unknown("address", fmt.Sprintf("no listed service is paid at %s on %s", quoted(values["address"]),
			values[argumentCAIP2]))
	}
	return a
}

// unknownService returns the response for a slug that no service has.
func (r reader) unknownService(ctx context.Context, argument, slug string) *answer {
	return unknown(argument, fmt.Sprintf("no service has the slug %s%s", quoted(slug),
		hint(slug, r.slugs(ctx), "search_services returns slugs")))
}

// slugs returns the slugs of all services, or nil if they can't be read.
func (r reader) slugs(ctx context.Context) []string {
	var index routes.Index
	a := r.ask(ctx, "/"+routes.IndexFile, "")
	if a.code != http.StatusOK || json.Unmarshal(a.body.Bytes(), &index) != nil {
		return nil
	}
	return index.Slugs
}

// readData returns the data of the API's response to a path with a query.
func readData[T any](ctx context.Context, r reader, target string) (T, error) {
	var body site.One[T]
	path, query, _ := strings.Cut(target, "?")
	a := r.ask(ctx, path, query)
	if a.code != http.StatusOK {
		return body.Data, fmt.Errorf("read %s: %s", target, a.reason())
	}
	if err := json.Unmarshal(a.body.Bytes(), &body); err != nil {
		return body.Data, fmt.Errorf("read %s: %w", target, err)
	}
	return body.Data, nil
}

// service requests a service's record from the snapshot of a call.
func (r reader) service(ctx context.Context, slug string, values map[string]string) *answer {
	query := ""
	if snapshot := values[argumentSnapshot.name]; snapshot != "" {
		query = argumentSnapshot.name + "=" + url.QueryEscape(snapshot)
	}
	return r.ask(ctx, strings.Replace(routes.ByName("service").Pattern, "{slug}", url.PathEscape(slug), 1), query)
}

// hint returns the end of an error about an unknown value: the nearest known value, whatever its case, and where to
// find all of them.
func hint(value string, names []string, source string) string {
	lower := make([]string, len(names))
	original := map[string]string{}
	for i, name := range names {
		lower[i] = strings.ToLower(name)
		original[lower[i]] = name
	}
	if name := display.Nearest(strings.ToLower(value), lower); name != "" {
		return fmt.Sprintf("; did you mean %s? %s", quoted(original[name]), source)
	}
	return "; " + source
}

// quoted returns a value of a call in quotation marks, shortened.
func quoted(value string) string { return fmt.Sprintf("%q", cut(value, maxAddressText)) }

// unknown returns the response for an argument that names nothing.
func unknown(argument, message string) *answer {
	return failed(site.Error{Code: http.StatusNotFound, Type: site.ErrorNotFound,
		Message: (&routes.ParamError{Param: argument, Message: message}).Error()})
}
