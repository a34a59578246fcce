package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/output/archive"
)

// publishTables publishes snapshots with tables, of which the last has an index, and returns their ids.
func publishTables(t *testing.T, root string) (ids []string) {
	t.Helper()
	d, err := output.OpenFolder(root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		at := moment.Add(time.Duration(i) * time.Minute)
		b, err := d.Begin(t.Context(), output.BuildOptions{Now: at, Next: at.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Abort()
		write := func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat(fmt.Sprintf("row %d,", i), 50_000))
			return err
		}
		table, err := b.AddDataFile("data/services.parquet", write)
		_, gzErr := b.AddDataFile("data/services.csv.gz", write)
		_, emptyErr := b.AddDataFile("data/tollbook.sqlite", func(io.Writer) error { return nil })
		if err := errors.Join(err, gzErr, emptyErr, b.AddDataDay("checks", "2026-11-20", write),
			b.Add("404.html", []byte("<p>Not here")), b.Add("data/deflated.gz", []byte(strings.Repeat("a", 1000))),
			b.Add("v1/index.json", []byte(`{"lists":{},"pages":{},"slugs":[],"facilitators":[]}`))); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			if err := b.Add(archive.DataIndex, fmt.Appendf(nil,
				`{"resources":[{"path":"services.parquet","hash":"sha256:%s"},{"path":["checks/2026-11-20.parquet"]}]}`,
				table.Sum)); err != nil {
				t.Fatal(err)
			}
		}
		r, err := b.Commit(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.Checkpoint.Snapshot)
	}
	return ids
}

// TestTables asks the Go reader, the worker and nginx for tables and days, and for ranges of them.
func TestTables(t *testing.T) {
	root := scratch(t)
	ids := publishTables(t, root)
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	source, err := output.OpenSource(root, logger)
	if err != nil {
		t.Fatal(err)
	}
	addr := listen(t, source, logger)
	var script []call
	for _, path := range []string{"/data/services.parquet", "/data/services.csv.gz", "/data/tollbook.sqlite",
		"/data/checks/2026-11-20.parquet", "/data/datapackage.json", "/data/deflated.gz", "/data/none.parquet",
		"/data/checks/2026-11-21.parquet", "/data/services.parquet?snapshot=" + ids[0],
		"/data/services.parquet?snapshot=" + ids[1], "/data/services.parquet?snapshot=20201120T234501Z-3f2a9c",
		"/data/services.parquet?snapshot=x", "/data/services%2Eparquet", "/data/Checks/2026-11-20.parquet"} {
		for _, header := range []string{"", "Range: bytes=100000-100009\r\n", "Range: bytes=-7\r\n",
			"Range: bytes=0-0\r\n", "Range: bytes=1-2,4-5\r\n", "Range: bytes=9999999-\r\n",
			"If-None-Match: *\r\n", "Accept-Encoding: gzip, zstd\r\n", "Range: bytes=1-2\r\nIf-Range: \"other\"\r\n"} {
			script = append(script, call{"GET", path, header}, call{"HEAD", path, header})
		}
	}
	want := play(t, addr, script)
	for name, addr := range map[string]string{
		"worker": startWorker(t, root),
		"nginx": startNginx(t, Nginx{Folder: root, ServerName: "_", Upstream: addr, RateLimit: 100_000, MaxAge: 60},
			""),
	} {
		for i, got := range play(t, addr, script) {
			c, want := script[i], want[i]
			isDay := strings.HasPrefix(c.target, "/data/checks/2026-11-20")
			switch {
			case isDay: // days are sent with the validators of the bucket
				want, got = want.without("ETag", "Last-Modified"), got.without("ETag", "Last-Modified")
			case strings.HasPrefix(c.target, "/data/services.parquet") && strings.HasSuffix(c.target, ids[1]):
			case name == "worker" && c.target != "/data/services.parquet": // the sum is in no index
				want, got = want.without("ETag"), got.without("ETag")
			}
			if name == "nginx" && strings.HasSuffix(c.target, ".json") {
				continue // a file like any other
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%.300s (-go +%s):\n%.1500s", c, name, diff)
			}
		}
	}
}
