package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tollbook/output"
	"tollbook/site"
	"tollbook/site/routes"
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
// Two further loads go to ours alone: the same files under the paths of the API (?page=2), and windows that are not
// files. The first windows are more than serve caches and repeat in the same order, so each is computed. A few hundred
// others repeat.
var readStage = stage{name: "read", short: "measure serving readers, beside nginx", services: 20_000, runs: 5,
	peers: []string{"nginx.sh", "wrk.sh"}, flags: plain((*bench).measureReading)}

func (b *bench) measureReading() {
	public := b.path("data", "public")
	d := b.crowd(b.path("postgres"), b.services, time.Now().Truncate(time.Minute))
	b.build(d, "--expand", "all", "--gzip")
	check(d.Stop(b.ctx))
	m := newMixes(public)
	check(os.WriteFile(b.path("play.lua"), []byte(wrkScript), 0o600))
	ours := b.serve(nil, public)
	nginx, edge := freeAddress(), freeAddress()
	conf, _ := b.run(b.program(nil, b.command(), "edge", "nginx", "--root", public, "--listen", edge, "--upstream",
		ours.address, "--rate-limit", "100000000"))
	for _, dir := range []string{"nginx", "edge"} {
		check(os.Mkdir(b.path(dir), 0o755))
	}
	check(os.WriteFile(b.path("edge", "tollbook.conf"), conf, 0o644))
	tree := must(filepath.EvalSymlinks(filepath.Join(public, "current")))
	theirs := b.start(b.peer(nil, "nginx.sh", b.path("nginx"), nginx, tree), nginx, "/")
	configured := b.start(b.peer(nil, "nginx.sh", b.path("edge"), b.path("edge", "tollbook.conf")), edge, "/")
	for _, other := range []*server{theirs, configured} {
		b.compareFiles(m.files, ours, other)
	}
	const file, byNginx, byAPI = "a finished file", "nginx gzip_static always", "the same files by API paths"
	const byEdge, noLogs, fresh, again = "edge nginx", "nginx without logs", "different windows", "repeated windows"
	b.alternate(b.load(file, ours, m.files), b.load(byNginx, theirs, m.files), b.load(byAPI, ours, m.paths),
		b.load(byEdge, configured, m.edgePaths), b.load(noLogs, theirs, m.edgeFiles), b.load(fresh, ours, m.windows),
		b.load(again, ours, m.windows[:400]))
	b.compare("a finished file, gzip", "requests/s", file, byNginx, atLeast(0.4))
	b.compare("by nginx as tollbook edge nginx configures it", "requests/s", byEdge, noLogs, atLeast(1))
	b.compare(byAPI, "requests/s", byAPI, file, limit{})
	b.compare("processor time of a file", "µs", file+", processor", byNginx+", processor", limit{})
	b.compare("processor time by API path", "µs", byAPI+", processor", file+", processor", limit{})
	b.compare(again, "requests/s", again, file, atLeast(0.8))
	b.add(fresh, "requests/s", atLeast(2000), b.figures[fresh]...)
	for _, name := range []string{file, byNginx, fresh, again} {
		b.add(name+": p99", "ms", limit{}, b.figures[name+", p99"]...)
	}
	b.add("maximum memory of serve", "MB", atMost(512), maxMemory(ours.cmd.Process.Pid))
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
	local form = '{"requests":%d,"micros":%d,"bytes":%d,"failed":%d,"p50":%d,"p99":%d}\n'
	io.write(string.format(form, summary.requests, summary.duration, summary.bytes, failed,
		latency:percentile(50), latency:percentile(99)))
end
`

// load returns a side that sends a list of requests to a server for ten seconds, over 64 connections, each of which
// asks as soon as it is answered. Its figure is requests a second. wrk gets half of the cores, because the server needs
// the others.
func (b *bench) load(name string, s *server, list []string) side {
	file := b.path(name + ".txt")
	check(os.WriteFile(file, []byte(strings.Join(list, "\n")+"\n"), 0o600))
	return side{name, func() (float64, string) {
		before := cpuOf(s.cmd.Process.Pid)
		out, _ := b.run(b.peer(nil, "wrk.sh", "-t", strconv.Itoa(max(1, runtime.GOMAXPROCS(0)/2)), "-c", "64", "-d",
			"10s", "-H", "Accept-Encoding: gzip", "-s", b.path("play.lua"), "http://"+s.address+"/", "--", file))
		micros := (cpuOf(s.cmd.Process.Pid) - before) * 1e6
		var l struct{ Requests, Micros, Bytes, Failed, P50, P99 float64 }
		if err := json.Unmarshal(out[max(0, bytes.LastIndexByte(out, '{')):], &l); err != nil || l.Failed > 0 ||
			l.Requests == 0 {
			failf("%.0f of %.0f requests failed; %w\n%s", l.Failed, l.Requests, err, out)
		}
		log.Printf("    %.0f requests, %.0f bytes each, %.1f µs of CPU, p50 %.3g ms, p99 %.3g ms", l.Requests,
			l.Bytes/l.Requests, micros/l.Requests, l.P50/1e3, l.P99/1e3)
		b.note(name+", processor", micros/l.Requests)
		b.note(name+", p99", l.P99/1e3)
		return l.Requests / l.Micros * 1e6, ""
	}}
}

// compareFiles requests every file from both servers. Both must send the same compressed bytes.
func (b *bench) compareFiles(files []string, ours, peer *server) {
	names := slices.Compact(slices.Sorted(slices.Values(files)))
	var g errgroup.Group
	g.SetLimit(8)
	for _, name := range names {
		g.Go(func() error {
			return attempt(func() {
				var bodies [2][]byte
				for i, s := range []*server{ours, peer} {
					body, response := b.read("http://" + s.address + name)
					if e := response.Header.Get("Content-Encoding"); e != "gzip" ||
						response.ContentLength != int64(len(body)) {
						failf("%s%s: Content-Encoding %q, Content-Length %d of %d bytes", s.address, name, e,
							response.ContentLength, len(body))
					}
					bodies[i] = body
				}
				if !bytes.Equal(bodies[0], bodies[1]) {
					failf("%s: ours sends %d bytes, nginx %d different ones", name, len(bodies[0]), len(bodies[1]))
				}
			})
		})
	}
	check(g.Wait())
	log.Printf("%d files: status, Content-Encoding, Content-Length and body are equal", len(names))
}

// mixes are lists of paths.
type mixes struct {
	files, paths         []string // files under their own names, and under the paths of the API
	edgeFiles, edgePaths []string // the same without logs, which "tollbook edge nginx" forwards to serve
	windows              []string
}

// openSnapshot calls f with the current snapshot of a published folder and its index.
func openSnapshot(public string, f func(*output.Snapshot, *routes.Index)) {
	source := must(output.OpenSource(public, slog.New(slog.DiscardHandler)))
	defer source.Close()
	snap := must(source.Current())
	defer snap.Release()
	index := new(routes.Index)
	check(json.Unmarshal(must(snap.ReadFile(routes.IndexFile)), index))
	f(snap, index)
}

var deeper = regexp.MustCompile(`^v1/services/.*per_page=25/page=([2-9]|[1-9][0-9]+)\.json$`)

// newMixes chooses paths of a publication, always the same ones.
func newMixes(public string) (m mixes) {
	r := rand.New(rand.NewPCG(4020, 402))
	openSnapshot(public, func(snap *output.Snapshot, index *routes.Index) {
		var details, pages []string
		for _, name := range snap.Names() {
			if detail.MatchString(name) {
				details = append(details, name)
			} else if deeper.MatchString(name) {
				pages = append(pages, name)
			}
		}
		few := func(of []string, n int) []string {
			r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
			return of[:min(n, len(of))]
		}
		details, pages = few(details, 2000), few(pages, 1000)
		for range 10_000 {
			from := []string{"v1/services.json", "v1/services.json", "v1/services.json", "v1/changes.json",
				"v1/facilitators.json"}
			switch n := r.IntN(100); {
			case n >= 90:
				from = pages
			case n >= 70:
				from = details
			}
			name := from[r.IntN(len(from))]
			path, query, err := routes.Request(name)
			check(err)
			request := strings.TrimSuffix(path+"?"+query, "?")
			m.files, m.paths = append(m.files, "/"+name), append(m.paths, request)
			if path != "/v1/changes" {
				m.edgeFiles, m.edgePaths = append(m.edgeFiles, "/"+name), append(m.edgePaths, request)
			}
		}
		m.windows = windows(r, index)
	})
	return m
}

// windows returns pages that are not files: eight in ten of services, the others of the catalogue and of the log of
// checks. Their responses have some 150 MB, more than serve caches.
func windows(r *rand.Rand, index *routes.Index) (lines []string) {
	var filters []string // of lists of services
	for _, key := range slices.Sorted(maps.Keys(index.Lists)) {
		path, query, err := routes.Request(key + "/sort=newest/per_page=25/page=1.json")
		if err != nil || path != "/v1/services" {
			continue
		}
		values := must(url.ParseQuery(query))
		values.Del("sort")
		values.Del("per_page")
		values.Del("page")
		if len(values) < 2 { // readers filter by one thing
			filters = append(filters, values.Encode())
		}
	}
	for range 40_000 {
		switch r.IntN(10) {
		case 0:
			lines = append(lines, fmt.Sprintf("/discovery/resources?limit=%d&offset=%d", 1+r.IntN(99), r.IntN(10_000)))
		case 1:
			lines = append(lines, fmt.Sprintf("/v1/checks?limit=%d&offset=%d", 1+r.IntN(99), r.IntN(5_000)))
		default:
			per := 1 + r.IntN(98)
			if per == site.PageSize {
				per++
			}
			line := fmt.Sprintf("/v1/services?sort=%s&per_page=%d", site.Orders[r.IntN(len(site.Orders))], per)
			total, depth := index.Lists["v1/services"], 20.0
			if filter := filters[r.IntN(len(filters))]; r.IntN(2) == 0 && filter != "" {
				q := must(routes.ParseRequest("/v1/services", filter))
				line, total, depth = line+"&"+filter, index.Lists[q.ListKey()], 4
			}
			page := min(1+int(depth*r.ExpFloat64()), site.MaxPage, max(1, total/per)) // few readers go far
			lines = append(lines, fmt.Sprintf("%s&page=%d", line, page))
		}
	}
	return lines
}
