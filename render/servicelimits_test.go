package render_test

import (
	"bytes"
	"fmt"
	"testing"

	. "tollbook/render/htmlcheck"
	"tollbook/site"
)

// TestServiceNeverChecked checks that values of a service without checks are unknown, not zero.
func TestServiceNeverChecked(t *testing.T) {
	t.Parallel()
	expect(t, servicePage(newRenderer(t, world()), unchecked()),
		In(".now", HasText("unknown"), HasText("not checked yet")),
		Nth(".figures > div", 0, In("dd", IsText("—not known"))),
		Nth(".figures > div", 1, In("dd", IsText("—not known"))),
		Nth(".figures > div", 2, In("dd", IsText("—not known"))),
		Nth(".figures > div", 4, In("dd", IsText("—not known"))),
		In("main", NoText("0%"), NoText("0 ms"), NoText("$0")),
		Each(".windows td:nth-child(2)", IsText("—not known")),
		NotIn("svg.days"), NotIn("svg.speed"), NotIn(".twin"),
		In("section[aria-labelledby=uptime] .strip", HasText("No checks in the last 90 days.")),
		In("section[aria-labelledby=endpoints] .empty"), In("section[aria-labelledby=conformance] .empty"),
		In("section[aria-labelledby=risk] .empty"),
		In("section[aria-labelledby=changes] .empty"), In("section[aria-labelledby=checks] .empty"))
}

func TestServiceThousandEndpoints(t *testing.T) {
	t.Parallel()
	expect(t, servicePage(newRenderer(t, world()), manyEndpoints()),
		Count("details.endpoint", 100), Count("details.endpoint[open]", 1),
		Nth("details.endpoint", 0, In("summary", HasText("/quote/0"))),
		Nth("details.endpoint", 99, In(".path", IsText("/quote/99")), In("pre", HasText("/quote/99"))),
		Count("section[aria-label='More endpoints'] tbody tr", 900),
		Nth("section[aria-label='More endpoints'] tbody tr", 899, HasText("GET /quote/999 $0.0025")))
}

// TestServiceLongHistory checks that a long history is shortened, and that the page says so.
func TestServiceLongHistory(t *testing.T) {
	t.Parallel()
	l := acme()
	for i := range 1200 {
		l.Changes = append(l.Changes, record(&l.Detail, site.PriceChanged, dayTime,
			site.PriceSummary{PriceChanges: make([]site.PriceChange, 40)}))
		l.Detail.PayToChanges = append(l.Detail.PayToChanges,
			site.PayToChange{Endpoint: fmt.Sprintf("GET /%d", i), ObservedAt: ago(dayTime)})
	}
	expect(t, servicePage(newRenderer(t, world()), l),
		In("section[aria-labelledby=changes]", Count("ol > li", 25), HasText("1,178 earlier changes not shown"),
			Nth("ol > li", 24, Count(".moves li", 12), HasText("28 more lines"))),
		In("section[aria-labelledby=recipients]", HasText("1,176 earlier changes")))
}

// TestHostile checks that text of strangers is shown as text.
func TestHostile(t *testing.T) {
	t.Parallel()
	e := newRenderer(t, world())
	expect(t, servicePage(e, nasty()),
		In("h1", HasText("</script><script>alert(1)</script>")),
		Count("script:not([src])", 1), Count("img", 2), In("script[type='application/ld+json']"), In(".embed img"),
		NotIn("a[href^='javascript']"), NotIn("a[href*='Zgotmpl']"), NotIn(".endpoint pre.command"),
		In(".masthead", HasText("javascript:alert(1)")),
		In(".provenance", HasText("javascript:alert(1)"), NotIn("a")))
	expect(t, e.Home, NotIn("script:not([type='application/ld+json'], [src])"), NotIn("img"))
	expect(t, e.StatusPage, NotIn("script:not([type='application/ld+json'], [src])"), NotIn("img"))
	l := nasty()
	page, err := e.ServicePage(e.DescribeService(&l), e.Neighbours(&l.Item))
	if err != nil {
		t.Fatal(err)
	}
	for _, unseen := range []string{"\u202e", "\u2066", "\x00", "\x07"} {
		if bytes.Contains(page, []byte(unseen)) {
			t.Errorf("the page holds %q", unseen)
		}
	}
	if !bytes.Contains(page, []byte("שלום 👩🏽‍💻")) {
		t.Error("the page has lost letters and emoji")
	}
}

// TestAccountURL checks which recipients link to a block explorer: those on a network with a known explorer whose text
// looks like an address.
func TestAccountURL(t *testing.T) {
	t.Parallel()
	s := world()
	s.Networks = []site.Network{{ID: base, Name: "Base", Abbreviation: "BSE",
		AddressURL: ptr("https://scan.example/a/{address}?x=1")}}
	l := acme()
	prices := l.Detail.Endpoints[0].Pricing
	l.Detail.Endpoints = l.Detail.Endpoints[:1]
	l.Detail.Endpoints[0].Pricing = nil
	for _, on := range []string{base, "eip155:137"} {
		for _, account := range []string{payTo, payTo + "/../x", ".."} {
			p := prices[0]
			p.NetworkCAIP2, p.PayTo = &on, account
			l.Detail.Endpoints[0].Pricing = append(l.Detail.Endpoints[0].Pricing, p)
		}
	}
	expect(t, servicePage(newRenderer(t, s), l), In("section[aria-labelledby=endpoints]",
		Count("td a[rel]", 1), Count("td a[href='https://scan.example/a/"+payTo+"?x=1'] code.recipient", 1)))
}
