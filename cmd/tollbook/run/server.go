// This part of the package answers readers, and the operator's questions about metrics and health, over HTTP until a
// context ends. It must never know what an answer means.

package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/output"
	"tollbook/render/lists"
	"tollbook/site"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/serve"
	"tollbook/site/serve/inbox"
)

// Listen opens the address that a flag names. Its errors name the flag.
func Listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: another program uses this address; stop it or choose another %s",
			address, flag)
	}
	if invalid := new(net.AddrError); errors.As(err, &invalid) {
		return nil, terminal.UsageErrorf("%s %q: %s; give an address such as 127.0.0.1:4020", flag, address, invalid.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

// URL returns the URL of a listener for a browser on this machine.
func URL(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("http://127.0.0.1:%d", tcp.Port)
	}
	return "http://" + a.String()
}

// refreshInterval is the longest age of the pointer to the current snapshot when a request comes after a pause.
const refreshInterval = time.Second

// Serve answers readers on l, and the operator on port, until ctx ends or one of them fails. At /metrics it
// exports more beside the metrics of serving.
//
// It follows the publication while nobody reads, too. Otherwise the first reader after a pause would get an old
// snapshot, and that snapshot's file could not be deleted.
func Serve(
	ctx context.Context, l net.Listener, port *MetricsPort, source *output.Source, o serve.Options,
	more ...prometheus.Collector,
) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		Follow(ctx, source)
		return nil
	})
	o.Source, o.Metrics, o.FillSearch = source, serve.NewMetrics(more...), lists.FillResults
	h := serve.NewHandler(o)
	g.Go(func() error { return port.Serve(ctx, o.Metrics, o.Logger) })
	g.Go(func() error {
		defer cancel() // also if it ends without an error
		return serve.Serve(ctx, l, h, o.Logger, o.Connections)
	})
	return g.Wait()
}

// Follow reads the pointer to the current snapshot again and again until ctx ends.
func Follow(ctx context.Context, source *output.Source) {
	tick := time.NewTicker(max(refreshInterval, source.PollInterval()))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = source.Refresh() // logs, once, a snapshot that can't be opened
		case <-ctx.Done():
			return
		}
	}
}

// SubmitOptions returns how submissions are received: into db, probed by submissions, with the strictest guard.
func SubmitOptions(db *postgres.DB, submissions *crawl.Submissions, free listing.FreeHosts) *inbox.Options {
	return &inbox.Options{
		Store: db, Prober: submissions, FreeHosts: free, Address: (&probe.Guard{}).Canonical, Domain: probe.Domain,
		FillForm: lists.FillForm, MaxPending: site.MaxPending,
	}
}
