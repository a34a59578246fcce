package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/postgres/bulk"
)

// writer writes a data set.
type writer struct {
	*Set
	reader   *bulk.Reader
	to       Store
	decimals map[token]int
	stale    map[string]string // facts that files of days were made from, where they are not those of the day now
}

// fileNames are the names of a table's files by format.
var fileNames = map[string]string{"parquet": ".parquet", "csv": ".csv.gz"}

// writeTables writes the tables of the snapshot.
func (w *writer) writeTables(ctx context.Context, s *site.Snapshot) error {
	for _, t := range ofServices {
		if err := w.publish(w.spools[t.Name]); err != nil {
			return err
		}
	}
	if err := writeStream(ctx, w, Prices, w.reader.Prices, func(p *bulk.Price) bool {
		return w.slugs[p.Slug]
	}); err != nil {
		return err
	}
	if err := writeStream(ctx, w, Envelopes, w.reader.Envelopes, func(e *bulk.Envelope) bool {
		return w.slugs[e.Slug]
	}); err != nil {
		return err
	}
	facilitators := make([]*site.FacilitatorDetail, len(s.Facilitators))
	for i := range s.Facilitators {
		facilitators[i] = &s.Facilitators[i]
	}
	if err := writeList(ctx, w, Facilitators, facilitators); err != nil {
		return err
	}
	if err := writeList(ctx, w, Settlers, SettlersOf(s.Facilitators)); err != nil {
		return err
	}
	sources := make([]*site.Source, len(s.Sources))
	for i := range s.Sources {
		sources[i] = &s.Sources[i].Source
	}
	return writeList(ctx, w, PublicSources, sources)
}

// writeStream writes the rows that read returns and keep selects as a table.
func writeStream[T any](ctx context.Context, w *writer, m *Maker[T],
	read func(context.Context, func(T) error) error, keep func(T) bool) error {
	of, err := w.begin(&m.Table)
	if err != nil {
		return err
	}
	err = read(ctx, func(v T) error {
		if !keep(v) {
			return nil // a service that is left out of the snapshot
		}
		w.row = m.Append(w.row[:0], v)
		return of.write(ctx, w.row)
	})
	if err != nil {
		return err
	}
	return w.publish(of)
}

// writeList writes a list as a table.
func writeList[T any](ctx context.Context, w *writer, m *Maker[T], list []T) error {
	return writeStream(ctx, w, m, func(_ context.Context, do func(T) error) error {
		for _, v := range list {
			if err := do(v); err != nil {
				return err
			}
		}
		return nil
	}, func(T) bool { return true })
}

// publish adds the files of a table to the store and to the index.
func (w *writer) publish(of *spool) error {
	delete(w.spools, of.table.Name)
	return of.publish(func(f *spoolFile) error {
		file, err := w.add(of.table.Name+fileNames[f.format], f.File)
		if err == nil {
			w.index.Add(TableFile{File: file, Table: of.table, Rows: of.rows}, f.format)
		}
		return err
	})
}

// add adds a file to the store.
func (w *writer) add(name string, from *os.File) (File, error) {
	f, err := w.to.AddDataFile(archive.DataDir+"/"+name, func(to io.Writer) error {
		_, err := io.Copy(to, from)
		return err
	})
	return File{Name: name, Bytes: f.Bytes, SHA256: f.Sum.String()}, err
}

// sqliteName is the name of the file of all tables.
const sqliteName = "tollbook.sqlite"

// writeSQLite ends the file of all tables and adds it.
func (w *writer) writeSQLite(ctx context.Context) (err error) {
	db := w.sqlite
	w.sqlite = nil
	if err := db.Close(ctx, SQLiteStatements()); err != nil {
		return err
	}
	if err := w.answer(ctx); err != nil {
		return err
	}
	f, err := os.Open(w.path("sqlite"))
	if err != nil {
		return fmt.Errorf("write %s: %w", sqliteName, err)
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	file, err := w.add(sqliteName, f)
	if err == nil {
		w.index.Add(TableFile{File: file}, "sqlite")
	}
	return err
}
