package build_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/serve"
	"tollbook/site/testgate"
)

// pandas returns a Python that has the package pandas.
func pandas(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import pandas").Run() == nil {
			return python
		}
	}
	testgate.Missing(t, "no python3 has pandas; install it (Debian: apt-get install python3-pandas)")
	return ""
}

// TestPythonOnPage runs the programs in Python on the page about the tables: one reads CSV files from the directory's
// address, the other one asks the SQLite file in its folder.
func TestPythonOnPage(t *testing.T) {
	t.Parallel()
	dir, snapshot, folder := historyFolder(t)
	python := pandas(t)
	source, err := output.OpenSource(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	server := httptest.NewServer(serve.NewHandler(serve.Options{Source: source}))
	t.Cleanup(server.Close)
	z, err := archive.OpenZipFile(filepath.Join(dir, archive.SnapshotsDir, snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	text, err := z.ReadFile("data.html")
	if err != nil {
		t.Fatal(err)
	}
	page, err := goquery.NewDocumentFromReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	programs := page.Find("section[aria-labelledby=python] pre code")
	if programs.Length() != 2 {
		t.Fatalf("%d programs", programs.Length())
	}
	programs.Each(func(i int, code *goquery.Selection) {
		program := strings.ReplaceAll(code.Text(), "https://tollbook.example", server.URL)
		if n := strings.Count(program, "\n"); n != 5 {
			t.Errorf("program %d has %d lines", i, n)
		}
		cmd := exec.CommandContext(t.Context(), python, "-")
		cmd.Dir, cmd.Stdin = folder, strings.NewReader(program)
		out, err := cmd.CombinedOutput()
		want := []string{"count", "payee"}[i] // columns of the answers
		if err != nil || strings.Count(string(out), "\n") < 5 || !strings.Contains(string(out), want) {
			t.Errorf("%v\n%s\n%s", err, program, out)
		}
	})
}
