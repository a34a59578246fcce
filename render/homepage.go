package render

import (
	"tollbook/render/money"
	"tollbook/render/service"
	"tollbook/site"
)

// Home returns index.html: what the directory is, what changed in a day, and the picks of each category.
func (e *Renderer) Home() ([]byte, error) {
	return e.render(page{
		Key: homeKey, Kind: kindHome, JSON: bareKey("stats", ""), Atom: FeedFile, Feed: JSONFeedFile,
		Title:       e.pages.site.Title,
		Description: e.pages.site.Description, About: e.aboutHome(), HasMarkdown: true,
		Body: e.homePage(),
	})
}

// homePage returns what the start page shows.
func (e *Renderer) homePage() *homePage {
	groups := func(rows []groupRow) []homeGroup {
		list := make([]homeGroup, len(rows))
		for i, r := range rows {
			list[i] = homeGroup{Name: r.Name, Key: r.Key, Services: r.Services}
		}
		return list
	}
	return newHome(e.snapshot, e.calendar, homeWords{
		Categories: groups(bySize(e.categories)), Networks: groups(bySize(e.networks)),
		Network: e.shared.Networks.Chip,
		Code:    func(abbreviation string) money.Chip { return e.shared.Networks.Chips([]string{abbreviation})[0] },
		Change:  e.homeEvent, Since: e.shared.MeasuredSince,
	})
}

// homeEvent words a record by its first line.
func (e *Renderer) homeEvent(r *site.ChangeRecord) homeEvent {
	c := service.NewChange(r, e.unitsOf(r.Slug), e.shared.Networks)
	event := homeEvent{Kind: c.Kind, Label: c.Label, Slug: c.Slug, Name: c.Name, At: c.ObservedAt}
	if len(c.Lines) > 0 {
		event.ChangeLine = c.Lines[0]
	}
	return event
}
