package build_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build/data/figure"
	"tollbook/build/data/figure/figuretest"
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
	query := figuretest.SQLite(t, folder, at)
	checkFigures(t, dir, r.Snapshot, query)
	_, kinds, err := query(t.Context(), "SELECT DISTINCT kind FROM buyers ORDER BY kind")
	if err != nil || len(kinds) != 4 {
		t.Errorf("%d kinds of buyers, %v; want all four", len(kinds), err)
	}
}

// TestFiguresInDuckDB checks that DuckDB computes the same figures from the Parquet files.
func TestFiguresInDuckDB(t *testing.T) {
	t.Parallel()
	dir, snapshot, folder := historyFolder(t)
	checkFigures(t, dir, snapshot, figuretest.DuckDB(t, duckdbNode(t), folder, moment.Add(time.Minute)))
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
