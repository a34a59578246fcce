package probe

import (
	"net/url"
	"slices"
	"strings"
)

// ReachesOthers reports whether a request to a URL would reach a host of somebody else. It would not if AllowPrivate
// has the host, if the guard refuses it, or if its name is reserved for examples and tests.
func (g *Guard) ReachesOthers(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	if u, err = g.canonical(u); err != nil {
		return false
	}
	name := u.Hostname()
	return !g.isAllowed(name, effectivePort(u.Scheme, u.Port())) && !isUnused(name)
}

// unusedNames are top-level domains that nobody can register (RFC 2606).
var unusedNames = []string{"example", "invalid", "test"}

// isUnused reports whether no host of the public Internet has a name.
func isUnused(name string) bool {
	return slices.Contains(unusedNames, name[strings.LastIndexByte(name, '.')+1:])
}

// IsReserved reports whether a name is reserved for examples and tests, so that nobody gets what is sent there. The
// domains example.com, example.net and example.org have a host, which belongs to IANA.
func IsReserved(host string) bool {
	name, err := canonicalHost(host)
	if err != nil {
		return false
	}
	switch domainOf(name) {
	case "example.com", "example.net", "example.org":
		return true
	}
	return isUnused(name) || name == "localhost" || strings.HasSuffix(name, ".localhost")
}
