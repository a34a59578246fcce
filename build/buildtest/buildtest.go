// Package buildtest builds the directory of the sample services for tests of its readers, with one more service whose
// texts are hostile. It must never know what a reader does with it.
package buildtest

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tollbook/build"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
)

// Moment is when the directory was built.
var Moment = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// Directory is a directory that the real builder built.
type Directory struct {
	DB      *postgres.DB
	Data    string // folder of its data; the publication is in public
	Handler http.Handler

	folder *output.Folder
}

// New builds a directory and serves it until the test ends, as Serve does. The service evil has this name and
// description.
func New(t *testing.T, name, description string) *Directory {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	added := Moment.AddDate(0, 0, -1)
	listings := append(sample.Listings(Moment, 0), postgres.Listing{
		Slug: "evil", Name: name, Description: description, BaseURL: "https://evil.example", Category: "Data",
		Source: "imported:file", CreatedAt: added, Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/q"}},
	})
	histories := append(sample.Histories(Moment), load.History{Slug: "evil", Endpoints: []load.EndpointHistory{
		{Method: "GET", Path: "/q", FirstSeenAt: added, LastPaidAt: new(Moment.Add(-time.Minute))},
	}})
	if err := load.Sample(t.Context(), db, sample.Notice, listings, histories); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ImportFacilitators(t.Context(), sample.Facilitators(Moment)); err != nil {
		t.Fatal(err)
	}
	if err := sample.WritePolls(t.Context(), db, Moment); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-sample-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &Directory{DB: db, Data: dir}
	if d.folder, err = output.OpenFolder(filepath.Join(dir, "public")); err != nil {
		t.Fatal(err)
	}
	d.Build(t, Moment)
	d.Handler = Serve(t, dir)
	return d
}

// Serve serves the folder of such a directory until the test ends. The clock of the handler is a minute after Moment.
func Serve(t *testing.T, data string) http.Handler {
	t.Helper()
	source, err := output.OpenSource(filepath.Join(data, "public"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	return serve.NewHandler(serve.Options{Source: source, Now: func() time.Time { return Moment.Add(time.Minute) }})
}

// Build publishes a snapshot of the moment at, and returns its id.
func (d *Directory) Build(t *testing.T, at time.Time) string {
	t.Helper()
	report, err := build.Run(t.Context(), d.DB, d.folder, build.Options{
		Now: at, Every: 15 * time.Minute, LogDelay: 2 * time.Minute, Expand: output.ExpandNone,
		Site: render.Site{BaseURL: "https://tollbook.example", Sample: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return report.Snapshot
}
