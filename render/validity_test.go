package render_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"tollbook/render"
	"tollbook/site"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// TestPagesAreValid checks every page for what browsers, screen readers and crawlers rely on.
func TestPagesAreValid(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	for name, s := range map[string]*site.Snapshot{"world": world(), "empty": {Now: site.NewTime(now)}} {
		pages := newPages(t, render.Site{BaseURL: "https://tollbook.example/dir", Sample: true,
			Contact: "hello@tollbook.example"})
		tree := treeOf(t, pages, s)
		for key, page := range tree {
			address, rawQuery, err := routes.Request(key)
			if err != nil {
				t.Fatal(err)
			}
			if q, err := routes.ParseRequest(address, rawQuery); err != nil || q.Key() != key {
				t.Errorf("%s: nobody can ask for %s at %s: %v", name, key, address, err)
			}
			if !strings.HasSuffix(key, ".html") {
				continue
			}
			doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range findFaults(doc, tree) {
				t.Errorf("%s %s: %s", name, key, fault)
			}
		}
	}
}

// treeOf renders every page of a snapshot. JSON files, which a build adds, are present by name.
func treeOf(t *testing.T, p *render.Pages, s *site.Snapshot) map[string][]byte {
	t.Helper()
	tree := map[string][]byte{}
	put := func(key string, page []byte, err error) {
		if err != nil {
			t.Fatal(err)
		}
		tree[key] = page
	}
	e := p.NewRenderer(s)
	pictures, err := e.Pictures()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range append(pictures, p.Assets()...) {
		tree[a.Key] = a.Bytes
	}
	for _, route := range routes.All {
		if !strings.Contains(route.Pattern, "{") && route.Ext == ".json" {
			tree[strings.TrimPrefix(route.Pattern, "/")+".json"] = nil
		}
	}
	var rows []*site.ServiceListItem
	for i := range s.Services {
		l := &s.Services[i]
		rows = append(rows, &l.Item)
		page, err := e.ServicePage(e.DescribeService(l), e.Neighbours(&l.Item))
		put("services/"+l.Item.Slug+".html", page, err)
		files, err := e.ServiceFiles(e.DescribeService(l))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			tree[f.Key] = f.Bytes
		}
		for _, suffix := range []string{".json", "/uptime.json", "/checks.json", "/evidence.json", "/settlements.json",
			"/volume/period=all.json", "/buyers/period=all.json", "/price/period=all.json", "/days.csv"} {
			tree["v1/services/"+l.Item.Slug+suffix] = nil
		}
	}
	for _, order := range site.PageOrders {
		ordered := slices.Clone(rows)
		for n := 1; n == 1 || (n-1)*render.PageRows < len(rows); n++ {
			key := "services.html"
			if n > 1 || order != site.OrderNewest {
				key = fmt.Sprintf("services/sort=%s/page=%d.html", order, n)
			}
			page, err := e.ServicesPage(ordered[(n-1)*render.PageRows:min(n*render.PageRows, len(rows))],
				site.NewPaginationMeta(len(rows), n, render.PageRows), order)
			put(key, page, err)
			tree["v1/services/sort="+order+"/per_page=25/page=1.json"] = nil
		}
	}
	for _, g := range e.Groups() {
		for n := 1; n <= g.Pages(); n++ {
			page, err := e.GroupPage(g, n)
			put(g.Key(n), page, err)
			put(g.NumberedKey(n), page, err)
		}
		tree[g.JSON()] = nil
	}
	page, err := e.CategoriesPage()
	put("categories.html", page, err)
	page, err = e.NetworksPage()
	put("networks.html", page, err)
	page, err = e.Home()
	put("index.html", page, err)
	page, err = e.ComparePage()
	put("compare.html", page, err)
	page, err = e.ChangesPage()
	put("changes.html", page, err)
	feeds, err := e.Feeds()
	if err != nil {
		t.Fatal(err)
	}
	incidents, err := e.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(feeds, incidents...) {
		tree[f.Key] = f.Bytes
	}
	markdownPages, err := e.MarkdownPages()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range markdownPages {
		tree[f.Key] = f.Bytes
	}
	page, err = e.StatusPage()
	put("status.html", page, err)
	for _, order := range site.FacilitatorOrders[1:] {
		page, err = e.FacilitatorsPage(order)
		put("facilitators/sort="+order+".html", page, err)
	}
	for _, file := range e.VolumeFiles() {
		tree[file.Key] = file.Bytes
	}
	page, err = e.FacilitatorsPage(site.OrderVolume)
	put("facilitators.html", page, err)
	tree["v1/facilitators/timeframe=30d/include=timeseries/days=90/per_page=100/page=1.json"] = nil
	for i := range s.Facilitators {
		page, err = e.FacilitatorPage(&s.Facilitators[i])
		put("facilitators/"+s.Facilitators[i].FacilitatorID+".html", page, err)
		for _, suffix := range []string{".json", "/timeseries.csv", "/chains.csv", "/services.csv", "/kinds.csv",
			"/signers.csv"} {
			tree["v1/facilitators/"+s.Facilitators[i].FacilitatorID+suffix] = nil
		}
	}
	page, err = e.MatrixPage()
	put("facilitators/matrix.html", page, err)
	tree["v1/facilitators/matrix.json"] = nil
	page, err = e.MarketPage()
	put("market.html", page, err)
	page, err = e.FlowPage()
	put("flow.html", page, err)
	tree["v1/flow.json"] = nil
	page, err = e.CoveragePage()
	put("coverage.html", page, err)
	page, err = e.DataPage()
	put("data.html", page, err)
	tree["v1/data.json"] = nil
	for _, list := range []string{"networks", "tags", "tags/prices",
		"incidents", "coverage/networks", "coverage/tokens",
		"coverage/candidate_settlers", "coverage/facilitators", "facilitators/matrix/facilitators",
		"facilitators/matrix/kinds",
		"facilitators/matrix/settled", "flow/links", "flow/nodes"} {
		tree["v1/"+list+".csv"] = nil
	}
	for _, table := range []string{"services", "prices", "facilitators", "settlers", "sources"} {
		tree["data/"+table+".csv.gz"], tree["data/"+table+".parquet"] = nil, nil
	}
	page, err = e.SourcesPage()
	put("sources.html", page, err)
	tree["v1/sources.json"] = nil
	for i := range s.Sources {
		page, err = e.SourcePage(&s.Sources[i])
		put("sources/"+s.Sources[i].Source.Source+".html", page, err)
		for _, suffix := range []string{".json", "/days.csv", "/pulls.csv", "/dropped.csv", "/services.csv"} {
			tree["v1/sources/"+s.Sources[i].Source.Source+suffix] = nil
		}
	}
	guides, err := e.GuidePages()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range guides {
		tree[g.Key] = g.Bytes
	}
	page, err = e.SubmitPage()
	put("submit.html", page, err)
	page, err = e.SuggestPage()
	put("suggest.html", page, err)
	page, err = e.SearchPage()
	put("search.html", page, err)
	page, err = e.NotFound()
	put("404.html", page, err)
	page, err = e.Failure()
	put("500.html", page, err)
	api, err := e.API(examplesOf(t, e, s))
	if err != nil {
		t.Fatal(err)
	}
	page, err = api.Reference()
	put("reference.html", page, err)
	page, err = api.Types()
	put("reference/types.html", page, err)
	page, err = api.Files()
	put("reference/files.html", page, err)
	parts, err := api.TypesPages()
	for _, part := range parts {
		put(part.Key, part.Bytes, err)
	}
	markdown, err := api.Markdown()
	put(markdown.Key, markdown.Bytes, err)
	for _, key := range []string{"v1/openapi.json", "v1/routes.json", "llms.txt", "SHA256SUMS"} {
		tree[key] = nil
	}
	return tree
}

// findFaults returns what is wrong with a page.
func findFaults(doc *goquery.Document, tree map[string][]byte) []string {
	var list []string
	fault := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	ids := map[string]bool{}
	doc.Find("[id]").Each(func(_ int, s *goquery.Selection) {
		if id := s.AttrOr("id", ""); ids[id] {
			fault("two elements have the id %s", id)
		} else {
			ids[id] = true
		}
	})
	doc.Find("[aria-labelledby]").Each(func(_ int, s *goquery.Selection) {
		if id := s.AttrOr("aria-labelledby", ""); !ids[id] {
			fault("labelled by %s, which is not there", id)
		}
	})
	// Screen readers read the head of a row before each of its cells.
	doc.Find("tbody th[scope=row]:has(.tag, .advice, .blurb, .rank, .quiet, small)").Each(
		func(_ int, s *goquery.Selection) {
			if label := s.AttrOr("aria-label", ""); label == "" || !strings.Contains(s.Text(), label) {
				fault("the head of a row is %q, and its label %q", s.Text(), label)
			}
		})
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, a := range s.Nodes[0].Attr {
			own := s.Is("script[src]:empty, img[src][alt]") &&
				tree[strings.TrimPrefix(s.AttrOr("src", ""), "/dir/")] != nil && a.Key == "src"
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") || a.Key == "src" && !own {
				fault("<%s> has the attribute %s", s.Nodes[0].Data, a.Key)
			}
		}
	})
	forbidden := "style, iframe, object, base"
	if policy := doc.Find("meta[http-equiv=Content-Security-Policy]").AttrOr("content", ""); !strings.Contains(policy,
		"script-src 'self'") || !strings.Contains(policy, "form-action 'self'") {
		forbidden += ", script:not([type='application/ld+json']), form"
	}
	if n := doc.Find(forbidden).Length(); n > 0 {
		fault("%d elements that the policy forbids", n)
	}
	doc.Find("[href]").Each(func(_ int, s *goquery.Selection) {
		href := s.AttrOr("href", "")
		file, place, _ := strings.Cut(href, "#")
		file, _, _ = strings.Cut(file, "?")
		key, local := strings.CutPrefix(file, "/dir/")
		if key == "" {
			key = "index.html"
		}
		data, there := tree[key]
		if there && local && place != "" {
			there = bytes.Contains(data, []byte(` id="`+place+`"`))
		}
		fragment, inside := strings.CutPrefix(href, "#")
		switch {
		case inside && !ids[fragment], local && !there:
			fault("a link to %s leads nowhere", href)
		case !inside && !local && !strings.HasPrefix(href, "https://") && !strings.HasPrefix(href, "mailto:"):
			fault("a link to %s", href)
		}
	})
	level := 0
	doc.Find("h1, h2, h3, h4, h5, h6").Each(func(_ int, s *goquery.Selection) {
		next := int(s.Nodes[0].Data[1] - '0')
		if next > level+1 || next == 1 && level > 0 {
			fault("heading %q of level %d after level %d", s.Text(), next, level)
		}
		level = next
	})
	for _, landmark := range []string{"header.top", "main", "footer", "nav[aria-label]", "a.skip[href='#main']", "h1",
		"title", "meta[name=description]"} {
		if doc.Find(landmark).Length() == 0 {
			fault("no %s", landmark)
		}
	}
	doc.Find("table").Each(func(_ int, s *goquery.Selection) {
		if s.Find("caption").Length() != 1 || s.Find("thead th[scope=col]").Length() != s.Find("thead th").Length() {
			fault("a table without a caption or scopes: %.80q", s.Text())
		}
	})
	doc.Find("time").Each(func(_ int, s *goquery.Selection) {
		var at site.Time
		if err := at.UnmarshalJSON([]byte(strconv.Quote(s.AttrOr("datetime", "")))); err != nil {
			fault("a time that is none: %v", err)
		}
	})
	doc.Find("svg[role=img]").Each(func(_ int, s *goquery.Selection) {
		if s.AttrOr("aria-label", "") == "" {
			fault("a chart without a name")
		}
	})
	return list
}

// TestMovedParts checks that addresses of parts of guides that moved to pages of their own lead to a link.
func TestMovedParts(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	pages, _ := pagesOf(t, render.Site{}, world())
	for page, parts := range map[string]string{
		"operations.html": "run-it-on-a-schedule say-who-visits sign-requests check-its-health data-worth-keeping disk-space " +
			"back-up-and-restore move-it keep-the-list-of-services follow-public-sources review-submissions read-suggestions " +
			"re-checks hear-of-new-submissions-and-suggestions verify-an-owner read-settlements " +
			"ask-a-language-model-for-summaries how-polite-the-crawler-is change-how-it-looks the-first-week " +
			"when-something-is-broken",
		"hosting.html":   "size-of-a-snapshot prices how-costs-are-calculated costs-a-month",
		"upgrading.html": "v0-1-0 settings-that-are-needed-now",
	} {
		for _, id := range strings.Fields(parts) {
			to, _ := pages[page].Find("a#" + id).Attr("href")
			if key, part, ok := strings.Cut(strings.TrimPrefix(to, "/dir/"), "#"); !ok || part != id || key == page ||
				pages[key] == nil || pages[key].Find("[id='"+id+"']").Length() != 1 {
				t.Errorf("%s#%s leads to %q", page, id, to)
			}
		}
	}
}
