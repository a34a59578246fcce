package render_test

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/render"
	. "tollbook/render/htmlcheck"
	"tollbook/site"
	"tollbook/site/testgate"
)

// newRenderer returns a renderer of a snapshot, with the settings of an ordinary operator.
func newRenderer(t *testing.T, s *site.Snapshot) *render.Renderer {
	t.Helper()
	return newPages(t, render.Site{BaseURL: "https://tollbook.example", Contact: "hello@tollbook.example"}).
		NewRenderer(s)
}

func newPages(t testing.TB, s render.Site) *render.Pages {
	t.Helper()
	p, err := render.NewPages(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// expect renders a page and checks it.
func expect(t *testing.T, f func() ([]byte, error), checks ...Checker) {
	t.Helper()
	page, err := f()
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(page, checks...); err != nil {
		t.Error(err)
	}
}

func servicePage(e *render.Renderer, l site.Listing) func() ([]byte, error) {
	return func() ([]byte, error) { return e.ServicePage(e.DescribeService(&l), e.Neighbours(&l.Item)) }
}

func TestHead(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, world())
	expect(t, e.Home,
		In("html[lang=en]"),
		In("title", IsText("Tollbook")),
		In("meta[name=viewport]", HasAttr("content", "width=device-width, initial-scale=1")),
		In("meta[name=description]"),
		In("meta[http-equiv=Content-Security-Policy]", HasAttr("content", render.ContentSecurityPolicy)),
		In("link[rel=canonical]", HasAttr("href", "https://tollbook.example/")),
		In("link[rel=alternate]", HasAttr("href", "/v1/stats.json"), HasAttr("type", "application/json")),
		In("link[rel=icon]", HasAttr("href", "/favicon.svg")),
		NotIn(".sample"))
	expect(t, servicePage(e, acme()),
		In("title", IsText("Acme Quotes · Tollbook")),
		In("meta[name=description]", HasAttr("content",
			"Prices of stocks, currencies and metals, by the quote, with a minute's delay.")),
		In("link[rel=canonical]", HasAttr("href", "https://tollbook.example/services/acme.html")),
		In("link[rel=alternate]", HasAttr("href", "/v1/services/acme.json")))
	expect(t, e.NotFound, In("meta[name=robots]", HasAttr("content", "noindex")), NotIn("link[rel=canonical]"))
}

// TestVerification checks that the page of a service says until when or since when it is verified or not.
func TestVerification(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, world())
	until := new(site.NewTime(time.Date(2026, 11, 13, 8, 0, 0, 0, time.UTC)))
	for _, c := range []struct {
		verified bool
		until    *site.Time
		want     string
	}{
		{true, until, "This service is verified until 13 Nov 2026, 08:00 UTC."},
		{false, until, "Not verified since 13 Nov 2026, 08:00 UTC, when its token was missing"},
		{false, nil, "Not verified yet. Ask the operator"},
	} {
		l := acme()
		l.Detail.Verified, l.Detail.VerifiedUntil = c.verified, c.until
		expect(t, servicePage(e, l), In("section[aria-labelledby=owner-verified]", HasText(c.want)))
	}
}

func TestFooter(t *testing.T) {
	t.Parallel()
	expect(t, newRenderer(t, world()).Home,
		In("footer", HasText("Data as of 20 Nov 2026, 23:45 UTC"), HasText("Next build due 20 Nov 2026, 23:50 UTC"),
			In("time", HasAttr("datetime", "2026-11-20T23:45:01.000Z")),
			In("a[rel=license]", IsText("CC BY 4.0"), HasAttr("href", "https://creativecommons.org/licenses/by/4.0/")),
			In("a[href='/v1/services.json']", IsText("/v1/services")),
			In("a[href='mailto:hello@tollbook.example']")))
	none := newPages(t, render.Site{BaseURL: "https://tollbook.example"}).
		NewRenderer(&site.Snapshot{Now: site.NewTime(now)})
	expect(t, none.Home, In("footer", NoText("Next build"), NoText("Corrections")))
}

// TestServiceKeepsItsBytes checks that two builds of a day write the same files for a service without new facts.
func TestServiceKeepsItsBytes(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	for _, l := range []site.Listing{acme(), unchecked(), nasty()} {
		files := func(at time.Time) map[string]string {
			s := world()
			s.Now, s.Next = site.NewTime(at), site.NewTime(at.Add(5*time.Minute))
			e := newRenderer(t, s)
			page, err := e.ServicePage(e.DescribeService(&l), e.Neighbours(&l.Item))
			if err != nil {
				t.Fatal(err)
			}
			beside, err := e.ServiceFiles(e.DescribeService(&l))
			if err != nil {
				t.Fatal(err)
			}
			out := map[string]string{"page": string(page)}
			for _, f := range beside {
				out[f.Key] = string(f.Bytes)
			}
			return out
		}
		if diff := cmp.Diff(files(now), files(now.Add(14*time.Minute))); diff != "" {
			t.Errorf("%s a quarter of an hour later (-first +second):\n%s", l.Item.Slug, diff)
		}
	}
	l := acme()
	l.Detail.Assessment.UpdatedAt = ptr(ago(3 * time.Minute))
	expect(t, servicePage(newRenderer(t, world()), l), In("footer", HasText("Data as of 20 Nov 2026, 23:42 UTC"),
		NoText("Next build")))
}

func TestSample(t *testing.T) {
	t.Parallel()
	e := newPages(t, render.Site{BaseURL: "https://tollbook.example", Sample: true}).NewRenderer(world())
	for _, page := range []func() ([]byte, error){e.Home, e.StatusPage, e.NotFound, servicePage(e, acme()),
		func() ([]byte, error) { return e.ServicesPage(nil, site.NewPaginationMeta(0, 1, 50), site.OrderNewest) }} {
		expect(t, page, In("body .sample", HasText("Sample data.")), In("footer", HasText("sample data")))
	}
}

func TestBaseURL(t *testing.T) {
	t.Parallel()
	e := newPages(t, render.Site{Title: "Tolls", BaseURL: "https://example.test/a/b/",
		Contact: "https://example.test/contact"}).NewRenderer(world())
	expect(t, servicePage(e, acme()),
		In("title", IsText("Acme Quotes · Tolls")),
		In("link[rel=canonical]", HasAttr("href", "https://example.test/a/b/services/acme.html")),
		In("link[rel=icon]", HasAttr("href", "/a/b/favicon.svg")),
		In(".brand", HasAttr("href", "/a/b/")),
		In("footer", In("a[href='https://example.test/contact']")))
	for _, bad := range []string{"", "tollbook.example", "javascript:alert(1)", "ftp://tollbook.example",
		"https://t.example/?a=b", "https://u:p@t.example", "https://t.example/#x", "http://[::1"} {
		if _, err := render.NewPages(render.Site{BaseURL: bad}); err == nil {
			t.Errorf("base address %q was taken", bad)
		}
	}
}

func TestEmpty(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, &site.Snapshot{Now: site.NewTime(now), Next: site.NewTime(now)})
	expect(t, e.StatusPage, In(".empty"), NotIn("table"))
	expect(t, func() ([]byte, error) {
		return e.ServicesPage(nil, site.NewPaginationMeta(0, 1, render.PageRows), site.OrderNewest)
	},
		In(".empty", HasText("No services are listed yet")), NotIn("table"), NotIn(".pager"))
}

func TestServicesPage(t *testing.T) {
	t.Parallel()
	s := world()
	var rows []*site.ServiceListItem
	for i := range s.Services {
		rows = append(rows, &s.Services[i].Item)
	}
	site.Sort(rows, site.OrderNewest)
	e := newRenderer(t, s)
	list := func(page, total int, rows []*site.ServiceListItem) func() ([]byte, error) {
		return func() ([]byte, error) {
			return e.ServicesPage(rows, site.NewPaginationMeta(total, page, render.PageRows), site.OrderNewest)
		}
	}
	expect(t, list(1, len(rows), rows[:render.PageRows]),
		In("h1", IsText("Services")),
		In("main", HasText("1–50 of 53 services")),
		In("link[rel=canonical]", HasAttr("href", "https://tollbook.example/services.html")),
		Count("tbody tr", render.PageRows),
		Each("thead th", HasAttr("scope", "col")),
		Each("tbody th", HasAttr("scope", "row")),
		In("caption", IsText("Services, newest first")),
		Nth("tbody tr", 0, In("a", IsText("Fresh Listing"), HasAttr("href", "/services/fresh.html")),
			In(".state-unknown", IsText("unknown")),
			In("td[data-label='Price from']", IsText("—not known")),
			In("td[data-label='Uptime, 30 days']", IsText("—not known")), NoText("0%")),
		Nth("tbody tr", 2, In(".tag", IsText("AI")),
			In(".state-online", In("use", HasAttr("href", "#mark-online")), IsText("online")),
			In("td[data-label='Price from']", IsText("$0.01")),
			In("td[data-label=Networks] li", IsText("Base"), HasAttr("title", "BSE, eip155:8453")),
			In("td[data-label='Uptime, 30 days']", IsText("99.95%")), In("td[data-label='Response "+
				"time, 24 hours']", IsText("120 ms"))),
		In(".pager", NotIn("a[rel=prev]"), In("a[rel=next]", HasAttr("href", "/services/sort=newest/page=2.html")),
			In("a[aria-current=page]", HasAttr("href", "/services.html"))))
	expect(t, list(2, len(rows), rows[render.PageRows:]),
		In("title", IsText("Services, page 2 of 2 · Tollbook")),
		In("main", HasText("51–53 of 53 services")),
		In("link[rel=canonical]", HasAttr("href", "https://tollbook.example/services/sort=newest/page=2.html")),
		Count("tbody tr", 3),
		In(".pager", In("a[rel=prev]", HasAttr("href", "/services.html")), NotIn("a[rel=next]")))
	expect(t, list(1, 3, rows[:3]), NotIn(".pager"))
}

func TestStatusPage(t *testing.T) {
	t.Parallel()
	s := world()
	at := func(text string) site.Time {
		at, err := time.Parse(site.TimeLayout, text)
		if err != nil {
			t.Fatal(err)
		}
		return site.NewTime(at)
	}
	s.Incidents = []site.Incident{
		{Slug: "plain-05", Name: "<b>Plain</b>", StartedAt: at("2026-11-20T20:00:00.000Z"), Ongoing: true,
			Kind: site.StatusOffline, FailedChecks: 96, Cause: site.CauseNetwork,
			Shared: &site.SharedOutage{Name: new("BSE"), Failed: 4, Services: 6, From: at("2026-11-20T19:50:00.000Z"),
				To: at("2026-11-20T20:00:00.000Z")}},
		{Slug: "acme", Name: "Acme Quotes", StartedAt: at("2026-11-19T20:00:00.000Z"),
			EndedAt: new(at("2026-11-19T21:30:00.000Z")), DurationSeconds: new(int64(5400)),
			Kind: site.StatusDegraded, FailedChecks: 2, Cause: site.CauseMeasurement,
			Shared: &site.SharedOutage{Failed: 40, Services: 53, From: at("2026-11-19T20:00:00.000Z"),
				To: at("2026-11-19T20:10:00.000Z")}},
	}
	e := newRenderer(t, s)
	expect(t, e.StatusPage,
		In(".overall", IsText("39 of 52 services work, 6 are offline and 7 are degraded. The status of 1 more "+
			"is unknown.")),
		In(".notice", IsText("4 of 6 services of the network BSE failed at the same time, from 20 Nov 2026, "+
			"19:50 UTC.")),
		In(".figures", HasText("Services 53"), HasText("online 39"), HasText("degraded 7"), HasText("offline 6"),
			HasText("unknown 1")),
		Nth(".outages", 0, In("tbody a", HasAttr("href", "/services/plain-05.html")), HasText("20 Nov 2026, 20:00"),
			HasText("offline"), HasText("96"), HasText("network BSE (4 of 6 services failed)"), NotIn("b")),
		Nth(".outages", 1, HasText("19 Nov 2026, 21:30"), HasText("1 hour 30 min"),
			HasText("our own measurement (40 of 53 services failed)")),
		In("a[href='/incidents.ics']"),
		Nth(".strips tbody tr", 0, HasText("offline")))
	files, err := e.Incidents()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"BEGIN:VCALENDAR\r\n", "\r\nDTSTART:20261119T200000Z\r\nDTEND:20261119T213000Z\r\n",
		"\r\nSUMMARY:“<b>Plain</b>” is offline\r\n", "\r\nSTATUS:TENTATIVE\r\n", "END:VCALENDAR\r\n"} {
		if calendar := string(files[2].Bytes); !strings.Contains(calendar, line) {
			t.Errorf("the calendar has no line %q:\n%s", line, calendar)
		}
	}
	if feed := string(files[0].Bytes); !strings.Contains(feed,
		"<title>“Acme Quotes” was degraded for 1 hour 30 min</title>") ||
		!strings.Contains(feed, "<updated>2026-11-20T20:00:00.000Z</updated>") {
		t.Errorf("the feed is %s", feed)
	}
}

func TestServicePage(t *testing.T) {
	t.Parallel()
	expect(t, servicePage(newRenderer(t, world()), acme()),
		In("h1", IsText("Acme Quotes")),
		In(".masthead .advice", IsText("Caution Recipient changed Not encrypted How this is decided")),
		In(".now", HasText("payment ready"), HasText("online"), HasText("verified"),
			HasText("checked 20 Nov 2026, 23:41 UTC"),
			NoText("in a row")),
		In(".masthead a[href='https://acme.test/about']", HasAttr("rel", "nofollow noopener")),
		Nth(".figures > div", 0, In("dt", IsText("Price from (USDC)")), In("dd", IsText("$0.0025"))),
		Nth(".figures > div", 1, In("dd", IsText("99.4%"))),
		Nth(".figures > div", 4, In("dd", IsText("A 13 of 14"))),

		Count(".endpoint", 3),
		In(".endpoint[open] summary", HasText("GET /quote $0.0025")),
		Nth(".endpoint", 0, Count("tbody tr", 2), In("pre", IsText("curl -i 'https://api.acme.test/quote'")),
			In("tbody tr", HasText("Base USDC exact $0.0025 0x2096…287C"), In(".recipient", HasAttr("title", payTo)),
				In("td.price", HasAttr("title", "2,500 atomic units")))),
		Nth(".endpoint", 1, In("summary", HasText("up to $1,000,000")), Nth("tbody tr", 0, HasText("up to $1,000,000")),
			Nth("tbody tr", 1, HasText("xrpl:0"), HasText("15,000 atomic units rDsbeo"), NoText("up to"))),
		Nth(".endpoint", 2, In(".empty", HasText("No price is known")), NotIn("table"), In("summary", HasText("—"))),

		In("svg.days[role=img]", Count(".up", 1), Count(".down", 1), Count(".gap", 1)),
		Nth("section[aria-labelledby=uptime] .y", 0, IsText("100%50%0%")),
		In("svg.speed[role=img] .bar"),
		In("section[aria-labelledby=uptime] .strip figcaption",
			HasText("Checked on 87 of the last 90 days; lowest uptime 62.5% on")),
		Nth(".windows tbody tr", 1, HasText("7 days 99.95% 7 of 7 672")),
		Nth(".windows tbody tr", 3, HasText("90 days —not known 0 of 90 0")),
		In("#uptime-by-day", Count("tbody tr", 90), Nth("tbody tr", 47, HasText("no checks"))),
		In(".facts.tall", HasText("703 ms"), HasText("1,370 ms"), HasText("Check interval 15 "+
			"minutes"), HasText("8,121")),

		In("section[aria-labelledby=conformance]", HasText("Grade A: 13 of 14 checks pass"),
			In(".fold li", HasText("pass The answer holds"), NotIn(".found"), NotIn(".mend")),
			Nth(".checklist li", 0, HasText("fail Prices are plausible"), HasAttr("title", "price_sane"),
				In(".found", IsText(`GET /quote, row 1: amount "0.01" is no whole number`)),
				In(".mend", IsText("Write digits."))),
			Nth(".warnings li", 0, IsText("Every row asks for test money."), HasAttr("title", "testnet_only")),
			Nth(".warnings li", 1, IsText("An address has a bad checksum. GET /quote payTo 0x1")),
			In("a[href='/v1/services/acme/evidence.json']", HasText("Evidence"))),
		In("section[aria-labelledby=endpoints] .unasked", HasText("They are not counted as down"), Count("li", 1),
			In("li", IsText("POST /of/{symbol} the address has a placeholder, {symbol}"))),
		In("section[aria-labelledby=risk]", Count(".flag", 2),
			Nth(".flag", 1, HasText("Not encrypted warning an endpoint answers over http"))),
		In("section[aria-labelledby=recipients]", HasText("GET /quote Base"),
			In("del .recipient", HasAttr("title", "0x1111111111111111111111111111111111111111")),
			In("ins .recipient", HasAttr("title", payTo))),
		In("section[aria-labelledby=changes]", Count("ol > li", 3),
			Nth("ol > li", 0, Nth(".moves li", 0, IsText("GET /quote Base $0.002→$0.0025 up"),
				In("del", HasAttr("title", "2,000 atomic units of USDC"))),
				Nth(".moves li", 1,
					IsText(
						"POST /history/{symbol} xrpl:0 20,000 atomic units of unrecognised token→15,000 atomic "+
							"units of unrecognised token down"))),
			Nth("ol > li", 1, HasText("Recipient"), HasText("GET /quote Base 0x1111…1111→0x2096…287C")),
			Nth("ol > li", 2, HasText("endpoint added"), HasText("GET /old endpoint removed"),
				HasText("POST /history/{symbol} Base upto in USDC"))),
		In("section[aria-labelledby=checks]", Count("tbody tr", 20), HasText("Showing 20 of 2,821 checks"),
			Nth("tbody tr", 0, HasText("20 Nov, 23:41:01 up 402 650 ms 3")),
			Nth("tbody tr", 7, HasText("down —not known —not known 0 connection refused")),
			Nth("tbody tr", 8, HasText("not counted 402"))),
		In(".provenance", HasText("CC-BY-4.0, attribution required"),
			In("a[href='https://tollbook.example/services/acme']")))
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	render := func() []byte {
		s := world()
		e := newRenderer(t, s)
		var all []byte
		for _, page := range []func() ([]byte, error){e.Home, e.StatusPage, e.NotFound, servicePage(e, acme()),
			servicePage(e, nasty())} {
			b, err := page()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		return all
	}
	first := render()
	for range 5 {
		if !bytes.Equal(first, render()) {
			t.Fatal("the same snapshot gave other bytes")
		}
	}
}

// TestConcurrentRendering checks that several goroutines can render pages, as a build does.
func TestConcurrentRendering(t *testing.T) {
	t.Parallel()
	s := world()
	e := newRenderer(t, s)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for i := range s.Services[:6] {
				if _, err := e.ServicePage(e.DescribeService(&s.Services[i]),
					e.Neighbours(&s.Services[i].Item)); err != nil {
					t.Error(err)
				}
			}
			if _, err := e.Home(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// TestStylesheetComments checks that readers do not load the comments of a stylesheet, except licences.
func TestStylesheetComments(t *testing.T) {
	t.Parallel()
	own := "/*! A licence\n   stays. */\n/* A comment\n   of two lines. */\nb { c: d; /* beside a rule */ }\n" +
		"\t/* inside */\n"
	p := newPages(t, render.Site{BaseURL: "https://tollbook.example",
		Templates: map[string][]byte{"home.css": []byte(own)}})
	css := string(p.Assets()[0].Bytes)
	if want := "/*!A licence\nstays.*/b{c:d}"; !strings.Contains(css, want) {
		t.Errorf("the stylesheet lacks %q", want)
	}
	for _, comment := range []string{"A comment", "beside a rule", "/* inside */", "/* Phones"} {
		if strings.Contains(css, comment) {
			t.Errorf("the stylesheet contains %q", comment)
		}
	}
}

func TestAssets(t *testing.T) {
	t.Parallel()
	p := newPages(t, render.Site{BaseURL: "https://tollbook.example"})
	assets := p.Assets()
	digest := regexp.MustCompile(`\.[0-9a-f]{8}\.`)
	var names []string
	for _, a := range assets {
		names = append(names, digest.ReplaceAllString(a.Key, "."))
	}
	if diff := cmp.Diff([]string{"assets/site.css", "assets/documents.css", "assets/source-serif-4.woff2",
		"assets/source-serif-4.txt",
		"favicon.svg", "apple-touch-icon.png", "favicon.ico",
		"assets/changes.js", "assets/compare.js", "assets/facilitator.js", "assets/facilitators.js", "assets/home.js", "assets/reference.js",
		"assets/search.js", "assets/service.js", "assets/site.js", "assets/source.js", "assets/submit.js", "assets/types.js",
		"assets/local-search.js"}, names); diff != "" {
		t.Fatalf("assets (-want +got):\n%s", diff)
	}
	expect(t, p.NewRenderer(world()).Home, In("link[rel=stylesheet]", HasAttr("href", "/"+assets[0].Key)))
	for _, a := range assets {
		if !strings.HasPrefix(a.Key, "assets/") { // a picture
			continue
		}
		for _, remote := range []string{"@import", "url(\"http", "url(\"//", "url(h", "url(/",
			"href=\"http", "<script"} {
			if bytes.Contains(a.Bytes, []byte(remote)) {
				t.Errorf("%s holds %s", a.Key, remote)
			}
		}
	}
}
