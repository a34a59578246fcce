package render

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"tollbook/render/chart"
	"tollbook/render/guide"
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

// Limits of a service's page.
const (
	serviceChanges = 25
	serviceChecks  = 20
	serviceMoves   = 25

	payExamples = 50 // endpoints that may have a program that pays them, the first ones

	fullEndpoints = 100  // endpoints with all details
	pageEndpoints = 1000 // all endpoints; those above fullEndpoints have a row with their price
)

type service struct {
	site.ServiceDetail
	IsPayable     bool // an endpoint can be paid
	Chips         []money.Chip
	Windows       template.HTML // rows of uptime windows
	Strip         *chart.Strip
	GradeEvidence gradeEvidence
	Documents     []declaration
	Settled       settlements
	Prices        chart.Prices
	Grades        chart.Grades
	PricesJSON    string
	ScoresJSON    string
	PriceRank     string           // "" if unknown
	Website       string           // "" without one, or if it is the base URL
	Spread        *chart.Histogram // of the category's prices, with this one; nil without a rank
	Badge         string           // address of the image
	BadgeKey      string
	BadgeJSON     string
	PageURL       string
	BadgeMarkdown string // Markdown that shows the badge
	BadgeHTML     string // HTML that shows the badge
	LintURL       string // of the first endpoint that a command can ask
	BadgeData     string // address of the badge as JSON, for services that draw badges
	Category      string // key of the category's page, "" without
	Comparisons   []compareSet
	CompareAll    string // link to a comparison with all of them, "" if there is only one
	Atom, Feed    string // keys
	Calendar      string // key
	Rows          []endpoint
	MoreEndpoints []endpoint // those above fullEndpoints
	MoreRows      int        // number of endpoints that are not shown
	Moves         []move
	MoreMoves     int
	Changes       []change
	More          int // number of changes that are not shown
	Checks        []site.CheckEntry
	CheckRows     template.HTML // Checks as rows of the table
	TotalCheck    int64
	UptimeJSON    string
	DaysCSV       string
	ChecksJSON    string
}

// endpoint is an endpoint as pages show it.
type endpoint struct {
	*site.Endpoint
	From   string        // lowest price, "" if unknown
	Prices template.HTML // rows of ways to pay, "" without any
	Call   *guide.Call   // nil if no command can contain its URL
}

// declaration is a document of the service's website of which not everything is listed.
type declaration struct{ URL, Words string }

// declarations returns the documents of a service's website of which entries were skipped or could not be read, in the
// order of requests.
func declarations(l *site.Listing) (list []declaration) {
	for i := range l.Evidence.SiteAnswers {
		a := &l.Evidence.SiteAnswers[i]
		if words := display.Document(a); words != "" {
			list = append(list, declaration{a.URL, words})
		}
	}
	return list
}

// move is a change of the recipient of an endpoint.
type move struct {
	site.PayToChange
	On             money.Chip
	OldURL, NewURL string // at a block explorer, "" for none
}

// ServiceText is a service with the texts that its page, its Markdown page and its feeds share.
type ServiceText struct {
	*site.Listing
	changes       []change // the newest changes with all their lines
	gradeEvidence gradeEvidence
}

// DescribeService returns a service with its texts.
func (e *ServiceRenderer) DescribeService(l *site.Listing) *ServiceText {
	t := &ServiceText{Listing: l, gradeEvidence: newGrade(l, e.pages.href(bareKey("evidence", l.Detail.Slug)),
		e.pages.href(bareKey(methodologyRoute, "")))}
	u := money.UnitsOf(&l.Detail)
	t.changes = make([]change, min(max(serviceChanges, serviceFeedEntries), len(l.Changes)))
	for i := range t.changes {
		t.changes[i] = e.change(&l.Changes[i], u)
	}
	return t
}

// ServicePage returns services/<slug>.html with links to comparisons with peers, and the prices of its category.
func (e *ServiceRenderer) ServicePage(t *ServiceText, beside Neighbours) ([]byte, error) {
	volume, err := t.AllVolume()
	if err != nil {
		return nil, err
	}
	return e.render(e.servicePage(t, beside, volume))
}

func (e *ServiceRenderer) servicePage(l *ServiceText, beside Neighbours, volume []site.VolumePoint) page {
	d := &l.Detail
	s := service{
		ServiceDetail: *d, IsPayable: slices.ContainsFunc(l.Terms, func(t site.Terms) bool { return t.Payable }), Chips: e.chips(d.Networks), Windows: chart.UptimeRows(&d.Uptime),
		Strip:         chart.NewStrip(l.Uptime, e.calendar),
		GradeEvidence: l.gradeEvidence, Documents: declarations(l.Listing), Settled: e.settlements(l.Listing, volume),
		Checks:     l.Checks.Newest[:min(serviceChecks, len(l.Checks.Newest))],
		TotalCheck: max(l.Checks.Index.Total(), int64(len(l.Checks.Newest))),
		Prices:     chart.NewPrices(l.Prices, d.MinPriceUSD, d.PriceCondition, e.calendar),
		Grades:     chart.NewGrades(l.Scores, e.calendar),
		PriceRank:  money.Rank(&d.Assessment.Economics, d.Category),
		PricesJSON: e.pages.href(seriesKey("price", d.Slug)),
		ScoresJSON: e.pages.href(seriesKey("scores", d.Slug)),
		Badge:      e.address(badgeKey(d.Slug, ".svg")), BadgeKey: badgeKey(d.Slug, ".svg"),
		BadgeJSON: e.pages.href(badgeKey(d.Slug, ".json")), PageURL: e.address(serviceKey(d.Slug)),
		Category: e.shared.GroupKeys[d.Category], Atom: serviceFeedKey(d.Slug, ".xml"),
		Feed: serviceFeedKey(d.Slug, ".json"), Calendar: serviceCalendarKey(d.Slug),
		UptimeJSON: e.pages.href(bareKey("uptime", d.Slug)), DaysCSV: e.pages.href(routes.DaysKey(d.Slug)),
		ChecksJSON: e.pages.href(bareKey("service-checks", d.Slug)),
	}
	if w := d.WebsiteURL; w != nil && strings.TrimSuffix(*w, "/") != strings.TrimSuffix(d.BaseURL, "/") {
		s.Website = *w
	}
	s.CheckRows = chart.CheckRows(s.Checks)
	s.Strip.Months = chart.NewUptimeMonths(l.Scores, e.calendar)
	if beside.Prices != nil && s.PriceRank != "" {
		s.Spread = new(chart.NewHistogram(beside.Prices, d.MinPriceUSD))
	}
	s.Comparisons, s.CompareAll = e.comparisons(l.Item.Slug, beside.Peers)
	s.BadgeMarkdown = "[![x402](" + s.Badge + ")](" + s.PageURL + ")"
	s.BadgeHTML = `<a href="` + s.PageURL + `"><img src="` + s.Badge + `" alt="x402 badge" height="20"></a>`
	if len(d.Endpoints) > 0 {
		if r, ok := guide.NewRequest(d.BaseURL, &d.Endpoints[0]); ok {
			s.LintURL = r.Address()
		}
	}
	s.BadgeData = e.address(badgeKey(d.Slug, ".json"))
	s.MoreRows = max(0, len(d.Endpoints)-pageEndpoints)
	isLost := d.Assessment.Advice.Level == site.AdviceDoNotPay
	for i := range d.Endpoints[:min(len(d.Endpoints), pageEndpoints)] {
		if i >= fullEndpoints {
			s.MoreEndpoints = append(s.MoreEndpoints, endpoint{Endpoint: &d.Endpoints[i],
				From: display.DollarsOrNull(d.Endpoints[i].MinPriceUSD)})
			continue
		}
		row := e.endpoint(&d.Endpoints[i])
		var terms site.Terms
		if i < payExamples && i < len(l.Terms) {
			terms = l.Terms[i]
		}
		row.Call = guide.NewCall(strconv.Itoa(i), d.BaseURL, row.Endpoint, terms, isLost)
		if row.Call != nil && row.Call.Network != "" {
			row.Call.Network = e.network(row.Call.Network).Label
		}
		s.Rows = append(s.Rows, row)
	}
	for _, c := range d.PayToChanges[:min(serviceMoves, len(d.PayToChanges))] {
		m := move{PayToChange: c, On: e.network(c.NetworkCAIP2)}
		if c.OldPayTo != nil {
			m.OldURL = e.accountURL(c.NetworkCAIP2, *c.OldPayTo)
		}
		if c.NewPayTo != nil {
			m.NewURL = e.accountURL(c.NetworkCAIP2, *c.NewPayTo)
		}
		s.Moves = append(s.Moves, m)
	}
	s.MoreMoves = len(d.PayToChanges) - len(s.Moves)
	for _, c := range l.changes[:min(serviceChanges, len(l.changes))] {
		s.Changes = append(s.Changes, c.short(serviceChangeLines))
	}
	s.More = len(l.Changes) - len(s.Changes)
	return page{
		Key: serviceKey(d.Slug), Kind: kindService, JSON: bareKey("service", d.Slug),
		Title:       display.Line(display.Name(d.Name), display.MaxTitle),
		Description: describe(d), Atom: s.Atom, Feed: s.Feed, About: e.aboutService(d),
		Up: breadcrumb{"Services", listKey(1)}, Category: d.Category, HasMarkdown: true,
		Card: serviceCardKey(d.Slug), Preview: preview(d), Now: newestFact(d), Body: s,
	}
}

// preview returns the title of a service in previews of links: its name, the advice and its price.
func preview(d *site.ServiceDetail) string {
	text := display.Line(display.Name(d.Name), display.MaxTitle) + ": " + display.AdviceLevel(d.Assessment.Advice.Level)
	if d.MinPriceUSD != nil {
		text += ", from " + display.Dollars(*d.MinPriceUSD) + " a request"
		if d.PriceCondition != nil {
			text += " (" + display.Line(*d.PriceCondition, display.MaxLine) + ")"
		}
	}
	return text
}

// newestFact returns the time of the newest fact of a service. Its files show this time and not that of the build, so
// that a build can copy those of a service without new facts.
func newestFact(d *site.ServiceDetail) site.Time {
	if at := d.Assessment.UpdatedAt; at != nil && at.After(d.CreatedAt.Time) {
		return *at
	}
	return d.CreatedAt
}

// describe returns a sentence about a service for search engines and previews: the advice against a payment, or else
// the service's own description, or a general one.
func describe(d *site.ServiceDetail) string {
	if a := &d.Assessment.Advice; a.Level == site.AdviceDoNotPay {
		return display.Line(display.AdviceLevel(a.Level)+": "+display.Reasons(a), display.MaxBlurb)
	}
	if text := display.Line(d.Description, display.MaxBlurb); text != "" {
		return text
	}
	return display.Name(d.Name) + ": prices, uptime and changes of this service, which charges per request over " +
		"HTTP 402."
}

func (e *ServiceRenderer) endpoint(p *site.Endpoint) endpoint {
	r := endpoint{Endpoint: p, From: display.DollarsOrNull(p.MinPriceUSD)}
	payments := make([]chart.Payment, len(p.Pricing))
	for i, entry := range p.Pricing {
		payments[i] = e.payment(entry, p.VariableAmount)
	}
	r.Prices = chart.PaymentRows(payments)
	return r
}

func (e *ServiceRenderer) payment(entry site.PricingEntry, variable bool) chart.Payment {
	on := e.network(entry.Network)
	if entry.NetworkCAIP2 != nil {
		on = e.network(*entry.NetworkCAIP2)
	}
	p := chart.Payment{PricingEntry: entry, Network: on.Label, NetworkID: on.Title,
		Maximum: variable && entry.Scheme != "exact", Cost: money.Settled(entry.Settled)}
	if entry.NetworkCAIP2 != nil {
		p.PayToURL = e.accountURL(*entry.NetworkCAIP2, entry.PayTo)
	}
	if n, ok := money.ParseAmount(entry.Price); ok {
		p.Exact = money.Atomic(n)
	}
	if entry.PriceUSD != nil {
		if usd, err := site.ParseDecimal(*entry.PriceUSD); err == nil {
			p.Amount = display.Dollars(usd)
		}
	}
	if p.Amount == "" {
		p.Amount = p.Exact
	}
	return p
}
