package crawl

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/site"
	"tollbook/site/postgres"
)

// TestDiscover: what documents add to known endpoints, and what they may not.
func TestDiscover(t *testing.T) {
	t.Parallel()
	id := func(n byte) uuid.UUID { return uuid.UUID{n} }
	paidAt := dawn
	listed := func(n byte, method, path string) postgres.Endpoint {
		return postgres.Endpoint{ID: id(n), Method: method, MethodDeclared: method != "", Path: path, Origin: "import",
			Description: new("known")}
	}
	with := func(e postgres.Endpoint, change func(*postgres.Endpoint)) postgres.Endpoint { change(&e); return e }
	found := func(origin, method, path string) facts.Endpoint {
		return facts.Endpoint{Declared: facts.Declared{Method: method, Origin: origin, Description: "said"}, Path: path}
	}
	const api, known, catalogue = facts.OriginOpenAPI, facts.OriginWellKnown, facts.OriginCatalogue
	var many []postgres.Endpoint
	for i := range facts.MaxEndpoints - 1 {
		many = append(many, listed(0, "GET", fmt.Sprintf("/%d", i)))
	}
	for _, c := range []struct {
		name      string
		known     []postgres.Endpoint
		found     []facts.Endpoint
		templates map[uuid.UUID]string
		add       []string
		amend     []string
	}{
		{name: "nothing known", found: []facts.Endpoint{found(api, "GET", "/a"), found(api, "POST", "/a"),
			found(known, "", "/b")},
			add: []string{"GET /a openapi", "POST /a openapi", " /b well-known"}},
		{name: "the more trusted comes first",
			found: []facts.Endpoint{found(api, "POST", "/a"), found(known, "", "/a"), found(known, "POST", "/a?q=1")},
			add:   []string{"POST /a openapi"}},
		{name: "known", known: []postgres.Endpoint{listed(1, "GET", "/a")},
			found: []facts.Endpoint{found(api, "GET", "/a"), found(known, "", "/a")}},
		{name: "known with a query", known: []postgres.Endpoint{listed(1, "GET", "/a?q=1")},
			found: []facts.Endpoint{found(api, "GET", "/a")}},
		{name: "nobody said the method", known: []postgres.Endpoint{listed(1, "", "/a")},
			found: []facts.Endpoint{found(api, "POST", "/a"), found(api, "PUT", "/a")},
			add:   []string{"PUT /a openapi"}, amend: []string{"1 POST"}},
		{name: "it answered otherwise, unpaid",
			known: []postgres.Endpoint{with(listed(1, "", "/a"), func(e *postgres.Endpoint) { e.Method = "GET" })},
			found: []facts.Endpoint{found(api, "POST", "/a")}, amend: []string{"1 POST"}},
		{name: "it was paid otherwise",
			known: []postgres.Endpoint{with(listed(1, "", "/a"),
				func(e *postgres.Endpoint) { e.Method, e.LastPaidAt = "GET", &paidAt })},
			found: []facts.Endpoint{found(api, "POST", "/a")}, add: []string{"POST /a openapi"}},
		{name: "listed by hand otherwise", known: []postgres.Endpoint{listed(1, "GET", "/a")},
			found: []facts.Endpoint{found(api, "POST", "/a")},
			add:   []string{"POST /a openapi"}},
		{name: "a lesser document said otherwise",
			known: []postgres.Endpoint{with(listed(1, "GET", "/a"),
				func(e *postgres.Endpoint) { e.Origin = catalogue })},
			found: []facts.Endpoint{found(known, "POST", "/a")}, amend: []string{"1 POST"}},
		{name: "a better document said otherwise",
			known: []postgres.Endpoint{with(listed(1, "GET", "/a"), func(e *postgres.Endpoint) { e.Origin = api })},
			found: []facts.Endpoint{found(known, "POST", "/a")}, add: []string{"POST /a well-known"}},
		{name: "without words", known: []postgres.Endpoint{with(listed(1, "GET", "/a"),
			func(e *postgres.Endpoint) { e.Description = nil })},
			found: []facts.Endpoint{found(api, "GET", "/a")}, amend: []string{"1  said"}},
		{name: "instances of a route", known: []postgres.Endpoint{listed(1, "GET", "/users/1")},
			templates: map[uuid.UUID]string{id(1): "/users/:id"},
			found: []facts.Endpoint{found(catalogue, "GET", "/users/2"), found(api, "GET", "/users/{id}"),
				found(api, "GET", "/users"), found(api, "GET", "/users/1/orders"), found(api, "POST", "/users/2")},
			add: []string{"GET /users openapi", "GET /users/1/orders openapi", "POST /users/2 openapi"}},
		{name: "as many as are tracked", known: many,
			found: []facts.Endpoint{found(api, "GET", "/x"), found(api, "GET", "/y")}, add: []string{"GET /x openapi"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			add, amend := discover(c.known, c.found, c.templates)
			var added, amended []string
			for _, e := range add {
				added = append(added, e.Method+" "+e.Path+" "+e.Origin)
			}
			for _, a := range amend {
				line := fmt.Sprintf("%d %s", a.ID[0], a.Method)
				if a.Description != nil {
					line += " " + *a.Description
				}
				amended = append(amended, line)
			}
			if diff := cmp.Diff(c.add, added); diff != "" {
				t.Errorf("added (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.amend, amended); diff != "" {
				t.Errorf("amended (-want +got):\n%s", diff)
			}
		})
	}
}

// TestListingOf: names, slugs and categories of a catalogue's services.
func TestListingOf(t *testing.T) {
	t.Parallel()
	taken := map[string]bool{"acme": true}
	for _, c := range []struct {
		seller                      facts.Seller
		name, slug, category, words string
	}{
		{facts.Seller{Host: "api.bolt.com", Name: "Bolt", Description: "Nuts.",
			Tags: []string{"tools", "finance", "AI"}}, "Bolt", "bolt", "Finance", "Nuts."},
		{facts.Seller{Host: "api.acme.com", Name: "Acme"}, "Acme", "api-acme-com", "Other",
			"Listed in the catalogue of f.example."},
		{facts.Seller{Host: "api.acme.com", Name: "ACME"}, "ACME", "api-acme-com-2", "Other",
			"Listed in the catalogue of f.example."},
		{facts.Seller{Host: "x.example", Name: " 漢字 "}, "漢字", "x-example", "Other",
			"Listed in the catalogue of f.example."},
		{facts.Seller{Host: "10.example"}, "10.example", "10-example", "Other",
			"Listed in the catalogue of f.example."},
	} {
		got := listingOf(c.seller, "f.example", taken, dawn)
		if got.Name != c.name || got.Slug != c.slug || got.Category != c.category || got.Description != c.words ||
			got.Source != "imported:f.example" {
			t.Errorf("%+v: %+v", c.seller, got)
		}
	}
	if slug := site.FreeSlug(map[string]bool{"service": true}, "", "-"); slug != "service-2" {
		t.Errorf("a service without a name is %s", slug)
	}
}
