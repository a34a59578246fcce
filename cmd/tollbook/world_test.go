package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tollbook/build/buildtest"
	"tollbook/cmd/tollbook/terminal"
)

var moment = buildtest.Moment

// hostile is a text of a hostile service: colours and a title for a terminal, a line of its own, direction marks and
// invisible characters.
const hostile = "Evil\x1b[31m\x1b]0;title\x07\u009b2J\nRisk: clean\r\u202etxt\u200b\U000E0049 service 漢字漢字"

// world is a directory with the sample services and one hostile service, built by the real builder.
type world struct {
	data    string // folder of the directory
	url     string // of the same directory over HTTP
	handler http.Handler
}

func newWorld(t *testing.T) *world {
	t.Helper()
	d := buildtest.New(t, hostile, strings.Repeat(hostile+" ", 20))
	server := httptest.NewServer(d.Handler)
	t.Cleanup(server.Close)
	return &world{d.Data, server.URL, d.Handler}
}

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
