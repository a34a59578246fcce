// Package snapshot measures builds of a crowd beside the minimum work that they contain, with files and database in
// memory:
//
//	go run ./cmd/bench snapshot -services 20000 -runs 5
//
// Each build is a process, so that its memory and processor time can be measured. The first is a full build. The second
// follows a visit to one service in fifteen and reuses the previous snapshot. The third is a full build of the same
// facts.
//
// The peer of a full build is the time in which all cores compress what it wrote, snapshot and packs, by the same
// library and level. Reading is not timed. Equal contents are compressed once for each of their names; a second line
// reports the time for each content once. Postgres has processes of its own on the same cores.
//
//	go run ./cmd/bench snapshot -scale 20000,200000 -runs 2
//
// builds a directory of each size in turn, and reports how time and memory grow, and how the peer grows.
//
//	go run ./cmd/bench snapshot -tables -services 20000 -runs 3
//
// measures what the tables below /data/ add to a build, and lets DuckDB in a browser recompute figures from them.
package snapshot

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tollbook/cmd/bench/crowd"
	"tollbook/cmd/bench/harness"
	"tollbook/cmd/bench/usage"
	"tollbook/site/postgres"
	"tollbook/site/postgres/private"
)

// options are the flags.
type options struct {
	services, runs, days int
	raw                  int // days before today whose visits are stored one by one
	scale                string
	tables               bool
	data                 string
	cpu, heap            string

	role          string // of the processes that the bench starts itself, and the folder that they use
	database, dir string
	minute        int
	program       string
	noData        bool
}

// Command is the bench.
var Command = harness.Command{Name: "snapshot", Short: "measure builds, beside compressing the same bytes",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		var o options
		flags.IntVar(&o.services, "services", 20_000, "number of `services`")
		flags.IntVar(&o.runs, "runs", 5, "`runs` of each")
		flags.IntVar(&o.days, "days", 90, "UTC `days` of history")
		flags.StringVar(&o.scale, "scale", "", "`sizes` to build, the smallest first: 20000,200000")
		flags.BoolVar(&o.tables, "tables", false,
			"measure what the tables add to a build, and recompute figures from them")
		flags.StringVar(&o.data, "data", "", "`folder` for the database; default in memory")
		flags.StringVar(&o.cpu, "cpuprofile", "", "`file` for a CPU profile of our last full build")
		flags.StringVar(&o.heap, "memprofile", "", "`file` for a heap profile at its end")
		flags.StringVar(&o.role, "role", "", "of the processes that the bench starts itself")
		flags.StringVar(&o.database, "database", "", "of such a process")
		flags.StringVar(&o.dir, "dir", "", "of such a process")
		flags.IntVar(&o.minute, "minute", 0, "of such a process")
		flags.StringVar(&o.program, "program", "bench", "of such a process")
		flags.BoolVar(&o.noData, "no-data", false, "of such a process")
		return func(ctx context.Context) error {
			switch o.role {
			case "build":
				return buildOnce(ctx, o)
			case "deflate":
				return deflateOnce(o.dir)
			}
			return run(ctx, o)
		}
	}}

// sizes parses -scale.
func (o *options) sizes() ([]int, error) {
	var list []int
	for _, text := range strings.Split(o.scale, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || len(list) > 0 && n <= list[len(list)-1] {
			return nil, fmt.Errorf("-scale %q: want ascending numbers", o.scale)
		}
		list = append(list, n)
	}
	return list, nil
}

func run(ctx context.Context, o options) error {
	if o.runs < 1 || o.services < crowd.Every || o.days < 1 {
		return errors.New("-runs, -services or -days is too small")
	}
	dir, err := harness.Folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.scale != "" {
		return scale(ctx, o, dir)
	}
	if o.tables {
		return tables(ctx, o, dir)
	}
	return alternate(ctx, o, dir)
}

// database is a throwaway server with one filled database.
type database struct {
	server *private.Server
	dir    string
	report crowd.Report
	bytes  int64 // size of the database
}

// fill starts a server and fills its database with a crowd.
func fill(ctx context.Context, o options, dir string, services int) (*database, error) {
	if o.data != "" {
		dir = o.data
	}
	dir, err := os.MkdirTemp(dir, "postgres-")
	if err != nil {
		return nil, err
	}
	d := &database{dir: dir}
	d.server, err = private.Start(ctx, private.Options{Dir: filepath.Join(dir, "server"), Throwaway: true})
	if err == nil {
		log.Printf("generating %d services …", services)
		err = d.fill(ctx, o, services)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	log.Printf("%d services, %d rows, %.1f MB, generated in %.1f s", services, d.report.Rows, float64(d.bytes)/1e6,
		d.report.Took.Seconds())
	return d, nil
}

func (d *database) fill(ctx context.Context, o options, services int) error {
	db, err := postgres.OpenFor(ctx, d.server.DSN(), postgres.Options{Connections: crowd.Connections()})
	if err != nil {
		return err
	}
	defer db.Close()
	if d.report, err = crowd.Load(ctx, db, crowd.Options{Services: services, Seed: 1, Moment: crowd.Moment,
		Days: o.days, Raw: o.raw}); err != nil {
		return err
	}
	d.bytes, err = db.Size(ctx)
	return err
}

// close stops the server and removes its data.
func (d *database) close() (err error) {
	if d.server != nil {
		err = d.server.Stop(context.Background())
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// cpu returns the processor time of the server and its connections so far, in seconds.
func (d *database) cpu() (float64, error) {
	pid, err := usage.Postmaster(filepath.Join(d.dir, "server"))
	if err != nil {
		return 0, err
	}
	return usage.CPU(pid)
}
