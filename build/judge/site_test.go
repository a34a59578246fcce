package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
	"tollbook/site/postgres"
)

// TestDomainsAndSites checks what is published of a domain and a site, and the risk flags of a domain.
func TestDomainsAndSites(t *testing.T) {
	t.Parallel()
	at := func(days float64) *time.Time { return new(now.Add(time.Duration(days * 24 * float64(time.Hour)))) }
	domain := func(created *time.Time) *postgres.DomainFacts {
		return &postgres.DomainFacts{Domain: "acme.com", CheckedAt: at(-1), Registrar: new("Names Ltd"),
			CreatedAt: created}
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
		{name: "an old domain", domain: domain(at(-30)), wantDomain: published(at(-30), new(30)), wantLevel: "clean",
			wantUpdated: at(-1)},
		{name: "a young domain", domain: domain(at(-29.99)), wantDomain: published(at(-29.99), new(29)),
			wantLevel: "warning", wantUpdated: at(-1),
			wantFlags: []site.RiskFlag{{Level: "warning", Code: "young_domain", Title: "New domain",
				Evidence: "acme.com was registered 29 days ago, on 21 Oct 2026"}}},
		{name: "registered after the build", domain: domain(at(0.5)), wantDomain: published(at(0.5), new(0)),
			wantLevel: "warning", wantUpdated: at(-1),
			wantFlags: []site.RiskFlag{{Level: "warning", Code: "young_domain", Title: "New domain",
				Evidence: "acme.com was registered 0 days ago, on 21 Nov 2026"}}},
		{name: "an answer without a date", domain: domain(nil), wantDomain: published(nil, nil), wantLevel: "clean",
			wantUpdated: at(-1)},
		{name: "a domain not asked about yet", domain: &postgres.DomainFacts{Domain: "acme.com"}, wantLevel: "clean"},
		{name: "a free host", base: "https://acme.vercel.app",
			domain:     &postgres.DomainFacts{Domain: "acme.vercel.app", Suffix: new("vercel.app")},
			wantDomain: site.DomainFacts{FreeHost: true}, wantLevel: "warning",
			wantFlags: []site.RiskFlag{{Level: "warning", Code: "free_host", Title: "Free hosting or tunnel",
				Evidence: "acme.vercel.app is on a free-hosting or tunnel domain"}}},
		{name: "a free host's own domain is not its guest's", base: "https://acme.square.site", domain: domain(at(-2)),
			wantDomain: site.DomainFacts{FreeHost: true}, wantLevel: "warning", wantUpdated: at(-1),
			wantFlags: []site.RiskFlag{{Level: "warning", Code: "free_host", Title: "Free hosting or tunnel",
				Evidence: "acme.square.site is on a free-hosting or tunnel domain"}}},
		{name: "a name below somebody else's is a hint", base: "https://acme.uk.com",
			domain: &postgres.DomainFacts{Domain: "acme.uk.com", Suffix: new("uk.com")}, wantLevel: "clean",
			wantFlags: []site.RiskFlag{{Level: "clean", Code: "free_host", Title: "Free hosting or tunnel",
				Evidence: "the owner of uk.com gives away or sells names under it"}}},
		{name: "a site", checked: at(-2), site: &postgres.SiteFacts{CheckedAt: at(-0.5), Homepage: new(true),
			Terms: new(false), Domain: new("acme.com")}, wantLevel: "clean", wantUpdated: at(-0.5),
			wantSite: site.SiteFacts{Homepage: new(true), Terms: new(false), CheckedAt: site.TimeOrNull(*at(-0.5))}},
		{name: "a site that nothing could be seen of", checked: at(-2),
			site: &postgres.SiteFacts{Domain: new("acme.com")}, wantLevel: "clean", wantUpdated: at(-2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			base := c.base
			if base == "" {
				base = "https://api.acme.com"
			}
			f := postgres.Facts{Services: []postgres.ServiceFacts{{
				Service: postgres.Service{Slug: "acme", Name: "Acme", BaseURL: base, Category: "AI",
					CreatedAt: now.AddDate(-1, 0, 0), LastCheckedAt: c.checked},
				Site: c.site, Domain: c.domain,
			}}}
			a := judgeAll(&f, now).Services[0].Detail.Assessment
			if diff := cmp.Diff(c.wantSite, a.Site); diff != "" {
				t.Errorf("site (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantDomain, a.Domain); diff != "" {
				t.Errorf("domain (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(append([]site.RiskFlag{}, c.wantFlags...), a.Risk.Flags); diff != "" ||
				a.Risk.Level != c.wantLevel {
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

// TestSiteEvidence checks that evidence has the answers behind the facts of a site and a domain, and who verified the
// service.
func TestSiteEvidence(t *testing.T) {
	t.Parallel()
	created := now.AddDate(-2, 0, 0)
	f := postgres.Facts{Services: []postgres.ServiceFacts{{
		Service: postgres.Service{Slug: "acme", Name: "Acme", BaseURL: "https://api.acme.com", Category: "AI",
			CreatedAt: created, VerifiedAt: &now},
		Site: &postgres.SiteFacts{Answers: []postgres.SiteAnswer{
			{Document: "robots", URL: "https://api.acme.com/robots.txt", Reason: "no answer"},
			{Document: "terms", URL: "https://api.acme.com/\u202eterms", Status: 404, ContentType: "text/plain",
				Exists: new(false), Reason: "not found"},
			{Document: "manifest", URL: "https://api.acme.com/.well-known/x402", Status: 200, Exists: new(true),
				Reason: "a list of resources", Problem: "it has \u202e", Declared: new(3),
				Skipped: []postgres.SiteSkipped{{Reason: "free", Count: 2}}}}},
		Domain: &postgres.DomainFacts{Domain: "acme.com", CheckedAt: &now, CreatedAt: &created,
			URL: new("https://rdap.test/domain/acme.com"), Registered: new(true)},
		OwnerProved: true,
	}}}
	got := judgeAll(&f, now).Services[0].Evidence
	want := site.Evidence{
		SiteAnswers: []site.EvidenceSiteAnswer{
			{Document: "robots", URL: "https://api.acme.com/robots.txt", Reason: "no answer",
				Skipped: []site.EvidenceSkipped{}},
			{Document: "terms", URL: "https://api.acme.com/\ufffdterms", Status: new(404),
				ContentType: new("text/plain"), Exists: new(false), Reason: "not found", Skipped: []site.EvidenceSkipped{}},
			{Document: "manifest", URL: "https://api.acme.com/.well-known/x402", Status: new(200), Exists: new(true),
				Reason: "a list of resources", Problem: new("it has \ufffd"), Declared: new(3),
				Skipped: []site.EvidenceSkipped{{Reason: "free", Meaning: "free, or without a word of payment",
					Count: 2}}}},
		Registration: &site.EvidenceRegistration{Domain: "acme.com", CheckedAt: site.TimeOrNull(now),
			CreatedDate: site.TimeOrNull(created), URL: new("https://rdap.test/domain/acme.com"),
			Registered: new(true)},
		VerifiedBy: new("owner"),
	}
	got = site.Evidence{SiteAnswers: got.SiteAnswers, Registration: got.Registration, VerifiedBy: got.VerifiedBy}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

// TestVerifiedUntil checks that an owner's proof ends with the token, and 7 days after it was last seen.
func TestVerifiedUntil(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	const day = 24 * time.Hour
	for _, c := range []struct {
		name          string
		isOwner       bool
		seen, missing *time.Time
		verified      bool
		until         *time.Time
	}{
		{"never", false, nil, nil, false, nil},
		{"confirmed by the operator", false, ago(29 * day), nil, true, ago(-day)},
		{"token seen today", true, ago(time.Hour), nil, true, new(now.Add(7*day - time.Hour))},
		{"nothing answered for 6 days", true, ago(6 * day), nil, true, ago(-day)},
		{"nothing answered for 7 days", true, ago(7 * day), nil, false, ago(0)},
		{"token gone", true, ago(time.Hour), ago(time.Minute), false, ago(time.Minute)},
		{"token gone and back", true, ago(time.Hour), ago(2 * time.Hour), true, new(now.Add(7*day - time.Hour))},
		{"found missing when the proof had ended", true, ago(20 * day), ago(day), false, ago(13 * day)},
		{"found missing by a clock that runs ahead", true, ago(time.Hour), ago(-time.Hour), true, new(now.Add(7*day - time.Hour))},
	} {
		f := &postgres.ServiceFacts{Service: postgres.Service{VerifiedAt: c.seen}, OwnerProved: c.isOwner,
			TokenMissingAt: c.missing}
		verified, until := verifiedUntil(f, now)
		want := (*site.Time)(nil)
		if c.until != nil {
			want = site.TimeOrNull(*c.until)
		}
		if diff := cmp.Diff(want, until); verified != c.verified || diff != "" {
			t.Errorf("%s: verified %t, want %t; until (-want +got):\n%s", c.name, verified, c.verified, diff)
		}
	}
}
