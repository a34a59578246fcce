package render

import (
	"cmp"
	"fmt"

	"tollbook/render/chart"
	"tollbook/render/money"
	"tollbook/site"
	"tollbook/site/display"
	"tollbook/site/routes"
)

const (
	facilitatorsRoute = "facilitators-page"
	facilitatorRoute  = "facilitator-page"

	facilitatorSettlers = 100 // accounts on a page
)

func facilitatorKey(id string) string { return bareKey(facilitatorRoute, id) }

type facilitatorList struct {
	Measured []money.Row    // in the order of the page
	Idle     []money.Row    // measured, without a settlement; by id
	Unread   []money.Row    // accounts are known, but none of their networks is read; by id
	Listed   []money.Row    // by id
	Volume   site.VolumeSum // of 30 days
	Networks int            // number of networks that are measured
	Days     money.Days
	Growth   []money.Growth
	Heads    []money.Head
	Order    string       // in words
	Sorted   []money.Head // those with an order
}

// facilitatorsKey returns the key of the list of facilitators in an order.
func facilitatorsKey(order string) string {
	if order == site.OrderVolume {
		return bareKey(facilitatorsRoute, "")
	}
	return routes.Query{Route: routes.ByName(facilitatorsRoute)}.With("sort", order).Key()
}

// VolumeFiles returns the charts of all volume as tables in CSV and as pictures.
func (e *Renderer) VolumeFiles() []Asset {
	var files []Asset
	for _, split := range e.volumeDays().Splits {
		files = append(files, Asset{split.File, split.CSV()},
			Asset{money.PictureKey(split.By), split.Picture(e.pictureSource(), e.pages.chartColours())})
	}
	return files
}

func (e *Renderer) volumeDays() money.Days {
	return money.NewDays(e.snapshot, e.calendar, e.shared.Networks.Chip, facilitatorKey, e.shared.MeasuredSince)
}

// FacilitatorsPage returns facilitators.html, or facilitators/sort=<order>.html: facilitators in an order.
func (e *Renderer) FacilitatorsPage(order string) ([]byte, error) {
	s := e.snapshot
	key := facilitatorsKey(order)
	body := facilitatorList{Volume: s.Coverage.Volume30d.Raw, Days: e.volumeDays(), Order: money.OrderText(order),
		Heads: money.NewHeads(order, func(order string) string {
			return e.pages.href(facilitatorsKey(order)) + "#ranked"
		}),
		Growth: money.ListGrowth(s, func(id string) string { return e.shared.Networks.Chip(id).Key })}
	body.Sorted = money.Sorted(body.Heads)
	items := make([]*site.FacilitatorListItem, len(s.Facilitators))
	by := map[string]*site.FacilitatorDetail{}
	for i := range s.Facilitators {
		items[i] = &s.Facilitators[i].FacilitatorListItem
		by[items[i].FacilitatorID] = &s.Facilitators[i]
	}
	site.SortFacilitators(items, site.Timeframe30d)
	for _, item := range items {
		row := money.NewRow(by[item.FacilitatorID], e.calendar)
		if item.Verification != site.VerificationOnChain {
			body.Listed = append(body.Listed, row)
			continue
		}
		if e.isUnread(row.FacilitatorDetail) {
			body.Unread = append(body.Unread, row)
			continue
		}
		if item.TxCountAll == 0 {
			body.Idle = append(body.Idle, row)
			continue
		}
		body.Measured = append(body.Measured, row)
	}
	money.SortRows(body.Measured, order)
	for _, n := range s.Coverage.Networks {
		if n.Measured {
			body.Networks++
		}
	}
	data := routes.Query{Route: routes.ByName("facilitators")}.With("timeframe", site.Timeframe30d).With("include",
		site.IncludeTimeseries).With("per_page", fmt.Sprint(site.MaxPageSize))
	return e.render(page{
		Key: key, Kind: kindFacilitators, JSON: data.Untrimmed().Key(), Title: money.Title(order),
		HasMarkdown: order == site.OrderVolume, About: e.aboutFacilitators(),
		Description: "Facilitators that settle x402 payments, " + body.Order + ", as read from blockchains.",
		Body:        body,
	})
}

// isUnread returns whether nothing is known of the settlements of a facilitator, because none of its networks is or was
// read.
func (e *Renderer) isUnread(f *site.FacilitatorDetail) bool {
	networks := make([]string, len(f.Settlers))
	for i, s := range f.Settlers {
		networks[i] = s.NetworkCAIP2
	}
	return f.TxCountAll == 0 && e.shared.MeasuredSince(networks) == nil
}

type facilitatorBody struct {
	*site.FacilitatorDetail
	Measured     bool // settlements are measured
	Unread       bool // its accounts are confirmed, but none of their networks is read
	Marked       bool // payers send its payments themselves, with a mark
	Bars         chart.Bars
	Rows         []facilitatorChain
	Accounts     []facilitatorSettler
	MoreAccounts int
	MoreServices int
	Announced    money.Supported
}

type facilitatorChain struct {
	site.FacilitatorChain
	On     money.Chip
	Buyers *site.FacilitatorBuyers // nil without a payment
}

type facilitatorSettler struct {
	site.FacilitatorSettler
	On money.Chip
}

// FacilitatorPage returns facilitators/<id>.html.
func (e *Renderer) FacilitatorPage(f *site.FacilitatorDetail) ([]byte, error) {
	own := f.Verification == site.VerificationOnChain
	body := facilitatorBody{FacilitatorDetail: f, Unread: own && e.isUnread(f),
		MoreServices: f.ServiceCount - len(f.Services)}
	body.Measured = own && !body.Unread
	var networks []string
	for _, c := range f.Chains {
		row := facilitatorChain{FacilitatorChain: c, On: e.shared.Networks.Chip(c.NetworkCAIP2)}
		for i := range f.Buyers.ByChain {
			if b := &f.Buyers.ByChain[i]; b.NetworkCAIP2 == c.NetworkCAIP2 && b.TokenAddress == c.TokenAddress {
				row.Buyers = b
			}
		}
		body.Rows, networks = append(body.Rows, row), append(networks, c.NetworkCAIP2)
	}
	body.Bars = chart.NewBars(chart.Volume, f.Timeseries, e.calendar, e.shared.MeasuredSince(networks))
	for _, s := range f.Settlers[:min(len(f.Settlers), facilitatorSettlers)] {
		body.Accounts = append(body.Accounts, facilitatorSettler{s, e.shared.Networks.Chip(s.NetworkCAIP2)})
		body.Marked = body.Marked || s.Kind != site.SettlerAccount
	}
	body.MoreAccounts = len(f.Settlers) - len(body.Accounts)
	body.Announced = money.NewSupported(f.Supported, e.shared.Networks.Chip)
	name := cmp.Or(display.Line(f.Name, display.MaxTitle), f.FacilitatorID)
	return e.render(page{
		Key: facilitatorKey(f.FacilitatorID), Kind: kindFacilitator, JSON: bareKey("facilitator", f.FacilitatorID),
		Title: name, HasMarkdown: true, Up: breadcrumb{"Facilitators", bareKey(facilitatorsRoute, "")},
		Description: name + ": volume and settlements of this x402 facilitator on chain, by network and service.",
		Body:        body,
	})
}
