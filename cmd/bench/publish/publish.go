// Package publish measures tollbook publish beside rclone, in turn, on one machine, into one MinIO whose data lie in
// memory:
//
//	go run ./cmd/bench publish -services 2000 -runs 3
//
// Both bring the same generated directory to a bucket: first all of it, then the snapshot after, for which one service
// in fifteen was visited again. Ours is the whole command, a process with its database; --expand none sends the zip,
// --expand all every file as an object, too. The peer copies the tree of files, 64 at a time, the first time without
// looking what is there, the second by comparing sums with a list. Ours sends objects packed, as readers get them; the
// peer can't. Every turn begins with an empty bucket, and ends with files out of it that are held to the tree's.
//
// While ours publishes the second snapshot, a reader asks a tollbook serve on the bucket every 5 ms which one answers.
// The memory of that serve is measured after a reader asked for every page of the list and one service in ten. Requests
// and bytes are counted in turns of their own, through a proxy that is not timed, without the expanded objects: these
// are a request each.
//
// It installs rclone (Debian) and minio (a Go module) where they are missing. 20,000 services take 20 GB of memory.
package publish

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"path/filepath"

	"tollbook/cmd/bench/turns"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// Command is the bench.
var Command = turns.Command{Name: "publish", Short: "a snapshot brought to a bucket, beside rclone",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		services := flags.Int("services", 2000, "generated services")
		runs := flags.Int("runs", 3, "runs of each side")
		zipOnly := flags.Bool("zip", false, "leave out the expanded objects, which take most of the time")
		return func(ctx context.Context) error { return run(ctx, *services, *runs, *zipOnly) }
	}}

// bench is what the sides share.
type bench struct {
	dir      string // of everything
	program  string // tollbook
	services int
	tree     tree
	dsn      string
	store    *store

	seconds map[string][]float64 // by what took them
	memory  map[string][]float64
}

func run(ctx context.Context, services, runs int, zipOnly bool) (err error) {
	if err := turns.Install(ctx, turns.Peer{Program: "rclone", Package: "rclone"}); err != nil {
		return err
	}
	minioProgram, err := turns.GoInstall(ctx, minioModule)
	if err != nil {
		return err
	}
	dir, err := turns.Folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, services: services, seconds: map[string][]float64{}, memory: map[string][]float64{}}
	if b.program, err = turns.BuildTollbook(ctx, dir); err != nil {
		return err
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	register, err := private.Start(ctx, private.Options{Dir: filepath.Join(dir, "register"), Throwaway: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, register.Stop(context.WithoutCancel(ctx))) }()
	b.dsn = register.DSN()
	db, err := postgres.OpenFor(ctx, b.dsn, 1) // its tables are made before anybody is timed
	if err != nil {
		return err
	}
	db.Close()
	if b.store, err = startStore(ctx, minioProgram, filepath.Join(dir, "minio")); err != nil {
		return err
	}
	defer b.store.end()
	return b.measure(ctx, runs, zipOnly)
}

// Bounds of ratios of files a second.
var (
	zipBound    = turns.Bound{Target: 25, Hoped: 40}
	expandBound = turns.Bound{Target: 1, Hoped: 1.3}
)

func (b *bench) measure(ctx context.Context, runs int, zipOnly bool) error {
	sides := []turns.Side{b.theirs, b.ours("none")}
	if !zipOnly {
		sides = append(sides, b.ours("all"))
	}
	if _, err := turns.Take(ctx, runs, sides...); err != nil {
		return err
	}
	report := turns.New(runs)
	for _, which := range []string{"first", "later"} {
		theirs := b.pace("rclone " + which)
		report.Compare("the zip, "+which, "rclone, 64 transfers", "files/s", b.pace("none "+which), theirs, zipBound)
		if !zipOnly {
			report.Compare("all expanded, "+which, "rclone, 64 transfers", "files/s", b.pace("all "+which), theirs,
				expandBound)
		}
	}
	report.Tell("files of the tree", "", float64(b.tree.files))
	report.Tell("bytes of the tree", "MB", float64(b.tree.bytes)/1e6)
	report.Tell("bytes of the zip", "MB", float64(b.tree.zip)/1e6)
	for _, what := range []string{"none first", "none later", "all first", "all later", "rclone first", "rclone later",
		"until a reader has it, none", "until a reader has it, all", "open from the bucket"} {
		if values := b.seconds[what]; len(values) > 0 {
			report.Tell(what, "s", values...)
		}
	}
	report.Tell("processor time of publish, the zip first", "s", b.seconds["processor"]...)
	report.Tell("memory of serve on the bucket, two snapshots open", "MB", b.memory["resident"]...)
	report.Tell("at most", "MB", b.memory["most"]...)
	if err := b.openings(report, runs); err != nil {
		return err
	}
	if err := b.requests(ctx, report); err != nil {
		return err
	}
	return report.Print()
}

// pace is how many files of the tree a second each run brought.
func (b *bench) pace(what string) (values []float64) {
	for _, seconds := range b.seconds[what] {
		values = append(values, float64(b.tree.files)/seconds)
	}
	return values
}

func (b *bench) took(what string, seconds float64) {
	b.seconds[what] = append(b.seconds[what], seconds)
	log.Printf("%-30s %8.3f s", what, seconds)
}
