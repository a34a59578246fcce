package build_test

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// TestDuckDBRecomputesOverHTTP checks the same figures as TestDuckDBRecomputes from files that DuckDB reads by ranges
// from a server, in a page of another host. It reads less than the files have.
func TestDuckDBRecomputesOverHTTP(t *testing.T) {
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
	z, err := archive.OpenZipFile(filepath.Join(dir, archive.SnapshotsDir, snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()

	queries, want := readFigures(t, z, server.URL+"/"+archive.DataDir)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	got, seconds, err := duckdbtest.Browser{Program: chromium, Modules: modules}.Figures(ctx, queries)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-published +recomputed):\n%.3000s", diff)
	}
	whole := folderBytes(t, folder)
	t.Logf("%d figures by %d queries in %.1f s: %d requests, %d of them ranges; %d bytes, of %d in all files", len(got),
		len(queries), seconds, count.Requests.Load(), count.Ranges.Load(), count.Bytes.Load(), whole)
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
