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

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// ErrRefused is wrapped by every error that says: we will not go there. It is our decision, so it is never a
// check of the service. The text after it is for people and holds nothing that our resolver said.
var ErrRefused = errors.New("refused")

// maxURL is the longest address that is visited, in bytes.
const maxURL = 2048

// Guard decides which addresses may be visited. Everything in this program that goes to an address somebody else
// chose goes through one. The zero value is the strictest and ready for use; a Guard must not be changed once used,
// and then serves any number of goroutines.
type Guard struct {
	// AllowPrivate lets named hosts through, port and address unseen: "localhost:4021", "10.0.0.5", "[::1]:80".
	// Without a port every port of the host is meant. It is for tests and for an operator's own services.
	AllowPrivate []string

	// Resolver looks names up, net.DefaultResolver when nil.
	Resolver Resolver

	// Connect dials a checked address, a net.Dialer when nil; tests put a counter in its place.
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

// CheckURL says whether the address may be visited, as far as its text shows: what its name resolves to is
// checked when it is dialled. The error wraps ErrRefused.
func (g *Guard) CheckURL(u *url.URL) error {
	_, err := g.canonical(u)
	return err
}

// Canonical is the address as it is requested, with its host in the one form that is looked up and compared; or why it
// is not visited, as CheckURL says.
func (g *Guard) Canonical(u *url.URL) (*url.URL, error) { return g.canonical(u) }

// CheckRedirect says whether an answer from one address may send us to another: never from https to http, and
// only within the registrable domain. Unlike CheckURL it tells the service's fault from ours: an error that wraps
// ErrRefused means that the target may not be visited at all.
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
	if there := target.Hostname(); here != there && site(here) != site(there) {
		return nil, fmt.Errorf("redirects to another site, %s", clip(there))
	}
	return target, nil
}

// canonical gives the address as it is requested: lower-case ASCII host, no fragment, no trailing dot; or the
// reason why it is not.
func (g *Guard) canonical(u *url.URL) (*url.URL, error) {
	scheme := strings.ToLower(u.Scheme)
	switch {
	case scheme != "http" && scheme != "https":
		return nil, fmt.Errorf("%w: only http and https addresses are visited, not %q", ErrRefused, clip(u.Scheme))
	case u.User != nil:
		return nil, fmt.Errorf("%w: the address holds a user name or password", ErrRefused)
	case u.Opaque != "" || u.Host == "":
		return nil, fmt.Errorf("%w: the address has no host", ErrRefused)
	case len(u.String()) > maxURL:
		return nil, fmt.Errorf("%w: the address is longer than %d bytes", ErrRefused, maxURL)
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if !g.allowed(host, effectivePort(scheme, port)) {
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

// names maps what people write to what DNS knows. Underscores and doubled hyphens are met in real host names, so
// the strict rules are ours, below, not the profile's.
var names = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false), idna.CheckHyphens(false),
	idna.StrictDomainName(false), idna.VerifyDNSLength(false))

// canonicalHost gives a host in the one form that is compared, looked up and sent: an address as netip writes it,
// or a name in lower-case ASCII without a trailing dot.
func canonicalHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return "", fmt.Errorf("%w: %q is not a host", ErrRefused, clip(host))
		}
		return a.String(), nil
	}
	name, err := names.ToASCII(host)
	if err == nil && strings.Contains(name, "xn--") {
		// Some names map to what does not map to itself; those would be checked as one thing and looked up as another.
		var again string
		if again, err = names.ToASCII(name); err == nil && again != name {
			err = errors.New("not stable")
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %q is not a host name", ErrRefused, clip(host))
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if a, err := netip.ParseAddr(name); err == nil && a.Is4() {
		return a.String(), nil
	}
	if !isName(name) {
		return "", fmt.Errorf("%w: %q is not a host name", ErrRefused, clip(host))
	}
	return name, nil
}

// isName holds for the syntax of a host name. A name whose last label is a number is none: other programs read
// 127.1, 0x7f.1 or 2130706433 as IPv4 addresses, and so might a resolver.
func isName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := 0; i < len(label); i++ {
			c := label[i]
			if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// localNames are the suffixes that never mean a host of the public Internet.
var localNames = []string{"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private",
	"home.arpa", "onion"}

// checkHost refuses addresses of forbidden ranges and names that have a meaning only here.
func checkHost(host string) error {
	if a, err := netip.ParseAddr(host); err == nil {
		if kind := forbidden(a); kind != "" {
			return fmt.Errorf("%w: %s is %s address", ErrRefused, host, article(kind))
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

// DialContext connects to addr, a "host:port", for net/http. It looks the name up once, checks every address found,
// refuses the name when a single one is forbidden (a resolver that mixes them is either broken or hostile), and
// dials the checked addresses themselves, so that a second lookup cannot answer otherwise.
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %q is not an address", ErrRefused, clip(addr))
	}
	if host, err = canonicalHost(host); err != nil {
		return nil, err
	}
	free := g.allowed(host, port)
	if !free {
		if err := checkHost(host); err != nil {
			return nil, err
		}
		if err := checkPort(port); err != nil {
			return nil, err
		}
	}
	addrs, err := g.lookup(ctx, host, free)
	if err != nil {
		return nil, err
	}
	if !free {
		for _, a := range addrs {
			if kind := forbidden(a); kind != "" {
				return nil, fmt.Errorf("%w: %s resolves to %s address", ErrRefused, host, article(kind))
			}
		}
	}
	return g.dial(ctx, network, port, addrs)
}

func (g *Guard) lookup(ctx context.Context, host string, free bool) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	var r Resolver = net.DefaultResolver
	if g.Resolver != nil {
		r = g.Resolver
	}
	if !free {
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

// maxAddresses bounds how many addresses of one name are tried.
const maxAddresses = 4

// dial tries the addresses in the resolver's order, each with its share of the time that is left, so that one dead
// address leaves time for the next.
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

// allowed holds for what AllowPrivate names.
func (g *Guard) allowed(host, port string) bool {
	for _, entry := range g.AllowPrivate {
		h, p := splitEntry(entry)
		if h == host && (p == "" || p == port) {
			return true
		}
	}
	return false
}

// splitEntry reads an entry of AllowPrivate; the host is "" when it is malformed.
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

// site is the registrable domain of a name, private suffixes such as vercel.app included; an address, a
// public suffix or a single label is its own.
func site(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// Domain is the registrable domain of a host in canonical form, for what is counted by owner: names below a private
// suffix, such as vercel.app, are owners of their own.
func Domain(host string) string { return site(host) }

func article(kind string) string {
	switch kind[0] {
	case 'I', 'u':
		return "an " + kind
	}
	return "a " + kind
}

// clip shortens what others wrote before it stands in a sentence.
func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
