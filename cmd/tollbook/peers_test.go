package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"tollbook/crawl/probe"
	"tollbook/site/testgate"
)

// TestPeers lints sellers that use real SDKs, directly and behind a proxy that adds https, like most deployments.
// The grades are computed by hand from the rules of x402 and the scale on the page /methodology. A needs 13 of 14
// checks. If transport_https fails, the best is C. Without payload, accepts or recipient it is F.
//
//	seller      route         version  plain: passes, fails                    grade  behind https: passes     grade
//	@x402/hono  GET /quote    2        13 of 14, transport_https (a cap)       C      14                       A
//	            POST /chat    2        13, as above: upto signs permit2        C      14                       A
//	            GET /users/42 2        13, as above: play money is a warning   C      14                       A
//	x402-express GET /weather 1        12, transport_https and version_current C      13: 13/14 = 0.928, no cap A
//	mppx        GET /pay      none     by MPP, 9 of 10: transport_https        C      10 of 10                 A
//
// Behind the proxy, version 2 servers return the URL that they see, with http. That is the warning
// resource_plain_http, which one of forty real services has. Express answers HEAD without payment: head_free.
func TestPeers(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	cases := []peerCase{
		{"hono", "", "/quote", false, "paid", "C", []string{"transport_https"}, nil,
			[]string{"exact eip155:8453 0.01", "exact solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp 0.01"}},
		{"hono", "", "/quote", true, "paid", "A", nil, []string{"resource_plain_http"},
			[]string{"exact eip155:8453 0.01", "exact solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp 0.01"}},
		{"hono", "POST", "/chat", false, "paid", "C", []string{"transport_https"}, nil,
			[]string{"upto eip155:8453 0.5"}},
		// GET is a 404, POST is found
		{"hono", "", "/chat", true, "paid", "A", nil, []string{"resource_plain_http"},
			[]string{"upto eip155:8453 0.5"}},
		{"hono", "", "/users/42", false, "paid", "C", []string{"transport_https"},
			[]string{"testnet_only", "timeout_out_of_range"}, []string{"exact eip155:84532 "}},
		{"hono", "", "/users/42", true, "paid", "A", nil,
			[]string{"resource_plain_http", "testnet_only", "timeout_out_of_range"},
			[]string{"exact eip155:84532 "}},
		{"hono", "", "/free", true, "open", "unknown", nil, nil, nil},
		{"hono", "", "/nothing", true, "failed", "unknown", nil, nil, nil},
		{"express-v1", "", "/weather", false, "paid", "C", []string{"transport_https", "x402_version_current"},
			[]string{"head_free"}, []string{"exact base 0.01"}},
		{"express-v1", "", "/weather", true, "paid", "A", []string{"x402_version_current"},
			[]string{"head_free", "resource_plain_http"}, []string{"exact base 0.01"}},
		{"mppx", "", "/pay", false, "paid", "C", []string{"transport_https"}, []string{"mpp_realm_elsewhere"},
			[]string{"tempo/charge eip155:4217 0.01"}},
		{"mppx", "", "/pay", true, "paid", "A", nil, []string{"mpp_realm_elsewhere"},
			[]string{"tempo/charge eip155:4217 0.01"}},
	}
	for _, name := range []string{"hono", "express-v1", "mppx"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said struct{ Port int }
			startNode(t, filepath.Join("testdata/peers", name), &said)
			address := fmt.Sprintf("127.0.0.1:%d", said.Port)
			for _, c := range cases {
				if c.peer == name {
					t.Run(c.name(), func(t *testing.T) { c.check(t, address) })
				}
			}
		})
	}
}

// peerCase is a route of a peer with the result that the rules give by hand.
type peerCase struct {
	peer, method, path string
	secure             bool // behind a proxy that adds https
	verdict, grade     string
	fails, warnings    []string
	asks               []string // "<scheme> <network as received> <USD>", without dollars on a test network
}

func (c peerCase) name() string {
	if c.secure {
		return c.path + " behind https"
	}
	return c.path
}

func (c peerCase) check(t *testing.T, host string) {
	address, o := "http://"+host+c.path, lintOptions{Method: c.method,
		visitOptions: visitOptions{AllowPrivate: []string{host}}}
	if c.secure {
		address, o = "https://example.com"+c.path, lintOptions{Method: c.method, routes: behindTLS(t, host)}
	}
	got, status := linted(t, o, address)
	checkReport(t, got, status)
	type result struct {
		Verdict, Grade        string
		Fails, Warnings, Asks []string
	}
	var asks []string
	for _, a := range got.Asks {
		asks = append(asks, a.Scheme+" "+a.Network+" "+deref(a.PriceUSD))
	}
	want := result{c.verdict, c.grade, append([]string{}, c.fails...), append([]string{}, c.warnings...), c.asks}
	if diff := gocmp.Diff(want, result{got.Verdict, got.Grade, failing(got), warned(got), asks}); diff != "" {
		t.Errorf("lint %s (-want +got):\n%s", address, diff)
	}
}

// behindTLS starts a proxy for TLS before a server. It returns routes that connect example.com to the proxy.
func behindTLS(t *testing.T, host string) []probe.Route {
	t.Helper()
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: host})
		r.SetXForwarded()
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(proxy.Close)
	roots := x509.NewCertPool()
	roots.AddCert(proxy.Certificate())
	dial := func(ctx context.Context, network, _ string) (net.Conn, bool, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, proxy.Listener.Addr().String())
		return conn, true, err
	}
	return []probe.Route{{Domain: "example.com", Dial: dial, RootCAs: roots}}
}
