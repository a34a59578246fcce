package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/consent"
)

// read gives the facts of every service by slug.
func read(t *testing.T, db *postgres.DB, now time.Time) map[string]postgres.ServiceFacts {
	t.Helper()
	facts := map[string]postgres.ServiceFacts{}
	err := db.Read(t.Context(), func(r *postgres.Reader) error {
		f, err := r.Facts(t.Context(), now, 0)
		if err != nil {
			return err
		}
		for _, s := range f.Services {
			facts[s.Slug] = s
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func dueSites(t *testing.T, db *postgres.DB, now time.Time) []postgres.DueService {
	t.Helper()
	due, err := db.TakeSites(t.Context(), now, time.Minute, 10)
	if err != nil {
		t.Fatal(err)
	}
	return due
}

// TestTakeSites checks that a site is due at once, not while it is leased, again when the lease ends, and again after a
// day.
func TestTakeSites(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("acme"), listing("bolt")}); err != nil {
		t.Fatal(err)
	}
	due := dueSites(t, db, start)
	if len(due) != 2 || len(due[0].Endpoints) != 2 {
		t.Fatalf("%d sites are due with %v, want two with their endpoints", len(due), due)
	}
	if again := dueSites(t, db, start.Add(30*time.Second)); len(again) != 0 {
		t.Errorf("%d sites are due while they are looked at", len(again))
	}
	if err := db.RecordSite(t.Context(), postgres.SiteVisit{ServiceID: due[0].ID, Slug: due[0].Slug, At: start,
		NextAt: start.Add(24 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		want  []string
	}{{time.Minute, []string{"bolt"}}, {25 * time.Hour, []string{"acme", "bolt"}}} {
		var got []string
		for _, s := range dueSites(t, db, start.Add(c.after)) {
			got = append(got, s.Slug)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("due after %s (-want +got):\n%s", c.after, diff)
		}
	}
}

// TestRecordSite checks that a build reads the result of a reading, that a failed reading keeps stored facts, and that
// endpoints are added and completed but never removed.
func TestRecordSite(t *testing.T) {
	t.Parallel()
	db := open(t)
	l := listing("acme") // GET /a, and /b whose method nobody said
	if err := db.AddListings(t.Context(), []postgres.Listing{l}); err != nil {
		t.Fatal(err)
	}
	if f := read(t, db, start)["acme"]; f.Site != nil || f.Domain != nil {
		t.Errorf("before the first look: %+v, %+v", f.Site, f.Domain)
	}
	acme := dueSites(t, db, start)[0]
	open := postgres.EndpointID("acme", "", "/b")
	facts := postgres.SiteFacts{Homepage: new(true), OpenAPI: new(false)}
	visit := postgres.SiteVisit{
		ServiceID: acme.ID, Slug: "acme", At: start, NextAt: start.Add(24 * time.Hour), Facts: &facts,
		Domain: &postgres.DomainFacts{Domain: "acme.com"}, AskDomain: true,
		Add: []postgres.ListedEndpoint{
			{Method: "POST", Path: "/c", Description: new("C"), Origin: "openapi"},
			{Method: "GET", Path: "/a", Origin: "openapi"},
		},
		Amend: []postgres.EndpointAmendment{
			{ID: open, Method: "POST", Description: new("B")},
			{ID: postgres.EndpointID("acme", "GET", "/a"), MimeType: new("text/csv")},
		},
	}
	for range 2 { // told twice, it is kept once
		if err := db.RecordSite(t.Context(), visit); err != nil {
			t.Fatal(err)
		}
	}
	visit.Facts, visit.Amend = nil, []postgres.EndpointAmendment{{ID: open, Description: new("other words")}}
	if err := db.RecordSite(t.Context(), visit); err != nil {
		t.Fatal(err)
	}
	got := read(t, db, start)["acme"]
	want := postgres.SiteFacts{CheckedAt: &start, Homepage: new(true), OpenAPI: new(false), Domain: new("acme.com")}
	if diff := cmp.Diff(&want, got.Site); diff != "" {
		t.Errorf("site (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&postgres.DomainFacts{Domain: "acme.com"}, got.Domain); diff != "" {
		t.Errorf("domain before it is asked about (-want +got):\n%s", diff)
	}
	var endpoints []string
	for _, e := range got.Endpoints {
		line := e.Method + " " + e.Path + " " + e.Origin
		if e.MethodDeclared {
			line += " declared"
		}
		for _, s := range []*string{e.Description, e.MimeType} {
			if s != nil {
				line += " " + *s
			}
		}
		endpoints = append(endpoints, line)
	}
	if diff := cmp.Diff([]string{"GET /a import declared text/csv", "POST /b import declared B",
		"POST /c openapi declared C"}, endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}

	// A method by which the endpoint was paid stays, and two endpoints never become one.
	paid := visitAt(acme.ID)
	paid.Endpoints = []checks.EndpointVisit{{ID: open, ProbedAt: start, Paid: true}}
	if err := db.RecordVisits(t.Context(), []checks.Visit{paid}); err != nil {
		t.Fatal(err)
	}
	visit.Amend = []postgres.EndpointAmendment{{ID: open, Method: "PUT"},
		{ID: postgres.EndpointID("acme", "POST", "/c"), Method: "POST"}}
	if err := db.RecordSite(t.Context(), visit); err != nil {
		t.Fatal(err)
	}
	for _, e := range read(t, db, start)["acme"].Endpoints {
		if e.ID == open && e.Method != "POST" {
			t.Errorf("the method of a paid endpoint became %s", e.Method)
		}
	}
}

// visitAt is a visit of a service at start.
func visitAt(id int64) checks.Visit {
	return visit(postgres.DueService{Service: postgres.Service{ID: id}}, start)
}

// TestTakeDomains checks that a domain is queried once for all its services, and again when it is due.
func TestTakeDomains(t *testing.T) {
	t.Parallel()
	db := open(t)
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("acme"), listing("bolt"),
		listing("core")}); err != nil {
		t.Fatal(err)
	}
	for i, s := range dueSites(t, db, start) {
		v := postgres.SiteVisit{ServiceID: s.ID, Slug: s.Slug, At: start, NextAt: start.Add(24 * time.Hour),
			Domain: &postgres.DomainFacts{Domain: "acme.com"}, AskDomain: true}
		if i == 2 {
			v.Domain, v.AskDomain = &postgres.DomainFacts{Domain: "core.vercel.app", Suffix: new("vercel.app")}, false
		}
		if err := db.RecordSite(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	due := func(at time.Time, want ...string) {
		t.Helper()
		got, err := db.TakeDomains(t.Context(), at, time.Minute, 10)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("due at %s: %q, error %v; want %q", at, got, err, want)
		}
	}
	due(start, "acme.com")
	due(start.Add(30 * time.Second))
	due(start.Add(time.Minute), "acme.com")
	at, week := start.Add(time.Hour), start.Add(7*24*time.Hour)
	answer := postgres.DomainFacts{Domain: "acme.com", CheckedAt: &at, Registrar: new("Names Ltd"), CreatedAt: &start}
	if err := db.RecordDomain(t.Context(), "acme.com", &answer, week); err != nil {
		t.Fatal(err)
	}
	due(week.Add(-time.Second))
	due(week, "acme.com")
	if err := db.RecordDomain(t.Context(), "acme.com", nil, week.Add(time.Hour)); err != nil { // no answer this time
		t.Fatal(err)
	}
	facts := read(t, db, start)
	for slug, want := range map[string]*postgres.DomainFacts{"acme": &answer, "bolt": &answer,
		"core": {Domain: "core.vercel.app", Suffix: new("vercel.app")}} {
		if diff := cmp.Diff(want, facts[slug].Domain); diff != "" {
			t.Errorf("domain of %s (-want +got):\n%s", slug, diff)
		}
	}
}

// TestStoreRobots checks that the last robots.txt of each origin is stored for a week.
func TestStoreRobots(t *testing.T) {
	t.Parallel()
	db := open(t)
	keep := func(r consent.Robots) {
		t.Helper()
		if err := db.StoreRobots(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	keep(consent.Robots{Origin: "https://a.test", FetchedAt: start, State: "unknown"})
	keep(consent.Robots{Origin: "https://b.test", FetchedAt: start, State: "none"})
	last := consent.Robots{Origin: "https://a.test", FetchedAt: start.Add(8 * 24 * time.Hour), State: "document",
		Body: []byte("User-agent: *\x00\xff")}
	keep(last)
	for origin, want := range map[string]*consent.Robots{"https://a.test": &last, "https://b.test": nil,
		"https://c.test": nil} {
		got, err := db.Robots(t.Context(), origin)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", origin, err, diff)
		}
	}
}

func TestStoreBootstrap(t *testing.T) {
	t.Parallel()
	db := open(t)
	if body, _, err := db.Bootstrap(t.Context()); err != nil || body != nil {
		t.Errorf("before the first: %q, error %v", body, err)
	}
	for _, text := range []string{"one", "two"} {
		if err := db.StoreBootstrap(t.Context(), []byte(text), start); err != nil {
			t.Fatal(err)
		}
	}
	if body, at, err := db.Bootstrap(t.Context()); err != nil || string(body) != "two" || !at.Equal(start) {
		t.Errorf("%q of %s, error %v", body, at, err)
	}
}
