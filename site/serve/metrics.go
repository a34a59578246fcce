package serve

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime/metrics"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"tollbook/site"
)

// Metrics counts what a handler does, and tells it in the text format of Prometheus. As an http.Handler it answers
// /metrics, /healthz and /readyz, on an address that readers do not reach.
//
// It is written out here because that is all there is to it: the client library (client_golang 1.25.0) would add eight
// modules, 3.8 MB of binary and ten seconds of a core to a first build. A nil *Metrics counts nothing.
type Metrics struct {
	handler *handler
	routes  map[string]*routeMetrics // by label; never written to after NewMetrics
	labels  []string
	limited atomic.Int64
	started time.Time
}

// Labels of answers that no route gives.
const (
	routeFile     = "file"     // named by its own path
	routeDownload = "download" // the pointer, a zip
	routeHealth   = "health"   // about the process
	routeNone     = "none"     // nothing is there, or a method that nobody has
)

// routeMetrics is what is counted of one route.
type routeMetrics struct {
	codes   [len(codes) + 1]atomic.Int64   // by codes; the last is any other
	buckets [len(buckets) + 1]atomic.Int64 // durations up to each of buckets; the last is any longer
	nanos   atomic.Int64                   // of all durations
}

// codes are the statuses that are told apart.
var codes = [...]int{200, 201, 204, 304, 400, 404, 405, 429, 500, 503}

// buckets are upper bounds of durations in seconds: an answer from memory takes microseconds, a cold one milliseconds.
var buckets = [...]float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}

var bounds = func() (of [len(buckets)]time.Duration) {
	for i, b := range buckets {
		of[i] = time.Duration(math.Round(b * float64(time.Second)))
	}
	return of
}()

// NewMetrics counts for one handler, to which Options give it.
func NewMetrics() *Metrics {
	m := &Metrics{routes: map[string]*routeMetrics{}, started: time.Now()}
	for _, r := range site.Routes {
		m.labels = append(m.labels, r.Name)
	}
	m.labels = append(m.labels, routeFile, routeDownload, routeHealth, routeNone, callSubmit, callSubmission)
	slices.Sort(m.labels)
	for _, label := range m.labels {
		m.routes[label] = &routeMetrics{}
	}
	return m
}

// of is what is counted of a route.
func (m *Metrics) of(route string) *routeMetrics {
	if m == nil {
		return nil
	}
	if r := m.routes[route]; r != nil {
		return r
	}
	return m.routes[routeNone]
}

// count takes in one answer.
func (r *routeMetrics) count(code int, took time.Duration) {
	if r == nil {
		return
	}
	i := slices.Index(codes[:], code)
	if i < 0 {
		i = len(codes)
	}
	r.codes[i].Add(1)
	b := 0 // most are of the first
	for b < len(bounds) && took > bounds[b] {
		b++
	}
	r.buckets[b].Add(1)
	r.nanos.Add(int64(took))
}

// countLimited takes in a request that was refused for the rate of its client.
func (m *Metrics) countLimited() {
	if m != nil {
		m.limited.Add(1)
	}
}

// ServeHTTP implements http.Handler. It is no use before Options have given m to a handler.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := m.handler
	header := w.Header()
	header["X-Content-Type-Options"] = headerNosniff
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		h.fail(w, r, errMethod)
	case r.URL.Path == healthPath || r.URL.Path == readyPath:
		h.tellHealth(w, r)
	case r.URL.Path == "/metrics":
		header["Cache-Control"] = headerNoStore
		header.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		if r.Method == http.MethodHead {
			return
		}
		b := bufio.NewWriter(w)
		m.write(b, h.now())
		_ = b.Flush() // whoever went away is not told about it
	default:
		h.fail(w, r, site.ErrNotFound)
	}
}

// write tells everything.
func (m *Metrics) write(w io.Writer, now time.Time) {
	m.writeRequests(w)
	m.writeDurations(w)
	m.writeSnapshot(w, now)
	used, limit := m.handler.cache.usage()
	writeValue(w, "tollbook_cache_bytes", "gauge", "Bytes of answers and rows that are kept ready in memory.",
		float64(used))
	writeValue(w, "tollbook_cache_limit_bytes", "gauge", "Bytes that the cache may take.", float64(limit))
	clients := 0
	if l := m.handler.limiter; l != nil {
		clients = l.clients()
	}
	writeValue(w, "tollbook_rate_limited_total", "counter", "Requests refused because their client had sent too many.",
		float64(m.limited.Load()))
	writeValue(w, "tollbook_rate_limit_clients", "gauge", "Clients whose requests are counted at the moment.",
		float64(clients))
	writeValue(w, "process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.",
		float64(m.started.UnixMilli())/1000)
	samples := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	writeValue(w, "go_goroutines", "gauge", "Goroutines that exist.", float64(samples[0].Value.Uint64()))
	writeValue(w, "go_memstats_heap_alloc_bytes", "gauge", "Bytes of heap objects.", float64(samples[1].Value.Uint64()))
	writeValue(w, "go_memstats_sys_bytes", "gauge", "Bytes that the Go runtime has from the system.",
		float64(samples[2].Value.Uint64()))
}

func (m *Metrics) writeRequests(w io.Writer) {
	const name = "tollbook_http_requests_total"
	writeHead(w, name, "counter", "Requests answered, by route of the table and status.")
	for _, label := range m.labels {
		for i := range m.routes[label].codes {
			n := m.routes[label].codes[i].Load()
			if n == 0 {
				continue
			}
			code := "other"
			if i < len(codes) {
				code = strconv.Itoa(codes[i])
			}
			fmt.Fprintf(w, "%s{route=%q,code=%q} %d\n", name, label, code, n)
		}
	}
}

func (m *Metrics) writeDurations(w io.Writer) {
	const name = "tollbook_http_request_duration_seconds"
	writeHead(w, name, "histogram", "Time from a request's header to the end of its answer.")
	for _, label := range m.labels {
		r := m.routes[label]
		counts, total := [len(buckets) + 1]int64{}, int64(0)
		for i := range counts {
			total += r.buckets[i].Load()
			counts[i] = total
		}
		if total == 0 {
			continue
		}
		for i, bound := range buckets {
			fmt.Fprintf(w, "%s_bucket{route=%q,le=%q} %d\n", name, label, number(bound), counts[i])
		}
		fmt.Fprintf(w, "%s_bucket{route=%q,le=\"+Inf\"} %d\n", name, label, total)
		fmt.Fprintf(w, "%s_sum{route=%q} %s\n", name, label, number(time.Duration(r.nanos.Load()).Seconds()))
		fmt.Fprintf(w, "%s_count{route=%q} %d\n", name, label, total)
	}
}

// writeSnapshot tells what is served; nothing while nothing is.
func (m *Metrics) writeSnapshot(w io.Writer, now time.Time) {
	told, err := ready(m.handler.source, now)
	newest := 1.0
	if err != nil || told.Warning != "" {
		newest = 0
	}
	writeValue(w, "tollbook_snapshot_newest", "gauge",
		"1 where the newest snapshot is served, 0 where it can't be opened or none is there.", newest)
	if err != nil {
		return
	}
	writeHead(w, "tollbook_snapshot_info", "gauge", "The snapshot that is served, by its id.")
	fmt.Fprintf(w, "tollbook_snapshot_info{snapshot=%q} 1\n", told.Snapshot)
	writeValue(w, "tollbook_snapshot_built_timestamp_seconds", "gauge",
		"When the facts of the snapshot were read, in seconds since 1970.", float64(told.BuiltAt.UnixMilli())/1000)
	writeValue(w, "tollbook_snapshot_age_seconds", "gauge", "Seconds since then.", now.Sub(told.BuiltAt.Time).Seconds())
}

func writeHead(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func writeValue(w io.Writer, name, kind, help string, value float64) {
	writeHead(w, name, kind, help)
	fmt.Fprintf(w, "%s %s\n", name, number(value))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
