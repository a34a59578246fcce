package build

import (
	"slices"
	"time"

	"tollbook/render"
	"tollbook/site"
	"tollbook/site/postgres"
)

// changeRecords are the records of the facts in the contract's words, in the order of the facts. A service that is
// listed no more has neither slug nor name.
func changeRecords(f *postgres.Facts) []*site.ChangeRecord {
	names := namesOf(f)
	records := make([]*site.ChangeRecord, len(f.Changes))
	for i, c := range f.Changes {
		records[i] = changeRecord(c, names)
	}
	return records
}

func changeRecord(c postgres.Change, names map[int64]name) *site.ChangeRecord {
	n := names[c.ServiceID]
	if n.slug == "" {
		erased := changeTombstone(c.Type, site.NewTime(c.ObservedAt))
		return &erased
	}
	return &site.ChangeRecord{
		Slug: n.slug, Name: n.name, Type: c.Type, ObservedAt: site.NewTime(c.ObservedAt), Summary: c.Summary,
		OldSnapshot: entries(c.OldSnapshot), NewSnapshot: entries(c.NewSnapshot),
	}
}

// judgeChanges fills in the logs of change records of all services.
func judgeChanges(s *site.Snapshot, f *postgres.Facts, now time.Time) {
	records := changeRecords(f)
	s.Changes = changeLogs(f.ChangeLogs, records)
	q := bare("changes", "")
	window, meta := site.ChangeWindow(s.Changes.Index, q, now)
	s.Changes.Meta, s.Changes.Page, s.Changes.Feed = meta, []*site.ChangeRecord{}, []*site.ChangeRecord{}
	for i := len(records) - 1; i >= 0 && len(s.Changes.Feed) < site.FeedEntries; i-- {
		s.Changes.Feed = append(s.Changes.Feed, records[i])
	}
	s.Changes.Page = s.Changes.Feed[:min(int64(q.Int("per_page")), window.Total())]
	s.Changes.Feed = slices.DeleteFunc(slices.Clone(s.Changes.Feed), func(r *site.ChangeRecord) bool { return r.Slug == "" }) // erased
}

// serviceChangeLogs are the logs of one service's records.
func serviceChangeLogs(f *postgres.ServiceFacts) site.Changes {
	own := map[int64]name{f.ID: {f.Slug, f.Name}}
	records := make([]*site.ChangeRecord, len(f.Records))
	for i, c := range f.Records {
		records[i] = changeRecord(c, own)
	}
	return changeLogs(f.ChangeLogs, records)
}

// changeLogs are the logs of a scope, all services or one, whose newest records are given, oldest first.
func changeLogs(facts []postgres.ChangeLogFacts, newest []*site.ChangeRecord) site.Changes {
	c := site.Changes{Index: site.LogIndex{Packs: []site.LogPack{}}}
	for _, f := range facts {
		var rows []*site.ChangeRecord
		for _, r := range newest {
			if f.Type == "" || f.Type == r.Type {
				rows = append(rows, r)
			}
		}
		tail := rows[len(rows)-int(f.Next-f.From):]
		l := logOf(postgres.LogFacts{Sealed: f.Sealed, Next: f.Next, Blocks: f.Blocks}, tail, 0)
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

// changeFiles are the files of a scope's logs in the snapshot: the index, and the blocks of each log. Each record is
// encoded once.
func changeFiles(q site.Query, c site.Changes, add func(string, []byte) error) error {
	if err := addLine(q.LogKey(), c.Index, add); err != nil {
		return err
	}
	rows := map[*site.ChangeRecord][]byte{}
	for _, l := range c.Logs {
		of := q.With("type", l.Type)
		for _, b := range l.Blocks {
			lines := make([][]byte, len(b.Rows))
			for i, r := range b.Rows {
				if rows[r] == nil {
					row, err := site.Row(r)
					if err != nil {
						return err
					}
					rows[r] = row
				}
				lines[i] = rows[r]
			}
			if err := addList(of.BlockKey(b.Number), site.Framing{}, lines, site.BlockMeta{First: b.First}, add); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofService is the request for a service's change records.
func ofService(slug string) site.Query { return bare("changes", "").With("service", slug) }

// writeChanges writes the logs of all services, the default page and the feeds, and counts the log.
func writeChanges(s *site.Snapshot, edition *render.Edition, totals map[string]int, add func(string, []byte) error) error {
	q := bare("changes", "")
	totals[q.ListKey()] = int(s.Changes.Index.Total())
	if err := changeFiles(q, s.Changes, add); err != nil {
		return err
	}
	if err := listFile(q.Key(), s.Changes.Page, s.Changes.Meta, add); err != nil {
		return err
	}
	feeds, err := edition.Feeds()
	if err != nil {
		return err
	}
	for _, f := range feeds {
		if err := add(f.Key, f.Bytes); err != nil {
			return err
		}
	}
	return nil
}

// changeBlock renders a full block of a pack; one of a service that is listed no more is left out.
func changeBlock(p postgres.ChangeBlock, names map[int64]name, add func(string, []byte) error) error {
	q := bare("changes", "")
	if p.ServiceID != 0 {
		n, listed := names[p.ServiceID]
		if !listed {
			return nil
		}
		q = ofService(n.slug)
	}
	rows := make([]*site.ChangeRecord, len(p.Rows))
	for i, c := range p.Rows {
		rows[i] = changeRecord(c, names)
	}
	block := site.Block[*site.ChangeRecord]{Number: p.Block, First: p.Block * site.BlockSize, Rows: rows}
	return blockFile(q.With("type", p.Type).BlockKey(p.Block), block, add)
}
