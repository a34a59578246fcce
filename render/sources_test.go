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
	expect(t, newRenderer(t, &site.Snapshot{Now: at, Sources: []site.Source{
		{Source: "bazaar", Address: "https://bazaar.test/list", LastAttemptAt: at, LastSuccessAt: &at,
			ResourceCount: 1200, UniqueCount: 1190, ServiceCount: 3,
			Overlap: []site.SourceOverlap{{Source: "index", ResourceCount: 10}}},
		{Source: "index", LastAttemptAt: at, HeldBack: &site.SourceAnswer{Resources: 4}, ResourceCount: 20,
			UniqueCount: 10, Overlap: []site.SourceOverlap{{Source: "bazaar", ResourceCount: 10}}},
	}}).SourcesPage,
		In("h1", IsText("Sources")),
		In("link[rel=alternate]", HasAttr("href", "/v1/sources.json")),
		In("#source-bazaar", HasText("1,200"), HasText("1,190"), HasText("20 Nov 2026")),
		In("#source-index", HasText("held back"), HasText("its last answer has 4 resources"), In(".none")),
		In(".overlap tbody tr:nth-child(1)", HasText("1,200"), HasText("0.83%"), In("rect[width='1']")),
		In(".overlap tbody tr:nth-child(2)", HasText("50%"), In("rect[width='2']")))
	expect(t, newRenderer(t, &site.Snapshot{Now: at}).SourcesPage, In(".empty", IsText("No public source is read.")))
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
			In("a[href='/sources.html#source-bazaar']")),
		In("section[aria-labelledby=listed-by] tbody tr:nth-child(2)", HasText("index"), HasText("20 Nov 2026")),
		In("section[aria-labelledby=changes] .changes > li:nth-child(1)", HasText("Dropped"), HasText("GET /quote"),
			In("del", IsText("listed by index"))),
		In("section[aria-labelledby=changes] .changes > li:nth-child(2)", HasText("Listed"),
			In("ins", IsText("listed by index"))))
}
