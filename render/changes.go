package render

import (
	"cmp"
	"slices"
	"strings"

	"tollbook/render/service"
	"tollbook/site"
	"tollbook/site/display"
)

const (
	kindChanges  = "changes"
	changesRoute = "changes-page"
)

type changesBody struct {
	Counts site.TypeCounts // of the last 90 days
	Total  int64
	Days   []changeDay
	// Services of these changes, those with the most first.
	Services []changedService
	Shown    int
	Atom     string // keys
	JSON     string
}

// changedService is a service with the number of its changes on the page.
type changedService struct {
	Slug, Name string
	Count      int
}

// changedServices returns the services of changes, those with the most first.
func changedServices(feed []*site.ChangeRecord) []changedService {
	at := map[string]int{}
	var services []changedService
	for _, r := range feed {
		i, seen := at[r.Slug]
		if !seen {
			i, at[r.Slug] = len(services), len(services)
			services = append(services, changedService{Slug: r.Slug, Name: r.Name})
		}
		services[i].Count++
	}
	slices.SortFunc(services, func(a, b changedService) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Slug, b.Slug))
	})
	return services
}

// changeDay contains the changes of a UTC day, in groups by service and kind, that with the newest change first.
type changeDay struct {
	At     site.Time
	Groups []changeGroup
}

// changeGroup is the changes of one kind of one service on one day: the newest, and those before it.
type changeGroup struct {
	service.Change
	Earlier []service.Change
}

// add adds a change that is older than all others of the day.
func (d *changeDay) add(c service.Change) {
	for i := range d.Groups {
		if g := &d.Groups[i]; g.Slug == c.Slug && g.Label == c.Label {
			g.Earlier = append(g.Earlier, c)
			return
		}
	}
	d.Groups = append(d.Groups, changeGroup{Change: c})
}

// ChangesPage returns changes.html: the newest changes of all services, by day.
func (e *Renderer) ChangesPage() ([]byte, error) {
	c := e.snapshot.Changes
	body := changesBody{Counts: c.Meta.TypeCounts, Total: c.Meta.WindowTotal, Shown: len(c.Feed), Atom: FeedFile,
		JSON: JSONFeedFile, Services: changedServices(c.Feed)}
	for _, r := range c.Feed {
		u := e.unitsOf(r.Slug)
		date := r.ObservedAt.UTC().Format(display.DayLayout)
		if n := len(body.Days); n == 0 || body.Days[n-1].At.UTC().Format(display.DayLayout) != date {
			body.Days = append(body.Days, changeDay{At: r.ObservedAt})
		}
		body.Days[len(body.Days)-1].add(service.NewChange(r, u, e.shared.Networks).Short(service.ChangeLines))
	}
	return e.render(page{Key: bareKey(changesRoute, ""), Kind: kindChanges, JSON: bareKey("changes", ""),
		Title: "Changes", Atom: FeedFile, Feed: JSONFeedFile, HasMarkdown: true,
		Description: "The latest price, recipient and payment option changes of services that charge per request " +
			"over HTTP 402.", Body: body})
}
