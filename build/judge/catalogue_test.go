package judge

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/hint"
	"tollbook/site/postgres"
	"tollbook/site/postgres/sources"
	"tollbook/site/rail"
)

// TestCatalogues checks what is said of the endpoints that a source lists, lacks, or does not show.
func TestCatalogues(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	source := func(age time.Duration, partial bool) *sources.State {
		at := now.Add(-age)
		return &sources.State{ID: 1, Source: sources.Source{Name: "own-list"}, SucceededAt: &at,
			Accepted: &sources.Pull{Number: 1, EndedAt: &at, Partial: partial}}
	}
	endpoint := func(name string) hint.Facts {
		return hint.Facts{Endpoint: name, URL: "https://acme.test", Header: http.Header{}}
	}
	list := []hint.Facts{endpoint("GET /a?x=1"), endpoint("POST /b/"), endpoint("POST /mcp#quote"),
		{Endpoint: "GET /unread", URL: "https://acme.test"}}
	listing := func(until *time.Time, paths ...string) []sources.Listing {
		return []sources.Listing{{Source: "other", Paths: []string{"/b"}},
			{Source: "own-list", Until: until, Resources: len(paths), Paths: paths}}
	}
	for _, tt := range []struct {
		name   string
		source *sources.State
		listed []sources.Listing
		want   string // state, then the missing endpoints
	}{
		{"all", source(time.Hour, false), listing(nil, "/a", "/b", "/mcp#quote"), "listed []"},
		{"a part", source(time.Hour, false), listing(nil, "/a"), "listed in part [POST /b/ POST /mcp#quote]"},
		{"nothing", source(time.Hour, false), nil, "not listed [GET /a?x=1 POST /b/ POST /mcp#quote]"},
		{"dropped", source(time.Hour, false), listing(&now), "not listed [GET /a?x=1 POST /b/ POST /mcp#quote]"},
		{"old", source(80*time.Hour, false), listing(nil, "/a"), "not known []"},
		{"rows are hidden", source(time.Hour, true), nil, "not known []"},
		{"rows are hidden, but one is listed", source(time.Hour, true), listing(nil, "/a"), "listed []"},
		{"never read", &sources.State{ID: 1, Source: sources.Source{Name: "own-list"}}, nil, "not known []"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			public := &sources.Facts{Sources: []sources.State{*tt.source}, ListedBy: map[int64][]sources.Listing{7: tt.listed}}
			f := &postgres.ServiceFacts{Service: postgres.Service{ID: 7}}
			got := newCatalogues(public, f, list, now)
			if len(got) != 1 {
				t.Fatalf("%d catalogues, want one: %+v", len(got), got)
			}
			missing := []string{}
			for _, m := range got[0].Missing {
				missing = append(missing, m.Endpoint)
			}
			if diff := cmp.Diff(tt.want, fmt.Sprint(got[0].State(), " ", missing)); diff != "" {
				t.Errorf("catalogue (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCataloguesOfTheTable checks that a source that nobody reads is named if an endpoint breaks one of its rules.
func TestCataloguesOfTheTable(t *testing.T) {
	t.Parallel()
	offers := rail.Read(rail.Answer{Header: http.Header{"Crawler-Price": {"USD 0.01"}}, TLSVerified: true,
		URL: "https://acme.test/a"})
	x := hint.Facts{Endpoint: "GET /a", URL: "https://acme.test/a", Header: http.Header{}, Offers: offers}
	f := &postgres.ServiceFacts{Service: postgres.Service{ID: 7}}
	broken := map[string]string{}
	for _, c := range newCatalogues(&sources.Facts{}, f, []hint.Facts{x}, time.Now()) {
		if c.Listed != nil || c.How == nil {
			t.Errorf("%s: listed %v, how %v; want nothing known, and words", c.Source, c.Listed, c.How)
		}
		broken[c.Source] = c.Missing[0].Rules[0].Code
	}
	for name, want := range map[string]string{"cdp": "no_x402", "x402scan": "no_x402", "mpp-dev": ""} {
		if broken[name] != want {
			t.Errorf("%s: rule %q, want %q", name, broken[name], want)
		}
	}
}

// TestResourcePath checks how endpoints are compared with the resources of sources.
func TestResourcePath(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{"GET /a": "/a", "GET /a/?x=1": "/a", "GET /": "",
		"POST /mcp#quote": "/mcp#quote", "POST /mcp/#quote": "/mcp#quote"} {
		if got := resourcePath(endpoint); got != want {
			t.Errorf("%s: %q, want %q", endpoint, got, want)
		}
	}
}
