package render

import (
	"tollbook/render/money"
	"tollbook/render/service"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

// servicePage is the page of a service: the service, and links to its other files.
type servicePage struct {
	service.Page
	Settled       settlements
	PricesJSON    string
	ScoresJSON    string
	Badge         string // address of the image
	BadgeKey      string
	BadgeJSON     string
	PageURL       string
	BadgeMarkdown string // Markdown that shows the badge
	BadgeHTML     string // HTML that shows the badge
	BadgeData     string // address of the badge as JSON, for services that draw badges
	Category      string // key of the category's page, "" without
	Comparisons   []compareSet
	CompareAll    string // link to a comparison with all of them, "" if there is only one
	Atom, Feed    string // keys
	Calendar      string // key
	UptimeJSON    string
	DaysCSV       string
	ChecksJSON    string
}

// settlements are the settlements of a service, with links to their series.
type settlements struct {
	service.Settlements
	VolumeURL, BuyerURL, SettlementsURL string
}

// DescribeService returns a service with its texts.
func (e *ServiceRenderer) DescribeService(l *site.Listing) *service.Text {
	t := &service.Text{Listing: l, Grade: service.NewGrade(l, e.pages.href(bareKey("evidence", l.Detail.Slug)),
		e.pages.href(bareKey(methodologyRoute, "")))}
	u := money.UnitsOf(&l.Detail)
	t.Worded = make([]service.Change, min(max(service.MaxChanges, serviceFeedEntries), len(l.Changes)))
	for i := range t.Worded {
		t.Worded[i] = service.NewChange(&l.Changes[i], u, e.shared.Networks)
	}
	return t
}

// ServicePage returns services/<slug>.html with links to comparisons with peers, and the prices of its category.
func (e *ServiceRenderer) ServicePage(l *service.Text, beside Neighbours) ([]byte, error) {
	volume, err := l.AllVolume()
	if err != nil {
		return nil, err
	}
	d := &l.Detail
	p := servicePage{
		Page: service.NewPage(l, beside.Prices, e.shared.Directory, e.calendar),
		Settled: settlements{service.NewSettlements(l.Listing, volume, e.shared.Directory, e.calendar, facilitatorKey),
			e.pages.href(seriesKey("volume", d.Slug)), e.pages.href(seriesKey("buyers", d.Slug)),
			e.pages.href(bareKey("settlements", d.Slug))},
		PricesJSON: e.pages.href(seriesKey("price", d.Slug)),
		ScoresJSON: e.pages.href(seriesKey("scores", d.Slug)),
		Badge:      e.address(badgeKey(d.Slug, ".svg")), BadgeKey: badgeKey(d.Slug, ".svg"),
		BadgeJSON: e.pages.href(badgeKey(d.Slug, ".json")), BadgeData: e.address(badgeKey(d.Slug, ".json")),
		PageURL:  e.address(serviceKey(d.Slug)),
		Category: e.shared.Categories[d.Category], Atom: serviceFeedKey(d.Slug, ".xml"),
		Feed: serviceFeedKey(d.Slug, ".json"), Calendar: serviceCalendarKey(d.Slug),
		UptimeJSON: e.pages.href(bareKey("uptime", d.Slug)), DaysCSV: e.pages.href(routes.DaysKey(d.Slug)),
		ChecksJSON: e.pages.href(bareKey("service-checks", d.Slug)),
	}
	p.Comparisons, p.CompareAll = e.comparisons(l.Item.Slug, beside.Peers)
	p.BadgeMarkdown = "[![x402](" + p.Badge + ")](" + p.PageURL + ")"
	p.BadgeHTML = `<a href="` + p.PageURL + `"><img src="` + p.Badge + `" alt="x402 badge" height="20"></a>`
	return e.render(page{
		Key: serviceKey(d.Slug), Kind: kindService, JSON: bareKey("service", d.Slug),
		Title:       display.Line(display.Name(d.Name), display.MaxTitle),
		Description: service.Describe(d), Atom: p.Atom, Feed: p.Feed, About: e.aboutService(d),
		Up: breadcrumb{"Services", listKey(1)}, Category: d.Category, HasMarkdown: true,
		Card: serviceCardKey(d.Slug), Preview: service.Preview(d), Now: service.NewestFact(d), Body: p,
	})
}

// seriesKey returns the key of a whole series.
func seriesKey(route, slug string) string {
	return routes.Query{Route: routes.ByName(route), Slug: slug}.Key()
}
