package figure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tollbook/build/data"
	"tollbook/site"
)

// windows are the periods of figures.
var windows = []struct {
	name string
	days int
}{{"24h", 1}, {"7d", 7}, {"30d", 30}, {"90d", 90}}

// windowRows returns the rows of the table windows of a snapshot as SQL: name, its length in days, the first UTC day of as
// many days of which the day of the snapshot is the last, and the time of the snapshot less the length.
func windowRows(asOf time.Time) string {
	var rows []string
	for _, w := range windows {
		rows = append(rows, fmt.Sprintf("('%s', %d, '%s', '%s')", w.name, w.days,
			data.FormatDate(asOf.UTC().AddDate(0, 0, 1-w.days).Unix()/86400),
			data.FormatTime(asOf.Add(-time.Duration(w.days)*24*time.Hour).UnixMicro())))
	}
	return "SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ")"
}

// statements returns what makes the tables that proofs have besides those of /data/: snapshot with the time of the
// snapshot, windows, and weeks with those that begin in the last 30 days.
func statements(asOf time.Time) []string {
	return []string{
		"CREATE TABLE snapshot (as_of TEXT, today TEXT)",
		fmt.Sprintf("INSERT INTO snapshot VALUES ('%s', '%s')", data.FormatTime(asOf.UnixMicro()),
			data.FormatDate(asOf.UTC().Unix()/86400)),
		"CREATE TABLE windows (name TEXT, days INTEGER, first_day TEXT, since TEXT)",
		"INSERT INTO windows " + windowRows(asOf),
		"CREATE TABLE weeks (week TEXT, next_week TEXT)",
		"INSERT INTO weeks " + weekRows(asOf),
	}
}

// weekRows returns the rows of the table weeks as SQL: the Monday of each week, and that of the next one.
func weekRows(asOf time.Time) string {
	var rows []string
	first := asOf.UTC().AddDate(0, 0, 1-data.RecentDays).Truncate(24 * time.Hour)
	for week := site.WeekOf(asOf); !week.Before(first); week = week.AddDate(0, 0, -7) {
		rows = append(rows, fmt.Sprintf("('%s', '%s')", data.FormatDate(week.Unix()/86400),
			data.FormatDate(week.AddDate(0, 0, 7).Unix()/86400)))
	}
	return "SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ")"
}

// Tables returns the tables that proofs may read, with all their days: those of the SQLite file of a snapshot, but for
// the checks.
func Tables() []*data.Table {
	return slices.DeleteFunc(data.Tables(), func(t *data.Table) bool {
		return t == &data.Checks.Table
	})
}

// filesOf returns the Parquet files of a table in a folder of pulled tables.
func filesOf(folder string, t *data.Table) ([]string, error) {
	days, err := filepath.Glob(filepath.Join(folder, t.Name, "*.parquet"))
	if err != nil {
		return nil, err
	}
	open := filepath.Join(folder, t.Name+".parquet")
	if _, err := os.Stat(open); err == nil {
		days = append(days, open)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return days, nil
}

// WriteSQLite writes a new SQLite file with the rows of a folder's Parquet files, which "data pull" fetched.
func WriteSQLite(ctx context.Context, folder, path string, asOf time.Time) error {
	tables := Tables()
	db, err := data.CreateSQLite(ctx, path, tables)
	if err != nil {
		return err
	}
	for _, t := range tables {
		files, err := filesOf(folder, t)
		for _, file := range files {
			if err == nil {
				err = copyRows(ctx, file, t, db.Appender(t))
			}
		}
		if err != nil {
			db.Abort()
			return err
		}
	}
	return db.Close(ctx, append(data.SQLiteStatements(), statements(asOf)...))
}

// copyRows appends the rows of a Parquet file to a table.
func copyRows(ctx context.Context, file string, t *data.Table, to *data.SQLiteAppender) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	p, err := data.OpenParquet(f, info.Size(), t)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return data.EachParquetRow(p, t, func(row data.Row) error { return to.Write(ctx, row) })
}

// LateTables are the names of the tables that have no file before a UTC day is over, as in a new directory.
var LateTables = []string{data.Assessments.Name}

// TableNames returns the names of the tables that proofs may read.
func TableNames() (names []string) {
	for _, t := range Tables() {
		names = append(names, t.Name)
	}
	return names
}
