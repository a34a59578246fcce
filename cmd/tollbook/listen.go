package main

import (
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/postgres"
	"tollbook/site/serve"
)

// listenOptions say where to answer, and how many requests one client may send.
type listenOptions struct {
	Listen    string
	RateLimit int // requests a minute; 0 is any number

	prefix string // of the flags: "serve-" if they are settings
}

// AddServeFlags adds --serve-listen and --serve-rate-limit, which are settings.
func (o *listenOptions) AddServeFlags(f *pflag.FlagSet) {
	o.prefix = "serve-"
	settings.AddFlag(f, "serve.listen", &o.Listen)
	settings.AddFlag(f, "serve.rate_limit", &o.RateLimit)
}

// AddFlags adds --listen and --rate-limit, for a command that runs beside serve and must not share its settings.
func (o *listenOptions) AddFlags(f *pflag.FlagSet, listen string, rateLimit int) {
	f.StringVar(&o.Listen, "listen", listen, "`address` to answer on")
	f.IntVar(&o.RateLimit, "rate-limit", rateLimit, "`requests` a minute that one client may send; 0 for no limit")
}

func (o *listenOptions) validate() error {
	if o.RateLimit < 0 {
		return terminal.UsageErrorf("--%srate-limit %d: use 0, for no limit, or more", o.prefix, o.RateLimit)
	}
	return nil
}

func (o *listenOptions) listen() (net.Listener, error) {
	return run.Listen("--"+o.prefix+"listen", o.Listen)
}

// proxyOptions say which proxies are between readers and this process, where its metrics are, and whether it counts
// searches without a result.
type proxyOptions struct {
	TrustedProxies []string
	Metrics        string
	EmptySearches  bool

	prefix string // of the flags: "serve-" if they are settings
}

// AddServeFlags adds --serve-trusted-proxies, --serve-metrics and --serve-empty-searches, which are settings.
func (o *proxyOptions) AddServeFlags(f *pflag.FlagSet) {
	o.prefix = "serve-"
	settings.AddFlag(f, "serve.trusted_proxies", &o.TrustedProxies)
	settings.AddFlag(f, "serve.metrics", &o.Metrics)
	settings.AddFlag(f, "serve.empty_searches", &o.EmptySearches)
}

func (o *proxyOptions) validate() error {
	if o.EmptySearches && o.Metrics == "" {
		return terminal.UsageErrorf("--%sempty-searches: give --%smetrics, too; its address lists them", o.prefix, o.prefix)
	}
	return nil
}

// empty returns what counts searches without a result; nil for nothing.
func (o *proxyOptions) empty() *serve.EmptySearches {
	if !o.EmptySearches {
		return nil
	}
	return serve.NewEmptySearches(run.Now())
}

// AddFlags adds --trusted-proxies and --metrics.
func (o *proxyOptions) AddFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.TrustedProxies, "trusted-proxies", nil, settings.Of("serve.trusted_proxies").Meaning)
	addMetricsFlag(f, &o.Metrics)
}

// addMetricsFlag adds --metrics, for a command that runs beside serve and needs another address.
func addMetricsFlag(f *pflag.FlagSet, target *string) {
	f.StringVar(target, "metrics", "", settings.Of("serve.metrics").Meaning)
}

func (o *proxyOptions) openMetrics() (*run.MetricsPort, error) {
	return run.OpenMetrics("--"+o.prefix+"metrics", o.Metrics)
}

// trusted returns the networks of the proxies.
func (o *proxyOptions) trusted() ([]netip.Prefix, error) {
	return run.ParseNetworks("--"+o.prefix+"trusted-proxies", o.TrustedProxies)
}

// connectionOptions limit what readers can take that read slowly or not at all.
type connectionOptions struct {
	MaxConnections, MaxClientConnections int
	SendingMemory                        int // MB
	MinRate                              int // KB a second
	SendTimeout                          time.Duration
}

// AddFlags adds the flags of connections, which are settings.
func (o *connectionOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "serve.max_connections", &o.MaxConnections)
	settings.AddFlag(f, "serve.max_client_connections", &o.MaxClientConnections)
	settings.AddFlag(f, "serve.sending_memory", &o.SendingMemory)
	settings.AddFlag(f, "serve.min_rate", &o.MinRate)
	settings.AddFlag(f, "serve.send_timeout", &o.SendTimeout)
}

// defaultConnections returns the defaults, for a command without these settings.
func defaultConnections() *connectionOptions {
	var o connectionOptions
	o.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	return &o
}

func (o *connectionOptions) validate() error {
	for _, v := range []struct {
		name  string
		value int
	}{{"max-connections", o.MaxConnections}, {"max-client-connections", o.MaxClientConnections},
		{"sending-memory", o.SendingMemory}, {"min-rate", o.MinRate}} {
		if v.value < 0 || v.value > 1<<20 {
			return terminal.UsageErrorf("--serve-%s %d: use a number from 1 to %d, or 0 for no limit", v.name, v.value, 1<<20)
		}
	}
	if o.SendTimeout < time.Second {
		return terminal.UsageErrorf("--serve-send-timeout %s: use 1s or more", o.SendTimeout)
	}
	return nil
}

// limits returns the limits of a server behind these proxies.
func (o *connectionOptions) limits(trusted []netip.Prefix) serve.ConnectionLimits {
	return serve.ConnectionLimits{
		Connections: o.MaxConnections, PerClient: o.MaxClientConnections, Sending: int64(o.SendingMemory) << 20,
		MinRate: int64(o.MinRate) << 10, Stall: o.SendTimeout, Trusted: trusted,
	}
}

// downloadLimit limits how fast readers download snapshots and packs.
type downloadLimit struct {
	DownloadRate int // MB a second
}

// AddFlags adds --download-rate.
func (o *downloadLimit) AddFlags(f *pflag.FlagSet) {
	f.IntVar(&o.DownloadRate, "download-rate", 64,
		"`MB` a second for all downloads of snapshots and packs together; 0 for no limit")
}

func (o *downloadLimit) validate() error {
	if o.DownloadRate < 0 || o.DownloadRate > 1<<20 {
		return terminal.UsageErrorf("--download-rate %d: use 0 MB a second, for no limit, or more", o.DownloadRate)
	}
	return nil
}

// submissionOptions say whether submissions are received.
type submissionOptions struct {
	Submissions bool
	MaxPending  int
	Notify      []string
}

// AddFlags adds --serve-submissions, --serve-max-pending and --submissions-notify.
func (o *submissionOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "serve.submissions", &o.Submissions)
	settings.AddFlag(f, "serve.max_pending", &o.MaxPending)
	settings.AddFlag(f, "submissions.notify", &o.Notify)
}

func (o *submissionOptions) validate() error {
	if o.MaxPending < 0 {
		return terminal.UsageErrorf("--serve-max-pending %d: use 0, for no limit, or more", o.MaxPending)
	}
	if o.Submissions && len(o.Notify) > 0 {
		return run.CheckCommand(o.Notify)
	}
	return nil
}

// notifier returns what runs the operator's command, and the metrics of submissions. Without a command it is nil.
func (o *submissionOptions) notifier(
	db *postgres.DB, logger *slog.Logger,
) (n *run.Notifier, metrics prometheus.Collector) {
	if len(o.Notify) > 0 {
		n = run.NewNotifier(db, run.NotifierOptions{Command: o.Notify, Logger: logger})
	}
	return n, run.Figures(db, n, run.Now)
}
