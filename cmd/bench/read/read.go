// Package read measures tollbook serve beside nginx on one machine:
//
//	go run ./cmd/bench read -services 20000 -runs 5
//
// The tollbook command builds a generated directory ("tollbook build --gzip"). nginx (Debian: nginx-light), tuned as
// its documentation recommends for static files, sends the compressed copies of the expanded files with gzip_static.
// Ours sends the same bytes from the zip, with everything that serve does: route table, validators, CORS and metrics. A
// flag lifts the rate limit. Each server is a process of its own.
//
// wrk sends the same list of requests to both and accepts gzip. Of a hundred requests, 70 are for the default page of a
// list, 20 for a service, 10 for deeper pages. Before the runs, every path is requested from both servers: status,
// Content-Encoding, Content-Length and body must be equal.
//
// Three further loads go to ours alone: the same files under the paths of the API (?page=2), windows that are not
// files, and searches. The first windows are more than serve caches and repeat in the same order, so each is computed.
// A few hundred others repeat. Likewise, a few hundred searches repeat, and as many different searches as windows
// follow. With -swap, a new snapshot is published every two seconds during the load.
//
// With -searches, only /v1/search is measured, one request at a time and without wrk: after a start of serve, different
// searches, and the same again. The bench also counts what a browser reads for each from a host of files.
package read

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"tollbook/cmd/bench/harness"
)

// options are the flags.
type options struct {
	services, runs, seconds, connections int
	swap, searches                       bool
	public, program                      string
}

// Command is the bench.
var Command = harness.Command{Name: "read", Short: "measure serving readers, beside nginx",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		var o options
		flags.IntVar(&o.services, "services", 20_000, "generated services")
		flags.IntVar(&o.runs, "runs", 5, "runs of each side")
		flags.IntVar(&o.seconds, "seconds", 10, "seconds of load in a run")
		flags.IntVar(&o.connections, "connections", 64,
			"connections of a load, each of which asks as soon as it is answered")
		flags.BoolVar(&o.swap, "swap", false,
			"measure ours alone, under snapshots that replace each other, beside none that do")
		flags.BoolVar(&o.searches, "searches", false,
			"measure /v1/search alone, one request at a time, and what a browser reads for a search")
		flags.StringVar(&o.public, "public", "", "`folder` that build --gzip published, instead of a generated one")
		flags.StringVar(&o.program, "program", "", "`file` of the tollbook to serve by, instead of the one here")
		return func(ctx context.Context) error { return run(ctx, o) }
	}}

// bench is the state that both sides share.
type bench struct {
	options
	dir    string // contains all files
	mixes  *mixes
	loader string            // the Lua script of wrk
	taken  map[string][]load // by side
}

func run(ctx context.Context, o options) error {
	if !o.searches {
		if err := harness.Install(ctx, harness.Peer{Program: "nginx", Package: "nginx-light"},
			harness.Peer{Program: "wrk", Package: "wrk"}); err != nil {
			return err
		}
	}
	dir, err := harness.Folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{options: o, dir: dir, taken: map[string][]load{}}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	report := harness.NewReport(o.runs)
	if o.searches {
		if err := b.measureSearches(ctx, report); err != nil {
			return err
		}
		return report.Print()
	}
	ours, err := b.startServe(ctx)
	if err != nil {
		return err
	}
	defer ours.end()
	if o.swap {
		err = b.swaps(ctx, report, ours)
	} else {
		err = b.compare(ctx, report, ours)
	}
	if err != nil {
		return err
	}
	most, err := ours.maxMemory()
	if err != nil {
		return err
	}
	report.AddBounded("maximum memory of serve", "MB", memoryBound, most)
	return report.Print()
}

// prepare builds the program, the directory and the lists of requests.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.program == "" {
		if b.program, err = harness.BuildTollbook(ctx, b.dir); err != nil {
			return err
		}
	}
	if b.public == "" {
		if err := b.generate(ctx); err != nil {
			return err
		}
	}
	if b.searches {
		return nil
	}
	if b.mixes, err = newMixes(b.public, b.dir); err != nil {
		return err
	}
	b.loader = filepath.Join(b.dir, "play.lua")
	return os.WriteFile(b.loader, []byte(script), 0o600)
}

// Bounds. A file is compared with nginx, and a repeated window with a file. A computed window has a minimum of requests
// a second, and searches a maximum 95th percentile in milliseconds.
var (
	literalBound = harness.Bound{Target: 0.4, Hoped: 0.6}
	againBound   = harness.Bound{Target: 0.8, Hoped: 1}
	windowBound  = harness.Bound{Target: 2000, Hoped: 10_000}
	searchBound  = harness.Bound{Target: 20, Hoped: 10, Most: true}
	memoryBound  = harness.Bound{Target: 512, Hoped: 256, Most: true}

	transferBound = harness.Bound{Target: 150, Hoped: 100, Most: true} // kB of a first search in a browser
)

// compare runs the loads alternately: files of both servers, then the loads of ours alone.
func (b *bench) compare(ctx context.Context, report *harness.Report, ours *server) error {
	peer, err := b.startNginx(ctx)
	if err != nil {
		return err
	}
	defer peer.end()
	if err := b.mixes.check(ctx, ours.address, peer.address); err != nil {
		return err
	}
	results, err := harness.Alternate(ctx, b.runs,
		b.side("literal, ours", ours, b.mixes.files),
		b.side("literal, nginx", peer, b.mixes.files),
		b.side("readers' addresses", ours, b.mixes.addresses),
		b.side("different windows", ours, b.mixes.windows),
		b.side("window again", ours, b.mixes.again),
		b.side("400 searches", ours, b.mixes.searches),
		b.side("different searches", ours, b.mixes.others),
	)
	if err != nil {
		return err
	}
	const literal = "our literal hit"
	report.Compare("literal file, gzip", "nginx gzip_static always", "requests/s", results[0], results[1], literalBound)
	report.Compare("the same, CPU per request", "nginx", "µs", b.of("literal, ours", load.cpuMicros),
		b.of("literal, nginx", load.cpuMicros), harness.Bound{})
	report.Compare("the same, p99", "nginx", "ms", b.of("literal, ours", load.p99), b.of("literal, nginx", load.p99),
		harness.Bound{})
	report.Compare("the same files by API paths", literal, "requests/s", results[2], results[0],
		harness.Bound{})
	report.Compare("repeated windows", literal, "requests/s", results[4], results[0], againBound)
	report.AddBounded("different windows", "requests/s", windowBound, results[3]...)
	report.AddBounded("400 searches, repeated: p95", "ms", searchBound, b.of("400 searches", load.p95)...)
	report.AddBounded("different searches: p95", "ms", searchBound, b.of("different searches", load.p95)...)
	report.Add("400 searches, repeated", "requests/s", results[5]...)
	report.Add("different searches", "requests/s", results[6]...)
	for _, name := range []string{"literal, ours", "literal, nginx", "different windows", "window again",
		"400 searches",
		"different searches"} {
		report.Add(name+": p50", "ms", b.of(name, load.p50)...)
		report.Add(name+": p99", "ms", b.of(name, load.p99)...)
		report.Add(name+": CPU per request", "µs", b.of(name, load.cpuMicros)...)
	}
	return nil
}

// side returns a load on a server as a side. Its result is requests a second.
func (b *bench) side(name string, s *server, list string) harness.Side {
	return func(ctx context.Context) (float64, error) {
		l, err := b.load(ctx, s, list)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		b.taken[name] = append(b.taken[name], l)
		return l.perSecond(), nil
	}
}

// of returns a figure of every run of a side.
func (b *bench) of(side string, figure func(load) float64) (values []float64) {
	for _, l := range b.taken[side] {
		values = append(values, figure(l))
	}
	return values
}

// threads returns the number of wrk's threads: half of the cores, because the server needs the others.
func threads() int { return max(1, runtime.GOMAXPROCS(0)/2) }
