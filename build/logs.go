package build

import (
	"tollbook/render"
	"tollbook/site"
	"tollbook/site/encode"
	"tollbook/site/routes"
)

// writeChangeLogs writes the index and the blocks of the logs of all services or of one. Each record is encoded once.
func writeChangeLogs(q routes.Query, c site.Changes, add addFunc) error {
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
					row, err := encode.Row(r)
					if err != nil {
						return err
					}
					rows[r] = row
				}
				lines[i] = rows[r]
			}
			if err := addList(of.BlockKey(b.Number), encode.Framing{}, lines, site.BlockMeta{First: b.First},
				add); err != nil {
				return err
			}
		}
	}
	return nil
}

// ofService returns the request for a service's changes.
func ofService(slug string) routes.Query { return bare("changes", "").With("service", slug) }

// writeChanges writes the logs of changes of all services, their default page and the feeds. It counts the log in
// totals.
func writeChanges(s *site.Snapshot, renderer *render.Renderer, totals map[string]int, add addFunc) error {
	q := bare("changes", "")
	totals[q.ListKey()] = int(s.Changes.Index.Total())
	if err := writeChangeLogs(q, s.Changes, add); err != nil {
		return err
	}
	if err := addRows(q.Key(), s.Changes.Page, s.Changes.Meta, add); err != nil {
		return err
	}
	feeds, err := renderer.Feeds()
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

// writeLog writes the files of a log of checks: its index, its blocks and its default window.
func writeLog[T any](q routes.Query, l site.Log[T], add addFunc) error {
	if err := addLine(q.LogKey(), l.Index, add); err != nil {
		return err
	}
	for _, b := range l.Blocks {
		if err := addBlock(q.BlockKey(b.Number), b, add); err != nil {
			return err
		}
	}
	q.Bare = true
	return addRows(q.Key(), l.Newest, site.TotalMeta{Total: l.Index.Total()}, add)
}

// addBlock adds a block of a log.
func addBlock[T any](key string, b site.Block[T], add addFunc) error {
	return addRows(key, b.Rows, site.BlockMeta{First: b.First}, add)
}

// addRows encodes rows and adds them as a list.
func addRows[T any](key string, rows []T, meta any, add addFunc) error {
	return addFile(key, add, func(b []byte) ([]byte, error) {
		return encode.AppendFramed(b, encode.Framing{}, rows, meta)
	})
}
