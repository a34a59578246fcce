package render

import (
	"tollbook/render/card"
	"tollbook/render/service"
	"tollbook/site/encode"
)

// badgeKey returns the key of a badge, ".svg" or ".json".
func badgeKey(slug, ext string) string { return "services/" + slug + "/badge" + ext }

// ServiceFiles returns the files beside a service's page: its Markdown page, its badge as an image and as JSON, its
// card for previews of links, the calendar of its incidents, and its feeds.
func (e *ServiceRenderer) ServiceFiles(l *service.Text) ([]Asset, error) {
	b := card.NewBadge(&l.Detail, e.pages.colours)
	data, err := encode.Line(b)
	if err != nil {
		return nil, err
	}
	markdown, err := e.ServiceMarkdown(l)
	if err != nil {
		return nil, err
	}
	picture, err := e.serviceCard(&l.Detail)
	if err != nil {
		return nil, err
	}
	feeds, err := e.ServiceFeeds(l)
	return append([]Asset{markdown, {badgeKey(l.Detail.Slug, ".svg"), card.BadgeSVG(b)},
		{badgeKey(l.Detail.Slug, ".json"), data}, picture, e.serviceCalendar(l)}, feeds...), err
}

// ServiceKeys returns the keys of all rendered files of a service: its page and what ServiceFiles returns.
func ServiceKeys(slug string) []string {
	page := serviceKey(slug)
	return []string{page, markdownKey(page), badgeKey(slug, ".svg"), badgeKey(slug, ".json"),
		serviceCardKey(slug), serviceCalendarKey(slug), serviceFeedKey(slug, ".xml"),
		serviceFeedKey(slug, ".json")}
}
