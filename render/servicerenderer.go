package render

import (
	"sync"
	"time"

	"tollbook/render/chart"
	"tollbook/site"
)

// Surroundings are what the files of a service are rendered in. They know no snapshot: whatever such a file shows is of
// the service itself, its peers, or Shown, so that a build may leave one as it was which has all of these as they were.
type ServiceRenderer struct {
	pages    *Pages          // of Shown.Site alone
	calendar *chart.Calendar // of Shown.Day alone
	cards    func() (*cardSet, error)
	shown    SharedInputs
}

// Shown is all that the files of every service may show of others than the service and its peers.
type SharedInputs struct {
	Site     Site
	Day      site.Time              // the UTC day of the snapshot
	Networks map[string]networkName // by CAIP-2 id
	Codes    map[string]networkName // the same by abbreviation
	// of a group's first page, by its category, or its network's abbreviation after a NUL
	GroupKeys    map[string]string
	Facilitators map[string]string    // names, by id
	Since        map[string]site.Time // when networks began to be measured, by id
	Whole        picture              // of the directory
	Pictures     map[string]picture   // of categories
}

// networkName is what a network is called.
type networkName struct{ Name, ID, Code string }

// surroundings are those of an edition, whose groups and facilitators are there.
func (p *Pages) newServiceRenderer(e *Renderer) *ServiceRenderer {
	s := e.snapshot
	shown := SharedInputs{
		Site: p.site, Day: site.NewTime(s.Now.UTC().Truncate(24 * time.Hour)), Networks: map[string]networkName{},
		Codes:     map[string]networkName{},
		GroupKeys: map[string]string{}, Facilitators: map[string]string{}, Since: map[string]site.Time{},
	}
	for _, n := range s.Networks {
		one := networkName{n.Name, n.ID, n.Abbreviation}
		shown.Networks[n.ID], shown.Codes[n.Abbreviation] = one, one
	}
	for _, g := range e.categories {
		shown.GroupKeys[g.name] = g.Key(1)
	}
	for _, g := range e.networks {
		shown.GroupKeys["\x00"+g.network.Abbreviation] = g.Key(1)
	}
	for i := range s.Facilitators {
		shown.Facilitators[s.Facilitators[i].FacilitatorID] = s.Facilitators[i].Name
	}
	for _, n := range s.Coverage.Networks {
		if n.MeasuredSince == nil {
			continue
		}
		if at, known := shown.Since[n.NetworkCAIP2]; !known || n.MeasuredSince.Before(at.Time) {
			shown.Since[n.NetworkCAIP2] = *n.MeasuredSince
		}
	}
	return &ServiceRenderer{pages: p, calendar: chart.NewCalendar(shown.Day), cards: sync.OnceValues(e.draw), shown: shown}
}

// Shown draws the pictures, which no file can do without, and tells what is shown.
func (e *ServiceRenderer) SharedInputs() (SharedInputs, error) {
	cards, err := e.cards()
	if err != nil {
		return SharedInputs{}, err
	}
	shown := e.shown
	shown.Whole, shown.Pictures = cards.whole, cards.category
	return shown, nil
}
