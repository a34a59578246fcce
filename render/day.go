package render

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tollbook/render/service"
	"tollbook/site"
	"tollbook/site/display"
)

// homeDay is what happened in the last 24 hours.
type homeDay struct {
	Counts   string      // how often, by kind; "" if nothing happened
	Events   []homeEvent // newest first, at most one of a kind for each service
	Previous bool        // nothing happened: the events are older
}

// homeEvent is what happened to a service.
type homeEvent struct {
	Kind       string // type of a change, or the status of an incident; "" for an unknown type
	Label      string
	Slug, Name string
	At         site.Time
	service.ChangeLine
	Note string // "+25%", "5 times"
}

// newDay returns the events of the last 24 hours, or the newest changes before.
func newDay(s *site.Snapshot, w homeWords) homeDay {
	since := s.Now.Add(-window)
	d := homeDay{Counts: countEvents(s, since)}
	if d.Counts == "" {
		for _, r := range s.Changes.Feed[:min(maxPrevious, len(s.Changes.Feed))] {
			d.Events = append(d.Events, w.Change(r))
		}
		d.Previous = len(d.Events) > 0
		return d
	}
	events := append(changesSince(s, since, w), incidentsSince(s, since)...)
	slices.SortStableFunc(events, func(a, b homeEvent) int {
		return cmp.Or(b.At.Compare(a.At.Time), cmp.Compare(a.Slug, b.Slug), cmp.Compare(a.Kind, b.Kind))
	})
	ofKind := map[string]int{}
	for _, e := range events {
		if ofKind[e.Kind]++; ofKind[e.Kind] <= maxOfKind && len(d.Events) < maxEvents {
			d.Events = append(d.Events, e)
		}
	}
	return d
}

// changesSince returns the newest change of each type of each service, with its own values: those that the list of
// changes shows.
func changesSince(s *site.Snapshot, since time.Time, w homeWords) []homeEvent {
	type key struct{ slug, kind string }
	seen := map[key]int{}
	var newest []*site.ChangeRecord
	for _, r := range s.Changes.Feed { // newest first
		k := key{r.Slug, r.Type}
		if r.ObservedAt.Before(since) {
			continue
		}
		if seen[k]++; seen[k] == 1 {
			newest = append(newest, r)
		}
	}
	var events []homeEvent
	for _, r := range newest {
		e, n := w.Change(r), seen[key{r.Slug, r.Type}]
		if r.Type == site.PriceChanged {
			price, ok := recordedPrice(s, r, w.Network)
			if !ok {
				continue // it cannot be compared
			}
			e.ChangeLine, e.Note = price.ChangeLine, price.Note
		}
		if n > 1 {
			e.Note = strings.TrimPrefix(e.Note+"; "+display.Number(int64(n))+" times", "; ")
		}
		events = append(events, e)
	}
	return events
}

// incidentsSince returns the newest incident of each service that began or ended since an instant.
func incidentsSince(s *site.Snapshot, since time.Time) []homeEvent {
	var events []homeEvent
	at, count := map[string]int{}, map[string]int{} // by slug
	for i := range s.Incidents {                    // newest first
		x := &s.Incidents[i]
		e := newIncident(x)
		if e.At.Before(since) {
			continue
		}
		if count[x.Slug]++; count[x.Slug] == 1 {
			at[x.Slug] = len(events)
			events = append(events, e)
		}
	}
	for slug, n := range count {
		if e := &events[at[slug]]; n > 1 {
			e.Note = strings.TrimPrefix(e.Note+"; "+display.Number(int64(n))+" incidents", "; ")
		}
	}
	return events
}

// newIncident words an incident: its end, or its begin while it goes on.
func newIncident(x *site.Incident) homeEvent {
	e := homeEvent{Kind: x.Kind, Label: "Offline", Slug: x.Slug, Name: x.Name, At: x.StartedAt}
	if x.Kind == site.StatusDegraded {
		e.Label = "Degraded"
	}
	var notes []string
	if x.EndedAt != nil {
		e.Kind, e.Label, e.At = site.StatusOnline, "Recovered", *x.EndedAt
		if lasted := statusDuration(x.DurationSeconds); lasted != "" {
			notes = append(notes, display.Status(x.Kind)+" for "+lasted)
		}
	}
	if x.Shared != nil {
		notes = append(notes, "cause: "+because(*x))
	}
	e.Note = strings.Join(notes, "; ")
	return e
}

// countEvents returns how often each kind of event happened since an instant, "" for nothing. A feed that is full may
// lack records, so that its counts of changes are lower bounds.
func countEvents(s *site.Snapshot, since time.Time) string {
	n := map[string]int64{}
	truncated := len(s.Changes.Feed) >= site.FeedEntries
	for _, r := range s.Changes.Feed {
		if r.ObservedAt.Before(since) {
			truncated = false
			continue
		}
		n[r.Type]++
	}
	const listed, began = "service listed", "incident began"
	for _, item := range s.ListedItems() {
		if !item.CreatedAt.Before(since) {
			n[listed]++
		}
	}
	for i := range s.Incidents {
		if !s.Incidents[i].StartedAt.Before(since) {
			n[began]++
		}
	}
	var parts []string
	for _, k := range []struct{ kind, one, many string }{
		{listed, "new service", "new services"}, {site.PriceChanged, "price change", "price changes"},
		{site.PayToChanged, "recipient change", "recipient changes"},
		{site.SchemaChanged, "change of payment options", "changes of payment options"},
		{site.GradeChanged, "grade change", "grade changes"},
		{site.VerdictChanged, "verdict change", "verdict changes"},
		{site.SourceListed, "listing in a source", "listings in sources"},
		{site.SourceDropped, "removal from a source", "removals from sources"},
		{began, "incident", "incidents"},
	} {
		if n[k.kind] == 0 {
			continue
		}
		text := display.Plural(n[k.kind], k.one, k.many)
		if truncated && k.kind != listed && k.kind != began {
			text = "at least " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
