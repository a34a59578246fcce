package build_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/data"
	"tollbook/build/data/figure"
	"tollbook/output/archive"
	"tollbook/site"
	"tollbook/site/testgate"
)

// TestFigures checks that the published figures of the generated directory are what the proofs compute from its tables.
func TestFigures(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	db := openCopy(t, historyTemplate)
	dir, at := tempDir(t), moment.Add(time.Minute)
	r := run(t, db, dir, dataOptions(at))
	folder := unpackData(t, dir, r.Snapshot)
	query := sqliteFigures(t, folder, at)
	checkFigures(t, dir, r.Snapshot, query)
}

// TestFiguresInDuckDB checks that DuckDB computes the same figures from the Parquet files.
func TestFiguresInDuckDB(t *testing.T) {
	t.Parallel()
	dir, snapshot, folder := historyFolder(t)
	at := moment.Add(time.Minute)
	sqlite := sqliteFigures(t, folder, at)
	tables, err := figure.DuckDB(folder, folder, at)
	if err != nil {
		t.Fatal(err)
	}
	queries := []string{strings.Join(tables, "; ")}
	for _, p := range figure.Proofs() {
		queries = append(queries, p.SQL)
	}
	answers := map[string][][]*string{}
	for i, rows := range duckdb(t, queries...)[1:] {
		texts := make([][]*string, len(rows))
		for k, row := range rows {
			for _, v := range row {
				if v == "NULL" {
					texts[k] = append(texts[k], nil)
				} else {
					texts[k] = append(texts[k], &v)
				}
			}
		}
		answers[queries[i+1]] = texts
	}
	checkFigures(t, dir, snapshot, func(ctx context.Context, sql string) ([]string, [][]*string, error) {
		columns, _, err := sqlite(ctx, sql)
		return columns, answers[sql], err
	})
}

// sqliteFigures returns a query of the tables in a folder.
func sqliteFigures(t *testing.T, folder string, at time.Time) figure.Query {
	t.Helper()
	path := filepath.Join(tempDir(t), "figures.sqlite")
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

// checkFigures compares a snapshot with the rows of the proofs, and checks that each changed value would be found.
func checkFigures(t *testing.T, dir, snapshot string, query figure.Query) {
	t.Helper()
	zip, err := archive.OpenZipFile(filepath.Join(dir, archive.SnapshotName(snapshot)))
	if err != nil {
		t.Fatal(err)
	}
	defer zip.Close()
	got, err := figure.Check(t.Context(), figure.Proofs(), query, zip.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kinds, %d figures", got.Kinds, got.Figures)
	if len(got.Differences) > 20 {
		t.Errorf("%d differences; the first:", len(got.Differences))
		got.Differences = got.Differences[:20]
	}
	if diff := cmp.Diff([]figure.Difference{}, got.Differences); diff != "" {
		t.Errorf("differences (-want +got):\n%.6000s", diff)
	}
	for _, p := range figure.Proofs() { // a proof without a row proves nothing
		one, err := figure.Check(t.Context(), []site.DatasetProof{p}, query, zip.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		if one.Figures == 0 {
			t.Errorf("proof %s compares no figure of the generated directory", p.Name)
		}
	}
}
