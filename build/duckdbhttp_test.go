package build_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/nodetest"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

const duckdbHTTPTools = "testdata/duckdbhttp"

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
	count := &countedRanges{handler: serve.NewHandler(serve.Options{Source: source})}
	server := httptest.NewServer(count)
	t.Cleanup(server.Close)

	queries := recomputations(server.URL + "/data")
	for i, q := range queries {
		q = overHTTP(t, q, server.URL+"/data", folder)
		queries[i] = strings.Replace(q, "unnest(networks::VARCHAR[])", `trim(unnest(networks::VARCHAR[]), '"')`, 1)
	}
	got := map[string]string{}
	for _, rows := range browserDuckDB(t, chromium, modules, queries) {
		for _, row := range rows {
			got[row[0]] = plainText(row[1])
		}
	}
	z, err := archive.OpenZipFile(filepath.Join(dir, archive.SnapshotsDir, snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	want := map[string]string{}
	published(t, z, want)
	for name, text := range want {
		want[name] = plainText(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-published +recomputed):\n%.3000s", diff)
	}
	whole := folderBytes(t, folder)
	t.Logf("%d figures by %d queries: %d requests, %d of them ranges; %d bytes, of %d in all files", len(got),
		len(queries), count.requests.Load(), count.ranges.Load(), count.bytes.Load(), whole)
	if count.ranges.Load() == 0 {
		t.Error("no range was asked for")
	}
}

// overHTTP replaces patterns of files of days by lists of addresses, because a server lists no folder.
func overHTTP(t *testing.T, query, base, folder string) string {
	t.Helper()
	for _, table := range []string{"uptime", "settlements"} {
		days, err := filepath.Glob(filepath.Join(folder, table, "*.parquet"))
		if err != nil || len(days) == 0 {
			t.Fatalf("%d days of %s, %v", len(days), table, err)
		}
		for i := range days {
			days[i] = "'" + base + "/" + table + "/" + filepath.Base(days[i]) + "'"
		}
		query = strings.ReplaceAll(query, "'"+base+"/"+table+"/*.parquet'", strings.Join(days, ", "))
	}
	return query
}

// browserDuckDB returns the rows of each query, by DuckDB in a browser.
func browserDuckDB(t *testing.T, chromium, modules string, queries []string) (answers [][][]string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/node_modules/", http.StripPrefix("/node_modules", http.FileServer(http.Dir(modules))))
	mux.Handle("/", http.FileServer(http.Dir(duckdbHTTPTools)))
	page := httptest.NewServer(mux)
	t.Cleanup(page.Close)
	input, err := json.Marshal(map[string]any{"program": chromium, "page": page.URL + "/page.html", "queries": queries})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "query.js")
	cmd.Dir = duckdbHTTPTools
	cmd.Env = append(os.Environ(), "MODULES="+modules)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // the script then stops its browser
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &answers)
	}
	if err != nil {
		t.Fatalf("%v\n%.3000s", err, &stderr)
	}
	return answers
}

// countedRanges counts what a handler sends.
type countedRanges struct {
	handler                 http.Handler
	requests, ranges, bytes atomic.Int64
}

func (c *countedRanges) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	if r.Header.Get("Range") != "" {
		c.ranges.Add(1)
	}
	c.handler.ServeHTTP(&countedResponse{w, &c.bytes}, r)
}

type countedResponse struct {
	http.ResponseWriter
	bytes *atomic.Int64
}

func (w *countedResponse) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes.Add(int64(n))
	return n, err
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
