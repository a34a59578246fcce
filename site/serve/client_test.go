package serve

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

var proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ffff::/48"),
	netip.MustParsePrefix("192.0.2.7/32")}

func TestClientAddr(t *testing.T) {
	t.Parallel()
	const peer, proxy = "203.0.113.9:4711", "10.0.0.1:80"
	for _, test := range []struct {
		about, peer string
		listed      []string // X-Forwarded-For
		forwarded   []string
		want        string
	}{
		{"nobody's word is taken", peer, []string{"198.51.100.1"}, []string{"for=198.51.100.1"}, "203.0.113.9"},
		{"a proxy that says nothing", proxy, nil, nil, "10.0.0.1"},
		{"one hop", proxy, []string{"198.51.100.1"}, nil, "198.51.100.1"},
		{"the client's own words stand to the left", proxy, []string{"1.1.1.1, 198.51.100.1"}, nil, "198.51.100.1"},
		{"in a line of their own, too", proxy, []string{"1.1.1.1", "198.51.100.1"}, nil, "198.51.100.1"},
		{"proxies behind proxies", proxy, []string{"198.51.100.1, 192.0.2.7,10.9.9.9"}, nil, "198.51.100.1"},
		{"a proxy's own request", proxy, []string{"10.1.1.1, 10.2.2.2"}, nil, "10.1.1.1"},
		{"with ports", proxy, []string{"198.51.100.1:4711"}, nil, "198.51.100.1"},
		{"IPv6 with a port", proxy, []string{"[2001:db8::1]:4711"}, nil, "2001:db8::1"},
		{"IPv6 in brackets", proxy, []string{"[2001:db8::1]"}, nil, "2001:db8::1"},
		{"IPv6 with a zone", proxy, []string{"fe80::1%eth0"}, nil, "fe80::1"},
		{"IPv4 as IPv6", "[::ffff:10.0.0.1]:80", []string{"::ffff:198.51.100.1"}, nil, "198.51.100.1"},
		{"a proxy of IPv6", "[2001:db8:ffff::5]:80", []string{"198.51.100.1"}, nil, "198.51.100.1"},
		{"what can't be read was not written by a proxy", proxy, []string{"198.51.100.1, unknown, 10.2.2.2"}, nil,
			"10.2.2.2"},
		{"nothing that can be read", proxy, []string{"'; DROP TABLE"}, nil, "10.0.0.1"},
		{"empty", proxy, []string{""}, nil, "10.0.0.1"},
		{"empty elements", proxy, []string{"198.51.100.1,,"}, nil, "10.0.0.1"},
		{"more hops than are looked through", proxy, []string{"198.51.100.1" + strings.Repeat(", 10.0.0.2", maxHops)},
			nil, "10.0.0.2"},
		{"Forwarded", proxy, nil, []string{"for=192.0.2.60;proto=http;by=203.0.113.43"}, "192.0.2.60"},
		{"Forwarded, in any case and order", proxy, nil,
			[]string{`for=1.1.1.1, Proto=https; FOR="[2001:db8::17]:47011"`}, "2001:db8::17"},
		{"Forwarded, hidden", proxy, nil, []string{"for=_hidden"}, "10.0.0.1"},
		{"Forwarded, of somebody's own making", proxy, nil, []string{`for="`, `for=`, `;;=`}, "10.0.0.1"},
		{"both that agree", proxy, []string{"198.51.100.1"}, []string{`for="198.51.100.1:80"`}, "198.51.100.1"},
		{"both that do not: the client wrote one", proxy, []string{"198.51.100.1"}, []string{"for=1.1.1.1"},
			"10.0.0.1"},
		{"no address", "@", []string{"198.51.100.1"}, nil, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: test.peer, Header: http.Header{}}
		for _, v := range test.listed {
			r.Header.Add("X-Forwarded-For", v)
		}
		for _, v := range test.forwarded {
			r.Header.Add("Forwarded", v)
		}
		if got := clientAddr(r, proxies); got.String() != test.want {
			t.Errorf("%s: %s, want %s", test.about, got, test.want)
		}
	}
}

// FuzzClientAddr checks that headers are ignored without trust. With trust, the address is valid, unmapped and without
// a zone.
func FuzzClientAddr(f *testing.F) {
	f.Add("198.51.100.1, 10.0.0.2", `for="[2001:db8::1]:4711";proto=https`)
	f.Add(`"`, `for=",";=`)
	f.Fuzz(func(t *testing.T, listed, forwarded string) {
		r := &http.Request{RemoteAddr: "10.0.0.1:80",
			Header: http.Header{"X-Forwarded-For": {listed}, "Forwarded": {forwarded}}}
		if got := clientAddr(r, nil); got.String() != "10.0.0.1" {
			t.Errorf("without trust: %s", got)
		}
		if got := clientAddr(r, proxies); !got.IsValid() || got.Is4In6() || got.Zone() != "" {
			t.Errorf("%q, %q: %s", listed, forwarded, got)
		}
	})
}

func TestClientName(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{"192.0.2.7:1": "192.0.2.7", "[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64",
		"[::ffff:192.0.2.7]:1": "192.0.2.7", "@": "invalid IP"} {
		if got := clientName(clientAddr(&http.Request{RemoteAddr: from}, nil)); got != want {
			t.Errorf("%s is %q, want %q", from, got, want)
		}
	}
}
