// Package service words one service for its pages and feeds: prices and endpoints, the grade, settlements, changes. All
// are functions of the service and of what its page shows of the directory around it.
//
// It must never know a template or where a page is published.
package service

import (
	"html/template"
	"slices"
	"strings"

	"tollbook/render/chart"
	"tollbook/render/guide"
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
)

// Directory is what the files of a service show of the rest of the directory.
type Directory struct {
	Networks     money.NetworkNames
	Facilitators map[string]string    // names, by id
	Since        map[string]site.Time // since when networks are measured, by id
}

// MeasuredSince returns the earliest time from which one of the networks is measured, nil if none is.
func (d Directory) MeasuredSince(networks []string) *site.Time {
	var since *site.Time
	for _, id := range networks {
		if at, measured := d.Since[id]; measured && (since == nil || at.Before(since.Time)) {
			since = &at
		}
	}
	return since
}

// Limits of a service's page.
const (
	MaxChanges = 25 // in the page and in its Markdown

	maxChecks = 20
	maxMoves  = 25

	payExamples = 50 // endpoints that may have a program that pays them, the first ones

	fullEndpoints = 100  // endpoints with all details
	pageEndpoints = 1000 // all endpoints; those above fullEndpoints have a row with their price
)

// Page is what the page of a service shows, without links to other files.
type Page struct {
	site.ServiceDetail
	IsPayable     bool // an endpoint can be paid
	Chips         []money.Chip
	Windows       template.HTML // rows of uptime windows
	Strip         *chart.Strip
	GradeEvidence Grade
	Documents     []Document
	Prices        chart.Prices
	Grades        chart.Grades
	PriceRank     string           // "" if unknown
	Website       string           // "" without one, or if it is the base URL
	Spread        *chart.Histogram // of the category's prices, with this one; nil without a rank
	LintURL       string           // of the first endpoint that a command can ask
	Rows          []Endpoint
	MoreEndpoints []Endpoint // those above fullEndpoints
	MoreRows      int        // number of endpoints that are not shown
	Moves         []Move
	MoreMoves     int
	Changes       []Change
	More          int // number of changes that are not shown
	Checks        []site.CheckEntry
	CheckRows     template.HTML // Checks as rows of the table
	TotalCheck    int64
}

// Text is a service with the texts that its page, its Markdown page and its feeds share.
type Text struct {
	*site.Listing
	Grade  Grade
	Worded []Change // the newest changes with all their lines
}

// NewPage returns the page of a service. prices are those of its category, nil without a price.
func NewPage(l *Text, prices *site.CategoryPrices, of Directory, calendar *chart.Calendar) Page {
	d := &l.Detail
	p := Page{
		ServiceDetail: *d, Chips: of.Networks.Chips(d.Networks), Windows: chart.UptimeRows(&d.Uptime),
		IsPayable:     slices.ContainsFunc(l.Terms, func(t site.Terms) bool { return t.Payable }),
		Strip:         chart.NewStrip(l.Uptime, calendar),
		GradeEvidence: l.Grade, Documents: Documents(l.Listing),
		Checks:     l.Checks.Newest[:min(maxChecks, len(l.Checks.Newest))],
		TotalCheck: max(l.Checks.Index.Total(), int64(len(l.Checks.Newest))),
		Prices:     chart.NewPrices(l.Prices, d.MinPriceUSD, d.PriceCondition, calendar),
		Grades:     chart.NewGrades(l.Scores, calendar),
		PriceRank:  money.Rank(&d.Assessment.Economics, d.Category),
		MoreRows:   max(0, len(d.Endpoints)-pageEndpoints),
	}
	if w := d.WebsiteURL; w != nil && strings.TrimSuffix(*w, "/") != strings.TrimSuffix(d.BaseURL, "/") {
		p.Website = *w
	}
	p.CheckRows = chart.CheckRows(p.Checks)
	p.Strip.Months = chart.NewUptimeMonths(l.Scores, calendar)
	if prices != nil && p.PriceRank != "" {
		p.Spread = new(chart.NewHistogram(prices, d.MinPriceUSD))
	}
	if len(d.Endpoints) > 0 {
		if r, ok := guide.NewRequest(d.BaseURL, &d.Endpoints[0]); ok {
			p.LintURL = r.Address()
		}
	}
	p.addEndpoints(l.Terms, of.Networks)
	for _, c := range d.PayToChanges[:min(maxMoves, len(d.PayToChanges))] {
		m := Move{PayToChange: c, On: of.Networks.Chip(c.NetworkCAIP2)}
		if c.OldPayTo != nil {
			m.OldURL = of.Networks.AccountURL(c.NetworkCAIP2, *c.OldPayTo)
		}
		if c.NewPayTo != nil {
			m.NewURL = of.Networks.AccountURL(c.NetworkCAIP2, *c.NewPayTo)
		}
		p.Moves = append(p.Moves, m)
	}
	p.MoreMoves = len(d.PayToChanges) - len(p.Moves)
	for _, c := range l.Worded[:min(MaxChanges, len(l.Worded))] {
		p.Changes = append(p.Changes, c.Short(ChangeLines))
	}
	p.More = len(l.Changes) - len(p.Changes)
	return p
}

// Move is a change of the recipient of an endpoint.
type Move struct {
	site.PayToChange
	On             money.Chip
	OldURL, NewURL string // at a block explorer, "" for none
}

// Document is a document of the service's website of which not everything is listed.
type Document struct{ URL, Words string }

// Documents returns the documents of a service's website of which entries were skipped or could not be read, in the
// order of requests.
func Documents(l *site.Listing) (list []Document) {
	for i := range l.Evidence.SiteAnswers {
		a := &l.Evidence.SiteAnswers[i]
		if words := display.Document(a); words != "" {
			list = append(list, Document{a.URL, words})
		}
	}
	return list
}

// Preview returns the title of a service in previews of links: its name, the advice and its price.
func Preview(d *site.ServiceDetail) string {
	text := display.Line(display.Name(d.Name), display.MaxTitle) + ": " + display.AdviceLevel(d.Assessment.Advice.Level)
	if d.MinPriceUSD != nil {
		text += ", from " + display.Dollars(*d.MinPriceUSD) + " a request"
		if d.PriceCondition != nil {
			text += " (" + display.Line(*d.PriceCondition, display.MaxLine) + ")"
		}
	}
	return text
}

// NewestFact returns the time of the newest fact of a service. Its files show this time and not that of the build, so
// that a build can copy those of a service without new facts.
func NewestFact(d *site.ServiceDetail) site.Time {
	if at := d.Assessment.UpdatedAt; at != nil && at.After(d.CreatedAt.Time) {
		return *at
	}
	return d.CreatedAt
}

// Describe returns a sentence about a service for search engines and previews: the advice against a payment, or else
// the service's own description, or a general one.
func Describe(d *site.ServiceDetail) string {
	if a := &d.Assessment.Advice; a.Level == site.AdviceDoNotPay {
		return display.Line(display.AdviceLevel(a.Level)+": "+display.Reasons(a), display.MaxBlurb)
	}
	if text := display.Line(d.Description, display.MaxBlurb); text != "" {
		return text
	}
	return display.Name(d.Name) + ": prices, uptime and changes of this service, which charges per request over " +
		"HTTP 402."
}
