package render

import (
	"cmp"
	"fmt"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

const (
	facilitatorsRoute = "facilitators-page"
	facilitatorRoute  = "facilitator-page"

	facilitatorSettlers = 100 // accounts that a page names
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
	Idle     []facilitatorRow // measured, and never seen to settle; by id
	Unread   []facilitatorRow // accounts are known, on networks that are not read; by id
	Listed   []facilitatorRow // by id
	Volume   site.VolumeSum   // of 30 days
	Networks int              // measured ones
	Days     networkCharts
}

// FacilitatorsPage is facilitators.html: who settles payments, ranked by the volume of 30 days.
func (e *Renderer) FacilitatorsPage() ([]byte, error) {
	s := e.snapshot
	body := facilitatorList{Volume: s.Coverage.Volume30d.Raw, Days: e.networkCharts()}
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
		if e.unread(row.FacilitatorDetail) {
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
	twin := site.Query{Route: site.ByName("facilitators")}.With("timeframe", site.Timeframe30d).With("include",
		site.IncludeTimeseries).With("per_page", fmt.Sprint(site.MaxPageSize))
	return e.render(page{
		Key: bareKey(facilitatorsRoute, ""), Kind: kindFacilitators, JSON: twin.Untrimmed().Key(), Title: "Facilitators",
		HasMarkdown: true, About: e.aboutFacilitators(),
		Description: "Facilitators that settle x402 payments, ranked by the volume they settled on chain.", Body: body,
	})
}

// unread says whether nothing can be said of what a facilitator settles: none of its networks is read, and none was.
func (e *Renderer) unread(f *site.FacilitatorDetail) bool {
	networks := make([]string, len(f.Settlers))
	for i, s := range f.Settlers {
		networks[i] = s.NetworkCAIP2
	}
	return f.TxCountAll == 0 && e.measuredSince(networks) == nil
}

type facilitatorBody struct {
	*site.FacilitatorDetail
	Measured     bool // something is known of what it settles
	Unread       bool // its accounts are known to be its own, and none of its networks is read
	Bars         chart.Bars
	Rows         []facilitatorChain
	Accounts     []facilitatorSettler
	MoreAccounts int
	MoreServices int
}

type facilitatorChain struct {
	site.FacilitatorChain
	On     chip
	Buyers *site.FacilitatorBuyers // nil where nobody paid
}

type facilitatorSettler struct {
	site.FacilitatorSettler
	On chip
}

// FacilitatorPage is facilitators/<id>.html.
func (e *Renderer) FacilitatorPage(f *site.FacilitatorDetail) ([]byte, error) {
	own := f.Verification == site.VerificationOnChain
	body := facilitatorBody{FacilitatorDetail: f, Unread: own && e.unread(f),
		MoreServices: f.ServiceCount - len(f.Services)}
	body.Measured = own && !body.Unread
	var networks []string
	for _, c := range f.Chains {
		row := facilitatorChain{FacilitatorChain: c, On: e.network(c.NetworkCAIP2)}
		for i := range f.Buyers {
			if b := &f.Buyers[i]; b.NetworkCAIP2 == c.NetworkCAIP2 && b.TokenAddress == c.TokenAddress {
				row.Buyers = b
			}
		}
		body.Rows, networks = append(body.Rows, row), append(networks, c.NetworkCAIP2)
	}
	body.Bars = chart.NewBars(f.Timeseries, e.calendar, e.measuredSince(networks))
	for _, s := range f.Settlers[:min(len(f.Settlers), facilitatorSettlers)] {
		body.Accounts = append(body.Accounts, facilitatorSettler{s, e.network(s.NetworkCAIP2)})
	}
	body.MoreAccounts = len(f.Settlers) - len(body.Accounts)
	name := cmp.Or(display.Line(f.Name, display.MaxTitle), f.FacilitatorID)
	return e.render(page{
		Key: facilitatorKey(f.FacilitatorID), Kind: kindFacilitator, JSON: bareKey("facilitator", f.FacilitatorID),
		Title: name, HasMarkdown: true, Up: breadcrumb{"Facilitators", bareKey(facilitatorsRoute, "")},
		Description: name + ": volume and settlements of this x402 facilitator on chain, by network and service.",
		Body:        body,
	})
}

// measuredSince is when the first of some networks began to be measured, nil without any.
func (e *ServiceRenderer) measuredSince(networks []string) *site.Time {
	var since *site.Time
	for _, id := range networks {
		if at, measured := e.shown.Since[id]; measured && (since == nil || at.Before(since.Time)) {
			since = &at
		}
	}
	return since
}
