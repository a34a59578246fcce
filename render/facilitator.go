package render

import (
	"cmp"
	"fmt"

	"tollbook/render/chart"
	"tollbook/render/facilitator"
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

// facilitatorRow is a facilitator in the list.
type facilitatorRow struct {
	*site.FacilitatorDetail
	Rank  int
	Spark string
}

type facilitatorList struct {
	Measured []facilitatorRow // by volume of 30 days
	Idle     []facilitatorRow // measured, without a settlement; by id
	Unread   []facilitatorRow // accounts are known, but none of their networks is read; by id
	Listed   []facilitatorRow // by id
	Volume   site.VolumeSum   // of 30 days
	Networks int              // number of networks that are measured
	Days     money.Days
	Growth   []money.Growth
}

// FacilitatorsPage returns facilitators.html: facilitators by the volume of 30 days.
func (e *Renderer) FacilitatorsPage() ([]byte, error) {
	s := e.snapshot
	body := facilitatorList{Volume: s.Coverage.Volume30d.Raw,
		Days:   money.NewDays(s.Coverage.Networks, e.calendar, e.network, e.measuredSince),
		Growth: money.ListGrowth(s, func(id string) string { return e.network(id).Key })}
	items := make([]*site.FacilitatorListItem, len(s.Facilitators))
	by := map[string]*site.FacilitatorDetail{}
	for i := range s.Facilitators {
		items[i] = &s.Facilitators[i].FacilitatorListItem
		by[items[i].FacilitatorID] = &s.Facilitators[i]
	}
	site.SortFacilitators(items, site.Timeframe30d)
	for _, item := range items {
		row := facilitatorRow{FacilitatorDetail: by[item.FacilitatorID]}
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
		row.Rank, row.Spark = len(body.Measured)+1, chart.Spark(item.Timeseries, e.calendar)
		body.Measured = append(body.Measured, row)
	}
	for _, n := range s.Coverage.Networks {
		if n.Measured {
			body.Networks++
		}
	}
	data := routes.Query{Route: routes.ByName("facilitators")}.With("timeframe", site.Timeframe30d).With("include",
		site.IncludeTimeseries).With("per_page", fmt.Sprint(site.MaxPageSize))
	return e.render(page{
		Key: bareKey(facilitatorsRoute, ""), Kind: kindFacilitators, JSON: data.Untrimmed().Key(),
		Title:       "Facilitators",
		HasMarkdown: true, About: e.aboutFacilitators(),
		Description: "Facilitators that settle x402 payments, ranked by the volume they settled on chain.", Body: body,
	})
}

// isUnread returns whether nothing is known of the settlements of a facilitator, because none of its networks is or was
// read.
func (e *Renderer) isUnread(f *site.FacilitatorDetail) bool {
	networks := make([]string, len(f.Settlers))
	for i, s := range f.Settlers {
		networks[i] = s.NetworkCAIP2
	}
	return f.TxCountAll == 0 && e.measuredSince(networks) == nil
}

type facilitatorBody struct {
	*site.FacilitatorDetail
	Measured     bool // settlements are measured
	Unread       bool // its accounts are confirmed, but none of their networks is read
	Bars         chart.Bars
	Rows         []facilitatorChain
	Accounts     []facilitatorSettler
	MoreAccounts int
	MoreServices int
	Announced    facilitator.Supported
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
		row := facilitatorChain{FacilitatorChain: c, On: e.network(c.NetworkCAIP2)}
		for i := range f.Buyers.ByChain {
			if b := &f.Buyers.ByChain[i]; b.NetworkCAIP2 == c.NetworkCAIP2 && b.TokenAddress == c.TokenAddress {
				row.Buyers = b
			}
		}
		body.Rows, networks = append(body.Rows, row), append(networks, c.NetworkCAIP2)
	}
	body.Bars = chart.NewBars(chart.Volume, f.Timeseries, e.calendar, e.measuredSince(networks))
	for _, s := range f.Settlers[:min(len(f.Settlers), facilitatorSettlers)] {
		body.Accounts = append(body.Accounts, facilitatorSettler{s, e.network(s.NetworkCAIP2)})
	}
	body.MoreAccounts = len(f.Settlers) - len(body.Accounts)
	body.Announced = facilitator.NewSupported(f.Supported, e.facilitatorNetwork)
	name := cmp.Or(display.Line(f.Name, display.MaxTitle), f.FacilitatorID)
	return e.render(page{
		Key: facilitatorKey(f.FacilitatorID), Kind: kindFacilitator, JSON: bareKey("facilitator", f.FacilitatorID),
		Title: name, HasMarkdown: true, Up: breadcrumb{"Facilitators", bareKey(facilitatorsRoute, "")},
		Description: name + ": volume and settlements of this x402 facilitator on chain, by network and service.",
		Body:        body,
	})
}

// measuredSince returns the earliest time from which one of the networks is measured, nil if none is.
func (e *ServiceRenderer) measuredSince(networks []string) *site.Time {
	var since *site.Time
	for _, id := range networks {
		if at, measured := e.shared.Since[id]; measured && (since == nil || at.Before(since.Time)) {
			since = &at
		}
	}
	return since
}
