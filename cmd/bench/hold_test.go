package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
)

// TestHoldCommands checks that each command of hold is one that its stage accepts.
func TestHoldCommands(t *testing.T) {
	for _, h := range holds {
		args := strings.Fields(h.args)
		i := slices.IndexFunc(stages, func(s stage) bool { return s.name == args[0] })
		if i < 0 {
			t.Errorf("%s: no stage is named %q", h.name, args[0])
			continue
		}
		flags := flag.NewFlagSet(h.name, flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		stages[i].flags(flags)
		if err := flags.Parse(args[1:]); err != nil || flags.NArg() > 0 {
			t.Errorf("%s: bench %s: %v, arguments %q", h.name, h.args, err, flags.Args())
		}
	}
}

// TestUsage checks that wrong command lines are errors of use, and start nothing.
func TestUsage(t *testing.T) {
	for _, args := range []string{"", "unknown", "role", "role unknown {}", "html -unknown", "html more",
		"html -services 1", "snapshot -scale 20,10", "generate -database x -services 0", "hold -only unknown"} {
		if err := runCommand(t.Context(), strings.Fields(args)); !errors.Is(err, errUsage) {
			t.Errorf("bench %s: %v, want an error of use", args, err)
		}
	}
}

// TestRoleArguments checks that a role's arguments arrive in its process.
func TestRoleArguments(t *testing.T) {
	want := buildJob{Database: "postgres://a b", Dir: `"quoted"`, Minute: 7}
	cmd, err := role(t.Context(), nil, "build", want)
	if err != nil {
		t.Fatal(err)
	}
	var got buildJob
	if err := roleOf(func(_ context.Context, j buildJob) error { got = j; return nil })(t.Context(),
		[]byte(cmd.Args[len(cmd.Args)-1])); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments of a role (-want +got):\n%s", diff)
	}
}

// TestWriteHolds checks which results are printed, and which count as misses.
func TestWriteHolds(t *testing.T) {
	r := &report{Commit: "abc"}
	r.compare("file", "nginx", "requests/s", []float64{3}, []float64{10}, atLeast(0.4))
	r.add("memory", "MB", atMost(512), 100)
	r.add("files", "", limit{}, 7)
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	if misses := r.writeHolds(w, "read"); misses != 1 {
		t.Errorf("%d misses, want 1", misses)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `miss read file   0.3 / 0.3 / 0.3 × nginx at least 0.4 abc
hold read memory 100 / 100 / 100 MB      at most 512  abc
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// TestPeerScripts checks the syntax of the scripts that start the peers.
func TestPeerScripts(t *testing.T) {
	list, err := filepath.Glob("peers/*.sh")
	if err != nil || len(list) == 0 {
		t.Fatalf("scripts: %v, %v", list, err)
	}
	for _, script := range list {
		if out, err := exec.Command("sh", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}
