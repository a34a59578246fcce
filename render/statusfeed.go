package render

import (
	"fmt"
	"strings"

	"tollbook/site"
	"tollbook/site/display"
)

// Limits of the feeds and of the calendar; the JSON is complete.
const (
	feedIncidents     = 50
	calendarIncidents = 300
)

// statusFeeds are the newest incidents as a feed and as a calendar.
type statusFeeds struct {
	Feed     feedDocument
	Calendar calendar
}

// statusFeed returns the newest incidents of a snapshot. page and data are the addresses of the status page and of the
// incidents as JSON. address returns the address of an incident's page, verdict whether its service may be paid now.
// Names of services are in quotation marks.
func statusFeed(s *site.Snapshot, title, page, data string, address func(*site.Incident) string,
	verdict func(slug string) string) statusFeeds {
	title += ": incidents"
	const about = "When services in this directory were out of order."
	f := statusFeeds{feedDocument{Title: title, About: about, Page: page, Data: data, Since: s.Now.String()},
		calendar{Title: title, About: about}}
	for i := range s.Incidents[:min(calendarIncidents, len(s.Incidents))] {
		x := &s.Incidents[i]
		entry, event := newIncidentEntry(x, data, address, verdict(x.Slug))
		if i < feedIncidents {
			f.Feed.Entries = append(f.Feed.Entries, entry)
		}
		f.Calendar.Events = append(f.Calendar.Events, event)
	}
	return f
}

// newIncidentEntry returns an incident as an entry of a feed and as an event of a calendar.
func newIncidentEntry(x *site.Incident, data string, address func(*site.Incident) string, verdict string) (feedEntry,
	feedEvent) {
	name := display.Line(x.Name, display.MaxName)
	if name == "" {
		name = x.Slug
	}
	e := feedEntry{ID: feedID("incident", x.Slug, x.StartedAt.String()), Title: quote(name) + " is " + x.Kind,
		Time: x.StartedAt.String(), Page: address(x), Data: data, Tag: x.Kind, Text: describeIncident(x) + verdict}
	event := feedEvent{ID: e.ID, Title: e.Title, Text: e.Text, Page: e.Page, Start: x.StartedAt.Time,
		IsByDay: x.Precision == site.PrecisionDay}
	if x.EndedAt != nil {
		e.Title = quote(name) + " was " + x.Kind + " for " + plain(statusDuration(x.DurationSeconds))
		e.Updated, event.Title, event.End = x.EndedAt.String(), e.Title, &x.EndedAt.Time
	}
	return e, event
}

// describeIncident returns an incident as lines of plain text.
func describeIncident(x *site.Incident) string {
	const layout = display.MinuteLayout + " UTC"
	text := "Began " + x.StartedAt.UTC().Format(layout)
	if x.Precision == site.PrecisionDay {
		text = "Began on " + x.StartedAt.UTC().Format(display.DayLayout)
	}
	switch {
	case x.EndedAt != nil:
		text += ", ended " + x.EndedAt.UTC().Format(layout)
	case x.Ongoing:
		text += ", ongoing"
	default:
		text += "; its end is not known, because the service was not checked then"
	}
	return fmt.Sprintf("%s.\nFailed checks: %d. Cause: %s.", text, x.FailedChecks, plain(because(*x)))
}

// plain replaces spaces that do not break.
func plain(s string) string { return strings.ReplaceAll(s, display.NBSP, " ") }
