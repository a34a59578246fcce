package crawl

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/site/listing"
	"tollbook/site/postgres"
)

// TestDiscover checks what documents add to and change of listed endpoints.
func TestDiscover(t *testing.T) {
	t.Parallel()
	id := func(n byte) uuid.UUID { return uuid.UUID{n} }
	paidAt := dawn
	listed := func(n byte, method, path string) postgres.Endpoint {
		return postgres.Endpoint{ID: id(n), Method: method, MethodDeclared: method != "", Path: path, Origin: "import",
			Description: new("known")}
	}
	with := func(e postgres.Endpoint, change func(*postgres.Endpoint)) postgres.Endpoint { change(&e); return e }
	declare := func(origin, method, path string) facts.Endpoint {
		return facts.Endpoint{Declared: facts.Declared{Method: method, Origin: origin, Description: "said"}, Path: path}
	}
	const api, wellKnown, catalogue = facts.OriginOpenAPI, facts.OriginWellKnown, facts.OriginCatalogue
	var many []postgres.Endpoint
	for i := range facts.MaxEndpoints - 1 {
		many = append(many, listed(0, "GET", fmt.Sprintf("/%d", i)))
	}
	for _, c := range []struct {
		name      string
		wellKnown []postgres.Endpoint
		declare   []facts.Endpoint
		templates map[uuid.UUID]string
		add       []string
		amend     []string
	}{
		{name: "nothing listed", declare: []facts.Endpoint{declare(api, "GET", "/a"), declare(api, "POST", "/a"),
			declare(wellKnown, "", "/b")},
			add: []string{"GET /a openapi", "POST /a openapi", " /b well-known"}},
		{name: "several documents declare the same",
			declare: []facts.Endpoint{declare(api, "POST", "/a"), declare(wellKnown, "", "/a"),
				declare(wellKnown, "POST", "/a?q=1")},
			add: []string{"POST /a openapi"}},
		{name: "listed", wellKnown: []postgres.Endpoint{listed(1, "GET", "/a")},
			declare: []facts.Endpoint{declare(api, "GET", "/a"), declare(wellKnown, "", "/a")}},
		{name: "listed with a query", wellKnown: []postgres.Endpoint{listed(1, "GET", "/a?q=1")},
			declare: []facts.Endpoint{declare(api, "GET", "/a")}},
		{name: "method not declared", wellKnown: []postgres.Endpoint{listed(1, "", "/a")},
			declare: []facts.Endpoint{declare(api, "POST", "/a"), declare(api, "PUT", "/a")},
			add:     []string{"PUT /a openapi"}, amend: []string{"1 POST"}},
		{name: "observed another method, never paid",
			wellKnown: []postgres.Endpoint{with(listed(1, "", "/a"), func(e *postgres.Endpoint) { e.Method = "GET" })},
			declare:   []facts.Endpoint{declare(api, "POST", "/a")}, amend: []string{"1 POST"}},
		{name: "paid by another method",
			wellKnown: []postgres.Endpoint{with(listed(1, "", "/a"),
				func(e *postgres.Endpoint) { e.Method, e.LastPaidAt = "GET", &paidAt })},
			declare: []facts.Endpoint{declare(api, "POST", "/a")}, add: []string{"POST /a openapi"}},
		{name: "listed by hand with another method", wellKnown: []postgres.Endpoint{listed(1, "GET", "/a")},
			declare: []facts.Endpoint{declare(api, "POST", "/a")},
			add:     []string{"POST /a openapi"}},
		{name: "document of lower rank declared another method",
			wellKnown: []postgres.Endpoint{with(listed(1, "GET", "/a"),
				func(e *postgres.Endpoint) { e.Origin = catalogue })},
			declare: []facts.Endpoint{declare(wellKnown, "POST", "/a")}, amend: []string{"1 POST"}},
		{name: "document of higher rank declared another method",
			wellKnown: []postgres.Endpoint{with(listed(1, "GET", "/a"), func(e *postgres.Endpoint) { e.Origin = api })},
			declare:   []facts.Endpoint{declare(wellKnown, "POST", "/a")}, add: []string{"POST /a well-known"}},
		{name: "without a description", wellKnown: []postgres.Endpoint{with(listed(1, "GET", "/a"),
			func(e *postgres.Endpoint) { e.Description = nil })},
			declare: []facts.Endpoint{declare(api, "GET", "/a")}, amend: []string{"1  said"}},
		{name: "instances of a route", wellKnown: []postgres.Endpoint{listed(1, "GET", "/users/1")},
			templates: map[uuid.UUID]string{id(1): "/users/:id"},
			declare: []facts.Endpoint{declare(catalogue, "GET", "/users/2"), declare(api, "GET", "/users/{id}"),
				declare(api, "GET", "/users"), declare(api, "GET", "/users/1/orders"),
				declare(api, "POST", "/users/2")},
			add: []string{"GET /users openapi", "GET /users/1/orders openapi", "POST /users/2 openapi"}},
		{name: "as many as are tracked", wellKnown: many,
			declare: []facts.Endpoint{declare(api, "GET", "/x"), declare(api, "GET", "/y")},
			add:     []string{"GET /x openapi"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			add, amend := discover(c.wellKnown, c.declare, c.templates)
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

// TestNewListing checks names, slugs and categories of a catalogue's services.
func TestNewListing(t *testing.T) {
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
		got := newListing(c.seller, "f.example", taken, dawn)
		if got.Name != c.name || got.Slug != c.slug || got.Category != c.category || got.Description != c.words ||
			got.Source != "imported:f.example" {
			t.Errorf("%+v: %+v", c.seller, got)
		}
	}
	if slug := listing.FreeSlug(map[string]bool{"service": true}, "", "-"); slug != "service-2" {
		t.Errorf("slug of a service without a name is %s, want service-2", slug)
	}
}
