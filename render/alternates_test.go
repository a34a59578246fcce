package render_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"tollbook/render"
	. "tollbook/render/htmlcheck"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
	"tollbook/templates"
)

const alternatesBase = "https://tollbook.example/dir"

// pagesOf returns the parsed pages of a tree by key, and the tree.
func pagesOf(t *testing.T, of render.Site, s *site.Snapshot) (map[string]*goquery.Document, map[string][]byte) {
	t.Helper()
	of.BaseURL = alternatesBase
	tree := treeOf(t, newPages(t, of), s)
	docs := map[string]*goquery.Document{}
	for key, page := range tree {
		if strings.HasSuffix(key, ".html") {
			doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
			if err != nil {
				t.Fatal(err)
			}
			docs[key] = doc
		}
	}
	return docs, tree
}

func attr(doc *goquery.Document, selector, name string) string {
	return doc.Find(selector).AttrOr(name, "")
}

// TestAlternates checks that each page names its own address, its picture, and its JSON and Markdown, and that these
// files exist.
func TestAlternates(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*site.Snapshot{"world": world(), "empty": {Now: site.NewTime(now)}} {
		docs, tree := pagesOf(t, render.Site{}, s)
		there := func(address string) (key string, ok bool) {
			key, local := strings.CutPrefix(address, alternatesBase+"/")
			if key == "" {
				key = "index.html"
			}
			_, ok = tree[key]
			return key, local && ok
		}
		pictures := map[string]bool{}
		for key, doc := range docs {
			if key == "404.html" || key == "500.html" {
				continue
			}
			canonical := attr(doc, "link[rel=canonical]", "href")
			named, ok := there(canonical)
			if numbered := strings.Contains(key, "page=1.html"); !ok || named != key && !numbered {
				t.Errorf("%s %s: its canonical address is %q", name, key, canonical)
			}
			if attr(doc, "meta[property='og:url']", "content") != canonical ||
				attr(doc, "meta[property='og:title']", "content") == "" ||
				attr(doc, "meta[property='og:description']", "content") == "" {
				t.Errorf("%s %s lacks what readers of Open Graph ask for", name, key)
			}
			picture, ok := there(attr(doc, "meta[property='og:image']", "content"))
			if !ok || attr(doc, "meta[property='og:image:alt']", "content") == "" ||
				attr(doc, "meta[name='twitter:card']", "content") != "summary_large_image" ||
				!routes.IsHashed(picture) && picture != strings.TrimSuffix(key, ".html")+"/card.png" {
				t.Errorf("%s %s: its picture is %q", name, key, picture)
			}
			pictures[picture] = true
			for _, kind := range []string{"application/json", "text/markdown"} {
				numbered := strings.Contains(key, "page=") || strings.Contains(key, "/sort=")
				without := slices.Contains([]string{"compare.html", "submit.html", "suggest.html", "search.html"},
					key) ||
					strings.HasPrefix(key, "reference/") && kind == "text/markdown" ||
					kind == "application/json" &&
						(strings.HasPrefix(key, "pages/") || isGuide(key)) || kind == "text/markdown" && numbered
				if href := attr(doc, "link[rel=alternate][type='"+kind+"']", "href"); (href == "") && !without {
					t.Errorf("%s %s has no %s of itself", name, key, kind)
				} else if _, there := tree[strings.TrimPrefix(href, "/dir/")]; href != "" && !there {
					t.Errorf("%s %s: the same as %s is %s, which is not there", name, key, kind, href)
				}
			}
		}
		for key := range pictures {
			m, err := png.Decode(bytes.NewReader(tree[key]))
			width, most := 1200, 30_000
			if !routes.IsHashed(key) { // of a service
				width, most = 600, 9_000
			}
			if err != nil || m.Bounds().Dx() != width || m.Bounds().Dy() != width*21/40 || len(tree[key]) > most {
				t.Errorf("%s %s of %d bytes: %v", name, key, len(tree[key]), err)
			}
		}
		if want := 1 + len(s.Services) + len(s.Categories); name == "world" && len(pictures) < 2 || len(pictures) > want+8 {
			t.Errorf("%s: %d pictures for %d categories", name, len(pictures), len(s.Categories))
		}
	}
}

// TestPictures checks that a service has a picture of its own, with its name, verdict and price in words too, and that a
// category has its own, or that of the directory if its name cannot be drawn.
func TestPictures(t *testing.T) {
	t.Parallel()
	s := world()
	for i, c := range []string{"AI", "AI", "数据"} {
		s.Services[i].Item.Category, s.Services[i].Detail.Category = c, c
	}
	docs, _ := pagesOf(t, render.Site{}, s)
	picture := func(key string) string { return attr(docs[key], "meta[property='og:image']", "content") }
	of := func(i int) string { return picture("services/" + s.Services[i].Item.Slug + ".html") }
	good := s.Services[0].Detail
	title := attr(docs["services/"+good.Slug+".html"], "meta[property='og:title']", "content")
	alt := attr(docs["services/"+good.Slug+".html"], "meta[property='og:image:alt']", "content")
	if home := picture("index.html"); of(0) == home || !strings.HasSuffix(of(0),
		"/services/"+good.Slug+"/card.png") || picture("categories/ai.html") == home ||
		picture("networks/bse.html") != home || alt != title ||
		title != good.Name+": "+display.AdviceLevel(good.Assessment.Advice.Level)+", from $0.0025 a request" {
		t.Errorf("pictures: home %s, service %s (%s, %s), category %s", home, of(0), title, alt,
			picture("categories/ai.html"))
	}
}

// graphOf returns the schema.org entities of a page.
func graphOf(t *testing.T, key string, doc *goquery.Document) []map[string]any {
	t.Helper()
	block := doc.Find("script[type='application/ld+json']")
	var of struct {
		Context string           `json:"@context"`
		Graph   []map[string]any `json:"@graph"`
	}
	if block.Length() == 0 {
		return nil
	}
	text := block.Text()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&of); err != nil || d.More() || block.Length() > 1 || of.Context != "https://schema.org" {
		t.Errorf("%s: %d blocks of data, context %q: %v", key, block.Length(), of.Context, err)
	}
	if strings.ContainsAny(text, "<>") {
		t.Errorf("%s: data that could end its element: %.200s", key, text)
	}
	return of.Graph
}

// eachURL calls f for each URL of the directory in data.
func eachURL(v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			eachURL(v[name], f)
		}
	case []any:
		for _, e := range v {
			eachURL(e, f)
		}
	case string:
		if strings.HasPrefix(v, alternatesBase) && !strings.Contains(v, "{") {
			f(v)
		}
	}
}

// TestLinkedData checks that the schema.org data of pages is valid, refers to existing pages, and contains text of
// strangers as text.
func TestLinkedData(t *testing.T) {
	t.Parallel()
	s := world()
	docs, tree := pagesOf(t, render.Site{Contact: "hello@tollbook.example"}, s)
	kinds := map[string][]string{}
	for key, doc := range docs {
		graph := graphOf(t, key, doc)
		var types []string
		for _, of := range graph {
			kind, _ := of["@type"].(string)
			types = append(types, kind)
			eachURL(of, func(address string) {
				file, _, _ := strings.Cut(strings.TrimPrefix(address, alternatesBase+"/"), "#")
				if file == "" {
					file = "index.html"
				}
				if _, there := tree[file]; !there {
					t.Errorf("%s names %s, which is not there", key, address)
				}
			})
		}
		kinds[key] = types
	}
	for key, want := range map[string][]string{
		"index.html": {"WebSite", "Dataset"}, "services.html": {"ItemList", "BreadcrumbList"},
		"services/acme.html": {"WebAPI", "BreadcrumbList"}, "categories.html": {"ItemList", "BreadcrumbList"},
		"categories/ai.html": {"ItemList", "BreadcrumbList"}, "facilitators.html": {"ItemList", "BreadcrumbList"},
		"methodology.html": {"BreadcrumbList"}, "404.html": nil, "services/nasty.html": {"WebAPI", "BreadcrumbList"},
	} {
		if diff := cmp.Diff(want, kinds[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	service := graphOf(t, "acme", docs["services/acme.html"])[0]
	if diff := cmp.Diff(map[string]any{"@type": "AggregateOffer", "lowPrice": .0025, "priceCurrency": "USD",
		"offerCount": 3.}, service["offers"]); diff != "" {
		t.Errorf("offers of acme (-want +got):\n%s", diff)
	}
	if service["name"] != "Acme Quotes" || service["url"] != alternatesBase+"/services/acme.html" {
		t.Errorf("acme is %v at %v", service["name"], service["url"])
	}
	nasty := graphOf(t, "nasty", docs["services/nasty.html"])[0]
	if name, _ := nasty["name"].(string); !strings.Contains(name, "<script>alert(1)</script>") ||
		nasty["sameAs"] != nil || nasty["documentation"] != nil {
		t.Errorf("nasty is %v", nasty)
	}
	list := graphOf(t, "services", docs["services/sort=newest/page=2.html"])[0]
	first, _ := list["itemListElement"].([]any)[0].(map[string]any)
	if list["numberOfItems"] != 53. || first["position"] != 51. {
		t.Errorf("the second page of the list begins with %v of %v", first, list["numberOfItems"])
	}
	crumbs := graphOf(t, "acme", docs["services/acme.html"])[1]["itemListElement"].([]any)
	var names []string
	for _, c := range crumbs {
		names = append(names, c.(map[string]any)["name"].(string))
	}
	if diff := cmp.Diff([]string{"Tollbook", "Services", "Acme Quotes"}, names); diff != "" {
		t.Errorf("the way to acme (-want +got):\n%s", diff)
	}
}

// TestMarkdownPages checks that Markdown pages have the facts of their pages, and text of strangers as text.
func TestMarkdownPages(t *testing.T) {
	t.Parallel()
	s := changedWorld()
	for i := range s.Status.Services {
		s.Status.Services[i].Name = hostile
	}
	s.Tags[1].Cheapest = &site.Pick{Slug: "plain-01", Name: hostile, PriceUSD: new(site.Decimal("0.001")),
		Network: "SOL"}
	_, tree := pagesOf(t, render.Site{Description: "What tolls *cost*."}, s)
	for key, says := range map[string][]string{
		"index.md": {"# Tollbook\n", "\nWhat tolls \\*cost\\*.\n",
			"- Services: 53, with 39 online, 7 degraded, 6 offline and 1 unknown\n",
			"- [Status](" + alternatesBase + "/status.md)\n",
			"\n## Last 24 hours\n\n2 new services, 2 price changes,",
			"- Price: [acme](" + alternatesBase + "/services/acme/page.md) “Acme Quotes”, 2026-11-20T20:45:01.000Z, " +
				"“POST /history/{symbol}” on xrpl:0, was “",
			"| AI | [plain-01](" + alternatesBase + "/services/plain-01/page.md) | $0.001 on Solana | not known | " +
				"not known |",
			"\n## Newest services\n"},
		"status.md":             {"39 of 53 services online", "## offline: 6\n", "failures in a row: 96"},
		"categories/ai/page.md": {"# “AI”\n", "7 services, "},
		"networks/bse/page.md":  {"# “Base”\n", "52 services, "},
		"facilitators.md":       {"| Name | Volume, 30 days |"},
		"coverage.md":           {"## Networks\n", "## Possible wash volume, 30 days\n"},
		"reference.md":          {"### `GET /v1/services`\n", "- `per_page`: "},
		"methodology.md":        {"# "},
	} {
		text := strings.ReplaceAll(string(tree[key]), "\u00a0", " ")
		for _, want := range says {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%.1500s", key, want, text)
			}
		}
		if key == "reference.md" || key == "methodology.md" {
			continue // our text, with markup
		}
		if strings.Contains(text, "`") || strings.Contains(strings.ReplaceAll(text, "\\<", ""), "<") ||
			strings.ContainsAny(text, "\u202e\u2066\x00\x07") || strings.Count(text, "“") != strings.Count(text, "”") {
			t.Errorf("%s: markup of a stranger:\n%.1500s", key, text)
		}
	}
}

// TestSecurity checks that security.txt names the contact of the operator and expires after half a year.
func TestSecurity(t *testing.T) {
	t.Parallel()
	for contact, want := range map[string]string{
		"": "",
		"hello@tollbook.example": "Contact: mailto:hello@tollbook.example\nExpires: " +
			"2027-05-01T00:00:00.000Z\nPreferred-Languages: en\nCanonical: " + alternatesBase +
			"/.well-known/security.txt\n",
		"https://tollbook.example": "Contact: https://tollbook.example\nExpires: " +
			"2027-05-01T00:00:00.000Z\nPreferred-Languages: en\nCanonical: " + alternatesBase +
			"/.well-known/security.txt\n",
		"a@b\nContact: c@d": "",
		"somebody":          "",
	} {
		e := newPages(t, render.Site{BaseURL: alternatesBase, Contact: contact}).NewRenderer(world())
		if diff := cmp.Diff(want, string(e.Security())); diff != "" {
			t.Errorf("contact %q (-want +got):\n%s", contact, diff)
		}
	}
}

// TestIcons checks that there are icons for programs that do not know SVG, and that those of an operator are never
// mixed with ours.
func TestIcons(t *testing.T) {
	t.Parallel()
	icons := func(own map[string][]byte) (keys []string) {
		p := newPages(t, render.Site{BaseURL: alternatesBase, Templates: own})
		for _, a := range p.Assets() {
			if !strings.HasPrefix(a.Key, "assets/") {
				keys = append(keys, a.Key)
			}
		}
		checks := []Checker{In("link[rel=icon][type='image/svg+xml']", HasAttr("href", "/dir/favicon.svg"))}
		for _, c := range []struct{ key, selector string }{{"apple-touch-icon.png", "link[rel='apple-touch-icon']"},
			{"favicon.ico", "link[rel=icon][sizes='32x32']"}} {
			if slices.Contains(keys, c.key) {
				checks = append(checks, In(c.selector, HasAttr("href", "/dir/"+c.key)))
			} else {
				checks = append(checks, NotIn(c.selector))
			}
		}
		expect(t, p.NewRenderer(world()).NotFound, checks...)
		return keys
	}
	for _, c := range []struct {
		own  map[string][]byte
		want []string
	}{
		{nil, []string{"favicon.svg", "apple-touch-icon.png", "favicon.ico"}},
		{map[string][]byte{"favicon.svg": []byte("<svg/>")}, []string{"favicon.svg"}},
		{map[string][]byte{"favicon.svg": []byte("<svg/>"), "favicon.ico": []byte("x")},
			[]string{"favicon.svg", "favicon.ico"}},
		{map[string][]byte{"apple-touch-icon.png": []byte("x")}, []string{"favicon.svg", "apple-touch-icon.png"}},
	} {
		if diff := cmp.Diff(c.want, icons(c.own)); diff != "" {
			t.Errorf("icons (-want +got):\n%s", diff)
		}
	}
}

// TestIconColours checks that icons have the colour of links, of which favicon.svg contains a copy.
func TestIconColours(t *testing.T) {
	t.Parallel()
	ours, own := newPages(t, render.Site{BaseURL: alternatesBase}).Assets(),
		newPages(t, render.Site{BaseURL: alternatesBase, Colours: []string{"link=#7a1f5c"}}).Assets()
	for i := range ours {
		icon := !strings.HasPrefix(ours[i].Key, "assets/")
		if icon && (ours[i].Key != own[i].Key || bytes.Equal(ours[i].Bytes, own[i].Bytes)) {
			t.Errorf("%s is the same in other colours", ours[i].Key)
		}
		if ours[i].Key == render.FaviconKey && (!bytes.Contains(ours[i].Bytes, []byte("#1d3f8f")) ||
			!bytes.Contains(own[i].Bytes, []byte("#7a1f5c"))) {
			t.Errorf("the icon is %s, then %s", ours[i].Bytes, own[i].Bytes)
		}
	}
}

// TestOperatorTemplates checks that files of an operator replace ours, and that text of strangers in them is escaped.
func TestOperatorTemplates(t *testing.T) {
	t.Parallel()
	e := newPages(t, render.Site{BaseURL: alternatesBase, Templates: map[string][]byte{
		"service.html": []byte(
			`{{define "main"}}<h1 title="{{.Body.Name}}">{{.Body.Name}}</h1><a href="{{.Body.BaseURL}}">x</a>{{end}}`),
		"site.css": []byte("body { color: red }"),
	}}).NewRenderer(world())
	expect(t, servicePage(e, nasty()), In("h1", HasText("</script><script>alert(1)</script>")), NotIn("main script"),
		NotIn("a[href^='javascript']"), NotIn("meta[name=theme-color]"))
	files, err := e.Pictures()
	if err != nil || len(files) == 0 {
		t.Errorf("without tokens there are no pictures: %v", err)
	}
	if _, err := render.NewPages(render.Site{BaseURL: alternatesBase,
		Templates: map[string][]byte{"nothing.html": nil}}); err == nil {
		t.Error("a template that takes nothing's place was taken")
	}
	for _, name := range render.TemplateNames() {
		if name == "form.html" {
			t.Error("serve fills in the forms of pages and has no templates: it can't be replaced")
		}
	}
}

// isGuide reports whether a page is a Markdown file of package templates, and so has no JSON.
func isGuide(key string) bool {
	_, err := templates.FS.Open("pages/" + strings.TrimSuffix(key, ".html") + ".md")
	return err == nil
}
