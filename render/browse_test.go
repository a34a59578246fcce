package render_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/render"
	. "tollbook/render/htmlcheck"
	"tollbook/render/service"
	"tollbook/site"
)

// TestOrders checks that each order of the list is a page with links to the others, and that pages of other orders than
// the default have files of their own.
func TestOrders(t *testing.T) {
	t.Parallel()
	s := world()
	var rows []*site.ServiceListItem
	for i := range s.Services {
		rows = append(rows, &s.Services[i].Item)
	}
	site.Sort(rows, site.OrderCheapest)
	e := newRenderer(t, s)
	expect(t, func() ([]byte, error) {
		return e.ServicesPage(rows[:render.PageRows], site.NewPaginationMeta(len(rows), 1, render.PageRows),
			site.OrderCheapest)
	},
		In("link[rel=canonical]", HasAttr("href", "https://tollbook.example/services/sort=cheapest/page=1.html")),
		In("link[rel=alternate]", HasAttr("href", "/v1/services/sort=cheapest/per_page=25/page=1.json")),
		In("#found", HasText("lowest price first")),
		Nth("tbody tr", 0, In(".price", IsText("$0.0000001"))),
		In("nav.choices", In("a[aria-current]", IsText("Price")), In("a[href='/services.html']", IsText("Newest")),
			In("a[href='/categories/ai.html']", IsText("AI 7")), In("a[href='/networks/bse.html']", IsText("Base 52")),
			In("a[href='/search.html?status=offline']", IsText("offline 6")),
			In("a[href='/search.html?sort=organic_volume']", IsText("Organic volume"))),
		In("thead th[aria-sort=ascending] a", HasAttr("href", "/services/sort=cheapest/page=1.html")),
		In("form#search", HasAttr("action", "/search.html")),
		In(".fields input[form=search][name=max_price_usd]"),
		In("tbody tr a.tag"),
		In(".pager a[rel=next]", HasAttr("href", "/services/sort=cheapest/page=2.html")))
}

// TestGroups checks the figures of a category and a network. Unknown figures are shown as unknown.
func TestGroups(t *testing.T) {
	t.Parallel()
	s := &site.Snapshot{Now: site.NewTime(now),
		Networks: []site.Network{{ID: base, Name: "Base", Abbreviation: "BSE", IsMainnet: true}}}
	for i, price := range []*site.Decimal{ptr(site.Decimal("0.0000001")), ptr(site.Decimal("1000000")), nil} {
		l := plain(fmt.Sprint("s", i), "Name", site.StatusOnline, i)
		l.Item.Category, l.Item.MinPriceUSD, l.Item.Uptime24h, l.Item.Networks = "Data & <b>tools</b>", price,
			ptr(float64(50*i)), []string{"BSE", "XYZ"}
		s.Services = append(s.Services, l)
	}
	s.Services[2].Item.Status, s.Services[2].Item.Uptime24h = site.StatusOffline, nil
	lone := plain("s3", "Name", site.StatusUnknown, 3)
	lone.Item.Category, lone.Item.MinPriceUSD, lone.Item.Uptime24h, lone.Item.Networks = "数据", nil, nil, nil
	s.Services = append(s.Services, lone)
	s.Tags = []site.Tag{
		{Tag: "Data & <b>tools</b>", MostUsed: &site.Pick{Slug: "s1", Name: "Most <used>"}, Demand: &site.CategoryDemand{
			MeasuredServices: 2, OrganicVolumeUSD30d: "1234.5", OrganicTxCount30d: 5678, OrganicBuyers30d: ptr(int64(90)),
			ReturningBuyers30d: ptr(int64(12))}},
		{Tag: "数据", Demand: &site.CategoryDemand{MeasuredServices: 1, OrganicVolumeUSD30d: "2", OrganicTxCount30d: 1}},
	}
	e := newRenderer(t, s)
	var keys []string
	for _, g := range e.Groups() {
		keys = append(keys, g.Key(1))
	}
	if diff := cmp.Diff([]string{"categories/data-b-tools-b.html", "categories/other-words.html", "networks/bse.html"},
		keys); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	expect(t, e.CategoriesPage, Count("tbody tr", 2),
		Nth("tbody tr", 0, In("a", IsText("Data & <b>tools</b>")), HasText("3 2 $0.0000001 – $1,000,000 25%")),
		Nth("tbody tr", 1, In("a", IsText("数据")), HasText("1 0 —not known —not known")))
	expect(t, func() ([]byte, error) { return e.GroupPage(e.Groups()[0], 1) },
		In("section[aria-labelledby=demand]", HasText("Volume $1,234.50"), HasText("Settlements 5,678"),
			HasText("Buyers 90 12 bought again"), In("a[href='/services/s1.html']", IsText("Most <used>")),
			HasText("2 measured services")))
	expect(t, func() ([]byte, error) { return e.GroupPage(e.Groups()[1], 1) },
		In("section[aria-labelledby=demand]", HasText("Buyers unknown"), HasText("1 measured service of")))
	expect(t, func() ([]byte, error) { return e.GroupPage(e.Groups()[2], 1) }, NotIn("section[aria-labelledby=demand]"),
		In("h1", IsText("Base")), In(".facts", HasText(base)),
		In("link[rel=alternate]", HasAttr("href", "/v1/services/network=BSE/sort=cheapest/per_page=25/page=1.json")),
		In(".figures", HasText("Services 3"), HasText("Online 2"), HasText("$0.0000001"), HasText("$1,000,000"),
			HasText("25%")),
		Nth("tbody tr", 0, In("a", HasAttr("href", "/services/s0.html"))),
		Nth("tbody tr", 2, In("a", HasAttr("href", "/services/s2.html"))))
	slices.Reverse(s.Services)
	slices.SortFunc(s.Services, func(a, b site.Listing) int { return strings.Compare(a.Item.Slug, b.Item.Slug) })
	again := newRenderer(t, s)
	for i, g := range again.Groups() {
		if g.Key(1) != keys[i] {
			t.Errorf("group %d lies at %s, then at %s", i, keys[i], g.Key(1))
		}
	}
}

// TestChangesPage checks that changes are grouped by day and worded as on the service's page.
func TestChangesPage(t *testing.T) {
	t.Parallel()
	s := world()
	l := acme()
	for i := range l.Changes {
		s.Changes.Feed = append(s.Changes.Feed, &l.Changes[i])
	}
	s.Changes.Feed = append(s.Changes.Feed, &site.ChangeRecord{Slug: "nasty", Name: hostile, Type: hostile,
		ObservedAt: ago(90 * dayTime), Summary: json.RawMessage(`[`)})
	s.Changes.Meta = site.ChangesMeta{TypeCounts: site.TypeCounts{Schema: 1, Price: 2, PayTo: 3}, WindowTotal: 6}
	expect(t, newRenderer(t, s).ChangesPage,
		In(".figures", HasText("90 days 6"), HasText("Prices 2"), HasText("Recipients 3"), HasText("Payment options "+
			"1")),
		Nth(".by-service option", 1, HasAttr("value", "acme")),
		Each(".changes > li[class]", HasAttr("data-of", "acme")), Count("main section", 4), Nth("main section", 0, In("h2", IsText("20 Nov 2026")),
			In("a[href='/services/acme.html']"), HasText("GET /quote Base $0.002→$0.0025 up")),
		In("link[type='application/atom+xml']", HasAttr("href", "/feed.xml")),
		In("link[type='application/feed+json']", HasAttr("href", "/feed.json")),
		In("main a[href='/v1/changes.json']"), NotIn("script:not([type='application/ld+json'], [src])"), NotIn("img"))
	expect(t, newRenderer(t, &site.Snapshot{Now: site.NewTime(now)}).ChangesPage, In(".empty"), NotIn("main section"),
		In("main a[href='/feed.xml']"))
}

// TestServiceFeeds checks that both feeds of a service have the same entries, and exist before the first change.
func TestServiceFeeds(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, world())
	for _, l := range []site.Listing{acme(), nasty(), unchecked()} {
		files, err := e.ServiceFeeds(e.DescribeService(&l))
		if err != nil {
			t.Fatal(err)
		}
		var a atom
		var f site.Feed
		if err := xml.Unmarshal(files[0].Bytes, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(files[1].Bytes, &f); err != nil {
			t.Fatal(err)
		}
		var ids, want []string
		for i := range a.Entries {
			want = append(want, a.Entries[i].ID+a.Entries[i].Title+a.Entries[i].Content.Text)
		}
		for _, item := range f.Items {
			ids = append(ids, item.ID+item.Title+item.ContentText)
		}
		if diff := cmp.Diff(want, ids); diff != "" || len(ids) != len(l.Changes) || f.Items == nil {
			t.Errorf("%s: %d records, entries (-atom +json):\n%s", l.Item.Slug, len(l.Changes), diff)
		}
		if f.Version != site.FeedVersion || f.FeedURL != "https://tollbook.example/services/"+l.Item.Slug+
			"/changes.json" || files[0].Key != "services/"+l.Item.Slug+"/changes.xml" {
			t.Errorf("feed %s of %s is a %s", f.FeedURL, files[0].Key, f.Version)
		}
		if strings.ContainsAny(string(files[0].Bytes)+string(files[1].Bytes), "\u202e\u2066\u0000\u0007") ||
			strings.Count(f.Title, "”") != 1 {
			t.Errorf("title %q", f.Title)
		}
	}
}

// TestBadge checks that a badge contains state and uptime in both formats, and no text of the service.
func TestBadge(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, world())
	for _, c := range []struct {
		of   site.Listing
		want site.Badge
	}{
		{acme(), site.Badge{SchemaVersion: 1, Label: "x402", Message: "caution: online, 99.4% uptime over 30 days",
			Color: "#8f5600"}},
		{nasty(), site.Badge{SchemaVersion: 1, Label: "x402", Message: "unknown: degraded", Color: "#646a75"}},
		{unchecked(), site.Badge{SchemaVersion: 1, Label: "x402", Message: "unknown", Color: "#646a75"}},
	} {
		files, err := e.ServiceFiles(e.DescribeService(&c.of))
		if err != nil {
			t.Fatal(err)
		}
		var got site.Badge
		if err := json.Unmarshal(files[2].Bytes, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.of.Item.Slug, diff)
		}
		var svg struct {
			XMLName       xml.Name `xml:"http://www.w3.org/2000/svg svg"`
			Title         string   `xml:"title"`
			OperatorPages []string `xml:"g>text"`
		}
		if err := xml.Unmarshal(files[1].Bytes, &svg); err != nil {
			t.Fatalf("%s: %v", files[1].Bytes, err)
		}
		if diff := cmp.Diff([]string{"x402", c.want.Message}, svg.OperatorPages); diff != "" ||
			svg.Title != "x402: "+c.want.Message {
			t.Errorf("%s is titled %q (-want +got):\n%s", c.of.Item.Slug, svg.Title, diff)
		}
	}
}

// TestPricesOverTime checks that the chart shows a price as long as it was valid, also one from before the 90 days, and
// nothing on days without a price. Unknown is not zero.
func TestPricesOverTime(t *testing.T) {
	t.Parallel()
	l := acme()
	point := func(date, low, high string, changes int) site.PricePoint {
		return site.PricePoint{Date: date, MinPriceUSD: ptr(site.Decimal(low)), MaxPriceUSD: ptr(site.Decimal(high)),
			Changes: changes}
	}
	l.Prices = []site.PricePoint{point("2026-01-02", "0.0000001", "0.0000001", 0), {Date: "2026-10-01", Changes: 1},
		point("2026-11-11", "0.5", "1000000", 2), point("2027-01-01", "7", "7", 1)}
	l.Detail.MinPriceUSD = ptr(site.Decimal("0.75")) // it changed today
	expect(t, servicePage(newRenderer(t, world()), l), In("section[aria-labelledby=prices]",
		In(".ranged > .plot svg.prices .bar", HasAttr("d", "M0 59h390v1h-390zM800 0h100v59h-100z")),
		In("figcaption", IsText("Now from $0.75; 3 changes in the last 90 days.")),
		In(".y", IsText("$1,000,000$500,000$0")),
		In("#prices-by-day", Count("tbody tr", 3),
			Nth("tbody tr", 0, HasText("23 Aug 2026 $0.0000001 $0.0000001 0")),
			Nth("tbody tr", 1, HasText("1 Oct 2026 —not known —not known 1")),
			Nth("tbody tr", 2, HasText("11 Nov 2026 $0.50 $1,000,000 2"))),
		In("#prices-by-month", Count("tbody tr", 10), // October has none
			Nth("tbody tr", 9, HasText("Nov 2026 $0.50 $1,000,000 2")))))
	l.Prices, l.Detail.MinPriceUSD = l.Prices[:2], nil
	expect(t, servicePage(newRenderer(t, world()), l), In("section[aria-labelledby=prices]",
		Count(".ranged > .plot svg.prices .bar", 1),
		In("figcaption", IsText("No price in dollars now; 1 change in the last 90 days."))))
	expect(t, servicePage(newRenderer(t, world()), unchecked()),
		In("section[aria-labelledby=prices]", NotIn("svg"),
			HasText("No active endpoint asks for a price in dollars."), NoText("$0")))
}

// TestPayExamples checks which endpoints have a program that pays them, and that no address leaves its quotes.
func TestPayExamples(t *testing.T) {
	t.Parallel()
	l := acme()
	l.Detail.Endpoints[1].Pricing[0].Scheme = "exact"
	l.Detail.Endpoints[1].Path = "/\"); steal(process.env.KEY); (\"`\\</pre>"
	expect(t, servicePage(newRenderer(t, world()), l),
		Nth(".endpoint", 0, In(".tab:nth-of-type(2) pre", HasText(`await pay("https://api.acme.test/quote");`))),
		Nth(".endpoint", 1,
			In(".tab:nth-of-type(2) pre",
				HasText(
					`await pay("https://api.acme.test/%22);%20steal(process.env.KEY);%20(%22%60%5C%3C/pre%3E", {`))),
		Nth(".endpoint", 2, NotIn(".paid")))
	expect(t, servicePage(newRenderer(t, world()), nasty()), NotIn(".paid"))
	expect(t, servicePage(newRenderer(t, world()), manyEndpoints()), Count(".endpoint", 100), Count(".paid", 50))
}

// TestAdviceComesFirst checks that a page calls no service payment ready whose payments may be lost, and that its
// advice comes before its other facts.
func TestAdviceComesFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*site.Listing)
		ready  bool
	}{
		{"ready", func(*site.Listing) {}, true},
		{"no endpoint can be paid", func(l *site.Listing) {
			for i := range l.Terms {
				l.Terms[i].Payable = false
			}
		}, false},
	} {
		l := acme()
		c.change(&l)
		e := newRenderer(t, world())
		data, err := servicePage(e, l)()
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(data), "<h2")
		advice, status := strings.Index(head, `class="advice`), strings.Index(head, `class="now"`)
		if got := strings.Contains(head, "payment ready"); got != c.ready || advice < 0 || advice > status {
			t.Errorf("%s: payment ready %v, want %v; the advice is at byte %d, the status at %d", c.name, got, c.ready,
				advice, status)
		}
		text := serviceMarkdown(t, e, e.DescribeService(&l))
		if strings.Index(text, "- Should I pay? ") > strings.Index(text, "- Price from: ") {
			t.Errorf("%s: the Markdown page has the price before the advice", c.name)
		}
	}
	l := acme()
	l.Terms[0].Payable = false
	expect(t, servicePage(newRenderer(t, world()), l), NotIn(".paid"))
}

// serviceMarkdown returns the Markdown page of a service.
func serviceMarkdown(t *testing.T, e *render.Renderer, l *service.Text) string {
	t.Helper()
	page, err := e.ServiceMarkdown(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(page.Bytes)
}

// TestServiceDocuments checks that a page says which documents of the website were not read in full.
func TestServiceDocuments(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, world())
	l := acme()
	expect(t, servicePage(e, l), HasText("What documents of the website declare"),
		HasText("/openapi.json 3 endpoints to pay; 1,204 entries skipped: free, or without a word of payment"),
		HasText("/.well-known/x402 larger than 8 MiB; nothing of it is read"))
	l.Evidence.SiteAnswers = l.Evidence.SiteAnswers[:1]
	expect(t, servicePage(e, l), NoText("What documents of the website declare"))
}

// TestServiceMarkdown checks that the Markdown page has the facts of the page, and that no text of a stranger begins
// markup or leaves its quotes or its row.
func TestServiceMarkdown(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, world())
	for _, c := range []struct {
		of   site.Listing
		says []string
	}{
		{acme(), []string{"# “Acme Quotes”\n", "- Status: online, last checked 2026-11-20T23:41:01.000Z\n",
			"- Price from: $0.0025\n", ", not known over 90 days\n",
			"| “GET /quote” | $0.0025 | Base | USDC | “exact” | “" + payTo + "” |\n",
			"| “POST /history/{symbol}” | up to $1,000,000 |", "| “GET /ping” | not known |",
			"price: “GET /quote” on “Base”: was “$0.002”, is “$0.0025”;", "- Not encrypted (warning): “an endpoint",
			"\n## What documents of the website declare\n\n- “https://api.acme.example/openapi.json”: 3 endpoints to pay; " +
				"1,204 entries skipped: free, or without a word of payment; 1 entry skipped: on another host\n" +
				"- “https://api.acme.example/.well-known/x402”: larger than 8 MiB; nothing of it is read\n"}},
		{unchecked(), []string{"- Status: unknown, last checked not known\n", "No endpoint has a usable payment " +
			"option now.\n",
			"- Price from: not known\n"}},
		{nasty(), []string{"\\<script\\>", "שלום"}},
	} {
		text := serviceMarkdown(t, e, e.DescribeService(&c.of))
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%.3000s", c.of.Item.Slug, want, text)
			}
		}
		if strings.Contains(text, "\x60") || strings.Contains(strings.ReplaceAll(text, "\\<", ""), "<") ||
			strings.ContainsAny(text, "\u202e\u2066\u0000\u0007") ||
			strings.Count(text, "“") != strings.Count(text, "”") {
			t.Errorf("%s: markup of a stranger:\n%.3000s", c.of.Item.Slug, text)
		}
	}
}
