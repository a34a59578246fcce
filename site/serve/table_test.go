package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

const (
	tableName = "data/services.parquet"
	tableDay  = "data/checks/2026-11-20.parquet"
)

// publishTables publishes a snapshot with two tables and a day.
func publishTables(t testing.TB, d *output.Folder, at time.Time, table string) {
	t.Helper()
	b, err := d.Begin(t.Context(), output.BuildOptions{Now: at, Next: at.Add(next.Sub(built))})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { return second(io.WriteString(w, s)) }
	}
	for name, data := range siteFiles(t) {
		if !strings.HasPrefix(name, "pack/") {
			if err := b.Add(name, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(
		second(b.AddDataFile(tableName, text(table))),
		second(b.AddDataFile("data/services.csv.gz", text("gz of "+table))),
		second(b.AddDataFile("data/tollbook.sqlite", text(""))),
		b.AddDataDay("checks", "2026-11-20", text("day of "+table)),
	); err != nil {
		t.Fatal(err)
	}
	days, err := b.DataDays()
	if err != nil || len(days) != 1 {
		t.Fatalf("%v, %v", days, err)
	}
	index := fmt.Sprintf(`{"resources":[{"parts":[{"path":"checks/2026-11-20.parquet","bytes":%d,"hash":"sha256:%s"}]}]}`,
		days[0].Bytes, days[0].Sum)
	if err := b.Add(archive.DataIndex, []byte(index)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

// tableText returns the content of a table.
func tableText(n int) string { return strings.Repeat(fmt.Sprintf("row of %d, ", n), 200_000) }

// tableSources are the places that tables are served from: a zip on disk, an expanded tree, and a store.
func tableSources(t *testing.T, test func(t *testing.T, d *output.Folder, h http.Handler, source *output.Source)) {
	for _, from := range []string{"zip", "tree", "store"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			d, err := output.OpenFolder(tempDir(t))
			if err != nil {
				t.Fatal(err)
			}
			publishTables(t, d, built, tableText(1))
			source := openSource(t, d.Root())
			switch from {
			case "tree":
				source = openSource(t, filepath.Join(d.Root(), "current"))
			case "store":
				source = output.OpenStoreSource(objects.StoreDirAt(d.Root()), 1<<20, slog.New(slog.DiscardHandler))
				t.Cleanup(source.Close)
			}
			test(t, d, NewHandler(Options{Source: source, Now: func() time.Time { return now },
				Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}), source)
		})
	}
}

func TestTableRanges(t *testing.T) {
	t.Parallel()
	tableSources(t, func(t *testing.T, d *output.Folder, h http.Handler, _ *output.Source) {
		text := tableText(1)
		n := len(text)
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(text)))
		for _, test := range []struct {
			name, method, header, value string
			code, from, to              int
		}{
			{"whole", "GET", "", "", 200, 0, n},
			{"its header", "HEAD", "", "", 200, 0, n},
			{"gzip", "GET", "Accept-Encoding", "gzip, zstd", 200, 0, n},
			{"a range", "GET", "Range", "bytes=1000000-1000009", 206, 1_000_000, 1_000_010},
			{"the last bytes", "GET", "Range", "bytes=-8", 206, n - 8, n},
			{"the header of a range", "HEAD", "Range", "bytes=0-0", 206, 0, 1},
			{"past the end", "GET", "Range", fmt.Sprintf("bytes=%d-%d", n-3, n+9), 206, n - 3, n},
			{"behind the end", "GET", "Range", fmt.Sprintf("bytes=%d-", n), 416, 0, 0},
			{"several ranges", "GET", "Range", "bytes=1-2,4-5", 200, 0, n},
			{"another file", "GET", "If-Match", `"other"`, 412, 0, 0},
			{"known", "GET", "If-None-Match", tag, 304, 0, 0},
		} {
			r := httptest.NewRequest(test.method, "/"+tableName, nil)
			if test.header != "" {
				r.Header.Set(test.header, test.value)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.code {
				t.Errorf("%s: status %d, want %d: %v", test.name, w.Code, test.code, w.Header())
				continue
			}
			if test.code > 300 {
				continue
			}
			want := text[test.from:test.to]
			if test.method == http.MethodHead {
				want = ""
			}
			if w.Body.String() != want {
				t.Errorf("%s: %d bytes, want %d", test.name, w.Body.Len(), len(want))
			}
			got := map[string]string{}
			for name := range w.Header() {
				got[name] = w.Header().Get(name)
			}
			if cache := got["Cache-Control"]; !strings.HasPrefix(cache, "public, max-age=") || got["X-Snapshot"] == "" {
				t.Errorf("%s: Cache-Control %q, X-Snapshot %q", test.name, cache, got["X-Snapshot"])
			}
			delete(got, "Cache-Control") // the age depends on when a tree was expanded
			delete(got, "X-Snapshot")
			wantHeader := map[string]string{
				"Content-Type": "application/vnd.apache.parquet", "Etag": tag, "Accept-Ranges": "bytes",
				"Content-Length":                fmt.Sprint(test.to - test.from),
				"Last-Modified":                 w.Header().Get("Last-Modified"),
				"X-Content-Type-Options":        "nosniff",
				"Access-Control-Allow-Origin":   "*",
				"Access-Control-Expose-Headers": headerExposeZip[0],
			}
			if test.code == 206 {
				wantHeader["Content-Range"] = fmt.Sprintf("bytes %d-%d/%d", test.from, test.to-1, n)
			}
			if diff := cmp.Diff(wantHeader, got); diff != "" {
				t.Errorf("%s: header (-want +got):\n%s", test.name, diff)
			}
		}
		// A range is only sent of the same file.
		for value, code := range map[string]int{tag: 206, `"other"`: 200} {
			if got := get(h, "/"+tableName, "Range", "bytes=1-2", "If-Range", value); got.Code != code {
				t.Errorf("If-Range: %s: %d, want %d", value, got.Code, code)
			}
		}
		for name, kind := range map[string]string{"data/services.csv.gz": "application/gzip",
			"data/tollbook.sqlite": "application/vnd.sqlite3", archive.DataIndex: typeJSON} {
			if got := get(h, "/"+name); got.Code != 200 || got.Header().Get("Content-Type") != kind ||
				got.Header().Get("Content-Encoding") != "" {
				t.Errorf("%s: %d %v", name, got.Code, got.Header())
			}
		}
		for _, path := range []string{"/data/none.parquet", "/data/checks/2026-11-21.parquet", "/data/../" + tableName,
			"/data/checks/2026-11-20.parquet.sha256", "/data/", "/data//services.parquet", "/v1/" + tableName} {
			if got := get(h, path); got.Code != 404 {
				t.Errorf("%s: %d", path, got.Code)
			}
		}
	})
}

// TestTableDays serves a day of a publication, and no day of a tree by itself.
func TestTableDays(t *testing.T) {
	t.Parallel()
	tableSources(t, func(t *testing.T, d *output.Folder, h http.Handler, _ *output.Source) {
		got := get(h, "/"+tableDay, "Range", "bytes=0-9")
		if strings.HasSuffix(t.Name(), "tree") {
			if got.Code != 404 {
				t.Errorf("status %d", got.Code)
			}
			return
		}
		if got.Code != 206 || got.Body.String() != "day of row" ||
			got.Header().Get("Content-Type") != "application/vnd.apache.parquet" ||
			got.Header().Get("Cache-Control") != headerForever[0] {
			t.Errorf("%d %q %v", got.Code, got.Body, got.Header())
		}
	})
}

// TestTableOfSnapshot reads a table of an earlier snapshot while a newer one is served.
func TestTableOfSnapshot(t *testing.T) {
	t.Parallel()
	d, err := output.OpenFolder(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	publishTables(t, d, built, tableText(1))
	source := openSource(t, d.Root())
	h := NewHandler(Options{Source: source, Now: func() time.Time { return now }})
	first := get(h, "/"+tableName)
	publishTables(t, d, built.Add(time.Minute), tableText(2))
	if err := source.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := get(h, "/"+tableName); got.Body.String() != tableText(2) {
		t.Errorf("the newest: %d, %.20q", got.Code, got.Body)
	}
	got := get(h, "/"+tableName+"?snapshot="+first.Header().Get("X-Snapshot"))
	if got.Body.String() != tableText(1) || got.Header().Get("Cache-Control") != headerPinned[0] ||
		got.Header().Get("Etag") != first.Header().Get("Etag") {
		t.Errorf("the first: %d, %.20q %v", got.Code, got.Body, got.Header())
	}
	for query, code := range map[string]int{"20201120T234501Z-3f2a9c": 404, "x": 400} {
		if got := get(h, "/"+tableName+"?snapshot="+query); got.Code != code && got.Code != 410 {
			t.Errorf("snapshot %s: %d", query, got.Code)
		}
	}
}

// sink is a ResponseWriter that counts the bytes of a body.
type sink struct {
	header http.Header
	n      int
}

func (d *sink) Header() http.Header { return d.header }
func (d *sink) WriteHeader(int)     {}
func (d *sink) Write(p []byte) (int, error) {
	d.n += len(p)
	return len(p), nil
}

// TestTableMemory sends a table of 128 MB from a zip and from a store, and counts the bytes that are allocated.
func TestTableMemory(t *testing.T) {
	const most = 8 << 20
	text := strings.Repeat("0123456789abcdef", 8<<20)
	d, err := output.OpenFolder(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	publishTables(t, d, built, text)
	store := output.OpenStoreSource(objects.StoreDirAt(d.Root()), 1<<20, slog.New(slog.DiscardHandler))
	t.Cleanup(store.Close)
	for name, source := range map[string]*output.Source{"zip": openSource(t, d.Root()), "store": store} {
		h := NewHandler(Options{Source: source})
		if err := source.Refresh(); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, path := range []string{tableName, tableDay} {
			w := &sink{header: http.Header{}}
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+path, nil))
			if w.n < len(text) {
				t.Errorf("%s: %d bytes of %s", name, w.n, path)
			}
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > most {
			t.Errorf("%s: %d bytes were allocated for two files of %d", name, n, len(text))
		}
	}
}

// TestTableReadsOnlyRanges checks that a range of a table reads no more of a store than it sends.
func TestTableReadsOnlyRanges(t *testing.T) {
	t.Parallel()
	d, err := output.OpenFolder(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	publishTables(t, d, built, tableText(1))
	f := &flaky{Store: objects.StoreDirAt(d.Root())}
	source := output.OpenStoreSource(f, 1<<20, slog.New(slog.DiscardHandler))
	t.Cleanup(source.Close)
	h := NewHandler(Options{Source: source})
	get(h, "/"+tableName, "Range", "bytes=0-0") // finds where the table begins
	requests, read := f.requests.Load(), f.read.Load()
	got := get(h, "/"+tableName, "Range", "bytes=70000-70063")
	if want := tableText(1)[70000:70064]; got.Body.String() != want || f.requests.Load()-requests != 1 ||
		f.read.Load()-read != 64 {
		t.Errorf("%q, want %q; %d requests for %d bytes", got.Body, want, f.requests.Load()-requests,
			f.read.Load()-read)
	}
	f.cut = 1000
	f.breaks.Store(2)
	if got := get(h, "/"+tableName); got.Body.String() != tableText(1) {
		t.Errorf("broken off twice: %d bytes", got.Body.Len())
	}
}

// TestVerifyServedTables verifies what a running server sends, and finds a damaged day.
func TestVerifyServedTables(t *testing.T) {
	t.Parallel()
	d, err := output.OpenFolder(tempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	publishTables(t, d, built, tableText(1))
	server := httptest.NewServer(handlerOf(t, d, t.Output()))
	defer server.Close()
	web, err := objects.OpenWeb(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	v, err := output.VerifyStore(t.Context(), web, output.VerifyOptions{Files: true,
		Report: func(name string, err error) { fmt.Fprintln(&report, name, err) }})
	if err != nil || v.Wrong != 0 || v.Days != 1 || v.Objects != v.Files {
		t.Errorf("%+v, %v\n%s", v, err, &report)
	}
}
