package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"tollbook/output"
	"tollbook/site/serve"
)

// listenOptions say where to answer, and how much one client may ask.
type listenOptions struct {
	Listen    string
	RateLimit int // requests a minute; 0 is any number
}

// Requests a minute that a client may send unless told otherwise. Who looks at a demo runs scripts against it: he
// should see the limit told, not meet it.
const (
	rateLimit     = 200
	demoRateLimit = 6000
)

// AddFlags adds --listen, and --rate-limit with its default.
func (o *listenOptions) AddFlags(f *pflag.FlagSet, rateLimit int) {
	f.StringVar(&o.Listen, "listen", "127.0.0.1:4020", "`address` to answer on")
	f.IntVar(&o.RateLimit, "rate-limit", rateLimit, "`requests` a minute that a client may send to the API: /v1, /api/v1 and /discovery; pages are not counted; 0 is any number")
}

func (o *listenOptions) validate() error {
	if o.RateLimit < 0 {
		return usagef("--rate-limit %d: it is 0, for any number, or more", o.RateLimit)
	}
	return nil
}

func (o *listenOptions) listen() (net.Listener, error) { return listen("--listen", o.Listen) }

// listen opens the address that a flag gives, or says who else may have it.
func listen(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: another program answers there already; stop it or choose another %s", address, flag)
	}
	if invalid := new(net.AddrError); errors.As(err, &invalid) {
		return nil, usagef("%s %q: %s; it is an address such as 127.0.0.1:4020", flag, address, invalid.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

// proxyOptions say who stands between readers and this process, and where its figures are told.
type proxyOptions struct {
	TrustedProxies []string
	Metrics        string
}

// AddFlags adds --trusted-proxies and --metrics.
func (o *proxyOptions) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.TrustedProxies, "trusted-proxies", nil, "`networks` (CIDR, with commas) of proxies that say in X-Forwarded-For or Forwarded whom they ask for; without, a client is who connects")
	f.StringVar(&o.Metrics, "metrics", "", "`address` of its own to answer /metrics (Prometheus), /healthz and /readyz on; none by default")
}

// trusted reads the networks; an address by itself is a network of one.
func (o *proxyOptions) trusted() ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range o.TrustedProxies {
		text = strings.TrimSpace(text)
		network, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil && addr.Zone() == "" {
			network, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() || network.Addr().Zone() != "" {
			return nil, usagef("--trusted-proxies %q: it is networks such as 10.0.0.0/8,2001:db8::/32", text)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}

// lookEvery is how old the pointer to the current snapshot is at most when a reader comes after a silence.
const lookEvery = time.Second

// serveSource answers readers on l, and the operator on port, until ctx ends or one of them fails.
// It follows the publication also while nobody reads: else the first reader after a silence would be given what was
// current when it began, and that snapshot's file could not go.
// more is written at /metrics beside the metrics of serving.
func serveSource(ctx context.Context, l net.Listener, port *metricsPort, source *output.Source, o serve.Options, more ...metricsWriter) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		follow(ctx, source)
		return nil
	})
	o.Source, o.Metrics = source, serve.NewMetrics()
	h := serve.NewHandler(o)
	g.Go(func() error { return port.serve(ctx, withMetrics(o.Metrics, more), o.Logger) })
	g.Go(func() error {
		defer cancel() // an end without an error is one, too
		return serve.Serve(ctx, l, h, o.Logger)
	})
	return g.Wait()
}

// follow looks at the pointer until ctx ends.
func follow(ctx context.Context, source *output.Source) {
	tick := time.NewTicker(max(lookEvery, source.PollInterval()))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = source.Refresh() // it logs what can't be opened, once
		case <-ctx.Done():
			return
		}
	}
}
