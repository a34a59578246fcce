package main

import (
	"context"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// asResolver names the variable with the address of a DNS server that the program uses instead of the system's, if the
// test binary runs as the program.
const asResolver = "TOLLBOOK_TEST_RESOLVER"

// dnsAnswer is what a name resolves to.
type dnsAnswer struct {
	alias string // a CNAME, which ends in a dot; "" for none
	addrs []netip.Addr
}

// serveDNS runs a DNS server over UDP until the test ends, and returns its address. Calls of lookup, one for each
// question, do not overlap. The name ends in a dot; false means that it does not exist. Answers have a TTL of 0. A
// question for IPv4 addresses is answered with those alone, and so is one for IPv6 addresses.
func serveDNS(t *testing.T, lookup func(name string, isIPv6 bool) (dnsAnswer, bool)) (address string) {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for p := make([]byte, 4<<10); ; {
			n, from, err := l.ReadFrom(p)
			if err != nil {
				return // closed
			}
			if reply := answerDNS(p[:n], lookup); reply != nil {
				_, _ = l.WriteTo(reply, from) // the client repeats its question
			}
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.LocalAddr().String()
}

// answerDNS returns the reply to a message, or nil if it is not a question.
func answerDNS(question []byte, lookup func(name string, isIPv6 bool) (dnsAnswer, bool)) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true},
		Questions: m.Questions,
	}
	isIPv6 := q.Type == dnsmessage.TypeAAAA
	got, ok := lookup(q.Name.String(), isIPv6)
	if !ok {
		reply.RCode = dnsmessage.RCodeNameError
	}
	owner := q.Name
	add := func(kind dnsmessage.Type, body dnsmessage.ResourceBody) {
		h := dnsmessage.ResourceHeader{Name: owner, Type: kind, Class: dnsmessage.ClassINET}
		reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: h, Body: body})
	}
	if got.alias != "" {
		alias := dnsmessage.MustNewName(got.alias)
		add(dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: alias})
		owner = alias
	}
	for _, a := range got.addrs {
		switch a = a.WithZone(""); {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			add(dnsmessage.TypeA, &dnsmessage.AResource{A: a.As4()})
		case a.Is6() && isIPv6:
			add(dnsmessage.TypeAAAA, &dnsmessage.AAAAResource{AAAA: a.As16()})
		}
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// newResolver returns Go's resolver with a DNS server in place of the system's.
func newResolver(address string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", address)
	}}
}

// useResolver lets the program use the DNS server of a test.
func useResolver() {
	if address := os.Getenv(asResolver); address != "" {
		net.DefaultResolver = newResolver(address)
	}
}

// TestServeDNS checks that Go's resolver reads what the DNS server of the tests answers.
func TestServeDNS(t *testing.T) {
	t.Parallel()
	want := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("fe80::1")}
	r := newResolver(serveDNS(t, func(name string, _ bool) (dnsAnswer, bool) {
		return dnsAnswer{alias: "other.example.", addrs: want}, name == "alias.example."
	}))
	got, err := r.LookupNetIP(t.Context(), "ip", "alias.example.")
	if err != nil || len(got) != len(want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if got, err := r.LookupNetIP(t.Context(), "ip", "none.example."); err == nil {
		t.Errorf("a name that does not exist: %v", got)
	}
}
