package judge

import (
	"encoding/json"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/routes"
)

// Change returns a row of a log of changes. The row of an erased service has only its type and time.
func (n Names) Change(c checks.Change) *site.ChangeRecord {
	service := n[c.ServiceID]
	if service.slug == "" {
		erased := ChangeTombstone(c.Type, site.NewTime(c.ObservedAt))
		return &erased
	}
	return &site.ChangeRecord{
		Slug: service.slug, Name: service.name, Type: c.Type, ObservedAt: site.NewTime(c.ObservedAt),
		Summary:     c.Summary,
		OldSnapshot: readEntries(c.OldSnapshot), NewSnapshot: readEntries(c.NewSnapshot),
	}
}

// ChangeTombstone returns the row of an erased service in the log of all changes.
func ChangeTombstone(kind string, at site.Time) site.ChangeRecord {
	return site.ChangeRecord{
		Type: kind, ObservedAt: at, Summary: json.RawMessage("{}"),
		OldSnapshot: []site.SnapshotEntry{}, NewSnapshot: []site.SnapshotEntry{},
	}
}

// readEntries reads the price entries of a change record. Only this program writes the column; a value that cannot be
// read gives an empty list.
func readEntries(text json.RawMessage) []site.SnapshotEntry {
	list := []site.SnapshotEntry{}
	if json.Unmarshal(text, &list) != nil || list == nil {
		return []site.SnapshotEntry{}
	}
	return list
}

// changeRecords returns the rows of changes, in the order of the changes.
func (n Names) changeRecords(changes []checks.Change) []*site.ChangeRecord {
	records := make([]*site.ChangeRecord, len(changes))
	for i, c := range changes {
		records[i] = n.Change(c)
	}
	return records
}

// judgeChanges fills in the logs of changes of all services, their default page and the feed.
func judgeChanges(s *site.Snapshot, f *postgres.Facts, now time.Time) {
	records := NewNames(f).changeRecords(f.Changes)
	s.Changes = newChangeLogs(f.ChangeLogs, records)
	q := routes.Query{Route: routes.ByName("changes"), Bare: true}
	window, meta := routes.ChangeWindow(s.Changes.Index, q, now)
	newest := []*site.ChangeRecord{}
	for i := len(records) - 1; i >= 0 && len(newest) < site.FeedEntries; i-- {
		newest = append(newest, records[i])
	}
	s.Changes.Meta, s.Changes.Page = meta, newest[:min(int64(q.Int("per_page")), window.Total())]
	isErased := func(r *site.ChangeRecord) bool { return r.Slug == "" }
	s.Changes.Feed = slices.DeleteFunc(slices.Clone(newest), isErased)
}

// serviceChanges returns the changes that a service's page shows, without the prices before and after.
func serviceChanges(f *postgres.ServiceFacts) []site.ChangeRecord {
	records := make([]site.ChangeRecord, len(f.Changes))
	for i, c := range f.Changes {
		records[i] = site.ChangeRecord{
			Slug: f.Slug, Name: f.Name, Type: c.Type, ObservedAt: site.NewTime(c.ObservedAt), Summary: c.Summary,
		}
	}
	return records
}

// serviceChangeLogs returns the logs of one service's changes.
func serviceChangeLogs(f *postgres.ServiceFacts) site.Changes {
	return newChangeLogs(f.ChangeLogs, Names{f.ID: {f.Slug, f.Name}}.changeRecords(f.Records))
}

// tail returns the newest records of a log. Its numbers stay even if a row is damaged: a tombstone takes the place of a
// record that is missing.
func tail(f *checks.ChangeLogFacts, rows []*site.ChangeRecord) []*site.ChangeRecord {
	n := int(max(0, f.Next-f.From))
	for len(rows) < n {
		missing := ChangeTombstone(f.Type, site.NewTime(time.Unix(0, 0)))
		rows = slices.Insert(rows, 0, &missing)
	}
	return rows[len(rows)-n:]
}

// newChangeLogs returns the logs of all services or of one. newest are its newest records, oldest first. A log of an
// unknown type, which only a damaged row can have, is left out.
func newChangeLogs(facts []checks.ChangeLogFacts, newest []*site.ChangeRecord) site.Changes {
	c := site.Changes{Index: site.LogIndex{Packs: []site.LogPack{}}}
	for _, f := range facts {
		if f.Type != "" && !slices.Contains(site.ChangeTypes, f.Type) {
			continue
		}
		var rows []*site.ChangeRecord
		for _, r := range newest {
			if f.Type == "" || f.Type == r.Type {
				rows = append(rows, r)
			}
		}
		l := newLog(checks.LogFacts{Sealed: f.Sealed, Next: f.Next, Blocks: f.Blocks}, tail(&f, rows), 0)
		for _, d := range f.Days {
			l.Index.Days = append(l.Index.Days, site.LogDay{Day: d.Day.UTC().Format(time.DateOnly), First: d.First})
		}
		if f.Type == "" {
			l.Index.Types = c.Index.Types
			c.Index = l.Index
		} else {
			if c.Index.Types == nil {
				c.Index.Types = map[string]site.LogIndex{}
			}
			c.Index.Types[f.Type] = l.Index
		}
		c.Logs = append(c.Logs, site.ChangeLog{Type: f.Type, Blocks: l.Blocks})
	}
	return c
}
