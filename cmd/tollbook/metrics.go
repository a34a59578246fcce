package main

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

// metricsPort answers the operator on the address of --metrics. Without an address its methods do nothing.
type metricsPort struct {
	listener net.Listener // nil without an address
}

// openMetrics opens the address of --metrics; "" is none.
func openMetrics(address string) (*metricsPort, error) {
	if address == "" {
		return &metricsPort{}, nil
	}
	l, err := listen("--metrics", address)
	if err != nil {
		return nil, err
	}
	return &metricsPort{l}, nil
}

// Close stops listening.
func (p *metricsPort) Close() {
	if p.listener != nil {
		p.listener.Close()
	}
}

// announce prints where the metrics are.
func (p *metricsPort) announce(stdout io.Writer) {
	if p.listener != nil {
		fmt.Fprintf(stdout, "Figures on http://%s/metrics\n", p.listener.Addr())
	}
}

// serve answers with h until ctx ends; without an address it returns at once.
func (p *metricsPort) serve(ctx context.Context, h http.Handler, logger *slog.Logger) error {
	if p.listener == nil {
		return nil
	}
	return serve.Serve(ctx, p.listener, h, logger)
}

// metricsWriter writes metrics in the text format of Prometheus.
type metricsWriter func(ctx context.Context, w io.Writer) error

// indexMetrics writes the metrics of indexers.
func indexMetrics(m *chain.Metrics) metricsWriter {
	return func(_ context.Context, w io.Writer) error { return m.Write(w, time.Now()) }
}

// metricsHandler answers /metrics and /healthz.
func metricsHandler(writers ...metricsWriter) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		for _, write := range writers {
			_ = write(r.Context(), w) // a client that left needs no error
		}
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		fmt.Fprintln(w, `{"status":"ok"}`)
	})
	return mux
}

// withMetrics appends metrics to those that h answers at /metrics.
func withMetrics(h http.Handler, writers []metricsWriter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		if r.Method == http.MethodGet && r.URL.Path == "/metrics" {
			for _, write := range writers {
				_ = write(r.Context(), w) // a client that left needs no error
			}
		}
	})
}
