package main

import (
	"flag"
	"os"
	"path/filepath"
)

// cloneStage measures what a contributor waits for in a fresh clone: the processor time of a build with an empty cache.
// With -tests, also that of all plain tests, and with -ci the time of .ci/run. The clone is on a disk.
var cloneStage = stage{name: "clone", short: "measure the first build in a fresh clone, and its tests",
	flags: func(flags *flag.FlagSet) func(*bench) {
		tests := flags.Bool("tests", false, "run all plain tests")
		ci := flags.Bool("ci", false, "run .ci/run")
		return func(b *bench) { b.measureClone(*tests, *ci) }
	}}

func (b *bench) measureClone(tests, ci bool) {
	dir := must(os.MkdirTemp("", "tollbook-bench-"))
	b.atEnd(func() { _ = os.RemoveAll(dir) })
	clone := filepath.Join(dir, "clone")
	b.run(b.program(nil, "git", "clone", "--quiet", "--no-local", ".", clone))
	in := func(name string, args ...string) (cpu, seconds float64) {
		cmd := b.program([]string{"GOCACHE=" + filepath.Join(dir, "cache"), "GOFLAGS="}, name, args...)
		cmd.Dir = clone
		_, seconds = b.run(cmd)
		return used(cmd), seconds
	}
	if tests {
		cpu, seconds := in("go", "test", "./...")
		b.add("go test ./..., compilation included", "minutes of a core", atMost(8), cpu/60)
		b.add("the same, duration", "minutes", limit{}, seconds/60)
	}
	if ci {
		_, seconds := in(".ci/run")
		b.add(".ci/run", "minutes", atMost(40), seconds/60)
	}
	if !tests && !ci {
		cpu, seconds := in("go", "build", "-o", filepath.Join(dir, "tollbook"), "./cmd/tollbook")
		b.add("go build with an empty cache", "s of a core", atMost(160), cpu)
		b.add("the same, duration", "s", limit{}, seconds)
	}
}
