package read

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"

	"tollbook/cmd/bench/harness"
)

// script makes wrk request a list of paths, with another beginning for each thread, and print the result as JSON.
const script = `
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
func (l load) p50() float64       { return l.P50 / 1e3 }
func (l load) p95() float64       { return l.P95 / 1e3 }
func (l load) p99() float64       { return l.P99 / 1e3 }
func (l load) max() float64       { return l.Max / 1e3 }

// load sends a list of requests to a server.
func (b *bench) load(ctx context.Context, s *server, list string) (load, error) {
	before, err := s.cpu()
	if err != nil {
		return load{}, err
	}
	cmd := harness.Program(ctx, nil, "wrk", "-t", strconv.Itoa(threads()), "-c", strconv.Itoa(b.connections), "-d",
		strconv.Itoa(b.seconds)+"s",
		"-H", "Accept-Encoding: gzip", "-s", b.loader, "http://"+s.address+"/", "--", list)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return load{}, fmt.Errorf("wrk: %w\n%s", err, out)
	}
	after, err := s.cpu()
	if err != nil {
		return load{}, err
	}
	var l load
	at := max(0, lastLine(out))
	if err := json.Unmarshal(out[at:], &l); err != nil {
		return load{}, fmt.Errorf("parse the output of wrk: %w\n%s", err, out)
	}
	if l.Failed > 0 || l.Requests == 0 {
		return load{}, fmt.Errorf("%.0f of %.0f requests failed\n%s", l.Failed, l.Requests, out)
	}
	l.CPU = after - before
	log.Printf("    %.0f requests, %.0f bytes each, %.1f µs of CPU, p50 %.3g ms, p99 %.3g ms, maximum %.3g ms",
		l.Requests,
		l.Bytes/l.Requests, l.cpuMicros(), l.p50(), l.p99(), l.max())
	return l, nil
}

// lastLine returns the offset of the last line.
func lastLine(out []byte) int {
	for i := len(out) - 2; i >= 0; i-- {
		if out[i] == '\n' {
			return i + 1
		}
	}
	return 0
}
