package build_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tollbook/build/data/figure"
	"tollbook/build/duckdbtest"
	"tollbook/cmd/nodetest"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

const duckdbHTTPTools = "duckdbtest/" + duckdbtest.Tools

// TestDuckDBHTTPLock checks that DuckDB for browsers is pinned.
func TestDuckDBHTTPLock(t *testing.T) {
	t.Parallel()
	nodetest.CheckLock(t, duckdbHTTPTools, map[string]string{"@duckdb/duckdb-wasm": "1.28.0",
		"playwright-core": "1.65.1"})
}

// TestFiguresOverHTTP checks the same figures as TestFigures from files that DuckDB reads by ranges from a server, in a
// page of another host. It reads less than the files have.
func TestFiguresOverHTTP(t *testing.T) {
	t.Parallel()
	modules := nodetest.Install(t, duckdbHTTPTools)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		testgate.Missing(t, "chromium is missing; install it (Debian: apt-get install chromium)")
	}
	dir, snapshot, folder := historyFolder(t)
	source, err := output.OpenSource(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	count := &duckdbtest.Counter{Handler: serve.NewHandler(serve.Options{Source: source})}
	server := httptest.NewServer(count)
	t.Cleanup(server.Close)

	statements, err := figure.DuckDB(folder, server.URL+"/"+archive.DataDir, moment.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, p := range figure.Proofs() {
		queries = append(queries, p.SQL)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	got, err := duckdbtest.Browser{Program: chromium, Modules: modules}.Ask(ctx, statements, queries)
	if err != nil {
		t.Fatal(err)
	}
	checkFigures(t, dir, snapshot, func(_ context.Context, sql string) ([]string, [][]*string, error) {
		i := slices.Index(queries, sql)
		return got.Columns[i], got.Rows[i], nil
	})
	whole := folderBytes(t, folder)
	t.Logf("%d queries in %.1f s: %d requests, %d of them ranges; %d bytes, of %d in all files", len(queries),
		got.Seconds, count.Requests.Load(), count.Ranges.Load(), count.Bytes.Load(), whole)
	if count.Ranges.Load() == 0 {
		t.Error("no range was asked for")
	}
}

// folderBytes returns the sizes of all Parquet files below a folder.
func folderBytes(t *testing.T, folder string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".parquet" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(fmt.Errorf("sizes: %w", err))
	}
	return sum
}
