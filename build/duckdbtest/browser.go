// Package duckdbtest runs DuckDB: in Node.js, and in a browser, which reads Parquet files by ranges over HTTP. It must
// never know what a query computes.
package duckdbtest

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"
)

// Tools is the folder of DuckDB's page and of the script that opens it, with the lock of the modules that both need.
const Tools = "duckdb"

//go:embed duckdb
var tools embed.FS

// Browser is DuckDB in a page of a browser.
type Browser struct {
	Program string // Chromium
	Modules string // folder of the modules that the lock in Tools pins
}

// Answer is what queries returned.
type Answer struct {
	Columns [][]string    `json:"columns"` // names, of each query
	Rows    [][][]*string `json:"rows"`    // texts, nil for null, of each query
	Seconds float64       `json:"seconds"` // of all queries
}

// WriteTools writes the files of Tools into a folder.
func WriteTools(folder string) error {
	files, err := fs.Sub(tools, Tools)
	if err == nil {
		err = os.CopyFS(folder, files)
	}
	return err
}

// Ask runs statements and then queries, in a page of another host than any address in them.
func (b Browser) Ask(ctx context.Context, statements, queries []string) (a Answer, err error) {
	folder, err := os.MkdirTemp("", "tollbook-duckdb-")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(folder)
	if err := WriteTools(folder); err != nil {
		return a, err
	}
	if a, err = b.ask(ctx, folder, statements, queries); err != nil {
		return a, fmt.Errorf("ask DuckDB in %s: %w", b.Program, err)
	}
	return a, nil
}

func (b Browser) ask(ctx context.Context, folder string, statements, queries []string) (a Answer, err error) {
	mux := http.NewServeMux()
	mux.Handle("/node_modules/", http.StripPrefix("/node_modules", http.FileServer(http.Dir(b.Modules))))
	mux.Handle("/", http.FileServer(http.Dir(folder)))
	page := httptest.NewServer(mux)
	defer page.Close()
	input, err := json.Marshal(map[string]any{"program": b.Program, "page": page.URL + "/page.html",
		"statements": statements, "queries": queries})
	if err != nil {
		return a, err
	}
	cmd := exec.CommandContext(ctx, "node", filepath.Join(folder, "query.js"))
	cmd.Env = append(os.Environ(), "MODULES="+b.Modules)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // the script then stops its browser
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return a, fmt.Errorf("%w\n%.3000s", err, &stderr)
	}
	return a, json.Unmarshal(out, &a)
}

// Counter counts what a handler sends.
type Counter struct {
	Handler                 http.Handler
	Requests, Ranges, Bytes atomic.Int64
}

// ServeHTTP counts a request and answers it by the handler.
func (c *Counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.Requests.Add(1)
	if r.Header.Get("Range") != "" {
		c.Ranges.Add(1)
	}
	c.Handler.ServeHTTP(&countedResponse{w, &c.Bytes}, r)
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
