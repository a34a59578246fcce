package lists

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

var settings = Settings{
	Search: "/dir/search.html", Service: "/dir/services/_.html",
	Networks: map[string]Network{"BSE": {Name: "Base", Href: "/dir/networks/bse.html"},
		"BSE-SEP": {Name: "Base Sepolia"}, "SOL": {Name: "Solana", Href: "/dir/networks/sol.html"}},
	Categories: map[string]string{"AI": "/dir/categories/ai.html"},
}

// searchPage returns a search page as a build writes it.
func searchPage(t *testing.T) []byte {
	t.Helper()
	part, err := Part(&settings, []Facet{{Name: "category", Label: "Category",
		Choices: []Choice{{Link: Link{Label: "AI", Href: "/dir/categories/ai.html"}, Count: 7}}}})
	if err != nil {
		t.Fatal(err)
	}
	return []byte(`<!DOCTYPE html><html lang="en"><head><title>Search · D</title></head><body><form id="search">` +
		`<input name="q" value=""></form><main>` + string(part) + `</main></body></html>`)
}

// fill returns the page with the results of a request.
func fill(t *testing.T, query, response, problem string) *goquery.Document {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	page, err := FillResults(searchPage(t), values, []byte(response), problem)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

const hostile = `"><script>alert(1)</script><!--/results-->`

// response returns a response with one row.
func response(row, meta string) string { return `{"data":[` + row + `],"meta":` + meta + `}` }

const quietRow = `{"slug":"acme","name":"Acme","description":"Writes down what is said.","category":"AI",` +
	`"status":"online","min_price_usd":0.0001,"networks":["BSE","XYZ"],"uptime_24h":99.999,` +
	`"avg_response_time_ms":1200,"risk_level":"clean","risk_reason":null,"advice_level":"good","advice_reason":null,"created_at":"2026-01-01T00:00:00.000Z",` +
	`"score":12,"matched":["endpoints"],"endpoints":[{"method":"POST","path":"/v1/audio","description":null,` +
	`"networks":["BSE"],"price_usd":"0.0001","matched":true}],"assessment":{"reliability_uptime_30d":98.5,"compliance_grade":"B","checks_30d":2880,` +
	`"traction":{"organic_buyers_30d":1}}}`

func textPart(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

// TestOfferVerdict checks that an endpoint has the verdict on it, and that on its service if the row has none.
func TestOfferVerdict(t *testing.T) {
	t.Parallel()
	const meta = `{"total":1,"page":1,"per_page":10,"total_pages":1,"read_as":[]}`
	row := strings.Replace(quietRow, `"matched":true}`, `"matched":true},{"method":"GET","path":"/v1/text",`+
		`"description":null,"networks":["BSE"],"price_usd":null,"matched":true,"verdict":"caution"}`, 1)
	doc := fill(t, "q=audio", response(row, meta), "")
	var got []string
	doc.Find(".offers .advice").Each(func(_ int, s *goquery.Selection) {
		got = append(got, s.AttrOr("class", "")+": "+textPart(s))
	})
	if want := []string{"advice advice-good: Safe to pay", "advice advice-caution: Caution"}; !slices.Equal(got, want) {
		t.Errorf("the endpoints have %q, want %q", got, want)
	}
}

// TestFill checks what a reader without script sees of a search: the rows, what the words were read as, facets, and
// links that take back each filter.
func TestFill(t *testing.T) {
	t.Parallel()
	doc := fill(t, "q=wether+on+Base&network=BSE&max_price_usd=&max_price_usd=0.01&page=2&utm=x", response(quietRow,
		`{"total":21,"page":2,"per_page":20,"total_pages":2,"read_as":[{"words":"wether","as":"corrected",`+
			`"to":"weather"},{"words":"on","as":"ignored"}],"facets":{"network":{"BSE":21},`+
			`"status":{"online":20,"offline":1}}}`), "")
	for selector, want := range map[string]string{
		"#found": "21–21 of 21 services, best match first.",
		"title":  "wether on Base · Search · D", "tbody tr": "Acme AI Safe to pay" +
			"Writes down what is said.Grade B, 2,880 checks and 1 buyer in 30 daysPOST /v1/audio $0.0001 on Base Safe to pay online $0.0001 98.5% 1,200 ms BaseXYZ",
		".choices li a[aria-current][title]": "Base 21", ".choices details:nth-child(5) li": "",
		".chosen": "Remove: on Base × Remove: at most $0.01 × Clear filters “wether” was read as “weather”.", ".pager": "Previous 2 of 2",
	} {
		if got := textPart(doc.Find(selector)); got != want {
			t.Errorf("%s says %q, want %q", selector, got, want)
		}
	}
	for selector, want := range map[string]string{
		"tbody a":                  "/dir/services/acme.html",
		"a.tag":                    "/dir/categories/ai.html",
		".chosen a:nth-of-type(3)": "/dir/search.html?q=wether+on+Base",
		".chosen a":                "/dir/search.html?q=wether+on+Base&max_price_usd=0.01",
		".pager a":                 "/dir/search.html?q=wether+on+Base&network=BSE&max_price_usd=0.01",
		"thead th:nth-child(3) a":  "/dir/search.html?q=wether+on+Base&network=BSE&max_price_usd=0.01&sort=price",
		"thead th:nth-child(4) a":  "/dir/search.html?q=wether+on+Base&network=BSE&max_price_usd=0.01&sort=uptime",
	} {
		if got := doc.Find(selector).AttrOr("href", ""); got != want {
			t.Errorf("%s leads to %q, want %q", selector, got, want)
		}
	}
	if got := doc.Find("#search [name=q]").AttrOr("value", ""); got != "wether on Base" {
		t.Errorf("the field has %q", got)
	}
	if got := doc.Find("input[type=hidden]").AttrOr("name", ""); got != "network" {
		t.Errorf("the form has the hidden field %q", got)
	}
}

// TestFillNothing checks that a search without a match says what matches without each filter, and that a refused value
// is explained.
func TestFillNothing(t *testing.T) {
	t.Parallel()
	doc := fill(t, "q=x&max_price_usd=0&verified=true", `{"data":[],"meta":{"total":0,"page":1,"per_page":20,`+
		`"total_pages":0,"without":{"max_price_usd":3,"verified":0}}}`, "")
	if got, want := textPart(doc.Find("#found")), "Nothing matches. 3 services match without the price cap."; got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
	if got, want := textPart(doc.Find(".nearest")), "Categories: AI"; got != want {
		t.Errorf("the page offers %q, want %q", got, want)
	}
	if got, want := doc.Find("#found a").AttrOr("href", ""), "/dir/search.html?q=x&verified=true"; got != want {
		t.Errorf("the link leads to %q, want %q", got, want)
	}
	doc = fill(t, "max_price_usd=cheap", "", "max_price_usd must be a number")
	if got, want := textPart(doc.Find("#found")), "max_price_usd must be a number"; got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
	if got := doc.Find("[name=max_price_usd]").AttrOr("value", ""); got != "cheap" {
		t.Errorf("the field has %q, not what was typed", got)
	}
}

// TestFillPast checks that a page past the last one leads back to that, or to the first.
func TestFillPast(t *testing.T) {
	t.Parallel()
	for total, want := range map[string]string{`"total":4,"page":99,"per_page":10,"total_pages":1`: "?q=x",
		`"total":40,"page":99,"per_page":10,"total_pages":4`: "page=4",
		`"total":0,"page":99,"per_page":10,"total_pages":0`:  "?q=x"} {
		doc := fill(t, "q=x&page=99", `{"data":[],"meta":{`+total+`}}`, "")
		link := doc.Find(".pager a")
		if textPart(doc.Find(".pager")) != "Last page" || !strings.HasSuffix(link.AttrOr("href", ""), want) {
			t.Errorf("{%s}: %q leads to %q, want %s", total, textPart(doc.Find(".pager")), link.AttrOr("href", ""), want)
		}
	}
}

// TestFillHostile checks that text of strangers, in a response and in the address, is shown as text, and that a service
// whose payments may be lost shows no endpoint to pay.
func TestFillHostile(t *testing.T) {
	t.Parallel()
	words := strings.ReplaceAll(hostile, `"`, `\"`) + `\u202e`
	row := strings.NewReplacer("Acme", words, "Writes down", words, `"AI"`, `"`+words+`"`, "BSE", words, "/v1/audio",
		words,
		`"online"`, `"`+words+`"`, `"POST"`, `"`+words+`"`, `"description":null`,
		`"description":"`+words+`"`).Replace(quietRow)
	doc := fill(t, "q="+url.QueryEscape(hostile)+"&category="+url.QueryEscape(hostile+"\u202e")+"&sort=%22%3E",
		response(row,
			`{"total":1,"page":1,"per_page":20,"total_pages":1,"read_as":[{"words":"`+words+`","as":"corrected","to":"`+
				words+
				`"}],"facets":{"category":{"`+words+`":1}}}`), "")
	for _, fault := range []string{"script", "svg[onload]", "[onclick]"} {
		if doc.Find(fault).Length() > 0 {
			t.Errorf("a stranger's <%s>", fault)
		}
	}
	source, err := doc.Html()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(strings.TrimSpace(textPart(doc.Find("main"))), "not known") && doc.Find("main").Length() != 1 {
		t.Errorf("the page is broken: %s", source)
	}
	if got := doc.Find("[name=category]").AttrOr("value", ""); got != hostile+"\u202e" {
		t.Errorf("the hidden field has %q", got)
	}
	danger := strings.NewReplacer(`"clean"`, `"danger"`, `"good","advice_reason":null`,
		`"do_not_pay","advice_reason":"Payments may be lost"`).
		Replace(quietRow)
	doc = fill(t, "q=a", response(danger, `{"total":1,"page":1,"per_page":20,"total_pages":1}`), "")
	if doc.Find(".offers").Length() > 0 || textPart(doc.Find(".advice-do_not_pay")) != "Do not pay: Payments may be lost" {
		t.Errorf("a dangerous service: %s", textPart(doc.Find("tbody")))
	}
}

// TestFillPages checks that other bytes are refused.
func TestFillPages(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"", "<html>", beginMark + endMark, beginMark + `<div data-settings="{">` + endMark} {
		if _, err := FillResults([]byte(page), url.Values{}, []byte(`{}`), ""); err == nil {
			t.Errorf("%q was filled", page)
		}
	}
	if _, err := FillResults(searchPage(t), url.Values{}, []byte(`<html>`), ""); err == nil {
		t.Error("a response that is not JSON was accepted")
	}
}

// TestFillReadings checks that words that were read as filters are chips that lead to the query without them, that the
// facets show them, and that the words can be searched as they are.
func TestFillReadings(t *testing.T) {
	t.Parallel()
	doc := fill(t, "q=cheapest+ocr+on+Base&page=2", response(quietRow, `{"total":1,"page":1,"per_page":20,"total_pages":1,`+
		`"filters":[{"words":"on Base","name":"network","value":"BSE","without":"cheapest ocr"},`+
		`{"words":"cheapest","name":"sort","value":"price","without":"ocr on Base"}],"text":"ocr",`+
		`"facets":{"network":{"BSE":1,"SOL":2},"verdict":{"good":1}}}`), "")
	if got, want := textPart(doc.Find(".chosen")), "Remove: on Base × Remove: lowest price first × Clear filters "+
		"Search for all words"; got != want {
		t.Errorf("the chips are %q, want %q", got, want)
	}
	var links []string
	doc.Find(".chosen a, .choices a[title]").Each(func(_ int, a *goquery.Selection) {
		links = append(links, strings.TrimPrefix(a.AttrOr("href", ""), settings.Search))
	})
	if diff := cmp.Diff([]string{"?q=cheapest+ocr", "?q=cheapest+ocr", "?q=ocr+on+Base", "?q=ocr",
		"?q=%22cheapest+ocr+on+Base%22"}, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if got := textPart(doc.Find("th[aria-sort]")); got != "Price from" {
		t.Errorf("the list is ordered by %q", got)
	}
	if got := textPart(doc.Find("#found")); got != "1–1 of 1 service, lowest price first." {
		t.Errorf("the page says %q", got)
	}
	if got := textPart(doc.Find(".choices details:nth-child(3) li")); got != "Safe to pay 1" {
		t.Errorf("the verdicts are %q", got)
	}
}

// TestFacets checks that the largest values come first, that the rest is behind a link, and that the value that applies
// is always there.
func TestFacets(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for i := range 30 {
		counts[string(rune('A'+i))] = 30 - i
	}
	facets := NewFacets(&settings, url.Values{"category": {"^"}}, map[string]map[string]int{"category": counts})
	f := NewFilters(settings.Search, url.Values{"category": {"^"}, "min_uptime_30d": {"97"}}, facets)
	choices := f.Facets[0].Choices
	if len(choices) != maxChoices || choices[0].Label != "A" || choices[0].Count != 30 ||
		choices[maxChoices-1].Label != "^" || !choices[maxChoices-1].Current {
		t.Errorf("choices: %+v", choices)
	}
	if diff := cmp.Diff([]string{"90", "95", "99", "99.9", "97"}, f.Fields[1].Options); diff != "" {
		t.Errorf("uptimes (-want +got):\n%s", diff)
	}
	status := StatusFacet(settings.Search, &site.StatusSummary{Online: 2, Unknown: 1})
	if len(status.Choices) != 2 || status.Choices[1].Href != "/dir/search.html?status=unknown" {
		t.Errorf("statuses: %+v", status)
	}
}
