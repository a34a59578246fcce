package build

import (
	"tollbook/render"
	"tollbook/site"
)

// changeFiles are the files of a scope's logs in the snapshot: the index, and the blocks of each log. Each record is
// encoded once.
func writeChangeLogs(q site.Query, c site.Changes, add func(string, []byte) error) error {
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
	if err := writeChangeLogs(q, s.Changes, add); err != nil {
		return err
	}
	if err := addRows(q.Key(), s.Changes.Page, s.Changes.Meta, add); err != nil {
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
