package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/serve"
)

// MetricsPort answers the operator on an address of its own. Without an address its methods do nothing.
type MetricsPort struct {
	listener net.Listener // nil without an address
}

// OpenMetrics opens the address that a flag names; "" is none.
func OpenMetrics(flag, address string) (*MetricsPort, error) {
	if address == "" {
		return &MetricsPort{}, nil
	}
	l, err := Listen(flag, address)
	if err != nil {
		return nil, err
	}
	return &MetricsPort{l}, nil
}

// Close stops listening.
func (p *MetricsPort) Close() {
	if p.listener != nil {
		p.listener.Close()
	}
}

// Announce prints the URL of the metrics.
func (p *MetricsPort) Announce(stdout io.Writer) {
	if p.listener != nil {
		fmt.Fprintf(stdout, "Metrics on http://%s/metrics\n", p.listener.Addr())
	}
}

// Serve answers with h until ctx ends; without an address it returns at once.
func (p *MetricsPort) Serve(ctx context.Context, h http.Handler, logger *slog.Logger) error {
	if p.listener == nil {
		return nil
	}
	return serve.Serve(ctx, p.listener, h, logger, nil)
}

// MetricsWriter writes metrics in the text format of Prometheus.
type MetricsWriter func(ctx context.Context, w io.Writer) error

// IndexMetrics returns a writer of the metrics of indexers.
func IndexMetrics(m *chain.Metrics) MetricsWriter {
	return func(_ context.Context, w io.Writer) error { return m.Write(w, time.Now()) }
}

// MetricsHandler returns a handler of /metrics and /healthz, for a process that has no readers.
func MetricsHandler(writers ...MetricsWriter) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		writeAll(w, r, writers)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprintln(w, `{"status":"ok"}`)
	})
	return mux
}

// appendMetrics returns a handler that writes metrics after those that h writes at /metrics.
func appendMetrics(h http.Handler, writers []MetricsWriter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		if r.Method == http.MethodGet && r.URL.Path == "/metrics" {
			writeAll(w, r, writers)
		}
	})
}

func writeAll(w io.Writer, r *http.Request, writers []MetricsWriter) {
	for _, write := range writers {
		_ = write(r.Context(), w) // the client has left; there is nobody to report an error to
	}
}
