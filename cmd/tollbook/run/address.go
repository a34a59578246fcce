package run

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/output/objects"
)

// IsLoopback reports whether only this machine reaches a listening address.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true // Listen reports the error
	}
	return objects.IsLoopback(host)
}

// LeadsHere reports whether a URL leads each reader to the reader's own machine.
func LeadsHere(address string) bool {
	u, err := url.Parse(address)
	return err == nil && objects.IsLoopback(u.Hostname())
}

// ParseNetworks reads the networks of a flag. A single address is a network of one.
func ParseNetworks(flag string, texts []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range texts {
		text = strings.TrimSpace(text)
		network, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil && addr.Zone() == "" {
			network, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
		}
		if err != nil || network.Addr().Is4In6() || network.Addr().Zone() != "" {
			return nil, terminal.UsageErrorf("%s %q: give networks such as 10.0.0.0/8,2001:db8::/32", flag, text)
		}
		networks = append(networks, network.Masked())
	}
	return networks, nil
}
