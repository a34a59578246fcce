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
	"tollbook/build/buildtest"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	listings "tollbook/site/postgres/sources"
	"tollbook/site/routes"
	"tollbook/site/serve"
)

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
	buildtest.AddTools(t, db, moment)
	facilitators := sample.Facilitators(moment)
	for i := range 130 {
		id := fmt.Sprintf("f.%03d", i)
		facilitators = append(facilitators, ledger.Facilitator{ID: id, Name: "Facilitator " + id,
			WebsiteURL: "https://" + id[2:] + ".test", UpstreamStatus: "merged"})
	}
	if _, err := db.ImportFacilitators(t.Context(), facilitators); err != nil {
		t.Fatal(err)
	}
	if err := addSource(t.Context(), db.Sources, "index"); err != nil {
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

// addSource adds a public source that lists an endpoint of a service, and dropped another.
func addSource(ctx context.Context, st *listings.Store, name string) error {
	err := st.Configure(ctx, []listings.Source{{
		Name: name, Kind: "x402-discovery", Address: "https://index.test/list",
	}})
	for _, paths := range [][]string{{"/q", "/old"}, {"/q"}} {
		var list []listings.Resource
		for _, path := range paths {
			list = append(list, listings.Resource{Resource: "odd-0-00.test" + path, Method: "GET", Type: "http",
				URL: "https://odd-0-00.test" + path})
		}
		var s listings.State
		var pull int64
		if err == nil {
			s, err = st.Find(ctx, name)
		}
		if err == nil {
			pull, err = st.Begin(ctx, s.ID, moment.Add(-time.Hour))
		}
		if err == nil {
			err = st.Stage(ctx, s.ID, pull, list)
		}
		if err == nil {
			_, err = st.Accept(ctx, s, pull, listings.Answer{EndedAt: moment.Add(-time.Hour), Pages: 1,
				Resources: len(list), SHA256: []byte{1}}, moment)
		}
	}
	return err
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
	w.addr = listen(t, source, logger)
}

// listen serves a publication on a free port until the test ends, and then closes it.
func listen(t *testing.T, source *output.Source, logger *slog.Logger) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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
	return l.Addr().String()
}
