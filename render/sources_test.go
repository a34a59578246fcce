package render_test

import (
	"encoding/json"
	"testing"

	. "tollbook/render/htmlcheck"
	"tollbook/site"
)

func TestSourcesPage(t *testing.T) {
	t.Parallel()
	at := site.NewTime(now)
	expect(t, newRenderer(t, &site.Snapshot{Now: at, Sources: []site.SourceDetail{
		{Source: site.Source{Source: "bazaar", Address: "https://bazaar.test/list", LastAttemptAt: at,
			LastSuccessAt: &at, ResourceCount: 1200, UniqueCount: 1190, ServiceCount: 3,
			Overlap: []site.SourceOverlap{{Source: "index", ResourceCount: 10}}}},
		{Source: site.Source{Source: "index", LastAttemptAt: at, HeldBack: &site.SourceAnswer{Resources: 4},
			ResourceCount: 20, UniqueCount: 10, Overlap: []site.SourceOverlap{{Source: "bazaar", ResourceCount: 10}}}},
	}}).SourcesPage,
		In("h1", IsText("Sources")),
		In("link[rel=alternate]", HasAttr("href", "/v1/sources.json")),
		In("#source-bazaar", HasText("1,200"), HasText("1,190"), HasText("20 Nov 2026"),
			In("a[href='/sources/bazaar.html']")),
		In("#source-index", HasText("held back"), HasText("its last answer has 4 resources"), In(".none")),
		In(".overlap tbody tr:nth-child(1)", HasText("1,200"), HasText("0.83%"), In("rect[width='1']")),
		In(".overlap tbody tr:nth-child(2)", HasText("50%"), In("rect[width='2']")))
	expect(t, newRenderer(t, &site.Snapshot{Now: at}).SourcesPage, In(".empty", IsText("No public sources are configured.")))
}

// TestSourcePage checks the page of one source: its answers, what it dropped and when, and what is unknown.
func TestSourcePage(t *testing.T) {
	t.Parallel()
	at := site.NewTime(now)
	e := newRenderer(t, &site.Snapshot{Now: at})
	page := func(s *site.SourceDetail) func() ([]byte, error) {
		return func() ([]byte, error) { return e.SourcePage(s) }
	}
	expect(t, page(&site.SourceDetail{
		Source: site.Source{Source: "bazaar", Kind: "x402-discovery", Address: "https://bazaar.test/list",
			LastSuccessAt: &at, Answer: &site.SourceAnswer{ReceivedAt: at, Resources: 18}, ResourceCount: 18,
			Partial:     ptr(true),
			UniqueCount: 8, ServiceCount: 3, HeldBack: &site.SourceAnswer{ReceivedAt: at, Resources: 4},
			Overlap: []site.SourceOverlap{{Source: "index", ResourceCount: 9}}},
		Pulls: []site.SourcePull{
			{EndedAt: at, Outcome: site.PullFailed, StatusCode: ptr(503)},
			{EndedAt: at, Outcome: site.PullHeld, StatusCode: ptr(200), Resources: ptr(4), SHA256: ptr("c0ffee"),
				Partial: ptr(true)},
		},
		Days: []site.SourceDay{{Date: "2026-11-18", Resources: 20, Listed: 20},
			{Date: "2026-11-20", Resources: 18, Dropped: 2}},
		Services: []site.SourceService{{Slug: "acme", Name: "Acme", Since: at, ResourceCount: 2}},
		Dropped:  []site.SourceDrop{{Slug: "acme", Name: "Acme", Endpoint: "GET /quote", Since: at, Until: at}},
	}),
		In("h1", IsText("bazaar")), In("link[rel=alternate]", HasAttr("href", "/v1/sources/bazaar.json")),
		In(".crumbs a[href='/sources.html']"), In(".facts a[href='https://bazaar.test/list']"),
		In(".masthead", HasText("held back"), HasText("18"), HasText("8")),
		In("section[aria-labelledby=listed]", HasText("In the last 90 days it began to list 20 and dropped 2."),
			In("svg .bar")),
		In("section[aria-labelledby=listed] tbody tr:nth-child(2)", HasText("20 Nov 2026"), HasText("18")),
		In("section[aria-labelledby=answers] tbody tr:nth-child(1)", HasText("failed"), HasText("503"), In(".none")),
		In("section[aria-labelledby=answers] tbody tr:nth-child(2)", HasText("held back, in part"), HasText("200"),
			In("code[title=c0ffee]")),
		In("section[aria-labelledby=dropped] tbody tr", HasText("GET /quote"), HasText("20 Nov 2026"),
			In("a[href='/services/acme.html']", IsText("Acme"))),
		In("section[aria-labelledby=services] tbody tr", In("a[href='/services/acme.html']")),
		In("section[aria-labelledby=services] .more", HasText("2 more")),
		In("section[aria-labelledby=overlap] tbody tr", In("a[href='/sources/index.html']"), HasText("50%")))
	expect(t, page(&site.SourceDetail{Source: site.Source{Source: "index", Failures: 1}}),
		In(".masthead", HasText("failing"), HasText("never read to its end")),
		In("section[aria-labelledby=listed]", HasText("is unknown: it was never read to its end")),
		In("section[aria-labelledby=dropped] .empty"), In("section[aria-labelledby=services] .empty"))
}

// TestListedBy checks how the page of a service shows who lists it, and who dropped it.
func TestListedBy(t *testing.T) {
	t.Parallel()
	l, at := acme(), site.NewTime(now)
	l.Detail.ListedBy = []site.ListedBy{{Source: "bazaar", Since: at, ResourceCount: 2},
		{Source: "index", Since: at, Until: &at}}
	summary, err := json.Marshal(site.SourceSummary{Source: "index", Endpoint: "GET /quote"})
	if err != nil {
		t.Fatal(err)
	}
	l.Changes = []site.ChangeRecord{{Type: site.SourceDropped, Summary: summary, ObservedAt: at},
		{Type: site.SourceListed, Summary: summary, ObservedAt: at}}
	expect(t, servicePage(newRenderer(t, world()), l),
		In("section[aria-labelledby=listed-by] tbody tr:nth-child(1)", HasText("bazaar"), HasText("still listed"),
			In("a[href='/sources/bazaar.html']")),
		In("section[aria-labelledby=listed-by] tbody tr:nth-child(2)", HasText("index"), HasText("20 Nov 2026")),
		In("section[aria-labelledby=changes] .changes > li:nth-child(1)", HasText("Dropped"), HasText("GET /quote"),
			In("del", IsText("listed by index"))),
		In("section[aria-labelledby=changes] .fold .changes > li", HasText("Listed"),
			In("ins", IsText("listed by index"))))
}
