package render

import (
	"fmt"

	"tollbook/render/service"
	"tollbook/site"
	"tollbook/site/display"
)

const (
	kindIncident  = "incident"
	incidentRoute = "incident-page"
)

func incidentKey(id string) string { return bareKey(incidentRoute, id) }

// incidentBody is the page of an incident.
type incidentBody struct {
	*site.IncidentDetail
	statusIncident
	Advice      *site.Advice // on the service, now
	First, Last string       // what went wrong in the first and in the last failed check; "" if unknown
	Unnamed     int          // other incidents that are not named
	CheckLog    string       // the service's checks as JSON
	Newest      int          // how many of the service's incidents have pages at most
}

// IncidentPages returns the page of each incident of a service's files. IncidentKeys names them.
func (e *ServiceRenderer) IncidentPages(l *service.Text) ([]Asset, error) {
	var pages []Asset
	for i := range l.Incidents {
		x := &l.Incidents[i]
		body := incidentBody{IncidentDetail: x, statusIncident: newStatusIncident(&x.Incident),
			Advice: &l.Detail.Assessment.Advice, First: describeFailure(x.Incident.FirstFailure),
			Last: describeFailure(x.Incident.LastFailure), Unnamed: x.OtherIncidents - len(x.Others),
			CheckLog: e.pages.href(bareKey("service-checks", l.Detail.Slug)), Newest: site.IncidentPages}
		name := display.Line(display.Name(l.Detail.Name), display.MaxTitle)
		key := incidentKey(*x.Incident.ID)
		data, err := e.render(page{
			Key: key, Kind: kindIncident, JSON: bareKey("incident", *x.Incident.ID), Now: service.NewestFact(&l.Detail),
			Title:       name + ": " + x.Incident.Kind + " from " + x.Incident.StartedAt.UTC().Format(display.MinuteLayout),
			Description: name + ": " + plain(describeIncident(&x.Incident)),
			Up:          breadcrumb{"Status", bareKey(statusRoute, "")}, Category: l.Detail.Category, Body: body,
		})
		if err != nil {
			return nil, err
		}
		pages = append(pages, Asset{key, data})
	}
	return pages, nil
}

// IncidentKeys returns the keys of the pages of incidents.
func IncidentKeys(list []site.IncidentDetail) (keys []string) {
	for i := range list {
		keys = append(keys, incidentKey(*list[i].Incident.ID))
	}
	return keys
}

// describeFailure returns what went wrong in a failed check: "HTTP 500: answers 500 Internal Server Error". It returns
// "" if that is not known.
func describeFailure(f *site.IncidentFailure) string {
	if f == nil {
		return ""
	}
	text := ""
	if f.ErrorMessage != nil {
		text = display.Line(*f.ErrorMessage, display.MaxLine)
	}
	switch {
	case f.StatusCode == nil:
		return text
	case text == "":
		return fmt.Sprintf("HTTP %d", *f.StatusCode)
	}
	return fmt.Sprintf("HTTP %d: %s", *f.StatusCode, text)
}

// ownCause returns what the service did in the newest failed check of an incident, or in the first: "HTTP 500 from the
// service".
func ownCause(x *site.Incident) string {
	f := x.LastFailure
	if f == nil {
		f = x.FirstFailure
	}
	switch {
	case f == nil:
		return "the service; its answers were not stored"
	case f.StatusCode == nil && f.ErrorMessage != nil:
		return "no answer from the service: " + display.Line(*f.ErrorMessage, display.MaxLine)
	case f.StatusCode == nil:
		return "no answer from the service"
	}
	text := fmt.Sprintf("HTTP %d from the service", *f.StatusCode)
	if f.ErrorMessage != nil && *f.StatusCode < 500 && (*f.StatusCode < 400 || *f.StatusCode == 402) {
		text += ": " + display.Line(*f.ErrorMessage, display.MaxLine)
	}
	return text
}
