package render

import (
	"cmp"
	"slices"

	"tollbook/site"
)

// Edition is the pages of one snapshot: what all of them repeat is prepared once. It may be used by several goroutines.
type Edition struct {
	pages    *Pages
	snapshot *site.Snapshot
	byID     map[string]site.Network // by CAIP-2 id
	byCode   map[string]site.Network // by abbreviation

	facilitators map[string]*site.FacilitatorDetail // by id
}

// Edition prepares the pages of a snapshot, which must not change while they are rendered.
func (p *Pages) Edition(s *site.Snapshot) *Edition {
	e := &Edition{pages: p, snapshot: s, byID: map[string]site.Network{}, byCode: map[string]site.Network{}}
	for _, n := range s.Networks {
		e.byID[n.ID], e.byCode[n.Abbreviation] = n, n
	}
	e.facilitators = make(map[string]*site.FacilitatorDetail, len(s.Facilitators))
	for i := range s.Facilitators {
		e.facilitators[s.Facilitators[i].FacilitatorID] = &s.Facilitators[i]
	}
	return e
}

// Of home: how many of each are shown.
const (
	homeServices = 6
	homeChanges  = 8
	homeChecks   = 10
	homeShares   = 8
)

type home struct {
	Stats      site.AggregateStats
	Status     site.StatusSummary
	Newest     []row
	Changes    []change
	Checks     []site.GlobalCheckEntry
	Networks   []share
	Categories []share
}

// share is a bar of a small chart of counts.
type share struct {
	Label string
	Count int
	Width int // 0..100, of the largest
}

// Home is index.html: what the directory is, its figures, and what is new.
func (e *Edition) Home() ([]byte, error) {
	s := e.snapshot
	h := home{
		Stats: s.Stats, Status: s.Status,
		Changes: e.latestChanges(homeChanges),
		Checks:  s.Checks.Newest[:min(homeChecks, len(s.Checks.Newest))],
	}
	items := make([]*site.ServiceListItem, len(s.Services))
	for i := range s.Services {
		items[i] = &s.Services[i].Item
	}
	site.Sort(items, site.OrderNewest)
	h.Newest = e.rows(items[:min(homeServices, len(items))])
	for _, n := range s.Networks {
		h.Networks = append(h.Networks, share{Label: n.Name, Count: n.ServiceCount})
	}
	for _, t := range s.Tags {
		h.Categories = append(h.Categories, share{Label: t.Tag, Count: t.ServiceCount})
	}
	h.Networks, h.Categories = widths(h.Networks), widths(h.Categories)
	return e.render(page{
		Key: homeKey, Kind: kindHome, JSON: bareKey("stats", ""), Title: e.pages.site.Title,
		Description: "A directory of network services that charge per request over HTTP 402: prices, uptime and changes, measured.",
		Body:        h,
	})
}

// widths keeps the first shares and measures them against the largest.
func widths(shares []share) []share {
	shares = shares[:min(homeShares, len(shares))]
	most := 1
	for _, s := range shares {
		most = max(most, s.Count)
	}
	for i := range shares {
		shares[i].Width = max(1, 100*shares[i].Count/most)
	}
	return shares
}

// latestChanges are the newest records of all services.
func (e *Edition) latestChanges(limit int) []change {
	type found struct {
		record  *site.ChangeRecord
		listing *site.Listing
	}
	var all []found
	for i := range e.snapshot.Services {
		l := &e.snapshot.Services[i]
		for j := range l.Changes[:min(limit, len(l.Changes))] {
			all = append(all, found{&l.Changes[j], l})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(b.record.ObservedAt.Compare(a.record.ObservedAt.Time), cmp.Compare(a.record.Slug, b.record.Slug),
			cmp.Compare(a.record.Type, b.record.Type))
	})
	var changes []change
	for _, f := range all[:min(limit, len(all))] {
		changes = append(changes, e.change(f.record, unitsOf(&f.listing.Detail), homeChangeLines))
	}
	return changes
}

// row is a service in a list.
type row struct {
	*site.ServiceListItem
	Chips []chip
}

// rows prepares rows of a list.
func (e *Edition) rows(items []*site.ServiceListItem) []row {
	rows := make([]row, len(items))
	for i, item := range items {
		rows[i] = row{item, e.chips(item.Networks)}
	}
	return rows
}

// chip names a network: its name, with its code or id for who hovers.
type chip struct{ Label, Title string }

// chips names networks by their abbreviations.
func (e *Edition) chips(codes []string) []chip {
	chips := make([]chip, len(codes))
	for i, code := range codes {
		chips[i] = chip{Label: code, Title: code}
		if n, ok := e.byCode[code]; ok {
			chips[i] = chip{Label: n.Name, Title: code + ", " + n.ID}
		}
	}
	return chips
}

// network names a network by its CAIP-2 id; one that is not of the table keeps its id.
func (e *Edition) network(id string) chip {
	if n, ok := e.byID[id]; ok {
		return chip{Label: n.Name, Title: n.ID}
	}
	id = words(id, maxLine)
	return chip{Label: short(id), Title: id}
}

// NotFound is 404.html.
func (e *Edition) NotFound() ([]byte, error) {
	return e.render(page{
		Key: "404.html", Kind: kindNotFound, Title: "Not found", NoIndex: true,
		Description: "There is no page at this address.",
	})
}
