package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"tollbook/cmd/tollbook/run"
	"tollbook/cmd/tollbook/settings"
	"tollbook/cmd/tollbook/terminal"
	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/listing"
)

// visitOptions say how services are visited.
type visitOptions struct {
	contactOptions
	AllowPrivate []string
}

// AddFlags adds --crawl-allow-private and --crawl-contact.
func (o *visitOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "crawl.allow_private", &o.AllowPrivate)
	o.contactOptions.AddFlags(f)
}

// guard returns the guard against addresses on private networks.
func (o *visitOptions) guard() (*probe.Guard, error) {
	guard := &probe.Guard{AllowPrivate: o.AllowPrivate}
	if err := guard.Validate(); err != nil {
		return nil, terminal.UsageErrorf("--crawl-allow-private: %w", err)
	}
	return guard, nil
}

// warnOfProxy says once that services are not asked through the proxy that the environment names.
func warnOfProxy(logger *slog.Logger) {
	if names := probe.IgnoredProxies(os.Getenv); len(names) > 0 {
		logger.Warn("services are asked directly, not through the proxy of the environment: a proxy resolves names itself, "+
			"and the guard against private addresses must see where a request goes",
			"variables", strings.Join(names, ", "), "do", probe.ProxyAdvice)
	}
}

// checkContact returns an error if a listed service is on a host of others, and there is no contact.
func (o *visitOptions) checkContact(ctx context.Context, db *run.Database, guard *probe.Guard) error {
	if o.hasContact() {
		return nil
	}
	services, err := db.Services(ctx)
	if err != nil {
		return err
	}
	if hosts := crawl.OthersHosts(services, guard); len(hosts) > 0 {
		return terminal.UsageError{Err: &crawl.NoContactError{Contact: o.Contact, Hosts: hosts}}
	}
	return nil
}

// paceOptions say how many requests are sent, and when none can be sent.
type paceOptions struct {
	HostGap time.Duration
	Workers int
	Control []string
	Vantage string
}

// AddFlags adds --crawl-host-gap, --crawl-workers, --crawl-control and --crawl-vantage.
func (o *paceOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "crawl.host_gap", &o.HostGap)
	settings.AddFlag(f, "crawl.workers", &o.Workers)
	settings.AddFlag(f, "crawl.control", &o.Control)
	settings.AddFlag(f, "crawl.vantage", &o.Vantage)
}

func (o *paceOptions) validate() error {
	if o.Workers < 1 {
		return terminal.UsageErrorf("--crawl-workers %d: use 1 or more", o.Workers)
	}
	for _, address := range o.Control {
		if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
			return terminal.UsageErrorf("--crawl-control %q: use HOST:PORT, such as example.org:443", address)
		}
	}
	if o.Vantage != "" && !vantageName.MatchString(o.Vantage) {
		return terminal.UsageErrorf("--crawl-vantage %q: use 1 to 32 of a-z, 0-9 and -, such as fra1", o.Vantage)
	}
	return checkHostGap(o.HostGap)
}

// vantageName matches names of places.
var vantageName = regexp.MustCompile(`^[a-z0-9-]{1,32}$`)

func checkHostGap(gap time.Duration) error {
	if gap <= 0 {
		return terminal.UsageErrorf("--crawl-host-gap %s: use a duration above 0", gap)
	}
	return nil
}

// freeHostOptions name the operator's lists of free hosts, which are added to Tollbook's. Several commands need the
// same lists: a crawl looks up no registry for them, a build warns of them, a submission of one is refused.
type freeHostOptions struct {
	FreeHosts []string
}

// AddFlags adds --crawl-free-hosts.
func (o *freeHostOptions) AddFlags(f *pflag.FlagSet) {
	settings.AddFlag(f, "crawl.free_hosts", &o.FreeHosts)
}

// maxFreeHostBytes is the largest size of a list.
const maxFreeHostBytes = 1 << 20

// freeHosts reads the lists.
func (o *freeHostOptions) freeHosts() (listing.FreeHosts, error) {
	var hosts listing.FreeHosts
	for _, file := range o.FreeHosts {
		list, err := settings.ReadFile(file, maxFreeHostBytes)
		if err != nil {
			return hosts, terminal.UsageErrorf("--crawl-free-hosts: %w", err)
		}
		if hosts, err = hosts.With(list); err != nil {
			return hosts, terminal.UsageErrorf("--crawl-free-hosts %s: %w", file, err)
		}
	}
	return hosts, nil
}
