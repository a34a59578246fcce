package data

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// SQLiteFile is an SQLite file of several tables that is being written, with indexes and views for the questions.
//
// The bytes of a file are a function of its rows. Rows go to the disk as they come. Dollars are texts, amounts are
// integers where they fit into 64 bits and else texts, booleans are 0 and 1, times are texts of ISO 8601.
type SQLiteFile struct {
	db    *sql.DB
	conn  *sql.Conn
	path  string
	order []*SQLiteAppender
	named map[string]*SQLiteAppender
}

// OpenSQLite opens a complete file for queries alone. The file may come from a stranger, so its views cannot call
// functions with effects.
func OpenSQLite(path string) (*sql.DB, error) {
	return openSQLite(path, url.Values{"mode": {"ro"}, "immutable": {"1"},
		"_pragma": {"query_only(1)", "trusted_schema(0)"}})
}

// openSQLite opens the file at a path, which may have any characters.
func openSQLite(path string, options url.Values) (*sql.DB, error) {
	uri := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options.Encode()}
	return sql.Open("sqlite", uri.String())
}

// CreateSQLite makes a file with empty tables. A file at the path is overwritten.
func CreateSQLite(ctx context.Context, path string, tables []*Table) (*SQLiteFile, error) {
	if err := os.RemoveAll(path); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	// A crash leaves a file that nobody reads, so nothing is synced and nothing can be rolled back.
	db, err := openSQLite(path, url.Values{"_pragma": {"page_size(8192)", "journal_mode(OFF)", "synchronous(OFF)",
		"locking_mode(EXCLUSIVE)", "cache_size(-4096)", "temp_store(FILE)", "encoding('UTF-8')"}})
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	f := &SQLiteFile{db: db, path: path, named: map[string]*SQLiteAppender{}}
	if f.conn, err = db.Conn(ctx); err == nil {
		err = f.start(ctx, tables)
	}
	if err != nil {
		f.Abort()
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return f, nil
}

func (f *SQLiteFile) start(ctx context.Context, tables []*Table) error {
	if _, err := f.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	for _, t := range tables {
		if _, err := f.conn.ExecContext(ctx, createTable(t)); err != nil {
			return err
		}
		a, err := newSQLiteAppender(ctx, f.conn, t)
		if err != nil {
			return err
		}
		f.named[t.Name] = a
		f.order = append(f.order, a)
	}
	return nil
}

// Appender returns the appender of a table.
func (f *SQLiteFile) Appender(t *Table) *SQLiteAppender { return f.named[t.Name] }

// Close writes the rest: the last rows, indexes and views. The file is complete only if Close returns no error.
func (f *SQLiteFile) Close(ctx context.Context, statements []string) error {
	var err error
	for _, a := range f.order {
		err = errors.Join(err, a.close(ctx))
	}
	for _, s := range append(statements, "COMMIT") {
		if err == nil {
			_, err = f.conn.ExecContext(ctx, s)
		}
	}
	if err = errors.Join(err, f.conn.Close(), f.db.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// Abort closes an incomplete file.
func (f *SQLiteFile) Abort() {
	for _, a := range f.order {
		a.discard()
	}
	if f.conn != nil {
		_ = f.conn.Close()
	}
	_ = f.db.Close()
}

// createTable returns the statement that creates a table.
func createTable(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (", t.Name)
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Name)
		switch {
		case c.Kind == Decimal && c.Scale == 0:
			b.WriteString(" BLOB") // no affinity: an integer stays an integer, a text a text
		case c.Kind == Integer, c.Kind == Boolean:
			b.WriteString(" INTEGER")
		default:
			b.WriteString(" TEXT")
		}
		if c.Required {
			b.WriteString(" NOT NULL")
		}
	}
	fmt.Fprintf(&b, ", PRIMARY KEY (%s)) WITHOUT ROWID", strings.Join(t.Key, ", "))
	return b.String()
}

// SQLiteAppender appends the rows of a table.
type SQLiteAppender struct {
	table *Table
	conn  *sql.Conn
	many  *sql.Stmt // inserts insertRows rows
	args  []any
}

// insertRows is how many rows one statement inserts. A statement costs as much as some rows.
const insertRows = 32

func newSQLiteAppender(ctx context.Context, conn *sql.Conn, t *Table) (*SQLiteAppender, error) {
	many, err := conn.PrepareContext(ctx, insertStatement(t, insertRows))
	if err != nil {
		return nil, err
	}
	return &SQLiteAppender{table: t, conn: conn, many: many}, nil
}

// insertStatement returns the statement that inserts some rows.
func insertStatement(t *Table, rows int) string {
	row := "(?" + strings.Repeat(",?", len(t.Columns)-1) + ")"
	return "INSERT INTO " + t.Name + " VALUES " + row + strings.Repeat(","+row, rows-1)
}

// Write writes a row.
func (a *SQLiteAppender) Write(ctx context.Context, row Row) error {
	for i, v := range row {
		a.args = append(a.args, sqliteArgument(&a.table.Columns[i], v))
	}
	if len(a.args) < insertRows*len(row) {
		return nil
	}
	_, err := a.many.ExecContext(ctx, a.args...)
	a.args = a.args[:0]
	if err != nil {
		return fmt.Errorf("write %s: %w", a.table.Name, err)
	}
	return nil
}

// close writes the last rows.
func (a *SQLiteAppender) close(ctx context.Context) (err error) {
	if n := len(a.args) / len(a.table.Columns); n > 0 {
		_, err = a.conn.ExecContext(ctx, insertStatement(a.table, n), a.args...)
	}
	if err = errors.Join(err, a.many.Close()); err != nil {
		return fmt.Errorf("write %s: %w", a.table.Name, err)
	}
	return nil
}

func (a *SQLiteAppender) discard() { _ = a.many.Close() }

// sqliteArgument returns a value as the driver takes it.
func sqliteArgument(c *Column, v Value) any {
	if v.IsNull() {
		return nil
	}
	switch c.Kind {
	case Integer, Boolean:
		return v.Number()
	case Timestamp:
		return FormatTime(v.Number())
	case Date:
		return FormatDate(v.Number())
	case Decimal:
		if c.Scale == 0 {
			if n, err := strconv.ParseInt(v.Text(), 10, 64); err == nil {
				return n
			}
		}
	}
	return v.Text()
}
