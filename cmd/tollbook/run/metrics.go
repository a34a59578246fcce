package run

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

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

// MetricsHandler returns a handler of /metrics and /healthz, for a process that has no readers.
func MetricsHandler(collectors ...prometheus.Collector) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors...)
	metrics := promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		metrics.ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprintln(w, `{"status":"ok"}`)
	})
	return mux
}
