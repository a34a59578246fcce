package render

import (
	"sync"
	"time"

	"tollbook/render/chart"
	"tollbook/site"
)

// ServiceRenderer renders the files of a service. It does not know the snapshot: such a file shows only the service,
// its peers and SharedInputs. So a build can copy the file if all of these are as before.
type ServiceRenderer struct {
	// Previous reads a file of the snapshot before; nil without one. A card that it has need not be drawn.
	Previous func(key string) ([]byte, error)

	pages    *Pages          // depends on SharedInputs.Site alone
	calendar *chart.Calendar // depends on SharedInputs.Day alone
	cards    func() (*cardSet, error)
	shared   SharedInputs
}

// SharedInputs contains everything that the files of every service may show of others than the service and its peers.
type SharedInputs struct {
	Site     Site
	Day      site.Time              // the UTC day of the snapshot
	Networks map[string]networkName // by CAIP-2 id
	Codes    map[string]networkName // the same by abbreviation
	// keys of first pages of groups, by category, or by the abbreviation of a network after a NUL
	GroupKeys     map[string]string
	Facilitators  map[string]string    // names, by id
	Since         map[string]site.Time // since when networks are measured, by id
	DirectoryCard picture              // of the directory
	CategoryCards map[string]picture   // of categories
}

// networkName contains the names of a network, and the URL of an account's page at a block explorer, "" if unknown.
type networkName struct{ Name, ID, Code, AddressURL string }

// newServiceRenderer returns a renderer with the groups and facilitators of e.
func (p *Pages) newServiceRenderer(e *Renderer) *ServiceRenderer {
	s := e.snapshot
	shared := SharedInputs{
		Site: p.site, Day: site.NewTime(s.Now.UTC().Truncate(24 * time.Hour)), Networks: map[string]networkName{},
		Codes:     map[string]networkName{},
		GroupKeys: map[string]string{}, Facilitators: map[string]string{}, Since: map[string]site.Time{},
	}
	for _, n := range s.Networks {
		name := networkName{n.Name, n.ID, n.Abbreviation, ""}
		if n.AddressURL != nil {
			name.AddressURL = *n.AddressURL
		}
		shared.Networks[n.ID], shared.Codes[n.Abbreviation] = name, name
	}
	for _, g := range e.categories {
		shared.GroupKeys[g.name] = g.Key(1)
	}
	for _, g := range e.networks {
		shared.GroupKeys["\x00"+g.network.Abbreviation] = g.Key(1)
	}
	for i := range s.Facilitators {
		shared.Facilitators[s.Facilitators[i].FacilitatorID] = s.Facilitators[i].Name
	}
	for _, n := range s.Coverage.Networks {
		if n.MeasuredSince == nil {
			continue
		}
		if at, ok := shared.Since[n.NetworkCAIP2]; !ok || n.MeasuredSince.Before(at.Time) {
			shared.Since[n.NetworkCAIP2] = *n.MeasuredSince
		}
	}
	return &ServiceRenderer{pages: p, calendar: chart.NewCalendar(shared.Day), cards: sync.OnceValues(e.draw),
		shared: shared}
}

// SharedInputs returns the shared inputs. It draws the cards, because every page names one.
func (e *ServiceRenderer) SharedInputs() (SharedInputs, error) {
	cards, err := e.cards()
	if err != nil {
		return SharedInputs{}, err
	}
	shared := e.shared
	shared.DirectoryCard, shared.CategoryCards = cards.directory, cards.categories
	return shared, nil
}
