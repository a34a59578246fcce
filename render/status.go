// This part of the package makes what the status page shows: a sentence about the whole directory, incidents, and
// services by category, the worst first. It must never know a route or a template.

package render

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"tollbook/render/chart"
	"tollbook/site"
	"tollbook/site/display"
)

// Limits of the page; the JSON is complete.
const (
	maxOngoing        = 12
	maxEnded          = 10
	maxOfOne          = 3  // ended ones of one service
	maxStatusServices = 48 // of all categories together
	minServices       = 2  // of one category
)

// statusBody is the status of a directory.
type statusBody struct {
	*site.StatusSummary
	Sentence          string
	Shared            []string              // ongoing outages that are not of one service alone
	Ongoing, Ended    []statusIncident      // newest first
	DegradedNow       []*site.StatusService // without an incident that is ongoing, by slug
	MoreOngoing, More int                   // that are not shown; MoreOngoing counts degraded services, too
	Categories        []statusCategory

	Href func(category string) string // key of the category's page, "" without
}

// statusIncident is a row of the list of incidents.
type statusIncident struct {
	*site.Incident
	Duration string // "" while it is not known
	Because  string
}

// statusCategory is the services of a category, the worst first.
type statusCategory struct {
	Name                                       string
	Total, Online, Offline, Degraded, Unlisted int             // Unlisted counts the services that are not shown
	Faulty, Working                            []statusService // Working are online
}

// statusService is a row of a category.
type statusService struct {
	*site.StatusService
	Strip template.HTML
	days  *site.UptimeDays
}

// newStatusPage returns the page of a snapshot.
func newStatusPage(s *site.Snapshot) *statusBody {
	p := &statusBody{StatusSummary: &s.Status}
	seen, hasIncident, ended := map[string]bool{}, map[string]bool{}, map[string]int{}
	for i := range s.Incidents {
		x := &s.Incidents[i]
		switch {
		case x.Ongoing:
			hasIncident[x.Slug] = true
			if p.Ongoing = append(p.Ongoing, newStatusIncident(x)); x.Shared == nil {
				continue
			}
			if text := describeShared(x); !seen[text] {
				seen[text] = true
				p.Shared = append(p.Shared, text)
			}
		case x.EndedAt != nil:
			if ended[x.Slug]++; len(p.Ended) < maxEnded && ended[x.Slug] <= maxOfOne {
				p.Ended = append(p.Ended, newStatusIncident(x))
			} else {
				p.More++
			}
		}
	}
	slices.SortStableFunc(p.Ongoing, func(a, b statusIncident) int { return cmp.Compare(b.Kind, a.Kind) }) // offline first
	if more := len(p.Ongoing) - maxOngoing; more > 0 {
		p.Ongoing, p.MoreOngoing = p.Ongoing[:maxOngoing], more
	}
	for i := range s.Status.Services {
		if x := &s.Status.Services[i]; x.Status == site.StatusDegraded && !hasIncident[x.Slug] {
			p.DegradedNow = append(p.DegradedNow, x)
		}
	}
	slices.SortFunc(p.DegradedNow, func(a, b *site.StatusService) int { return cmp.Compare(a.Slug, b.Slug) })
	if more := len(p.DegradedNow) - maxOngoing; more > 0 {
		p.DegradedNow, p.MoreOngoing = p.DegradedNow[:maxOngoing], p.MoreOngoing+more
	}
	p.Sentence = describeChange(&s.Status)
	p.Categories = categoriesOf(s)
	return p
}

// describeChange returns the overall state as a sentence, "" without a service.
func describeChange(s *site.StatusSummary) string {
	if s.Total == 0 {
		return ""
	}
	var faults []string
	for _, f := range []struct {
		n     int
		state string
	}{{s.Offline, "offline"}, {s.Degraded, "degraded"}} {
		switch {
		case f.n == 1:
			faults = append(faults, "1 is "+f.state)
		case f.n > 1:
			faults = append(faults, display.Number(int64(f.n))+" are "+f.state)
		}
	}
	visited := s.Total - s.Unknown
	if visited == 0 {
		return "No service has been checked recently."
	}
	text := fmt.Sprintf("%s of %s work", display.Number(int64(s.Online)),
		display.Plural(int64(visited), "service", "services"))
	if s.Online == visited {
		text = "All " + display.Plural(int64(visited), "service", "services") + " work"
		if visited == 1 {
			text = "The one service works"
		}
	}
	switch len(faults) {
	case 1:
		text += " and " + faults[0]
	case 2:
		text += ", " + faults[0] + " and " + faults[1]
	}
	if s.Unknown > 0 {
		text += ". The status of " + display.Number(int64(s.Unknown)) + " more is unknown"
	}
	return text + "."
}

func newStatusIncident(x *site.Incident) statusIncident {
	return statusIncident{x, statusDuration(x.DurationSeconds), because(*x)}
}

// statusDuration returns seconds in the two largest units, "" for nil.
func statusDuration(seconds *int64) string {
	if seconds == nil {
		return ""
	}
	d := time.Duration(*seconds) * time.Second
	days, hours, minutes := int64(d/(24*time.Hour)), int64(d/time.Hour%24), int64(d/time.Minute%60)
	switch {
	case days > 0 && hours > 0:
		return display.Plural(days, "day", "days") + " " + display.Plural(hours, "hour", "hours")
	case days > 0:
		return display.Plural(days, "day", "days")
	case hours > 0 && minutes > 0:
		return display.Plural(hours, "hour", "hours") + " " + fmt.Sprint(minutes) + " min"
	case hours > 0:
		return display.Plural(hours, "hour", "hours")
	}
	return fmt.Sprint(max(1, minutes)) + " min"
}

// because returns the cause of an incident in words.
func because(x site.Incident) string {
	if x.Shared == nil {
		return ownCause(&x)
	}
	what := "our own measurement"
	if x.Cause != site.CauseMeasurement {
		what = nameGroup(&x)
	}
	return fmt.Sprintf("%s (%d of %d services failed)", what, x.Shared.Failed, x.Shared.Services)
}

// nameGroup returns the kind and the name of the services that failed at the same time: "network Base".
func nameGroup(x *site.Incident) string {
	kind := display.Line(x.Cause, display.MaxCode)
	if x.Shared.Name == nil {
		return kind
	}
	return kind + " " + display.Line(*x.Shared.Name, display.MaxCode)
}

// describeShared returns a shared outage as a sentence.
func describeShared(x *site.Incident) string {
	since := x.Shared.From.UTC().Format(display.MinuteLayout) + " UTC"
	if x.Cause == site.CauseMeasurement {
		return fmt.Sprintf("Our own measurement failed at %s: %d of %d services at once. This says nothing about them.",
			since, x.Shared.Failed, x.Shared.Services)
	}
	return fmt.Sprintf("%d of %d services of the %s failed at the same time, from %s.", x.Shared.Failed,
		x.Shared.Services, nameGroup(x), since)
}

// categoriesOf returns the categories, those with the most offline services first.
func categoriesOf(s *site.Snapshot) []statusCategory {
	rows := make(map[string]*site.StatusService, len(s.Status.Services))
	for i := range s.Status.Services {
		rows[s.Status.Services[i].Slug] = &s.Status.Services[i]
	}
	by := map[string]*statusCategory{}
	for i := range s.Services {
		item := &s.Services[i].Item
		row := rows[item.Slug]
		if row == nil {
			continue
		}
		c := by[item.Category]
		if c == nil {
			c = &statusCategory{Name: item.Category}
			by[item.Category] = c
		}
		c.Total++
		switch row.Status {
		case site.StatusOnline:
			c.Online++
		case site.StatusOffline:
			c.Offline++
		case site.StatusDegraded:
			c.Degraded++
		}
		c.Faulty = append(c.Faulty, statusService{StatusService: row, days: &s.Services[i].Days})
	}
	list := make([]statusCategory, 0, len(by))
	for _, c := range by {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b statusCategory) int {
		return cmp.Or(cmp.Compare(b.Offline, a.Offline), cmp.Compare(b.Degraded, a.Degraded),
			cmp.Compare(a.Name, b.Name))
	})
	if len(list) > maxStatusServices/minServices {
		list = list[:maxStatusServices/minServices]
	}
	for i := range list {
		list[i].cut(max(minServices, maxStatusServices/len(list)))
	}
	return list
}

// cut sorts the services, the worst first, keeps so many of them, draws their strips and sets apart those that work.
func (c *statusCategory) cut(limit int) {
	all := c.Faulty
	slices.SortFunc(all, func(a, b statusService) int {
		return cmp.Or(cmp.Compare(slices.Index(display.StatusOrder, display.Status(a.Status)),
			slices.Index(display.StatusOrder, display.Status(b.Status))),
			cmp.Compare(up(a.days), up(b.days)), cmp.Compare(a.Slug, b.Slug))
	})
	c.Unlisted = max(0, len(all)-limit)
	all = all[:len(all)-c.Unlisted]
	for i := range all {
		all[i].Strip = chart.SmallStrip(*all[i].days)
	}
	works := func(s statusService) bool { return s.Status == site.StatusOnline }
	first := slices.IndexFunc(all, works)
	if first < 0 {
		first = len(all)
	}
	c.Faulty, c.Working = all[:first], all[first:]
}

// up returns the average of days in percent, 0 without a day.
func up(days *site.UptimeDays) float64 {
	sum, n := 0, 0
	for _, d := range days {
		if d > 0 {
			sum, n = sum+int(d)-1, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return float64(sum) / float64(n)
}
