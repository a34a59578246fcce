package build

import "tollbook/site"

// writeLog writes the files of a log of checks: its index, its blocks and its default window.
func writeLog[T any](q site.Query, l site.Log[T], add addFunc) error {
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
		return site.AppendFrameOf(b, site.Framing{}, rows, meta)
	})
}
