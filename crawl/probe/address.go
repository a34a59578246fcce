package probe

import "net/netip"

// A network is a range of addresses that no public service answers from, and its purpose.
type network struct {
	prefix netip.Prefix
	kind   string // as in the message "a <kind> address"
}

// forbidden4 lists the IPv4 ranges that are never dialled: IANA's special-purpose registry, and metadata services of
// clouds outside of it.
var forbidden4 = parseNetworks([][2]string{
	{"0.0.0.0/8", "unspecified"},
	{"10.0.0.0/8", "private"},
	{"100.100.100.200/32", "metadata"}, // Alibaba Cloud
	{"100.64.0.0/10", "carrier"},
	{"127.0.0.0/8", "loopback"},
	{"168.63.129.16/32", "metadata"},   // Azure, inside a public range
	{"169.254.169.254/32", "metadata"}, // most clouds
	{"169.254.0.0/16", "link-local"},
	{"172.16.0.0/12", "private"},
	{"192.0.0.192/32", "metadata"}, // Oracle Cloud
	{"192.0.0.0/24", "reserved"},
	{"192.0.2.0/24", "documentation"},
	{"192.31.196.0/24", "reserved"}, // AS112
	{"192.52.193.0/24", "reserved"}, // multicast tunnelling relays
	{"192.88.99.0/24", "reserved"},  // relays of 6to4
	{"192.168.0.0/16", "private"},
	{"192.175.48.0/24", "reserved"}, // AS112
	{"198.18.0.0/15", "benchmarking"},
	{"198.51.100.0/24", "documentation"},
	{"203.0.113.0/24", "documentation"},
	{"224.0.0.0/4", "multicast"},
	{"255.255.255.255/32", "broadcast"},
	{"240.0.0.0/4", "reserved"},
})

// forbidden6 names the IPv6 ranges that are never dialled. All addresses outside global6 are refused too, without a
// name of their own.
var forbidden6 = parseNetworks([][2]string{
	{"::/128", "unspecified"},
	{"::1/128", "loopback"},
	{"::/96", "IPv4-compatible"}, // deprecated; only used to evade filters
	{"::ffff:0:0:0/96", "IPv4-translated"},
	{"64:ff9b:1::/48", "local NAT64"}, // the position of the IPv4 address depends on the operator
	{"100::/64", "discard"},
	{"2001::/32", "Teredo"}, // tunnels to hosts behind NAT, not to services
	{"2001::/23", "reserved"},
	{"2001:db8::/32", "documentation"},
	{"2620:4f:8000::/48", "reserved"}, // AS112
	{"3fff::/20", "documentation"},
	{"5f00::/16", "reserved"},              // segment routing
	{"fd00:ec2::254/128", "metadata"},      // AWS
	{"fd00:ec2::/32", "metadata"},          // AWS, time and resolver
	{"fd00:c1::a9fe:a9fe/128", "metadata"}, // Oracle Cloud
	{"fd20:ce::254/128", "metadata"},       // Google Cloud
	{"fc00::/7", "private"},
	{"fe80::/10", "link-local"},
	{"fec0::/10", "site-local"},
	{"ff00::/8", "multicast"},
})

var (
	global6 = netip.MustParsePrefix("2000::/3") // all that IANA has assigned for global unicast
	mapped  = netip.MustParsePrefix("::ffff:0:0/96")
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // DNS64 maps IPv4-only services into this range
	sixto4  = netip.MustParsePrefix("2002::/16")
)

func parseNetworks(rows [][2]string) []network {
	list := make([]network, len(rows))
	for i, row := range rows {
		list[i] = network{netip.MustParsePrefix(row[0]), row[1]}
	}
	return list
}

// forbiddenKind returns the kind of a if it must not be dialled, else "". An IPv4 address within an IPv6 address is
// judged by itself.
func forbiddenKind(a netip.Addr) string {
	if a.Zone() != "" {
		return "link-local" // a zone names an interface of this machine
	}
	if a.Is4() {
		return kindOf(a, forbidden4)
	}
	if mapped.Contains(a) {
		a = a.Unmap()
		return kindOf(a, forbidden4)
	}
	b := a.As16()
	switch {
	case nat64.Contains(a):
		return wrappedKind(b[12:16])
	case sixto4.Contains(a):
		if kind := wrappedKind(b[2:6]); kind != "" {
			return kind
		}
	}
	if kind := kindOf(a, forbidden6); kind != "" {
		return kind
	}
	if !global6.Contains(a) {
		return "reserved"
	}
	if isatap := b[8]&^3 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe; isatap {
		return wrappedKind(b[12:16]) // an IPv4 address as interface identifier, RFC 5214
	}
	return ""
}

func wrappedKind(b []byte) string {
	v4, _ := netip.AddrFromSlice(b)
	return kindOf(v4, forbidden4)
}

// kindOf returns the kind of the first range that contains a. Lists have narrow ranges before the wider ones.
func kindOf(a netip.Addr, list []network) string {
	for _, n := range list {
		if n.prefix.Contains(a) {
			return n.kind
		}
	}
	return ""
}
