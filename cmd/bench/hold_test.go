package main

import (
	"bytes"
	"context"
	"errors"
	"os"
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
		if _, err := stages[i].parse(&bench{}, args[1:]); err != nil {
			t.Errorf("%s: bench %s: %v", h.name, h.args, err)
		}
	}
}

// TestUsage checks that wrong command lines are errors of use, and start nothing.
func TestUsage(t *testing.T) {
	for _, args := range []string{"", "unknown", "role", "role unknown {}", "html -unknown", "html more",
		"html -services 1", "read -runs 0", "snapshot -scale 20,10", "generate -database x -services 0",
		"hold -only unknown"} {
		if err := runCommand(t.Context(), strings.Fields(args)); !errors.Is(err, errUsage) {
			t.Errorf("bench %s: %v, want an error of use", args, err)
		}
	}
}

// TestRoleArguments checks that a role's arguments arrive in its process.
func TestRoleArguments(t *testing.T) {
	want := buildJob{Database: "postgres://a b", Dir: `"quoted"`, Minute: 7}
	cmd := (&bench{ctx: t.Context()}).role("build", want)
	var got buildJob
	roleOf(func(_ context.Context, j buildJob) { got = j })(t.Context(), []byte(cmd.Args[len(cmd.Args)-1]))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments of a role (-want +got):\n%s", diff)
	}
}

// TestWriteHolds checks which results are printed, and which count as misses.
func TestWriteHolds(t *testing.T) {
	r := &report{Commit: "abc", figures: map[string][]float64{"serve": {3}, "nginx": {10}}}
	r.compare("file", "requests/s", "serve", "nginx", atLeast(0.4))
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

// TestRunEnds checks that a run which fails removes its folder, stops what it started, and reports the error.
func TestRunEnds(t *testing.T) {
	b := &bench{report: report{figures: map[string][]float64{}}, ctx: t.Context()}
	var order []string
	broken := errors.New("peer is not installed")
	err := b.measure(&stage{}, func(b *bench) {
		b.atEnd(func() { order = append(order, "database") })
		b.atEnd(func() { order = append(order, "server") })
		check(attempt(func() { check(broken) }))
	})
	if !errors.Is(err, broken) {
		t.Errorf("error = %v, want %v", err, broken)
	}
	if diff := cmp.Diff([]string{"server", "database"}, order); diff != "" {
		t.Errorf("what ended (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(b.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the run is still there: %v", err)
	}
	if b.ctx.Err() == nil {
		t.Error("processes of the run may go on")
	}
}
