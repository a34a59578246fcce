// Package read measures tollbook serve beside nginx, in turn, on one machine:
//
//	go run ./cmd/bench read -services 20000 -runs 5
//
// A generated directory is built by the whole command, "tollbook build --gzip". nginx (Debian: nginx-light), tuned as
// its makers advise for static files, sends the packed twins of the expanded files with gzip_static; ours sends the
// same bytes out of the zip, with all that it does for every reader: route table, validators, CORS, the counters of
// /metrics; its rate limit is lifted by its own flag. Each is a process of its own; wrk plays the same list of
// addresses to both and asks for gzip. Of a hundred requests 70 are for the default page of a list, 20 for a service,
// 10 for deeper pages. Before, every address of the list is asked of both: status, Content-Encoding, Content-Length and
// body must be equal.
//
// Then ours alone: the same files under the addresses that readers use (?page=2), windows that are no files, and
// searches. The first windows are more than serve keeps and come round in one order, so each is cut anew; then a few
// hundred come again and again. Searches are a few hundred, as people repeat what others asked, and then as many
// different ones as windows. With -swap a new snapshot appears every two seconds under the same load.
package read

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"tollbook/cmd/bench/turns"
)

// options are the flags.
type options struct {
	services, runs, seconds, connections int
	swap                                 bool
	public, program                      string
}

// Command is the bench.
var Command = turns.Command{Name: "read", Short: "requests of readers, beside nginx",
	Flags: func(flags *flag.FlagSet) func(context.Context) error {
		var o options
		flags.IntVar(&o.services, "services", 20_000, "generated services")
		flags.IntVar(&o.runs, "runs", 5, "runs of each side")
		flags.IntVar(&o.seconds, "seconds", 10, "seconds of load in a run")
		flags.IntVar(&o.connections, "connections", 64,
			"connections of a load, each of which asks as soon as it is answered")
		flags.BoolVar(&o.swap, "swap", false,
			"measure ours alone, under snapshots that replace each other, beside none that do")
		flags.StringVar(&o.public, "public", "", "`folder` that build --gzip published, in place of a generated one")
		flags.StringVar(&o.program, "program", "", "`file` of the tollbook to serve by, in place of the one here")
		return func(ctx context.Context) error { return run(ctx, o) }
	}}

// bench is what the sides share.
type bench struct {
	options
	dir    string // of everything
	mixes  *mixes
	loader string            // the Lua script of wrk
	taken  map[string][]load // by side
}

func run(ctx context.Context, o options) error {
	if err := turns.Install(ctx, turns.Peer{Program: "nginx", Package: "nginx-light"},
		turns.Peer{Program: "wrk", Package: "wrk"}); err != nil {
		return err
	}
	dir, err := turns.Folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{options: o, dir: dir, taken: map[string][]load{}}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	ours, err := b.startServe(ctx)
	if err != nil {
		return err
	}
	defer ours.end()
	report := turns.New(o.runs)
	if o.swap {
		err = b.swaps(ctx, report, ours)
	} else {
		err = b.compare(ctx, report, ours)
	}
	if err != nil {
		return err
	}
	most, err := ours.mostMemory()
	if err != nil {
		return err
	}
	report.Hold("most memory of serve", "MB", memoryBound, most)
	return report.Print()
}

// prepare makes program, directory and lists of addresses.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.program == "" {
		if b.program, err = turns.BuildTollbook(ctx, b.dir); err != nil {
			return err
		}
	}
	if b.public == "" {
		if err := b.generate(ctx); err != nil {
			return err
		}
	}
	if b.mixes, err = newMixes(b.public, b.dir); err != nil {
		return err
	}
	b.loader = filepath.Join(b.dir, "play.lua")
	return os.WriteFile(b.loader, []byte(script), 0o600)
}

// Bounds of readers: a finished file beside nginx, a window that was cut before beside a finished file, windows that
// are cut anew a second, and the 95th percentile of searches in milliseconds.
var (
	literalBound = turns.Bound{Target: 0.4, Hoped: 0.6}
	againBound   = turns.Bound{Target: 0.8, Hoped: 1}
	windowBound  = turns.Bound{Target: 2000, Hoped: 10_000}
	searchBound  = turns.Bound{Target: 20, Hoped: 10, Most: true}
	memoryBound  = turns.Bound{Target: 512, Hoped: 256, Most: true}
)

// compare takes turns: files of both, then what ours alone can answer.
func (b *bench) compare(ctx context.Context, report *turns.Report, ours *server) error {
	peer, err := b.startNginx(ctx)
	if err != nil {
		return err
	}
	defer peer.end()
	if err := b.mixes.check(ctx, ours.address, peer.address); err != nil {
		return err
	}
	given, err := turns.Take(ctx, b.runs,
		b.side("literal, ours", ours, b.mixes.files),
		b.side("literal, nginx", peer, b.mixes.files),
		b.side("readers' addresses", ours, b.mixes.addresses),
		b.side("cut window", ours, b.mixes.windows),
		b.side("window again", ours, b.mixes.again),
		b.side("q, 400 different", ours, b.mixes.searches),
		b.side("q, each another", ours, b.mixes.others),
	)
	if err != nil {
		return err
	}
	const literal = "our literal hit"
	report.Compare("literal file, gzip", "nginx gzip_static always", "requests/s", given[0], given[1], literalBound)
	report.Compare("the same, CPU of a request", "nginx", "µs", b.of("literal, ours", load.cpuMicros),
		b.of("literal, nginx", load.cpuMicros), turns.Bound{})
	report.Compare("the same, p99", "nginx", "ms", b.of("literal, ours", load.p99), b.of("literal, nginx", load.p99),
		turns.Bound{})
	report.Compare("the same files by readers' addresses", literal, "requests/s", given[2], given[0], turns.Bound{})
	report.Compare("a window that was cut before", literal, "requests/s", given[4], given[0], againBound)
	report.Hold("windows, each cut anew", "requests/s", windowBound, given[3]...)
	report.Hold("q, 400 different queries: p95", "ms", searchBound, b.of("q, 400 different", load.p95)...)
	report.Hold("q, each another query or page: p95", "ms", searchBound, b.of("q, each another", load.p95)...)
	report.Tell("q, 400 different queries", "requests/s", given[5]...)
	report.Tell("q, each another query or page", "requests/s", given[6]...)
	for _, name := range []string{"literal, ours", "literal, nginx", "cut window", "window again", "q, 400 different",
		"q, each another"} {
		report.Tell(name+": p50", "ms", b.of(name, load.p50)...)
		report.Tell(name+": p99", "ms", b.of(name, load.p99)...)
		report.Tell(name+": CPU of a request", "µs", b.of(name, load.cpuMicros)...)
	}
	return nil
}

// side is a load on a server, which gives requests a second.
func (b *bench) side(name string, s *server, list string) turns.Side {
	return func(ctx context.Context) (float64, error) {
		l, err := b.load(ctx, s, list)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		b.taken[name] = append(b.taken[name], l)
		return l.perSecond(), nil
	}
}

// of is one figure of every run of a side.
func (b *bench) of(side string, figure func(load) float64) (values []float64) {
	for _, l := range b.taken[side] {
		values = append(values, figure(l))
	}
	return values
}

// threads are those of wrk: half of the cores, since the server needs the others.
func threads() int { return max(1, runtime.GOMAXPROCS(0)/2) }
