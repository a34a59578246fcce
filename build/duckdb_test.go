package build_test

import (
	"database/sql"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/data"
	"tollbook/build/duckdbtest"
	"tollbook/cmd/nodetest"
	"tollbook/site"
	"tollbook/site/testgate"
)

const duckdbTools = "testdata/duckdb"

// TestDuckDBLock checks that DuckDB is pinned.
func TestDuckDBLock(t *testing.T) {
	t.Parallel()
	nodetest.CheckLock(t, duckdbTools, map[string]string{"@duckdb/node-api": "1.5.5-r.5"})
}

func duckdbNode(t *testing.T) duckdbtest.Node {
	t.Helper()
	return duckdbtest.Node{Folder: duckdbTools, Modules: nodetest.Install(t, duckdbTools)}
}

// duckdb returns the rows of the last statement of each list of statements, as texts; "NULL" for null.
func duckdb(t *testing.T, queries ...string) [][][]string {
	t.Helper()
	answers, err := duckdbNode(t).Query(t.Context(), queries...)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][][]string, len(answers))
	for i, rows := range answers {
		out[i] = [][]string{}
		for _, row := range rows {
			texts := make([]string, len(row))
			for k, v := range row {
				if texts[k] = "NULL"; v != nil {
					texts[k] = *v
				}
			}
			out[i] = append(out[i], texts)
		}
	}
	return out
}

// historyFolder returns the data files of the generated directory with its whole history.
func historyFolder(t *testing.T) (dir, snapshot, folder string) {
	t.Helper()
	testgate.All(t)
	db := openCopy(t, historyTemplate)
	dir = tempDir(t)
	r := run(t, db, dir, dataOptions(moment.Add(time.Minute)))
	return dir, r.Snapshot, unpackData(t, dir, r.Snapshot)
}

// TestDuckDBReadsAlike checks that DuckDB and parquet-go read the same values from every Parquet file.
func TestDuckDBReadsAlike(t *testing.T) {
	t.Parallel()
	_, _, folder := historyFolder(t)
	var queries, files []string
	var tables []*data.Table
	for _, table := range data.Tables() {
		var columns []string
		for _, c := range table.Columns {
			column := c.Name
			switch c.Kind {
			case data.Timestamp:
				column = `strftime(` + c.Name + ` AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`
			}
			columns = append(columns, column)
		}
		for _, file := range tableFiles(t, folder, table) {
			files, tables = append(files, file), append(tables, table)
			queries = append(queries, "SELECT "+strings.Join(columns, ", ")+" FROM '"+file+"'")
		}
	}
	for i, got := range duckdb(t, queries...) {
		want := [][]string{}
		for _, row := range readTable(t, files[i], tables[i]) {
			texts := make([]string, len(row))
			for k, v := range row {
				texts[k] = duckdbText(&tables[i].Columns[k], v)
			}
			want = append(want, texts)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-parquet-go +duckdb):\n%.2000s", files[i], diff)
		}
	}
}

// duckdbText returns a value as DuckDB writes it.
func duckdbText(c *data.Column, v data.Value) string {
	text := data.FormatCSV(c, v)
	if v.IsNull() {
		return "NULL"
	}
	if c.Kind == data.Decimal && c.Scale > 0 {
		whole, frac, _ := strings.Cut(text, ".")
		return whole + "." + frac + strings.Repeat("0", c.Scale-len(frac))
	}
	return text
}

// TestDuckDBAnswers checks that the queries of each question give the same answer on the Parquet files and on the
// SQLite file.
func TestDuckDBAnswers(t *testing.T) {
	t.Parallel()
	_, _, folder := historyFolder(t)
	db, err := data.OpenSQLite(filepath.Join(folder, "tollbook.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var s data.Subject
	err = db.QueryRowContext(t.Context(), `SELECT s.category, s.slug FROM services s JOIN prices p USING (slug)
		WHERE p.until IS NOT NULL AND p.price_usd IS NOT NULL ORDER BY slug LIMIT 1`).Scan(&s.Category, &s.Slug)
	if err != nil {
		t.Fatal(err)
	}
	queries := make([]string, len(data.Questions))
	for i, q := range data.Questions {
		queries[i] = q.DuckDB(folder, s)
	}
	for i, got := range duckdb(t, queries...) {
		q := data.Questions[i]
		want := querySQLite(t, db, q.SQLite(s))
		for _, rows := range [][][]string{want, got} {
			for _, row := range rows {
				for k := range row {
					row[k] = plain(row[k])
				}
			}
		}
		if len(want) == 0 {
			t.Errorf("%s: no answer", q.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-sqlite +duckdb):\n%.2000s", q.Name, diff)
		}
	}
}

func querySQLite(t *testing.T, db *sql.DB, query string) [][]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	list := [][]string{}
	for rows.Next() {
		values, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			to[i] = &values[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			if row[i] = "NULL"; v.Valid {
				row[i] = v.String
			}
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// plain returns a number or an instant in one form, and any other text unchanged.
func plain(text string) string {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(f, 'g', 12, 64)
	}
	for _, layout := range []string{site.TimeLayout, "2006-01-02 15:04:05.999999-07"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}
