// Package publish measures tollbook publish beside rclone. Both publish alternately to one MinIO with its data in
// memory:
//
//	go run ./cmd/bench publish -services 2000 -runs 3
//
// Both publish the same generated directory to a bucket: first everything, then the next snapshot after a visit to one
// service in fifteen. Ours is the tollbook command, a process with its database. With --expand none it sends the zip,
// with --expand all also every file as an object. The peer copies the tree of files, 64 at a time. The first time it
// does not look at the bucket; the second time it compares sums with a listing. Ours sends compressed objects, as
// readers get them; the peer cannot. Every run begins with an empty bucket. At its end, files of the bucket are
// compared with the tree.
//
// While ours publishes the second snapshot, a reader asks a tollbook serve on the bucket every 5 ms for its snapshot.
// The memory of that serve is measured after a reader has read every page of the list and one service in ten. Requests
// and bytes are counted in separate runs, through a proxy that is not timed. They do not include the expanded objects,
// which take one request each.
//
// It installs rclone (Debian) and minio (a Go module) if they are missing. 20,000 services take 20 GB of memory.
package publish

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"path/filepath"

	"tollbook/cmd/bench/harness"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// Command is the bench.
var Command = harness.Command{Name: "publish", Short: "measure publishing to a bucket, beside rclone",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		services := flags.Int("services", 2000, "generated services")
		runs := flags.Int("runs", 3, "runs of each side")
		zipOnly := flags.Bool("zip", false, "leave out the expanded objects, which take most of the time")
		return func(ctx context.Context) error { return run(ctx, *services, *runs, *zipOnly) }
	}}

// bench is the state that both sides share.
type bench struct {
	dir      string // contains all files
	program  string // the tollbook command
	services int
	tree     tree
	dsn      string
	store    *store

	seconds map[string][]float64 // by what was measured
	memory  map[string][]float64
}

func run(ctx context.Context, services, runs int, zipOnly bool) (err error) {
	if err := harness.Install(ctx, harness.Peer{Program: "rclone", Package: "rclone"}); err != nil {
		return err
	}
	minioProgram, err := harness.GoInstall(ctx, minioModule)
	if err != nil {
		return err
	}
	dir, err := harness.Folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, services: services, seconds: map[string][]float64{}, memory: map[string][]float64{}}
	if b.program, err = harness.BuildTollbook(ctx, dir); err != nil {
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
	// creates its tables before anything is timed
	db, err := postgres.OpenFor(ctx, b.dsn, postgres.Options{Connections: 1})
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
	zipBound    = harness.Bound{Target: 25, Hoped: 40}
	expandBound = harness.Bound{Target: 1, Hoped: 1.3}
)

func (b *bench) measure(ctx context.Context, runs int, zipOnly bool) error {
	sides := []harness.Side{b.theirs, b.ours("none")}
	if !zipOnly {
		sides = append(sides, b.ours("all"))
	}
	if _, err := harness.Alternate(ctx, runs, sides...); err != nil {
		return err
	}
	report := harness.NewReport(runs)
	for _, which := range []string{"first", "later"} {
		theirs := b.pace("rclone " + which)
		report.Compare("the zip, "+which, "rclone, 64 transfers", "files/s", b.pace("none "+which), theirs, zipBound)
		if !zipOnly {
			report.Compare("all expanded, "+which, "rclone, 64 transfers", "files/s", b.pace("all "+which), theirs,
				expandBound)
		}
	}
	report.Add("files of the tree", "", float64(b.tree.files))
	report.Add("bytes of the tree", "MB", float64(b.tree.bytes)/1e6)
	report.Add("bytes of the zip", "MB", float64(b.tree.zip)/1e6)
	for _, what := range []string{"none first", "none later", "all first", "all later", "rclone first", "rclone later",
		"until a reader has it, none", "until a reader has it, all", "open from the bucket"} {
		if values := b.seconds[what]; len(values) > 0 {
			report.Add(what, "s", values...)
		}
	}
	report.Add("processor time of publish, the zip first", "s", b.seconds["processor"]...)
	report.Add("memory of serve on the bucket, two snapshots open", "MB", b.memory["resident"]...)
	report.Add("maximum of it", "MB", b.memory["most"]...)
	if err := b.openings(report, runs); err != nil {
		return err
	}
	if err := b.requests(ctx, report); err != nil {
		return err
	}
	return report.Print()
}

// pace returns the files of the tree a second of each run.
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
