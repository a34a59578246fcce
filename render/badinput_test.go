package render_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"tollbook/render"
	. "tollbook/render/htmlcheck"
	"tollbook/render/lists"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/testgate"
	"tollbook/templates"
)

// injectedSnapshot returns a directory in which each stranger writes words in every field, beside ordinary services.
func injectedSnapshot(words string) *site.Snapshot {
	s := world()
	s.Services, s.Status.Services, s.Checks.Newest = s.Services[:4], s.Status.Services[:4], s.Checks.Newest[:2]
	s.Status.Offline, s.Status.Degraded = 0, 1
	said := func(slug string) site.Listing {
		l := nasty()
		d := &l.Detail
		d.Slug, d.Name, d.Description, d.BaseURL, d.WebsiteURL, d.Category, d.Asset = slug, words, words, words, &words,
			words, &words
		d.Endpoints[0].Method, d.Endpoints[0].Path, d.Endpoints[0].Description, d.Endpoints[0].MimeType = words, words,
			&words, &words
		d.Endpoints[0].Pricing[0] = site.PricingEntry{Scheme: words, Network: words, AssetAddress: words,
			AssetName: words, Price: words, PriceUSD: &words, PayTo: words}
		d.PayToChanges[0] = site.PayToChange{NetworkCAIP2: words, Endpoint: words, OldPayTo: &words,
			NewPayTo:   &words,
			ObservedAt: ago(dayTime)}
		d.Assessment.Risk.Flags[0].Evidence, d.Assessment.Domain.Registrar = words, &words
		d.Assessment.Compliance.Checks = []site.ComplianceCheck{{ID: "price_sane", Label: "Prices are plausible"}}
		d.Assessment.Economics.Model = words
		d.Assessment.Traction = acme().Detail.Assessment.Traction
		d.Assessment.Traction.SharedWithServices, d.Assessment.Traction.SettledViaDetail = []site.SharedWithItem{
			{Name: words, Slug: slug}}, []site.SettledVia{{ID: words, VolumeUSD30d: "1", TxCount30d: 1}}
		l.Evidence = site.Evidence{Checks: []site.EvidenceCheck{{ID: "price_sane", Reason: &words, Mend: &words}},
			Warnings: []site.EvidenceWarning{{Code: words, Meaning: "It is so.", Endpoint: &words, Detail: &words}},
			Endpoints: []site.EndpointEvidence{{Method: words, Path: words, Unprobeable: true,
				Inconclusive: &site.EvidenceSilence{Class: "needs_input", Reason: words}}},
			SiteAnswers: []site.EvidenceSiteAnswer{{Document: words, URL: words, Problem: &words}}}
		l.Changes = []site.ChangeRecord{
			record(d, site.PriceChanged, dayTime,
				site.PriceSummary{PriceChanges: []site.PriceChange{{Network: words, Endpoint: words, OldPrice: "1",
					NewPrice: "9", AssetName: words}}}),
			record(d, site.SchemaChanged, dayTime,
				site.SchemaSummary{SchemaAdded: []string{words,
					"GET " + words + " exact " + base + " x " + words + " 2"}, EndpointsAdded: []string{words}}),
			record(d, site.PayToChanged, dayTime,
				site.PayToSummary{PayToChanges: []site.RecipientChange{{Network: words, Endpoint: words,
					OldPayTo: &words, NewPayTo: &words}}, PayToAdded: []string{words},
					PayToRemoved: []string{words}}),
			{Slug: slug, Name: words, Type: words, ObservedAt: ago(dayTime), Summary: json.RawMessage(`[`)},
		}
		l.Checks.Newest = []site.CheckEntry{{ID: "1", CheckedAt: ago(dayTime), ErrorMessage: &words}}
		l.Item = itemOf(d)
		return l
	}
	s.Services = append(s.Services, said("said-a"), said("said-b"))
	for i := range s.Services[len(s.Services)-2:] {
		l := &s.Services[len(s.Services)-2+i]
		for j := range l.Changes {
			s.Changes.Feed = append(s.Changes.Feed, &l.Changes[j])
		}
		s.Status.Services = append(s.Status.Services,
			site.StatusService{Slug: l.Detail.Slug, Name: words, Status: words})
		s.Checks.Newest = append([]site.GlobalCheckEntry{{ID: "x", CheckedAt: ago(0), ServiceSlug: l.Detail.Slug,
			ServiceName: words, ServiceStatus: words}}, s.Checks.Newest...)
	}
	for i := range s.Facilitators {
		s.Facilitators[i].Name, s.Facilitators[i].WebsiteURL = words, words
	}
	s.Coverage.Networks[0].Name = words
	s.Sources = []site.SourceDetail{
		{Source: site.Source{Source: "a", Kind: words, Address: words,
			Overlap: []site.SourceOverlap{{Source: "b"}}},
			Pulls:    []site.SourcePull{{Outcome: words}},
			Services: []site.SourceService{{Slug: "acme", Name: words}},
			Dropped:  []site.SourceDrop{{Slug: "acme", Name: words, Endpoint: words}}},
		{Source: site.Source{Source: "b", Address: words}},
	}
	s.Coverage.Operators.Groups[0].Services = []site.SharedWithItem{{Name: words, Slug: "said-a"}}
	return s
}

// TestBadInput checks that text of strangers adds no element, link, attribute or invisible character to a page, and
// that right-to-left text does not affect its surroundings.
func TestBadInput(t *testing.T) {
	t.Parallel()
	for what, words := range map[string]string{
		"markup": `</title></script><script>alert(1)</script><img src=x onerror=alert(1)><b id="main">"'` +
			"`--><!--",
		"a template":      `{{.Site}}{{template "main"}}<no value>%!s(MISSING)`,
		"no space":        strings.Repeat("W", 500),
		"right to left":   "שלום עולם 123 \u202eevil\u2066 مرحبا",
		"emoji":           "👩🏽‍💻🏳️‍🌈 " + strings.Repeat("👨‍👩‍👧‍👦", 90),
		"marks":           "Z" + strings.Repeat("\u0335\u0301", 300),
		"a script's link": "javascript:alert(document.domain)",
		"data":            "data:text/html,<script>alert(1)</script>",
		"a trap":          "https://user:pass@evil.test/\u202e",
		"an odd address":  "http://[::1",
		"unseen":          "a\x00\x07\u200b\u2060\ufeff\U000e0041b",
		"no UTF-8":        "a\xff\xfe\xc0b",
		"lines":           "one\r\n\r\n# two\u2028three\ttabs",
		"nothing":         "",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			pages := newPages(t, render.Site{BaseURL: "https://tollbook.example/dir"})
			tree := treeOf(t, pages, injectedSnapshot(words))
			for key, page := range tree {
				if !strings.HasSuffix(key, ".html") {
					continue
				}
				doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
				if err != nil {
					t.Fatal(err)
				}
				for _, fault := range append(findFaults(doc, tree), findInjections(doc)...) {
					t.Errorf("%s: %s", key, fault)
				}
				if i := bytes.IndexAny(page, "\u202e\u2066\u200b\u2060\ufeff\U000e0041\x00\x07"); i >= 0 {
					t.Errorf("%s has what is not seen: %q", key, page[max(0, i-40):i+10])
				}
			}
		})
	}
}

// findInjections returns what the text of a stranger did to a page: an element that no template has, a link, or
// right-to-left text that no element isolates.
func findInjections(doc *goquery.Document) (list []string) {
	doc.Find(
		"script:not([src]):not([type='application/ld+json']), img:not([alt]), b, [onerror], a[href^='javascript' i], " +
			"a[href^='data' i], a[href*='@'], title ~ title").Each(func(_ int, s *goquery.Selection) {
		list = append(list, "a stranger's element: "+s.Nodes[0].Data)
	})
	if doc.Find("html, head, body, main#main, header.top, footer.foot").Length() != 6 {
		list = append(list, "the frame of the page is broken")
	}
	var walk func(n *html.Node, isolated bool)
	walk = func(n *html.Node, isolated bool) {
		switch n.Data {
		case "bdi", "pre", "option", "textarea", "script", "title": // a block, a control, or of no direction
			isolated = true
		}
		if n.Type == html.TextNode && !isolated && strings.ContainsAny(n.Data, "שםر") {
			list = append(list, fmt.Sprintf("nothing isolates %.60q in <%s class=%q>", n.Data, n.Parent.Data,
				goquery.NewDocumentFromNode(n.Parent).AttrOr("class", "")))
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, isolated)
		}
	}
	walk(doc.Find("body").Nodes[0], false)
	return list
}

// TestPrices checks that the smallest and the largest prices are exact on all pages.
func TestPrices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ price, want string }{
		{"0.0000001", "$0.0000001"}, {"1000000", "$1,000,000"}, {"0", "$0"}, {"0.1", "$0.10"},
		{"1234567.891", "$1,234,567.891"}, {"0.000000000000000001", "$0.000000000000000001"},
	} {
		price := site.Decimal(c.price)
		l := plain("priced", "Priced", site.StatusOnline, 0)
		l.Detail.MinPriceUSD, l.Item.MinPriceUSD, l.Detail.Category, l.Item.Category = &price, &price, "Data", "Data"
		l.Detail.Endpoints = []site.Endpoint{{Method: "GET", Path: "/q", MinPriceUSD: &price,
			Pricing: []site.PricingEntry{{Scheme: "exact", Network: base, AssetName: "USDC", Price: "1",
				PriceUSD: &c.price, PayTo: payTo}}}}
		l.Prices = []site.PricePoint{{Date: now.Format("2006-01-02"), MinPriceUSD: &price, MaxPriceUSD: &price}}
		s := &site.Snapshot{Now: site.NewTime(now), Services: []site.Listing{l}}
		e := newRenderer(t, s)
		expect(t, servicePage(e, l), Nth(".figures dd", 0, IsText(c.want)),
			In(".endpoint summary .price", IsText(c.want)), In(".endpoint td.price", IsText(c.want)),
			In("#prices ~ .strip figcaption", HasText("Now from "+c.want+";")))
		expect(t, func() ([]byte, error) {
			return e.ServicesPage([]*site.ServiceListItem{&l.Item}, site.NewPaginationMeta(1, 1, render.PageRows),
				site.OrderNewest)
		}, In("tbody .price", IsText(c.want)))
		expect(t, e.CategoriesPage, In("tbody .price", IsText(c.want)))
	}
}

// TestFirstView checks that a browser downloads at most 60 KB to show a service's page, however large the service is.
func TestFirstView(t *testing.T) {
	t.Parallel()
	many := manyEndpoints()
	for i := range many.Detail.Endpoints {
		many.Detail.Endpoints[i].Path = fmt.Sprintf("/v%d/%x/report-%d", i%7, i*i*7919, i)
		many.Detail.Endpoints[i].Description = ptr(fmt.Sprintf("Report %x of collection %x, by the page, as of %d.",
			i*104729, i*i, i))
		many.Detail.Endpoints[i].Pricing = append([]site.PricingEntry{}, many.Detail.Endpoints[i].Pricing...)
		many.Detail.Endpoints[i].Pricing[0].PayTo = fmt.Sprintf("0x%040x", i*i*i*7919)
	}
	p := newPages(t, render.Site{BaseURL: "https://tollbook.example", Sample: true})
	for what, l := range map[string]site.Listing{"everything": acme(), "a thousand endpoints": many, "hostile": nasty(),
		"new": unchecked()} {
		e := p.NewRenderer(world())
		page, err := e.ServicePage(e.DescribeService(&l), e.Neighbours(&l.Item))
		if err != nil {
			t.Fatal(err)
		}
		sum := packed(t, page)
		doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		assets := map[string][]byte{}
		for _, a := range p.Assets() {
			assets["/"+a.Key] = a.Bytes
		}
		doc.Find("link[rel=stylesheet], script[src]").Each(func(_ int, s *goquery.Selection) {
			data := assets[s.AttrOr("href", s.AttrOr("src", ""))]
			if data == nil {
				t.Errorf("%s: there is no %s", what, s.AttrOr("href", s.AttrOr("src", "")))
			}
			sum += packed(t, data)
		})
		t.Logf("%s: %d bytes", what, sum)
		if sum > 60<<10 {
			t.Errorf("%s: a first view takes %d bytes, at most %d", what, sum, 60<<10)
		}
	}
}

func packed(t *testing.T, data []byte) int {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// TestCells checks that scripts write the same cells of tables as the templates.
func TestCells(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		testgate.Missing(t, "node is missing; install Node.js")
	}
	script, err := templates.FS.ReadFile("cells.js")
	if err != nil {
		t.Fatal(err)
	}
	if script, err = lists.SiteScript(script); err != nil {
		t.Fatal(err)
	}
	program := string(script) + `
console.log(JSON.stringify([
	[0.0000001, 1e-18, 1000000, 1e21, 0, 0.1, 1234567.891, 12345678901234567890].map(cells.dollars),
	[0, 100, 99.999, 12.345, 50].map(cells.percent), [0, 9999, 10000, 123456].map(cells.millis),
	["a\u0000\u0007\u202eb", "  one\r\n two ", "W".repeat(200), "👩🏽‍💻".repeat(3)].map((s) => cells.words(s, 100)),
	cells.count(1234567), ADVICE.map((level) => cells.advice(level, "a reason")), STATUSES.map((status) => cells.state(status).inside),
]));`
	levels := []string{site.AdviceGood, site.AdviceCaution, site.AdviceDoNotPay, site.AdviceUnknown, "other"}
	statuses := append(slices.Clone(site.Statuses), "other")
	var advice, states []any
	for _, level := range levels {
		advice = append(advice, display.Advice(level, new("a reason")))
	}
	for _, status := range statuses {
		states = append(states, display.Status(status))
	}
	given, err := json.Marshal([2][]string{levels, statuses})
	if err != nil {
		t.Fatal(err)
	}
	// The elements that a page would have keep the text inside.
	program = `class Element {
	setAttribute() {}
	appendChild(e) { return e; }
	append(...all) { this.inside = all.at(-1); }
}
globalThis.document = { createElement: () => new Element(), createElementNS: () => new Element() };
const [ADVICE, STATUSES] = ` + string(given) + ";\n" + program
	out, err := exec.CommandContext(t.Context(), node, "-e", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := []any{
		[]any{"$0.0000001", "$0.000000000000000001", "$1,000,000", "$1,000,000,000,000,000,000,000", "$0", "$0.10",
			"$1,234,567.891", "$12,345,678,901,234,567,000"},
		[]any{"0%", "100%", "99.99%", "12.35%", "50%"},
		[]any{"0\u00a0ms", "9,999\u00a0ms", "10.0\u00a0s", "123.5\u00a0s"},
		[]any{"ab", "one two", strings.Repeat("W", 100) + "…", strings.Repeat("👩🏽‍💻", 3)}, "1,234,567", advice,
		states,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

// TestScriptsKnowNoVerdict checks that no script names a level of the advice or its words, which the tables before the
// script contain: what a door says of a payment is written once.
func TestScriptsKnowNoVerdict(t *testing.T) {
	t.Parallel()
	scripts, err := fs.Glob(templates.FS, "*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts: %v", len(scripts), err)
	}
	known := []string{site.AdviceCaution, site.AdviceDoNotPay}
	for _, level := range site.AdviceLevels {
		if level != site.AdviceUnknown { // other things are unknown, too
			known = append(known, display.AdviceLevel(level))
		}
	}
	for _, name := range scripts {
		script, err := templates.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range known {
			if bytes.Contains(script, []byte(word)) {
				t.Errorf("%s contains %q", name, word)
			}
		}
	}
}
