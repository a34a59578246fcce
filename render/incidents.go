package render

import (
	"tollbook/site"
)

// Keys of the newest incidents as Atom and as a calendar.
const (
	IncidentsFeed     = "incidents.xml"
	IncidentsCalendar = "incidents.ics"
)

// Incidents returns the newest incidents as Atom, as a JSON Feed and as a calendar.
func (e *Renderer) Incidents() ([]Asset, error) {
	page, data := e.address(bareKey(statusRoute, "")), e.address(bareKey("incidents", ""))
	f := statusFeed(e.snapshot, e.pages.site.Title, page, data, e.incidentAddress, e.verdict)
	calendar := f.Calendar
	files, err := e.encodeFeed(f.Feed, IncidentsFeed, site.IncidentsFile)
	return append(files, Asset{IncidentsCalendar, calendar.Encode()}), err
}

// incidentAddress returns the URL of the page of an incident, or of its service if it has none.
func (e *ServiceRenderer) incidentAddress(x *site.Incident) string {
	if x.ID == nil {
		return e.address(serviceKey(x.Slug))
	}
	return e.address(incidentKey(*x.ID))
}
