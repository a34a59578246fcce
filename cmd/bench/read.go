package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"tollbook/cmd/bench/crowd"
)

// readStage measures tollbook serve beside nginx on one machine. The tollbook command builds a generated directory
// ("tollbook build --gzip"). nginx, tuned as its documentation recommends for static files, sends the compressed copies
// of the expanded files with gzip_static. Ours sends the same bytes from the zip, with everything that serve does:
// route table, validators, CORS and metrics. A flag lifts the rate limit. Each server is a process of its own. A
// second nginx has the configuration that "tollbook edge nginx" prints.
//
// wrk sends the same list of requests to all and accepts gzip. Of a hundred requests, 70 are for the default page of a
// list, 20 for a service, 10 for deeper pages. Before the runs, every path is requested from each server: status,
// Content-Encoding, Content-Length and body must be equal.
//
// Three further loads go to ours alone: the same files under the paths of the API (?page=2), windows that are not
// files, and searches. The first windows are more than serve caches and repeat in the same order, so each is computed.
// A few hundred others repeat. Likewise, a few hundred searches repeat, and as many different searches as windows
// follow. With -swap, a new snapshot is published every two seconds during the load.
var readStage = stage{"read", "measure serving readers, beside nginx",
	func(flags *flag.FlagSet) func(context.Context, *report) error {
		b := reading{taken: map[string][]load{}}
		flags.IntVar(&b.services, "services", 20_000, "generated services")
		flags.IntVar(&b.runs, "runs", 5, "runs of each side")
		flags.IntVar(&b.seconds, "seconds", 10, "seconds of load in a run")
		flags.IntVar(&b.connections, "connections", 64,
			"connections of a load, each of which asks as soon as it is answered")
		flags.BoolVar(&b.swap, "swap", false,
			"measure ours alone, under snapshots that replace each other, beside none that do")
		flags.BoolVar(&b.files, "files", false, "measure files alone")
		flags.StringVar(&b.public, "public", "", "`folder` that build --gzip published, instead of a generated one")
		flags.StringVar(&b.program, "program", "", "`file` of the tollbook to serve by, instead of the one here")
		return b.measure
	}}

// reading is the state that all loads share.
type reading struct {
	services, runs, seconds, connections int
	swap, files                          bool
	public, program                      string

	dir   string // contains all files
	mixes *mixes
	taken map[string][]load // by side
}

func (b *reading) measure(ctx context.Context, r *report) (err error) {
	if err := install(ctx, "nginx.sh", "wrk.sh"); err != nil {
		return err
	}
	if b.dir, err = temporary(); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.program == "" {
		if b.program, err = buildTollbook(ctx, b.dir); err != nil {
			return err
		}
	}
	if b.public == "" {
		builds := [][]string{{"--expand", "all", "--gzip"}}
		if b.swap {
			builds = [][]string{{"--expand", "none"}, {"--expand", "none"}}
		}
		if b.public, err = generateFolder(ctx, b.dir, b.program, b.services, builds...); err != nil {
			return err
		}
	}
	if b.mixes, err = newMixes(b.public, b.dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.dir, "play.lua"), []byte(wrkScript), 0o600); err != nil {
		return err
	}
	ours, _, err := startServe(ctx, nil, b.program, b.public, "--serve-metrics", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ours.end()
	if b.swap {
		err = b.measureSwaps(ctx, r, ours)
	} else {
		err = b.compare(ctx, r, ours)
	}
	if err != nil {
		return err
	}
	most, err := memoryOf(ours.cmd.Process.Pid, "VmHWM")
	r.add("maximum memory of serve", "MB", atMost(512), most)
	return err
}

// generateFolder builds a generated directory into a folder as an operator would, once with each of the flags, and
// returns the folder that is published. It keeps the pointer to each snapshot.
func generateFolder(ctx context.Context, dir, tollbook string, services int, builds ...[]string) (string, error) {
	log.Printf("Building %d services in %s …", services, dir)
	d, err := startPostgres(ctx, filepath.Join(dir, "postgres"), true)
	if err != nil {
		return "", err
	}
	defer d.end()
	if _, err := d.fill(ctx, crowd.Options{Services: services, Moment: time.Now().Truncate(time.Minute),
		Days: 90}); err != nil {
		return "", err
	}
	data := filepath.Join(dir, "data")
	public := filepath.Join(data, "public")
	for i, flags := range builds {
		if err := buildCommand(ctx, tollbook, d.DSN(), data, flags...); err != nil {
			return "", err
		}
		if _, err := keepPointer(public, i); err != nil {
			return "", err
		}
	}
	return public, nil
}

// startNginx starts the peer with the expanded files.
func (b *reading) startNginx(ctx context.Context) (*server, error) {
	tree, err := filepath.EvalSymlinks(filepath.Join(b.public, "current"))
	if err != nil {
		return nil, fmt.Errorf("%w; the folder needs the files of build --expand all --gzip", err)
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, "nginx")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	s, _, err := startServer(ctx, peer(ctx, nil, "nginx.sh", dir, address, tree), address, "/")
	return s, err
}

// startEdge starts an nginx with the configuration that tollbook prints.
func (b *reading) startEdge(ctx context.Context, upstream *server) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, "edge")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	conf, _, err := run(program(ctx, nil, b.program, "edge", "nginx", "--root", b.public, "--listen", address,
		"--upstream", upstream.address, "--rate-limit", "100000000"))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "tollbook.conf")
	if err := os.WriteFile(file, conf, 0o644); err != nil {
		return nil, err
	}
	s, _, err := startServer(ctx, peer(ctx, nil, "nginx.sh", dir, file), address, "/")
	return s, err
}

// compare runs the loads alternately: files of all servers, then the loads of ours alone.
func (b *reading) compare(ctx context.Context, r *report, ours *server) error {
	theirs, err := b.startNginx(ctx)
	if err != nil {
		return err
	}
	defer theirs.end()
	edge, err := b.startEdge(ctx, ours)
	if err != nil {
		return err
	}
	defer edge.end()
	for _, other := range []*server{theirs, edge} {
		if err := b.mixes.check(ctx, ours.address, other.address); err != nil {
			return err
		}
	}
	const files, nginx, byAPI = "file", "nginx", "the same files by API paths"
	const byEdge, byNginx = "edge nginx", "nginx without logs"
	const fresh, again, repeated, different = "different windows", "repeated windows", "400 searches, repeated",
		"different searches"
	sides := []side{b.side(files, ours, b.mixes.files), b.side(nginx, theirs, b.mixes.files),
		b.side(byAPI, ours, b.mixes.addresses), b.side(byEdge, edge, b.mixes.edgeAddresses),
		b.side(byNginx, theirs, b.mixes.edgeFiles)}
	if !b.files {
		sides = append(sides, b.side(fresh, ours, b.mixes.windows), b.side(again, ours, b.mixes.again),
			b.side(repeated, ours, b.mixes.searches), b.side(different, ours, b.mixes.others))
	}
	if _, err := alternate(ctx, b.runs, sides...); err != nil {
		return err
	}
	compare := func(what, side, peer, other string, l limit) {
		r.compare(what, peer, "requests/s", b.of(side, load.perSecond), b.of(other, load.perSecond), l)
	}
	compare("a finished file, gzip", files, "nginx gzip_static always", nginx, atLeast(0.4))
	compare("by nginx as tollbook edge nginx configures it", byEdge, "nginx gzip_static always", byNginx, atLeast(1))
	compare(byAPI, byAPI, "by the file's name", files, limit{})
	r.compare("processor time of a file", "nginx", "µs", b.of(files, load.cpuMicros), b.of(nginx, load.cpuMicros),
		limit{})
	r.compare("processor time by API path", "by the file's name", "µs", b.of(byAPI, load.cpuMicros),
		b.of(files, load.cpuMicros), limit{})
	if b.files {
		return nil
	}
	compare(again, again, "a finished file", files, atLeast(0.8))
	r.add(fresh, "requests/s", atLeast(2000), b.of(fresh, load.perSecond)...)
	for _, name := range []string{repeated, different} {
		r.add(name+": p95 under load", "ms", limit{}, b.of(name, load.p95)...)
		r.add(name, "requests/s", limit{}, b.of(name, load.perSecond)...)
	}
	for _, name := range []string{files, nginx, fresh, again, repeated, different} {
		r.add(name+": p99", "ms", limit{}, b.of(name, load.p99)...)
		r.add(name+": processor time", "µs", limit{}, b.of(name, load.cpuMicros)...)
	}
	return nil
}

// side returns a load on a server as a side. Its result is requests a second.
func (b *reading) side(name string, s *server, list string) side {
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
func (b *reading) of(side string, figure func(load) float64) (values []float64) {
	for _, l := range b.taken[side] {
		values = append(values, figure(l))
	}
	return values
}

// wrkScript makes wrk request a list of paths, with another beginning for each thread, and print the result as JSON.
const wrkScript = `
local requests, at, threads = {}, 0, 0
function setup(thread)
	thread:set("number", threads)
	threads = threads + 1
end
function init(args)
	for line in io.lines(args[1]) do
		requests[#requests + 1] = wrk.format("GET", line)
	end
	at = number * 7919
end
function request()
	at = at % #requests + 1
	return requests[at]
end
function done(summary, latency)
	local e = summary.errors
	local failed = e.connect + e.read + e.write + e.status + e.timeout
	local form = '{"requests":%d,"micros":%d,"bytes":%d,"failed":%d,"p50":%d,"p95":%d,"p99":%d,"max":%d}\n'
	io.write(string.format(form, summary.requests, summary.duration, summary.bytes, failed,
		latency:percentile(50), latency:percentile(95), latency:percentile(99), latency.max))
end
`

// load is the result of a run of wrk.
type load struct {
	Requests, Micros, Bytes, Failed float64
	P50, P95, P99, Max              float64 // µs
	CPU                             float64 // seconds, of the server
}

func (l load) perSecond() float64 { return l.Requests / l.Micros * 1e6 }
func (l load) cpuMicros() float64 { return l.CPU / l.Requests * 1e6 }
func (l load) p95() float64       { return l.P95 / 1e3 }
func (l load) p99() float64       { return l.P99 / 1e3 }
func (l load) max() float64       { return l.Max / 1e3 }

// load sends a list of requests to a server, with half of the cores for wrk, because the server needs the others.
func (b *reading) load(ctx context.Context, s *server, list string) (l load, err error) {
	before, err := cpuOf(s.cmd.Process.Pid)
	if err != nil {
		return l, err
	}
	out, _, err := run(peer(ctx, nil, "wrk.sh", "-t", strconv.Itoa(max(1, runtime.GOMAXPROCS(0)/2)), "-c",
		strconv.Itoa(b.connections), "-d", strconv.Itoa(b.seconds)+"s", "-H", "Accept-Encoding: gzip", "-s",
		filepath.Join(b.dir, "play.lua"), "http://"+s.address+"/", "--", list))
	if err != nil {
		return l, err
	}
	after, err := cpuOf(s.cmd.Process.Pid)
	if err != nil {
		return l, err
	}
	last := out[max(0, bytes.LastIndexByte(out[:max(0, len(out)-1)], '\n')+1):]
	if err := json.Unmarshal(last, &l); err != nil {
		return l, fmt.Errorf("parse the output of wrk: %w\n%s", err, out)
	}
	if l.Failed > 0 || l.Requests == 0 {
		return l, fmt.Errorf("%.0f of %.0f requests failed\n%s", l.Failed, l.Requests, out)
	}
	l.CPU = after - before
	log.Printf("    %.0f requests, %.0f bytes each, %.1f µs of CPU, p50 %.3g ms, p99 %.3g ms, maximum %.3g ms",
		l.Requests, l.Bytes/l.Requests, l.cpuMicros(), l.P50/1e3, l.p99(), l.max())
	return l, nil
}

// swapInterval is the time between two snapshots.
const swapInterval = 2 * time.Second

// measureSwaps compares the same load with and without snapshots that replace each other.
func (b *reading) measureSwaps(ctx context.Context, r *report, ours *server) error {
	if _, err := os.Stat(keptPointer(b.public, 1)); err != nil {
		return errors.New("-swap generates its directory; leave out -public")
	}
	still := b.side("still", ours, b.mixes.addresses)
	swaps := func(ctx context.Context) (float64, error) {
		swapping, stop := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() {
			for i := 0; ; i++ {
				select {
				case <-swapping.Done():
					done <- nil
					return
				case <-time.After(swapInterval):
				}
				if err := point(b.public, i%2); err != nil {
					done <- err
					return
				}
			}
		}()
		value, err := b.side("swaps", ours, b.mixes.addresses)(ctx)
		stop()
		return value, errors.Join(err, <-done)
	}
	if _, err := alternate(ctx, b.runs, swaps, still); err != nil {
		return err
	}
	const peer = "no new snapshot"
	r.compare("p99 while snapshots are published", peer, "ms", b.of("swaps", load.p99), b.of("still", load.p99),
		atMost(1.5))
	r.compare("slowest request", peer, "ms", b.of("swaps", load.max), b.of("still", load.max), limit{})
	r.compare("processor time of a request", peer, "µs", b.of("swaps", load.cpuMicros), b.of("still", load.cpuMicros),
		limit{})
	return nil
}
