package edge

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tollbook/build"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/routes"
	"tollbook/site/serve"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

var moment = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// world is a directory with every kind of file, published twice, and the Go reader over it.
type world struct {
	root  string // of the publication
	addr  string // the address of the Go reader
	snaps []string
	index *routes.Index
	names []string // of the files of the current snapshot
	lines map[string][]byte
}

// catalogueFile is the first page of the catalogue.
const catalogueFile = "discovery/resources.json"

// newWorld publishes the sample services and facilitators, with enough others for lists of several files.
func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	listings, histories := sample.Listings(moment, 0), sample.Histories(moment)
	for i, name := range []string{"Ünïcode Café", "東京都API", "Straße & <Söhne>", "ΟΔΥΣΣΕΥΣ", "한국 서비스", "ﬁne ligature",
		"İstanbul", "fire fox"} {
		for j := range 20 {
			slug := fmt.Sprintf("odd-%d-%02d", i, j)
			listings = append(listings, postgres.Listing{
				Slug: slug, Name: fmt.Sprintf("%s %d", name, j), BaseURL: "https://" + slug + ".test",
				Category: []string{"AI", "Data", "Odd & <even>/~"}[j%3],
				Source:   "imported:file", CreatedAt: moment.AddDate(0, 0, -i).Add(-time.Duration(j) * time.Minute),
				Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/q"}},
			})
			histories = append(histories, load.History{Slug: slug, Endpoints: []load.EndpointHistory{
				{Method: "GET", Path: "/q", FirstSeenAt: moment.AddDate(0, 0, -i),
					LastPaidAt: new(moment.Add(-time.Minute))},
			}})
		}
	}
	if err := load.Sample(t.Context(), db, sample.Notice, listings, histories); err != nil {
		t.Fatal(err)
	}
	facilitators := sample.Facilitators(moment)
	for i := range 130 {
		id := fmt.Sprintf("f.%03d", i)
		facilitators = append(facilitators, ledger.Facilitator{ID: id, Name: "Facilitator " + id,
			WebsiteURL: "https://" + id[2:] + ".test", UpstreamStatus: "merged"})
	}
	if _, err := db.ImportFacilitators(t.Context(), facilitators); err != nil {
		t.Fatal(err)
	}
	w := &world{root: scratch(t), lines: map[string][]byte{}}
	folder, err := output.OpenFolder(w.root)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		report, err := build.Run(t.Context(), db, folder, build.Options{
			Now: moment.Add(time.Duration(i) * 15 * time.Minute), Every: 15 * time.Minute, LogDelay: 2 * time.Minute,
			Expand: output.ExpandAll, Packed: true, Site: render.Site{BaseURL: "https://tollbook.example",
				Sample: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.snaps = append(w.snaps, report.Snapshot)
	}
	w.serve(t)
	return w
}

// copy returns a copy of the publication without the expanded tree, for tests that damage it.
func (w *world) copy(t *testing.T) *world {
	t.Helper()
	c := *w
	c.root = scratch(t)
	for _, name := range []string{"checkpoint.json", "snapshots", "packs"} {
		from, to := filepath.Join(w.root, name), filepath.Join(c.root, name)
		info, err := os.Stat(from)
		if err == nil && info.IsDir() {
			err = os.CopyFS(to, os.DirFS(from))
		} else if err == nil {
			var data []byte
			if data, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(to, data, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &c
}

// scratch returns a temporary folder, in memory if possible. Other users may enter it, because nginx drops its rights.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-edge-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve runs the Go reader on a free port until the test ends.
func (w *world) serve(t *testing.T) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	source, err := output.OpenSource(w.root, logger)
	if err != nil {
		t.Fatal(err)
	}
	snap, err := source.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Release()
	w.names = snap.Names()
	for _, name := range []string{routes.IndexFile, routes.LookupFile, catalogueFile} {
		if w.lines[name], err = snap.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := serve.Serve(ctx, l, serve.NewHandler(serve.Options{Source: source, Logger: logger}),
			slog.New(slog.NewTextHandler(io.Discard, nil)), nil); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
		source.Close()
	})
}
