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
	"tollbook/site/routes"
)

// Metrics counts the responses of a handler and exports them in the text format of Prometheus. As an http.Handler it
// serves /metrics, /healthz and /readyz, on an address that is not public.
//
// The format is written by hand because the client library (client_golang 1.25.0) would add eight modules, 3.8 MB of
// binary and ten CPU-seconds to a first build. A nil *Metrics counts nothing.
type Metrics struct {
	handler *handler
	routes  map[string]*routeMetrics // by label; not modified after NewMetrics
	labels  []string
	limited atomic.Int64
	started time.Time
}

// Labels of responses that belong to no route.
const (
	routeFile     = "file"     // a file, requested by its own path
	routeDownload = "download" // the checkpoint or a zip
	routeHealth   = "health"   // healthPath or readyPath
	routeNone     = "none"     // an unknown path or method
)

// routeMetrics contains the counters of one route.
type routeMetrics struct {
	codes   [len(codes) + 1]atomic.Int64   // by code; the last counts all other codes
	buckets [len(buckets) + 1]atomic.Int64 // durations up to each bound; the last counts all longer ones
	nanos   atomic.Int64                   // sum of all durations
}

// codes are the status codes that are counted separately.
var codes = [...]int{200, 201, 202, 204, 304, 400, 404, 405, 429, 500, 503}

// buckets are upper bounds of durations in seconds: a response from memory takes microseconds, one from disk
// milliseconds.
var buckets = [...]float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}

var bounds = func() (of [len(buckets)]time.Duration) {
	for i, b := range buckets {
		of[i] = time.Duration(math.Round(b * float64(time.Second)))
	}
	return of
}()

// NewMetrics returns metrics for one handler. Pass them in its Options.
func NewMetrics() *Metrics {
	m := &Metrics{routes: map[string]*routeMetrics{}, started: time.Now()}
	for _, r := range routes.All {
		m.labels = append(m.labels, r.Name)
	}
	m.labels = append(m.labels, routeFile, routeDownload, routeHealth, routeNone)
	for _, c := range routes.Calls {
		m.labels = append(m.labels, c.Name)
	}
	slices.Sort(m.labels)
	for _, label := range m.labels {
		m.routes[label] = &routeMetrics{}
	}
	return m
}

// forRoute returns the counters of a route.
func (m *Metrics) forRoute(route string) *routeMetrics {
	if m == nil {
		return nil
	}
	if r := m.routes[route]; r != nil {
		return r
	}
	return m.routes[routeNone]
}

// count counts one response.
func (r *routeMetrics) count(code int, took time.Duration) {
	if r == nil {
		return
	}
	i := slices.Index(codes[:], code)
	if i < 0 {
		i = len(codes)
	}
	r.codes[i].Add(1)
	b := 0 // most durations are in the first bucket
	for b < len(bounds) && took > bounds[b] {
		b++
	}
	r.buckets[b].Add(1)
	r.nanos.Add(int64(took))
}

// countLimited counts a request that was refused because of a rate limit.
func (m *Metrics) countLimited() {
	if m != nil {
		m.limited.Add(1)
	}
}

// ServeHTTP implements http.Handler. It may be called after NewHandler received m in its Options.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := m.handler
	header := w.Header()
	header["X-Content-Type-Options"] = headerNosniff
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		h.fail(w, r, errMethod)
	case r.URL.Path == healthPath || r.URL.Path == readyPath:
		h.sendHealth(w, r)
	case r.URL.Path == "/metrics":
		header["Cache-Control"] = headerNoStore
		header.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		if r.Method == http.MethodHead {
			return
		}
		b := bufio.NewWriter(w)
		m.write(b, h.now())
		_ = b.Flush() // an error means that the client is gone
	default:
		h.fail(w, r, site.ErrNotFound)
	}
}

// write writes all metrics.
func (m *Metrics) write(w io.Writer, now time.Time) {
	m.writeRequests(w)
	m.writeDurations(w)
	m.writeSnapshot(w, now)
	used, limit := m.handler.cache.usage()
	writeValue(w, "tollbook_cache_bytes", "gauge", "Bytes of responses and rows in the cache.",
		float64(used))
	writeValue(w, "tollbook_cache_limit_bytes", "gauge", "Maximum size of the cache in bytes.", float64(limit))
	clients := 0
	if l := m.handler.limiter; l != nil {
		clients = l.Clients()
	}
	m.writeConnections(w)
	writeValue(w, "tollbook_rate_limited_total", "counter", "Requests refused because of the client's rate limit.",
		float64(m.limited.Load()))
	writeValue(w, "tollbook_rate_limit_clients", "gauge", "Clients whose requests are currently counted.",
		float64(clients))
	writeValue(w, "process_start_time_seconds", "gauge", "When the process started, in seconds since 1970.",
		float64(m.started.UnixMilli())/1000)
	samples := []metrics.Sample{{Name: "/sched/goroutines:goroutines"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples)
	writeValue(w, "go_goroutines", "gauge", "Number of goroutines.", float64(samples[0].Value.Uint64()))
	writeValue(w, "go_memstats_heap_alloc_bytes", "gauge", "Bytes of heap objects.", float64(samples[1].Value.Uint64()))
	writeValue(w, "go_memstats_sys_bytes", "gauge", "Bytes obtained from the system by the Go runtime.",
		float64(samples[2].Value.Uint64()))
}

func (m *Metrics) writeRequests(w io.Writer) {
	const name = "tollbook_http_requests_total"
	writeHead(w, name, "counter", "Requests by route and status code.")
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
	writeHead(w, name, "histogram", "Time from the request header to the end of the response.")
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

// writeConnections writes the metrics of the connections that are limited.
func (m *Metrics) writeConnections(w io.Writer) {
	all := m.handler.connections
	if all == nil {
		return
	}
	u := all.Usage()
	writeValue(w, "tollbook_connections", "gauge", "Open connections.", float64(u.Open))
	writeValue(w, "tollbook_sending_bytes", "gauge", "Memory of the responses that are being sent, in bytes.",
		float64(u.Sending))
	const name = "tollbook_connections_closed_total"
	writeHead(w, name, "counter", "Connections that were refused or closed because of a limit, by reason.")
	for _, c := range u.Closed {
		fmt.Fprintf(w, "%s{reason=%q} %d\n", name, c.Reason, c.Count)
	}
}

// writeSnapshot writes the metrics of the current snapshot, or only that there is none.
func (m *Metrics) writeSnapshot(w io.Writer, now time.Time) {
	state, err := m.handler.ready()
	newest := 1.0
	if err != nil || state.Warning != "" {
		newest = 0
	}
	writeValue(w, "tollbook_snapshot_newest", "gauge",
		"1 if the newest snapshot is served, 0 if it can't be opened or there is none.", newest)
	if err != nil {
		return
	}
	writeHead(w, "tollbook_snapshot_info", "gauge", "Id of the snapshot that is served.")
	fmt.Fprintf(w, "tollbook_snapshot_info{snapshot=%q} 1\n", state.Snapshot)
	writeValue(w, "tollbook_snapshot_built_timestamp_seconds", "gauge",
		"When the facts of the snapshot were read, in seconds since 1970.", float64(state.BuiltAt.UnixMilli())/1000)
	writeValue(w, "tollbook_snapshot_age_seconds", "gauge", "Age of the snapshot in seconds.",
		now.Sub(state.BuiltAt.Time).Seconds())
	writeValue(w, "tollbook_services_set_aside", "gauge",
		"Services with damaged records: the snapshot repeats their files from an earlier one.",
		float64(len(state.SetAside)))
}

func writeHead(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func writeValue(w io.Writer, name, kind, help string, value float64) {
	writeHead(w, name, kind, help)
	fmt.Fprintf(w, "%s %s\n", name, number(value))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
