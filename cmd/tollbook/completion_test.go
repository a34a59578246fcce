package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompletion checks the suggestions that a shell gets for incomplete command lines.
func TestCompletion(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	folder := filepath.Join(data, "public", "snapshots")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"20261120T000000Z-0123ab.zip", "20261121T000000Z-0123ab.zip", ".tmp-snapshot.zip"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(t.TempDir(), "own.toml")
	write(t, config, fmt.Sprintf("data = %q\n", data))
	directory := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/index.json":
			io.WriteString(w, `{"slugs":["acme-quotes","$(id)","zebra"]}`)
		case "/v1/networks":
			io.WriteString(w, `{"data":[{"abbreviation":"BSE","name":"Base\u001b[31m"},{"abbreviation":"`+"`id`"+`"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(directory.Close)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	for _, tt := range []struct {
		args []string
		want string // lines; the last one is cobra's directive
	}{
		{[]string{"build", "--expand", ""}, "all none :4"},
		{[]string{"publish", "--expand", "c"}, "auto all contract none :4"},
		{[]string{"submissions", "list", "--state", ""}, "pending approved rejected all :4"},
		{[]string{"suggestions", "list", "--state", ""}, "open closed all :4"},
		{[]string{"index", "--data", ""}, ":16"},
		{[]string{"rollback", "--data", data, ""}, "20261121T000000Z-0123ab 20261120T000000Z-0123ab :4"},
		{[]string{"rollback", "--data", data, "20261121T000000Z-0123ab", ""}, ":4"},
		{[]string{"rollback", "--config", config, ""}, "20261121T000000Z-0123ab 20261120T000000Z-0123ab :4"},
		{[]string{"services", "remove", "--data", data, ""}, ":4"}, // the folder contains no publication
		{[]string{"show", "--directory", directory.URL, ""}, "acme-quotes zebra :4"},
		{[]string{"show", "--directory", directory.URL, "--data", data, ""}, ":4"},
		{[]string{"show", "--directory", silent.URL, ""}, ":4"}, // it does not answer within a second
		{[]string{"show", "--directory", "http://127.0.0.1:1", ""}, ":4"},
		{[]string{"check", "https://x.example", "--directory", directory.URL, "--network", ""}, "BSE Base[31m :4"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := tollbook(t, nil, append([]string{"__complete"}, tt.args...)...)
			if code != 0 {
				t.Errorf("exit %d: %s", code, stderr)
			}
			if diff := cmp.Diff(tt.want, strings.Join(strings.Fields(stdout), " ")); diff != "" {
				t.Errorf("completions (-want +got):\n%s", diff)
			}
		})
	}
}
