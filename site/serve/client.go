package serve

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops is how many proxies are looked through.
const maxHops = 32

// clientAddr is the address that a request came from: the peer's, or, behind trusted proxies, the last one that they
// were told by somebody they do not trust themselves. Both forwarding headers are read. Where both are there and
// disagree, one of them was sent by the client, and nobody knows which: then he is who the proxy is. It is the zero
// Addr for a peer without an address.
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

func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// lastUntrusted reads the hops of a forwarding header from the end, where the nearest proxy wrote. What can't be read
// was not written by a proxy that is trusted to: the walk ends with the hop that it came from.
func lastUntrusted(peer netip.Addr, values []string, hop func(string) (netip.Addr, bool),
	trusted []netip.Prefix) netip.Addr {
	rest := strings.Join(values, ",")
	for range maxHops {
		if rest == "" {
			break
		}
		at := strings.LastIndexByte(rest, ',') // no address has a comma, quoted or not
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

// listedHop reads an element of X-Forwarded-For: an address, with a port or without.
func listedHop(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		withPort, portErr := netip.ParseAddrPort(s)
		addr, err = withPort.Addr(), portErr
	}
	return addr.Unmap().WithZone(""), err == nil
}

// forwardedHop reads an element of Forwarded (RFC 7239): for="[2001:db8::1]:4711";proto=https.
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

// clientName is who is counted under an address, as text: an IPv4 address, or an IPv6 network of 64 bits.
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
