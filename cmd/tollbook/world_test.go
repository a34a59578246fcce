package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"tollbook/build/buildtest"
	"tollbook/cmd/tollbook/terminal"
)

var moment = buildtest.Moment

// hostile is a text of a hostile service: colours and a title for a terminal, a line of its own, direction marks and
// invisible characters.
const hostile = "Evil\x1b[31m\x1b]0;title\x07\u009b2J\nRisk: clean\r\u202etxt\u200b\U000E0049 service 漢字漢字"

// world is a directory with the sample services and one hostile service, built by the real builder. All tests read the
// same folder.
type world struct {
	data    string // folder of the directory
	url     string // of the same directory over HTTP
	handler http.Handler
}

func newWorld(t *testing.T) *world {
	t.Helper()
	data := worldFolder.get(t, func(folder string) {
		d := buildtest.New(t, hostile, strings.Repeat(hostile+" ", 20))
		if err := os.CopyFS(folder, os.DirFS(d.Data)); err != nil {
			t.Fatal(err)
		}
	})
	handler := buildtest.Serve(t, data)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &world{data, server.URL, handler}
}

// Folders that several tests read or copy.
var worldFolder, demoFolder sharedFolder

// sharedFolder is a folder that the first test that needs it fills, and that is deleted after all tests.
type sharedFolder struct {
	mu   sync.Mutex
	path string // "" until it is filled
}

// get returns the folder. If fill fails the test, the next test tries again.
func (s *sharedFolder) get(t *testing.T, fill func(folder string)) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path != "" {
		return s.path
	}
	folder, err := os.MkdirTemp("", "tollbook-shared-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if s.path == "" {
			os.RemoveAll(folder)
		}
	}()
	fill(folder)
	s.path = folder
	return folder
}

func (s *sharedFolder) remove() error { return os.RemoveAll(s.path) }

// runReader runs a command and returns its exit status and all that it prints, as the program would.
func runReader(t *testing.T, args ...string) (status int, printed string) {
	t.Helper()
	root := &cobra.Command{Use: "tollbook", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newReaderCommands()...)
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		fmt.Fprintf(&out, "tollbook: %v\n", err)
		status = 1
	}
	if errors.As(err, new(terminal.UsageError)) || errors.Is(err, errUnknown) {
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
