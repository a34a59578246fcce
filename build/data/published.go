package data

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"tollbook/output/archive"
	"tollbook/site"
)

// maxAnswerRows is the maximum number of rows of an answer that is published.
const maxAnswerRows = 100

// Published returns what the directory publishes about its data set, which must be written.
func (s *Set) Published() *site.Dataset {
	d := &site.Dataset{AsOf: site.NewTime(s.options.Now), Tables: []site.DatasetTable{}, Questions: s.answers}
	files := map[string]*Resource{}
	for i := range s.index.Resources {
		files[s.index.Resources[i].Name] = &s.index.Resources[i]
	}
	if f := newDatasetFile(files["tollbook-sqlite"]); f != nil {
		d.SQLite = *f
	}
	for _, t := range Tables() {
		of := site.DatasetTable{Name: t.Name, Description: t.Description, CSV: newDatasetFile(files[t.Name+"-csv"])}
		for i := range t.Columns {
			of.Columns = append(of.Columns, t.Columns[i].Name)
		}
		whole := files[t.Name]
		if t.Days {
			of.Days, whole = newDatasetDays(t, whole), files[t.Name+"-open"]
		}
		if of.Parquet = newDatasetFile(whole); of.Parquet != nil {
			of.RowCount = whole.Rows
		}
		d.Tables = append(d.Tables, of)
	}
	return d
}

// newDatasetFile returns a file of a snapshot, nil for none.
func newDatasetFile(r *Resource) *site.DatasetFile {
	if r == nil {
		return nil
	}
	name, _ := r.Path.(string)
	return &site.DatasetFile{Path: "/" + archive.DataDir + "/" + name, Bytes: r.Bytes,
		SHA256: strings.TrimPrefix(r.Hash, "sha256:")}
}

// newDatasetDays returns the files of a table's days. Without one it returns no first and last day.
func newDatasetDays(t *Table, r *Resource) *site.DatasetDays {
	d := &site.DatasetDays{Pattern: "/" + archive.DataDayName(t.Name, "{day}")}
	if r == nil {
		return d
	}
	d.FileCount, d.Bytes = len(r.Parts), r.Bytes
	_, d.First, _ = archive.ParseDataDay(archive.DataDir + "/" + r.Parts[0].Path)
	_, d.Last, _ = archive.ParseDataDay(archive.DataDir + "/" + r.Parts[len(r.Parts)-1].Path)
	return d
}

// answer answers the questions from the SQLite file, which must be complete.
func (s *Set) answer(ctx context.Context) (err error) {
	db, err := OpenSQLite(s.path("sqlite"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	subject, err := chooseSubject(ctx, db)
	if err != nil {
		return err
	}
	base := archive.DataDir // a folder of downloaded files
	if s.options.Homepage != "" {
		base = s.options.Homepage + "/" + archive.DataDir
	}
	for _, q := range Questions {
		a := site.DatasetAnswer{Name: q.Name, Title: q.Title, SQLite: q.SQLite(subject),
			DuckDB: q.DuckDB(base, subject)}
		a.Columns, a.Rows, err = QuerySQLite(ctx, db, a.SQLite, maxAnswerRows)
		if err != nil && strings.Contains(err.Error(), "integer overflow") {
			continue // a damaged row has a number that no program writes
		}
		if err != nil {
			return fmt.Errorf("answer %q: %w", q.Name, err)
		}
		s.answers = append(s.answers, a)
	}
	return nil
}

// chooseSubject returns the category with most services and the service with most prices.
func chooseSubject(ctx context.Context, db *sql.DB) (subject Subject, err error) {
	for _, choice := range []struct {
		query string
		to    *string
	}{
		{"SELECT category FROM services GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1", &subject.Category},
		{"SELECT slug FROM prices GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1", &subject.Slug},
	} {
		_, rows, err := QuerySQLite(ctx, db, choice.query, 1)
		if err != nil {
			return subject, fmt.Errorf("choose an example: %w", err)
		}
		if len(rows) > 0 {
			*choice.to = *rows[0][0]
		}
	}
	return subject, nil
}
