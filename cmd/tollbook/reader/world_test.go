package reader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tollbook/build"
	"tollbook/cmd/tollbook/usage"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/render"
	"tollbook/site/postgres"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/serve"
)

var moment = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// hostile is a text of a hostile service: colours and a title for a terminal, a line of its own, direction marks and
// invisible characters.
const hostile = "Evil\x1b[31m\x1b]0;title\x07\u009b2J\nRisk: clean\r\u202etxt\u200b\U000E0049 service 漢字漢字"

// world is a directory with the sample services and one hostile service, built by the real builder.
type world struct {
	data string // folder of the directory
	url  string // of the same directory over HTTP
}

func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.NewDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	listings, histories := sample.Listings(moment, 0), sample.Histories(moment)
	listings = append(listings, postgres.Listing{
		Slug: "evil", Name: hostile, Description: strings.Repeat(hostile+" ", 20), BaseURL: "https://evil.example",
		Category: "Data", Source: "imported:file", CreatedAt: moment.AddDate(0, 0, -1),
		Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/q"}},
	})
	histories = append(histories, load.History{Slug: "evil", Endpoints: []load.EndpointHistory{
		{Method: "GET", Path: "/q", FirstSeenAt: moment.AddDate(0, 0, -1), LastPaidAt: new(moment.Add(-time.Minute))},
	}})
	if err := load.Sample(t.Context(), db, sample.Notice, listings, histories); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/dev/shm", "tollbook-reader-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	folder, err := output.OpenFolder(filepath.Join(dir, "public"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := build.Run(t.Context(), db, folder, build.Options{
		Now: moment, Every: 15 * time.Minute, LogDelay: 2 * time.Minute, Expand: output.ExpandNone,
		Site: render.Site{BaseURL: "https://tollbook.example", Sample: true},
	}); err != nil {
		t.Fatal(err)
	}
	source, err := output.OpenSource(filepath.Join(dir, "public"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	server := httptest.NewServer(serve.NewHandler(serve.Options{Source: source}))
	t.Cleanup(server.Close)
	return &world{dir, server.URL}
}

// run runs a command and returns its exit status and all that it prints, as the program would.
func run(t *testing.T, args ...string) (status int, printed string) {
	t.Helper()
	root := &cobra.Command{Use: "tollbook", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(New()...)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		fmt.Fprintf(&out, "tollbook: %v\n", err)
		status = 1
	}
	if errors.As(err, new(usage.Error)) || errors.Is(err, ErrUnknown) {
		status = 2
	}
	return status, out.String()
}

// hostileDirectory starts a server that answers each request with handle.
func hostileDirectory(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.URL
}
