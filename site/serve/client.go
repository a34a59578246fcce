package serve

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops is the maximum number of proxies that are followed.
const maxHops = 32

// clientAddr returns the address of a request's client. Without trusted proxies it is the peer's address. Behind
// trusted proxies it is the last forwarded address that is not itself trusted, from X-Forwarded-For or Forwarded. If
// both headers are present and disagree, the client may have sent one of them; then the proxy counts as the client. The
// zero Addr is returned for a peer without an IP address.
func clientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	listed, forwarded := r.Header["X-Forwarded-For"], r.Header["Forwarded"]
	addr := peer.Addr().Unmap().WithZone("")
	if len(trusted) == 0 || !isTrusted(addr, trusted) {
		return addr
	}
	switch {
	case len(listed) > 0 && len(forwarded) > 0:
		if a := lastUntrusted(addr, listed, listedHop, trusted); a == lastUntrusted(addr, forwarded, forwardedHop,
			trusted) {
			return a
		}
		return addr
	case len(listed) > 0:
		return lastUntrusted(addr, listed, listedHop, trusted)
	default:
		return lastUntrusted(addr, forwarded, forwardedHop, trusted)
	}
}

// isTrusted reports whether an address belongs to a trusted proxy.
func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// lastUntrusted reads the hops of a forwarding header from the end, where the nearest proxy writes. A trusted proxy
// does not write an invalid hop, so the walk ends before it.
func lastUntrusted(peer netip.Addr, values []string, hop func(string) (netip.Addr, bool),
	trusted []netip.Prefix) netip.Addr {
	rest := strings.Join(values, ",")
	for range maxHops {
		if rest == "" {
			break
		}
		at := strings.LastIndexByte(rest, ',') // an address contains no comma, even if quoted
		addr, ok := hop(strings.TrimSpace(rest[at+1:]))
		if !ok {
			break
		}
		peer = addr
		if !isTrusted(addr, trusted) {
			break
		}
		rest = rest[:max(at, 0)]
	}
	return peer
}

// listedHop parses an element of X-Forwarded-For: an address with or without a port.
func listedHop(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		withPort, portErr := netip.ParseAddrPort(s)
		addr, err = withPort.Addr(), portErr
	}
	return addr.Unmap().WithZone(""), err == nil
}

// forwardedHop parses an element of Forwarded (RFC 7239): for="[2001:db8::1]:4711";proto=https.
func forwardedHop(s string) (netip.Addr, bool) {
	for pair := range strings.SplitSeq(s, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if ok && strings.EqualFold(name, "for") {
			if inner, quoted := strings.CutPrefix(value, `"`); quoted {
				value = strings.TrimSuffix(inner, `"`)
			}
			return listedHop(value)
		}
	}
	return netip.Addr{}, false
}

// clientName returns the client of an address as text: an IPv4 address, or an IPv6 network of 64 bits.
func clientName(addr netip.Addr) string {
	if addr = addr.Unmap(); !addr.IsValid() || addr.Is4() {
		return addr.String()
	}
	network, err := addr.WithZone("").Prefix(64)
	if err != nil {
		panic(err) // an IPv6 address has 64 bits
	}
	return network.String()
}
