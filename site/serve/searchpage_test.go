package serve

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"tollbook/output"
	"tollbook/render/lists"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
	"tollbook/site/search"
)

// hostileName is the name and the category of a service of a stranger.
const hostileName = `"><script>alert(1)</script><!--/results-->`

// searchPageFiles returns a directory with a search page: 23 services that transcribe, and one of a stranger.
func searchPageFiles(t *testing.T) map[string][]byte {
	t.Helper()
	var services []site.ServiceRow
	for i := range 24 {
		price := fmt.Sprintf("0.%03d", i+1)
		row := site.ServiceRow{ServiceListItem: site.ServiceListItem{Slug: fmt.Sprintf("s%02d", i),
			Name: fmt.Sprintf("Scribe %02d", i), Description: "Speech to text.", Category: "AI",
			Status: site.StatusOnline, Networks: []string{"BSE"}, CreatedAt: site.NewTime(built),
			MinPriceUSD: new(site.Decimal(price)), RiskLevel: site.RiskClean}}
		if i == 23 {
			row.Name, row.Category, row.Description = hostileName, hostileName, "Forecasts. "+hostileName
		}
		row.Assessment = site.CompactAssessment{ComplianceGrade: "A", PricesUSD: map[string]string{"BSE": price},
			ComplianceFailedChecks: []string{}, Protocols: []string{"x402"},
			Methods: []string{"POST"}}
		row.Endpoints = []site.RowEndpoint{{Method: "POST", Path: "/" + row.Name, Networks: row.Networks,
			PriceUSD: &price}}
		services = append(services, row)
	}
	files := scanFiles(t, services)
	maps.Copy(files, termsOf(t, services))
	part, err := lists.Part(&lists.Settings{Search: "/search", Service: "/services/_",
		Networks: map[string]lists.Network{"BSE": {Name: "Base"}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files[searchPage] = []byte(`<!DOCTYPE html><html lang="en"><head><title>Search</title></head><body>` +
		`<form id="search"><input name="q" value=""></form><main>` + string(part) + `</main></body></html>`)
	return files
}

// termsOf returns the files of the terms of services.
func termsOf(t *testing.T, services []site.ServiceRow) map[string][]byte {
	t.Helper()
	w := search.NewWeigher()
	for i := range services {
		w.Add(search.Weigh(search.NewDocument(&services[i])))
	}
	files := map[string][]byte{}
	for name, terms := range w.Shards() {
		var lines [][]byte
		for _, term := range terms {
			lines = append(lines, rowOf(t, w.Term(term)))
		}
		meta := fmt.Appendf(nil, `{"total":%d}`, len(lines))
		files[routes.TermShardKey(name)] = encode.Framing{}.List(lines, meta)
	}
	for key, v := range map[string]any{site.TermsFile: w.Index(), site.VocabularyFile: w.Vocabulary()} {
		data, err := encode.JSON(v)
		if err != nil {
			t.Fatal(err)
		}
		files[key] = data
	}
	return files
}

// fillingHandler serves a publication with filled search pages.
func fillingHandler(t *testing.T, d *output.Folder, fill FillSearch) (http.Handler, *syncBuffer) {
	t.Helper()
	log := &syncBuffer{}
	h := handlerOf(t, d, log).(*handler)
	h.fillSearch = fill
	return h, log
}

// TestFilledSearchPage checks the search page of readers without script: the results of /v1/search for its address, ten
// to a page, and a sentence where there are none.
func TestFilledSearchPage(t *testing.T) {
	t.Parallel()
	h, log := fillingHandler(t, publish(t, searchPageFiles(t)), lists.FillResults)
	long := strings.Repeat("x", routes.MaxText+1)
	for _, test := range []struct {
		target string
		code   int
		rows   int
		says   string // the sentence above the rows
		link   string // in the sentence
	}{
		{"/search", 200, 10, "1–10 of 24 services, newest first.", ""},
		{"/search.html?q=speech+to+text&page=3", 200, 3, "21–23 of 23 services, best match first.", ""},
		{"/search?q=speech+to+text&per_page=100&include=", 200, 10, "1–10 of 23 services, best match first.", ""},
		{"/search?q=speech+to+text&page=4", 200, 0, "This page does not exist; there are 23 services.", ""},
		{"/search?q=speech&max_price_usd=0.002&sort=price&utm=x", 200, 2, "1–2 of 2 services, lowest price first.", ""},
		{"/search?q=zzzzzz", 200, 0, "Nothing matches.", ""},
		{"/search?q=speech+below+0.2+cents", 200, 2, "1–2 of 2 services, best match first.", ""},
		{"/search?q=speech&max_price_usd=%240.002", 200, 2, "1–2 of 2 services, best match first.", ""},
		{"/search?q=speech&max_price_usd=0&network=BSE", 200, 5,
			"Nothing matches. These services are nearest. 23 services match without the price cap.", "/search?q=speech&network=BSE"},
		{"/search?max_price_usd=cheap", 400, 0,
			"parameter max_price_usd: must be a number such as 0.01, from 0 and with " +
				`at most 18 digits before and after the point; got "cheap"`, ""},
		{"/search?q=" + long, 400, 0, "parameter q: must have at most 100 characters; got 101", ""},
		{"/search?sort=%zz", 400, 0, `parameter sort: must be percent-encoded UTF-8; got "%zz"`, ""},
		{"/search?q=forecasts", 200, 1,
			"1–1 of 1 service, best match first.", ""},
		{"/search?category=" + url.QueryEscape(hostileName), 200, 1, "1–1 of 1 service, newest first.", ""},
		{"/search?q=" + url.QueryEscape(hostileName), 200, 1,
			"1–1 of 1 service, best match first.", ""},
	} {
		got := get(h, test.target)
		page, err := goquery.NewDocumentFromReader(strings.NewReader(got.Body.String()))
		if err != nil {
			t.Fatal(err)
		}
		says := strings.Join(strings.Fields(page.Find("#found").Text()), " ")
		link := page.Find("#found a").AttrOr("href", "")
		rows := page.Find("tbody tr").Length()
		if got.Code != test.code || rows != test.rows || says != test.says || link != test.link {
			t.Errorf("%.80s: %d, %d rows, %q, link %q; want %d, %d, %q, %q", test.target, got.Code, rows, says, link,
				test.code, test.rows, test.says, test.link)
		}
		if page.Find("script").Length() > 0 || page.Find("main > *").Length() != 1 {
			t.Errorf("%.80s: the text of a stranger is markup:\n%s", test.target, got.Body)
		}
		if test.rows == 1 && strings.TrimSpace(page.Find("tbody th > a > bdi").First().Text()) != hostileName {
			t.Errorf("%.80s: the name of the stranger is %q", test.target, page.Find("tbody th > a").First().Text())
		}
	}
	if log.String() != "" {
		t.Errorf("logged: %s", log)
	}
	for _, target := range []string{"/search.html", "/search.html?q="} {
		if got := get(h, target); got.Body.String() != string(searchPageFiles(t)[searchPage]) {
			t.Errorf("%s is not the page as published:\n%s", target, got.Body)
		}
	}
}

// TestSearchPageUnfilled checks that the page is sent as it is without a function that fills it, and that a page that
// cannot be filled is a logged 500.
func TestSearchPageUnfilled(t *testing.T) {
	t.Parallel()
	files := searchPageFiles(t)
	h, _ := fillingHandler(t, publish(t, files), nil)
	if got := get(h, "/search?q=speech"); got.Code != 200 || got.Body.String() != string(files[searchPage]) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	files[searchPage] = []byte("<p>An old page.")
	h, log := fillingHandler(t, publish(t, files), lists.FillResults)
	for _, target := range []string{"/search?q=speech", "/search?page=x"} {
		if got := get(h, target); got.Code != 500 || !strings.Contains(log.String(), "build the directory again") {
			t.Errorf("%s: %d; logged: %s", target, got.Code, log)
		}
	}
}
