package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// cloneStage measures what a contributor waits for in a fresh clone: the processor time of a build with an empty cache.
// With -tests, also that of all plain tests, and with -ci the time of .ci/run.
var cloneStage = stage{"clone", "measure the first build in a fresh clone, and its tests",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		tests := flags.Bool("tests", false, "run all plain tests")
		ci := flags.Bool("ci", false, "run .ci/run")
		return func(ctx context.Context, r *report) error { return measureClone(ctx, r, *tests, *ci) }
	}}

func measureClone(ctx context.Context, r *report, tests, ci bool) (err error) {
	dir, err := os.MkdirTemp("", "tollbook-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clone := filepath.Join(dir, "clone")
	if _, _, err := run(program(ctx, nil, "git", "clone", "--quiet", "--no-local", ".", clone)); err != nil {
		return err
	}
	env := []string{"GOCACHE=" + filepath.Join(dir, "cache"), "GOFLAGS="}
	in := func(name string, args ...string) (cpu, seconds float64, err error) {
		cmd := program(ctx, env, name, args...)
		cmd.Dir = clone
		_, seconds, err = run(cmd)
		if err == nil {
			cpu, _ = used(cmd)
		}
		return cpu, seconds, err
	}
	if tests {
		cpu, seconds, err := in("go", "test", "./...")
		if err != nil {
			return err
		}
		r.add("go test ./..., compilation included", "minutes of a core", atMost(8), cpu/60)
		r.add("the same, duration", "minutes", limit{}, seconds/60)
		if !ci {
			return nil
		}
	}
	if ci {
		_, seconds, err := in(".ci/run")
		r.add(".ci/run", "minutes", atMost(40), seconds/60)
		return err
	}
	cpu, seconds, err := in("go", "build", "-o", filepath.Join(dir, "tollbook"), "./cmd/tollbook")
	if err != nil {
		return fmt.Errorf("build the clone: %w", err)
	}
	r.add("go build with an empty cache", "s of a core", atMost(160), cpu)
	r.add("the same, duration", "s", limit{}, seconds)
	return nil
}
