package build_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
)

// TestDomainsAndSites: what is published of a domain and a site, and which reasons for care a domain gives.
func TestDomainsAndSites(t *testing.T) {
	t.Parallel()
	at := func(days float64) *time.Time { return new(moment.Add(time.Duration(days * 24 * float64(time.Hour)))) }
	domain := func(created *time.Time) *postgres.DomainFacts {
		return &postgres.DomainFacts{Domain: "acme.com", CheckedAt: at(-1), Registrar: new("Names Ltd"), CreatedAt: created}
	}
	published := func(created *time.Time, age *int) site.DomainFacts {
		d := site.DomainFacts{AgeDays: age, Registrar: new("Names Ltd"), CheckedAt: site.TimeOrNull(*at(-1))}
		if created != nil {
			d.CreatedDate = site.TimeOrNull(*created)
		}
		return d
	}
	for _, c := range []struct {
		name    string
		base    string // "https://api.acme.com" when empty
		checked *time.Time
		site    *postgres.SiteFacts
		domain  *postgres.DomainFacts

		wantSite    site.SiteFacts
		wantDomain  site.DomainFacts
		wantFlags   []site.RiskFlag
		wantLevel   string
		wantUpdated *time.Time
	}{
		{name: "nothing known", wantLevel: "clean"},
		{name: "an old domain", domain: domain(at(-30)), wantDomain: published(at(-30), new(30)), wantLevel: "clean", wantUpdated: at(-1)},
		{name: "a young domain", domain: domain(at(-29.99)), wantDomain: published(at(-29.99), new(29)), wantLevel: "warning", wantUpdated: at(-1),
			wantFlags: []site.RiskFlag{{Level: "warning", Code: "young_domain", Evidence: "acme.com was registered 29 days ago, on 2026-10-21"}}},
		{name: "registered after the build", domain: domain(at(0.5)), wantDomain: published(at(0.5), new(0)), wantLevel: "warning", wantUpdated: at(-1),
			wantFlags: []site.RiskFlag{{Level: "warning", Code: "young_domain", Evidence: "acme.com was registered 0 days ago, on 2026-11-21"}}},
		{name: "an answer without a date", domain: domain(nil), wantDomain: published(nil, nil), wantLevel: "clean", wantUpdated: at(-1)},
		{name: "a domain not asked about yet", domain: &postgres.DomainFacts{Domain: "acme.com"}, wantLevel: "clean"},
		{name: "a free host", base: "https://acme.vercel.app", domain: &postgres.DomainFacts{Domain: "acme.vercel.app", Suffix: new("vercel.app")},
			wantDomain: site.DomainFacts{FreeHost: true}, wantLevel: "warning",
			wantFlags: []site.RiskFlag{{Level: "warning", Code: "free_host", Evidence: "acme.vercel.app is on a free-hosting or tunnel domain"}}},
		{name: "a free host's own domain is not its guest's", base: "https://acme.square.site", domain: domain(at(-2)),
			wantDomain: site.DomainFacts{FreeHost: true}, wantLevel: "warning", wantUpdated: at(-1),
			wantFlags: []site.RiskFlag{{Level: "warning", Code: "free_host", Evidence: "acme.square.site is on a free-hosting or tunnel domain"}}},
		{name: "a name below somebody else's is a hint", base: "https://acme.uk.com", domain: &postgres.DomainFacts{Domain: "acme.uk.com", Suffix: new("uk.com")}, wantLevel: "clean",
			wantFlags: []site.RiskFlag{{Level: "clean", Code: "free_host", Evidence: "names under uk.com are given out by whoever owns it, some free, some sold"}}},
		{name: "a site", checked: at(-2), site: &postgres.SiteFacts{CheckedAt: at(-0.5), Homepage: new(true), Terms: new(false), Domain: new("acme.com")}, wantLevel: "clean", wantUpdated: at(-0.5),
			wantSite: site.SiteFacts{Homepage: new(true), Terms: new(false), CheckedAt: site.TimeOrNull(*at(-0.5))}},
		{name: "a site that nothing could be seen of", checked: at(-2), site: &postgres.SiteFacts{Domain: new("acme.com")}, wantLevel: "clean", wantUpdated: at(-2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base := c.base
			if base == "" {
				base = "https://api.acme.com"
			}
			f := postgres.Facts{Services: []postgres.ServiceFacts{{
				Service: postgres.Service{Slug: "acme", Name: "Acme", BaseURL: base, Category: "AI", CreatedAt: moment.AddDate(-1, 0, 0), LastCheckedAt: c.checked},
				Site:    c.site, Domain: c.domain,
			}}}
			a := build.Judge(&f, moment, moment.Add(time.Hour), "https://tollbook.example", site.FreeHosts{}).Services[0].Detail.Assessment
			if diff := cmp.Diff(c.wantSite, a.Site); diff != "" {
				t.Errorf("site (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantDomain, a.Domain); diff != "" {
				t.Errorf("domain (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(append([]site.RiskFlag{}, c.wantFlags...), a.Risk.Flags); diff != "" || a.Risk.Level != c.wantLevel {
				t.Errorf("risk is %s, want %s; flags (-want +got):\n%s", a.Risk.Level, c.wantLevel, diff)
			}
			var updated *site.Time
			if c.wantUpdated != nil {
				updated = site.TimeOrNull(*c.wantUpdated)
			}
			if diff := cmp.Diff(updated, a.UpdatedAt); diff != "" {
				t.Errorf("updated_at (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSiteFactsArrive carries site facts the whole way: from a sample service over HTTP through Postgres and a build
// into the file that readers get.
func TestSiteFactsArrive(t *testing.T) {
	t.Parallel()
	world, err := sample.Start(t.Context(), sample.Options{Now: func() time.Time { return moment }, Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { world.Close() })
	db := open(t)
	for _, l := range sample.Listings(moment, time.Minute) {
		if l.Slug == "harborlight-search" {
			if err := db.AddListings(t.Context(), []postgres.Listing{l}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := crawl.New(db, crawl.Options{Now: func() time.Time { return moment }, HostGap: time.Microsecond, Hourly: -1}, probe.Options{
		Routes: []probe.Route{{Domain: sample.Domain, Dial: world.Dial, RootCAs: world.RootCAs()}},
	})
	defer c.Close()
	if g, err := c.Gather(t.Context()); err != nil || g.Sites != 1 {
		t.Fatalf("gathered %+v, error %v", g, err)
	}
	dir := scratch(t)
	o := options(moment.Add(time.Minute))
	o.Expand = output.ExpandAll
	run(t, db, dir, o)
	text, err := os.ReadFile(filepath.Join(dir, "current", "v1", "services", "harborlight-search.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Data struct {
			Assessment struct {
				Site, Domain json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	const wantSite = `{"homepage":true,"openapi":true,"pricing":true,"llms_txt":true,"robots":true,"terms":true,"checked_at":"2026-11-20T12:30:00.000Z"}`
	const wantDomain = `{"age_days":null,"registrar":null,"free_host":false,"created_date":null,"checked_at":null}`
	if diff := cmp.Diff([]string{wantSite, wantDomain}, []string{string(got.Data.Assessment.Site), string(got.Data.Assessment.Domain)}); diff != "" {
		t.Errorf("site and domain (-want +got):\n%s", diff)
	}
}
