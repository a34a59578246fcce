package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tollbook/site/invisible"
	"tollbook/site/listing"

	"golang.org/x/net/publicsuffix"
)

// ErrRefused is wrapped by every error of the guard: the refusal is our decision and says nothing about the service.
// The text after it is for people and contains nothing that our resolver answered.
var ErrRefused = errors.New("refused")

// maxURL is the longest URL that is visited, in bytes.
const maxURL = 2048

// Guard decides which addresses may be visited. Every request of this program to an address that somebody else chose
// goes through a Guard. The zero value is ready for use and the strictest. A Guard must not be changed after its first
// use; then several goroutines may use it.
type Guard struct {
	// AllowPrivate lists hosts that are visited although their port or address is forbidden: "localhost:4021",
	// "10.0.0.5", "[::1]:80". An entry without a port allows every port. It is for tests and an operator's own
	// services.
	AllowPrivate []string

	// Resolver resolves names; net.DefaultResolver when nil.
	Resolver Resolver

	// Connect dials a checked address; a net.Dialer when nil. Tests replace it.
	Connect func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error)
}

// Resolver is the part of net.Resolver that a Guard needs. Names end in a dot, so that no search list applies.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Validate reports the first entry of AllowPrivate that is not HOST or HOST:PORT.
func (g *Guard) Validate() error {
	for _, entry := range g.AllowPrivate {
		if host, _ := splitEntry(entry); host == "" {
			return fmt.Errorf("allow private %q: want HOST or HOST:PORT", entry)
		}
	}
	return nil
}

// CheckURL returns an error that wraps ErrRefused if the text of the URL shows that it must not be visited. The
// addresses of its host are checked when they are dialled.
func (g *Guard) CheckURL(u *url.URL) error {
	_, err := g.canonical(u)
	return err
}

// Canonical returns the URL as it is requested, with its host in the form that is resolved and compared, or an error as
// CheckURL does.
func (g *Guard) Canonical(u *url.URL) (*url.URL, error) { return g.canonical(u) }

// CheckRedirect returns an error unless a redirect from one URL to another may be followed: never from https to http,
// and only within the registrable domain. The error wraps ErrRefused only if the target must not be visited at all;
// other errors are the service's fault.
func (g *Guard) CheckRedirect(from, to *url.URL) error {
	_, err := g.redirect(from, to)
	return err
}

func (g *Guard) redirect(from, to *url.URL) (*url.URL, error) {
	if from.Scheme == "https" && strings.EqualFold(to.Scheme, "http") {
		return nil, errors.New("redirects from https to http")
	}
	target, err := g.canonical(to)
	if err != nil {
		return nil, err
	}
	here, err := canonicalHost(from.Hostname())
	if err != nil {
		return nil, err
	}
	if there := target.Hostname(); here != there && domainOf(here) != domainOf(there) {
		return nil, fmt.Errorf("redirects to another site, %s", clip(there))
	}
	return target, nil
}

// canonical returns the URL as it is requested: lower-case ASCII host, no fragment, no trailing dot. It fails if the
// URL must not be visited.
func (g *Guard) canonical(u *url.URL) (*url.URL, error) {
	scheme := strings.ToLower(u.Scheme)
	switch {
	case scheme != "http" && scheme != "https":
		return nil, fmt.Errorf("%w: want an http or https URL, got scheme %q", ErrRefused, clip(u.Scheme))
	case u.User != nil:
		return nil, fmt.Errorf("%w: the URL contains a user name or password", ErrRefused)
	case u.Opaque != "" || u.Host == "":
		return nil, fmt.Errorf("%w: the address has no host", ErrRefused)
	case len(u.String()) > maxURL:
		return nil, fmt.Errorf("%w: the URL is longer than %d bytes", ErrRefused, maxURL)
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if !g.isAllowed(host, effectivePort(scheme, port)) {
		if err := checkHost(host); err != nil {
			return nil, err
		}
		if err := checkPort(port); err != nil {
			return nil, err
		}
	}
	c := *u
	c.Scheme, c.Fragment, c.RawFragment = scheme, "", ""
	switch {
	case port != "" && port != effectivePort(scheme, ""):
		c.Host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		c.Host = "[" + host + "]"
	default:
		c.Host = host
	}
	if c.Path == "" {
		c.Path = "/"
	}
	return &c, nil
}

func effectivePort(scheme, port string) string {
	switch {
	case port != "":
		return port
	case scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// canonicalHost returns a host in the form that is compared, resolved and sent.
func canonicalHost(host string) (string, error) {
	name, err := listing.NormalHost(host)
	if err != nil {
		return "", fmt.Errorf("%w: %q is not a host name", ErrRefused, clip(host))
	}
	return name, nil
}

// localNames are the suffixes of names that exist only in a local network.
var localNames = []string{"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private",
	"home.arpa", "onion"}

// checkHost refuses forbidden addresses and local names.
func checkHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		if kind := forbiddenKind(a); kind != "" {
			return fmt.Errorf("%w: %s is %s address", ErrRefused, host, withArticle(kind))
		}
		return nil
	}
	if !strings.Contains(host, ".") {
		return fmt.Errorf("%w: %q is a local name", ErrRefused, host)
	}
	for _, suffix := range localNames {
		if strings.HasSuffix(host, "."+suffix) {
			return fmt.Errorf("%w: %q is a local name", ErrRefused, host)
		}
	}
	return nil
}

// DialContext connects to addr, a "host:port", for net/http. It resolves the name once and checks every address. One
// forbidden address refuses the name: a resolver that mixes them is broken or hostile. Then it dials the checked
// addresses themselves, so that no second lookup can return others.
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is not host:port", ErrRefused, clip(addr))
	}
	if host, err = canonicalHost(host); err != nil {
		return nil, err
	}
	allowed := g.isAllowed(host, port)
	if !allowed {
		if err := checkHost(host); err != nil {
			return nil, err
		}
		if err := checkPort(port); err != nil {
			return nil, err
		}
	}
	addrs, err := g.lookup(ctx, host, allowed)
	if err != nil {
		return nil, err
	}
	if !allowed {
		for _, a := range addrs {
			if kind := forbiddenKind(a); kind != "" {
				return nil, fmt.Errorf("%w: %s resolves to %s address", ErrRefused, host, withArticle(kind))
			}
		}
	}
	return g.dial(ctx, network, port, addrs)
}

func (g *Guard) lookup(ctx context.Context, host string, allowed bool) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	var r Resolver = net.DefaultResolver
	if g.Resolver != nil {
		r = g.Resolver
	}
	if !allowed {
		host += "."
	}
	addrs, err := r.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addrs, nil
}

// maxAddresses is the most addresses of one name that are tried.
const maxAddresses = 4

// dial tries the addresses in the resolver's order. Each gets its share of the remaining time, so that an address that
// does not answer leaves time for the next.
func (g *Guard) dial(ctx context.Context, network, port string, addrs []netip.Addr) (net.Conn, error) {
	var first error
	addrs = addrs[:min(len(addrs), maxAddresses)]
	for i, a := range addrs {
		target, err := netip.ParseAddrPort(net.JoinHostPort(a.Unmap().String(), port))
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not a port", ErrRefused, clip(port))
		}
		conn, err := g.dialOne(ctx, network, target, len(addrs)-i)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func (g *Guard) dialOne(ctx context.Context, network string, target netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	if g.Connect != nil {
		return g.Connect(ctx, network, target)
	}
	var d net.Dialer
	return d.DialContext(ctx, network, target.String())
}

// isAllowed reports whether AllowPrivate contains the host and port.
func (g *Guard) isAllowed(host, port string) bool {
	for _, entry := range g.AllowPrivate {
		h, p := splitEntry(entry)
		if h == host && (p == "" || p == port) {
			return true
		}
	}
	return false
}

// splitEntry parses an entry of AllowPrivate. It returns host "" if the entry is malformed.
func splitEntry(entry string) (host, port string) {
	host = strings.TrimSpace(entry)
	if _, err := netip.ParseAddr(host); err != nil {
		if h, p, err := net.SplitHostPort(host); err == nil {
			if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
				return "", ""
			}
			host, port = h, p
		} else if inner, ok := strings.CutPrefix(host, "["); ok {
			host, ok = strings.CutSuffix(inner, "]")
			if !ok {
				return "", ""
			}
		}
	}
	host, err := canonicalHost(host)
	if err != nil {
		return "", ""
	}
	return host, port
}

// domainOf returns the registrable domain of a name; private suffixes such as vercel.app count as suffixes. An address,
// a public suffix or a single label is returned as it is.
func domainOf(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// Domain returns the registrable domain of a canonical host, to count by owner. Each name below a private suffix, such
// as vercel.app, is an owner of its own.
func Domain(host string) string { return domainOf(host) }

func withArticle(kind string) string {
	switch kind[0] {
	case 'I', 'u':
		return "an " + kind
	}
	return "a " + kind
}

// clip shortens a stranger's text for use in a sentence.
func clip(s string) string {
	if len(s) > 80 {
		return invisible.Clip(s, 80) + "…"
	}
	return s
}
