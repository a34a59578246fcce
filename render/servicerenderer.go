package render

import (
	"sync"
	"time"

	"tollbook/render/chart"
	"tollbook/render/money"
	"tollbook/render/service"
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
	service.Directory
	Site          Site
	Day           site.Time          // the UTC day of the snapshot
	Categories    map[string]string  // keys of first pages of categories
	DirectoryCard picture            // of the directory
	CategoryCards map[string]picture // of categories
}

// newServiceRenderer returns a renderer with the groups and facilitators of e.
func (p *Pages) newServiceRenderer(e *Renderer) *ServiceRenderer {
	s := e.snapshot
	networks := map[string]string{} // keys of first pages, by abbreviation
	for _, g := range e.networks {
		networks[g.network.Abbreviation] = g.Key(1)
	}
	shared := SharedInputs{
		Directory: service.Directory{Networks: money.NewNetworkNames(s.Networks, networks),
			Facilitators: map[string]string{}, Since: map[string]site.Time{}},
		Site: p.site, Day: site.NewTime(s.Now.UTC().Truncate(24 * time.Hour)), Categories: map[string]string{},
	}
	for _, g := range e.categories {
		shared.Categories[g.name] = g.Key(1)
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
