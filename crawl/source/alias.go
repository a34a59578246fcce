package source

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// CanonicalHost returns the one name of a host that has two: www.example.com is example.com. It drops www. only before
// a registrable domain, so that both names have one owner. The host may have a port. It is in lower case.
func CanonicalHost(host string) string {
	rest, ok := strings.CutPrefix(host, "www.")
	if !ok {
		return host
	}
	name := rest
	if h, _, err := net.SplitHostPort(rest); err == nil {
		name = h
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(name); err != nil || domain != name {
		return host
	}
	return rest
}

// Aliases returns the names of a host: the host itself first.
func Aliases(host string) []string {
	canonical := CanonicalHost(host)
	names := []string{host}
	for _, name := range []string{canonical, "www." + canonical} {
		if CanonicalHost(name) == canonical && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// domainOf returns the registrable domain of a URL's host, or else the host.
func domainOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(u.Hostname()); err == nil {
		return domain
	}
	return u.Hostname()
}
