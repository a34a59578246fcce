package crawl

import (
	"fmt"
	"slices"
	"strings"
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
	// of a source, seen some days ago; probed days later, not at all if probed is negative
	row := func(n byte, method, path string, seen, probed int) postgres.Endpoint {
		return with(listed(n, method, path), func(e *postgres.Endpoint) {
			e.Origin, e.FirstSeenAt = catalogue, dawn.AddDate(0, 0, -seen)
			if probed >= 0 {
				e.LastProbedAt = new(e.FirstSeenAt.AddDate(0, 0, probed))
			}
		})
	}
	var rows []postgres.Endpoint
	for i := range 30 {
		rows = append(rows, row(byte(100+i), "GET", fmt.Sprintf("/%02d", i), 20, 14))
	}
	for _, c := range []struct {
		name      string
		wellKnown []postgres.Endpoint
		declare   []facts.Endpoint
		templates map[uuid.UUID]string
		add       []string
		amend     []string
		drop      string
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
			declare: []facts.Endpoint{declare(wellKnown, "POST", "/a")},
			amend:   []string{"1 POST said from well-known"}},
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
		{name: "rows of a source give way", wellKnown: append(slices.Clone(many[1:]), row(1, "GET", "/r", 0, -1),
			row(2, "GET", "/s", 1, 0), row(3, "GET", "/t", 2, 0)), declare: []facts.Endpoint{declare(api, "GET", "/x")},
			add: []string{"GET /x openapi"}, drop: "3 2"},
		{name: "rows of a source take no place", wellKnown: append(slices.Clone(many), row(1, "GET", "/r", 0, -1)),
			declare: []facts.Endpoint{declare(catalogue, "GET", "/x")}},
		{name: "a row that asked for payment stays", wellKnown: append(slices.Clone(many),
			with(row(1, "GET", "/r", 20, 20), func(e *postgres.Endpoint) { e.LastPaidAt = &paidAt })),
			declare: []facts.Endpoint{declare(api, "GET", "/x")}},
		{name: "a row that a document declares", wellKnown: []postgres.Endpoint{row(1, "GET", "/r", 20, 20),
			row(2, "GET", "/s", 20, 20)},
			declare: []facts.Endpoint{declare(api, "GET", "/r")}, amend: []string{"1  said from openapi"}, drop: "2"},
		{name: "a row with a method that a document does not name",
			wellKnown: []postgres.Endpoint{row(1, "DELETE", "/r", 1, -1)},
			declare:   []facts.Endpoint{declare(wellKnown, "", "/r")}, add: []string{" /r well-known"}},
		{name: "old rows", wellKnown: []postgres.Endpoint{listed(1, "GET", "/a"), row(2, "GET", "/b", 20, 13),
			row(3, "GET", "/c", 20, 14), row(4, "GET", "/d", 20, -1)}, drop: "3"},
		{name: "old rows of a service without others", wellKnown: rows, drop: "100 101 102 103 104"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := discover(c.wellKnown, c.declare, c.templates, dawn)
			var added, amended, dropped []string
			for _, e := range d.add {
				added = append(added, e.Method+" "+e.Path+" "+e.Origin)
			}
			for _, a := range d.amend {
				line := fmt.Sprintf("%d %s", a.ID[0], a.Method)
				if a.Description != nil {
					line += " " + *a.Description
				}
				if a.Origin != "" {
					line += " from " + a.Origin
				}
				amended = append(amended, line)
			}
			for _, id := range d.drop {
				dropped = append(dropped, fmt.Sprint(id[0]))
			}
			if diff := cmp.Diff(c.drop, strings.Join(dropped, " ")); diff != "" {
				t.Errorf("dropped (-want +got):\n%s", diff)
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
