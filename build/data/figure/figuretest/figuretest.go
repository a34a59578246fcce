// Package figuretest runs proofs on the Parquet files of a folder, in SQLite and in DuckDB.
package figuretest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tollbook/build/data"
	"tollbook/build/data/figure"
	"tollbook/build/duckdbtest"
)

// SQLite returns a query of the tables in a folder. at is the time of their snapshot.
func SQLite(t testing.TB, folder string, at time.Time) figure.Query {
	t.Helper()
	path := filepath.Join(t.TempDir(), "figures.sqlite")
	if err := figure.WriteSQLite(t.Context(), folder, path, at); err != nil {
		t.Fatal(err)
	}
	tables, err := data.OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tables.Close() })
	return func(ctx context.Context, sql string) ([]string, [][]*string, error) {
		return data.QuerySQLite(ctx, tables, sql, 0)
	}
}

// DuckDB is as SQLite, for the queries of the proofs alone. DuckDB gives the rows, SQLite the names of the columns.
func DuckDB(t testing.TB, node duckdbtest.Node, folder string, at time.Time) figure.Query {
	t.Helper()
	sqlite := SQLite(t, folder, at)
	tables, err := figure.DuckDB(folder, folder, at)
	if err != nil {
		t.Fatal(err)
	}
	queries := []string{strings.Join(tables, "; ")}
	for _, p := range figure.Proofs() {
		queries = append(queries, p.SQL)
	}
	answers := map[string][][]*string{}
	all, err := node.Query(t.Context(), queries...)
	if err != nil {
		t.Fatal(err)
	}
	for i, rows := range all[1:] {
		answers[queries[i+1]] = rows
	}
	return func(ctx context.Context, sql string) ([]string, [][]*string, error) {
		columns, _, err := sqlite(ctx, sql)
		return columns, answers[sql], err
	}
}
