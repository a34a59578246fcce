package build_test

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tollbook/build/buildtest"
	"tollbook/cmd/nodetest"
	"tollbook/output"
	"tollbook/site/serve"
)

// TestBazaarClient reads the sample directory with the bazaar client of @x402/extensions. Each filter must return what
// a filter by hand returns from the whole list, and cursors must lead through each search once.
func TestBazaarClient(t *testing.T) {
	t.Parallel()
	modules := nodetest.Install(t, "../cmd/tollbook/testdata/sdk", "--legacy-peer-deps")
	db := openSample(t)
	buildtest.AddTools(t, db, moment)
	dir := tempDir(t)
	run(t, db, dir, options(moment.Add(time.Minute)))
	source, err := output.OpenSource(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	server := httptest.NewServer(serve.NewHandler(serve.Options{Source: source,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}))
	t.Cleanup(server.Close)

	folder := tempDir(t)
	program, err := os.ReadFile("testdata/bazaar.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "bazaar.mjs"), program, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(folder, "node_modules")); err != nil {
		t.Fatal(err)
	}
	out, err := runCommand(t, folder, "node", "bazaar.mjs", server.URL)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var report struct {
		Resources, Tools, Filters, Searches, Results, Pages int
		Errors, Wrong                                       []string
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d resources, %d filters, %d searches of %d pages", report.Resources, report.Filters, report.Searches,
		report.Pages)
	for _, wrong := range report.Wrong {
		t.Error(wrong)
	}
	if report.Tools != 14 || report.Resources < 100 || report.Filters < 50 || report.Searches < 30 ||
		report.Results < 10 {
		t.Errorf("too little was compared: %s", out)
	}
	want := []string{
		`failed (400): {"error":"parameter limit: must be an integer from 1 to 100; got \"101\"","code":400,"type":"inv`,
		`parameter type: must be one of http, mcp; got \"grpc\"`,
		`parameter limit: must be an integer from 1 to 100; got \"0\"`,
		`parameter cursor: must be the cursor of a response; got \"2\"`,
		`parameter cursor: must be the cursor of a response; got \"`,
		`parameter cursor: is of a snapshot that is not available any more; search again without it`,
	}
	for i, text := range want {
		if i >= len(report.Errors) || !strings.Contains(report.Errors[i], text) ||
			!strings.Contains(report.Errors[i], "failed (400)") {
			t.Errorf("error %d of %q does not contain %s", i, report.Errors, text)
		}
	}
}
