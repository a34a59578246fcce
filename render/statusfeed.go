package render

import (
	"crypto/sha1"
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
// incidents as JSON, service returns the address of a service's page. Names of services are in quotation marks.
func statusFeed(s *site.Snapshot, title, page, data string, service func(slug string) string) statusFeeds {
	title += ": incidents"
	const about = "When services in this directory were out of order."
	f := statusFeeds{feedDocument{Title: title, About: about, Page: page, Data: data, Since: s.Now.String()},
		calendar{Title: title, About: about}}
	for i := range s.Incidents[:min(calendarIncidents, len(s.Incidents))] {
		x := &s.Incidents[i]
		name := display.Line(x.Name, display.MaxName)
		if name == "" {
			name = x.Slug
		}
		e := feedEntry{ID: incidentID(x), Title: quoteStatus(name) + " is " + x.Kind, Time: x.StartedAt.String(),
			Page: service(x.Slug), Data: data, Tag: x.Kind, Text: describeIncident(x)}
		event := feedEvent{ID: e.ID, Title: e.Title, Text: e.Text, Page: e.Page, Start: x.StartedAt.Time,
			IsByDay: x.Precision == site.PrecisionDay}
		if x.EndedAt != nil {
			e.Title = quoteStatus(name) + " was " + x.Kind + " for " + plain(statusDuration(x.DurationSeconds))
			e.Updated, event.Title, event.End = x.EndedAt.String(), e.Title, &x.EndedAt.Time
		}
		if i < feedIncidents {
			f.Feed.Entries = append(f.Feed.Entries, e)
		}
		f.Calendar.Events = append(f.Calendar.Events, event)
	}
	return f
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
		text += ", goes on"
	default:
		text += "; its end is not known, because the service is not checked any more"
	}
	return fmt.Sprintf("%s.\nFailed checks: %d. Cause: %s.", text, x.FailedChecks, plain(because(*x)))
}

// incidentID returns the id of an incident. A service has at most one that begins at a time.
func incidentID(x *site.Incident) string {
	h := sha1.Sum([]byte("tollbook incident\x00" + x.Slug + "\x00" + x.StartedAt.String()))
	h[6], h[8] = h[6]&0x0f|0x50, h[8]&0x3f|0x80 // UUID version 5, RFC 9562 section 5.5
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// plain replaces spaces that do not break.
func plain(s string) string { return strings.ReplaceAll(s, display.NBSP, " ") }

// quoteStatus returns a name in quotation marks. The name cannot end the quotation.
func quoteStatus(s string) string {
	return "“" + strings.NewReplacer("“", `"`, "”", `"`).Replace(s) + "”"
}
