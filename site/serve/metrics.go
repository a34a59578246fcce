package serve

import (
	"cmp"
	"net/http"
	"runtime/metrics"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tollbook/site"
)

// Metrics counts the responses of a handler and exports them to Prometheus. As an http.Handler it serves /metrics,
// /healthz, /readyz and emptyPath, on an address that is not public. A nil *Metrics counts nothing.
type Metrics struct {
	handler   *handler
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	limited   prometheus.Counter
	page      http.Handler
}

// Labels of responses that belong to no route.
const (
	routeFile     = "file"     // a file, requested by its own path
	routeDownload = "download" // the checkpoint or a zip
	routeHealth   = "health"   // healthPath or readyPath
	routeNone     = "none"     // an unknown path or method
)

// codes are the labels of the status codes that are counted separately.
var codes = map[int]string{200: "200", 201: "201", 202: "202", 204: "204", 304: "304", 400: "400", 404: "404",
	405: "405", 429: "429", 500: "500", 503: "503"}

// buckets are upper bounds of durations in seconds: a response from memory takes microseconds, one from disk
// milliseconds.
var buckets = []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}

// NewMetrics returns metrics for one handler, with those of other collectors. Pass them in the handler's Options.
func NewMetrics(more ...prometheus.Collector) *Metrics {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tollbook_http_requests_total",
			Help: "Requests by route and status code."}, []string{"route", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tollbook_http_request_duration_seconds",
			Help: "Time from the request header to the end of the response.", Buckets: buckets}, []string{"route"}),
		limited: prometheus.NewCounter(prometheus.CounterOpts{Name: "tollbook_rate_limited_total",
			Help: "Requests refused because of the client's rate limit."}),
	}
	r := prometheus.NewRegistry()
	r.MustRegister(m.requests, m.durations, m.limited, handlerMetrics{m})
	registerProcess(r)
	r.MustRegister(more...)
	m.page = promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	return m
}

// registerProcess registers the metrics of this process, under the names that collectors of Prometheus use.
func registerProcess(r *prometheus.Registry) {
	started := float64(time.Now().UnixMilli()) / 1000
	runtimeValue := func(name string) float64 {
		sample := []metrics.Sample{{Name: name}}
		metrics.Read(sample)
		return float64(sample[0].Value.Uint64())
	}
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("process_start_time_seconds", "When the process started, in seconds since 1970.",
		func() float64 { return started })
	gauge("go_goroutines", "Number of goroutines.",
		func() float64 { return runtimeValue("/sched/goroutines:goroutines") })
	gauge("go_memstats_heap_alloc_bytes", "Bytes of heap objects.",
		func() float64 { return runtimeValue("/memory/classes/heap/objects:bytes") })
	gauge("go_memstats_sys_bytes", "Bytes obtained from the system by the Go runtime.",
		func() float64 { return runtimeValue("/memory/classes/total:bytes") })
}

// count counts one response.
func (m *Metrics) count(route string, code int, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(route, cmp.Or(codes[code], "other")).Inc()
	m.durations.WithLabelValues(route).Observe(took.Seconds())
}

// countLimited counts a request that was refused because of a rate limit.
func (m *Metrics) countLimited() {
	if m != nil {
		m.limited.Inc()
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
	case r.URL.Path == emptyPath && h.empty != nil:
		sendState(w, r, h.empty.report())
	case r.URL.Path == "/metrics":
		header["Cache-Control"] = headerNoStore
		m.page.ServeHTTP(w, r)
	default:
		h.fail(w, r, site.ErrNotFound)
	}
}

// Metrics of the state of a handler.
var (
	cacheBytesDesc = newDesc("tollbook_cache_bytes", "Bytes of responses and rows in the cache.")
	cacheLimitDesc = newDesc("tollbook_cache_limit_bytes", "Maximum size of the cache in bytes.")
	clientsDesc    = newDesc("tollbook_rate_limit_clients", "Clients whose requests are currently counted.")
	openDesc       = newDesc("tollbook_connections", "Open connections.")
	sendingDesc    = newDesc("tollbook_sending_bytes", "Memory of the responses that are being sent, in bytes.")
	closedDesc     = newDesc("tollbook_connections_closed_total",
		"Connections that were refused or closed because of a limit, by reason.", "reason")
	newestDesc = newDesc("tollbook_snapshot_newest",
		"1 if the newest snapshot is served, 0 if it can't be opened or there is none.")
	infoDesc  = newDesc("tollbook_snapshot_info", "Id of the snapshot that is served.", "snapshot")
	builtDesc = newDesc("tollbook_snapshot_built_timestamp_seconds",
		"When the facts of the snapshot were read, in seconds since 1970.")
	ageDesc      = newDesc("tollbook_snapshot_age_seconds", "Age of the snapshot in seconds.")
	setAsideDesc = newDesc("tollbook_services_set_aside",
		"Services with damaged records: the snapshot repeats their files from an earlier one.")
)

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// handlerMetrics is a prometheus.Collector of the cache, limits, connections and snapshot of a handler.
type handlerMetrics struct{ of *Metrics }

// Describe implements prometheus.Collector.
func (c handlerMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{cacheBytesDesc, cacheLimitDesc, clientsDesc, openDesc, sendingDesc, closedDesc,
		newestDesc, infoDesc, builtDesc, ageDesc, setAsideDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c handlerMetrics) Collect(ch chan<- prometheus.Metric) {
	h := c.of.handler
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		send(d, prometheus.GaugeValue, value, labels...)
	}
	used, limit := h.cache.usage()
	gauge(cacheBytesDesc, float64(used))
	gauge(cacheLimitDesc, float64(limit))
	clients := 0
	if h.limiter != nil {
		clients = h.limiter.clientCount()
	}
	gauge(clientsDesc, float64(clients))
	if h.connections != nil {
		u := h.connections.Usage()
		gauge(openDesc, float64(u.Open))
		gauge(sendingDesc, float64(u.Sending))
		for _, closed := range u.Closed {
			send(closedDesc, prometheus.CounterValue, float64(closed.Count), closed.Reason)
		}
	}
	state, err := h.ready()
	if err != nil {
		gauge(newestDesc, 0)
		return
	}
	newest := 1.0
	if state.Warning != "" {
		newest = 0
	}
	gauge(newestDesc, newest)
	gauge(infoDesc, 1, state.Snapshot)
	gauge(builtDesc, float64(state.BuiltAt.UnixMilli())/1000)
	gauge(ageDesc, h.now().Sub(state.BuiltAt.Time).Seconds())
	gauge(setAsideDesc, float64(len(state.SetAside)))
}
