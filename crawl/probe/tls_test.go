package probe

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An authority signs certificates for the tests.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return &authority{cert, key, pool}
}

// issue signs a certificate for a name, with more names, or for an IP address that is valid for the given span around now.
func (a *authority) issue(t *testing.T, name string, from, to time.Duration, more ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: append(more, name),
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// startTLS starts a server with TLS and HTTP/2.
func startTLS(t *testing.T, config *tls.Config, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.TLS = config
	server.EnableHTTP2 = true
	server.Config.ErrorLog = quiet
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// sampleRoute maps every name under sample.test to one address.
func sampleRoute(to string, pool *x509.CertPool) Route {
	return Route{Domain: "sample.test", RootCAs: pool,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, bool, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, to)
			return conn, true, err
		}}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	trusted, stranger := newAuthority(t), newAuthority(t)
	const day = 24 * time.Hour
	certificate := func(c tls.Certificate) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{c}} }
	good := trusted.issue(t, "a.sample.test", -day, day)
	old := certificate(good)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	picky := certificate(good)
	picky.ClientAuth = tls.RequireAnyClientCert
	picky.MaxVersion = tls.VersionTLS12 // reports the refusal within the handshake
	tests := []struct {
		name   string
		config *tls.Config
		reason string
	}{
		{"good", certificate(good), "asks for payment"},
		{"expired", certificate(trusted.issue(t, "a.sample.test", -2*day, -time.Hour)),
			"TLS: certificate has expired or is not yet valid"},
		{"not yet valid", certificate(trusted.issue(t, "a.sample.test", time.Hour, day)),
			"TLS: certificate has expired or is not yet valid"},
		{"other name", certificate(trusted.issue(t, "b.sample.test", -day, day)),
			"TLS: certificate is for another name"},
		{"unknown authority", certificate(stranger.issue(t, "a.sample.test", -day, day)),
			"TLS: certificate is signed by an unknown authority"},
		{"outdated protocol", old, "TLS: the server refused the handshake"},
		{"wants a client certificate", picky, "TLS: the server refused the handshake"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := startTLS(t, tt.config, paid)
			p := New(Options{Routes: []Route{sampleRoute(server.Listener.Addr().String(), trusted.pool)}})
			t.Cleanup(p.Close)
			got := p.Probe(t.Context(), Target{URL: "https://a.sample.test/", Method: "GET"})
			verified := tt.name == "good"
			if got.Reason != tt.reason || got.TLSVerified != verified || (got.Verdict == Paid) != verified {
				t.Errorf("%s %s (%s), verified %v; want %q", got.Verdict, got.Class, got.Reason, got.TLSVerified,
					tt.reason)
			}
			if verified && got.Phases.TLS <= 0 {
				t.Errorf("Phases %+v, want a time for TLS", got.Phases)
			}
		})
	}
}

// TestSampleAuthority checks that the sample world's authority is trusted for its names and for no others.
func TestSampleAuthority(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	cert := func(name string) tls.Certificate { return ca.issue(t, name, -time.Hour, time.Hour) }
	server := startTLS(t, &tls.Config{Certificates: []tls.Certificate{cert("a.sample.test"), cert("a.example.com"),
		cert("a.notsample.test")}}, paid)
	a := newAmbush(t, http.HandlerFunc(paid))
	for _, name := range []string{"a.example.com", "a.notsample.test"} {
		a.resolve(name, netip.MustParseAddr("8.8.8.8"))
	}
	a.guard.Connect = func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server.Listener.Addr().String())
	}
	p := New(Options{Guard: a.guard, Routes: []Route{sampleRoute(server.Listener.Addr().String(), ca.pool)}})
	t.Cleanup(p.Close)
	for host, want := range map[string]Verdict{"a.sample.test": Paid, "a.example.com": Failed,
		"a.notsample.test": Failed} {
		got := p.Probe(t.Context(), Target{URL: "https://" + host + "/", Method: "GET"})
		if got.Verdict != want {
			t.Errorf("%s: %s (%s), want %s", host, got.Verdict, got.Reason, want)
		}
		if want == Failed && !strings.Contains(got.Reason, "unknown authority") {
			t.Errorf("%s: %s", host, got.Reason)
		}
	}
}

// TestDowngrade checks that a redirect from https to http is not followed.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	certificate := ca.issue(t, "a.sample.test", -time.Hour, time.Hour)
	server := startTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}},
		status(302, "Location", "http://a.sample.test/"))
	p := New(Options{Routes: []Route{sampleRoute(server.Listener.Addr().String(), ca.pool)}})
	t.Cleanup(p.Close)
	got := p.Probe(t.Context(), Target{URL: "https://a.sample.test/", Method: "GET"})
	if got.Class != ClassRedirect || got.Reason != "redirects from https to http" || got.Requests != 1 ||
		got.Status != 302 {
		t.Errorf("%s (%s), status %d, %d requests", got.Class, got.Reason, got.Status, got.Requests)
	}
}

// TestHTTP2 checks that a prober uses HTTP/2 if the server can, one connection for two rounds, and resumes the TLS
// session on the next connection.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	type seen struct {
		proto   int
		resumed bool
		remote  string
	}
	var got []seen
	certificate := ca.issue(t, "a.sample.test", -time.Hour, time.Hour)
	server := startTLS(t, &tls.Config{Certificates: []tls.Certificate{certificate}},
		func(w http.ResponseWriter, r *http.Request) {
			got = append(got, seen{r.ProtoMajor, r.TLS.DidResume, r.RemoteAddr})
			demand(w)
		})
	p := New(Options{Routes: []Route{sampleRoute(server.Listener.Addr().String(), ca.pool)}})
	t.Cleanup(p.Close)
	for round := range 3 {
		if round == 2 {
			p.Close()
		}
		if r := p.Probe(t.Context(), Target{URL: "https://a.sample.test/", Method: "GET"}); r.Verdict != Paid ||
			!r.TLSVerified {
			t.Fatalf("%s (%s), verified %v", r.Verdict, r.Reason, r.TLSVerified)
		}
	}
	if got[0].proto != 2 || got[0].remote != got[1].remote || got[2].remote == got[1].remote || !got[2].resumed {
		t.Errorf("%+v, want HTTP/2, one connection for two rounds, and a resumed session on the third", got)
	}
}

// TestManyNames checks that a certificate of 10,000 names is accepted, and that nothing of it stays in memory.
func TestManyNames(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("n%d.sample.test", i)
	}
	var resumed []bool
	server := startTLS(t, &tls.Config{Certificates: []tls.Certificate{
		ca.issue(t, "a.sample.test", -time.Hour, time.Hour, names...)}},
		func(w http.ResponseWriter, r *http.Request) {
			resumed = append(resumed, r.TLS.DidResume)
			demand(w)
		})
	p := New(Options{Routes: []Route{sampleRoute(server.Listener.Addr().String(), ca.pool)}})
	t.Cleanup(p.Close)
	for range 2 {
		r := p.Probe(t.Context(), Target{URL: "https://a.sample.test/", Method: "GET"})
		if r.Verdict != Paid || !r.TLSVerified {
			t.Fatalf("%s (%s), verified %v", r.Verdict, r.Reason, r.TLSVerified)
		}
		p.Close() // the next request opens a connection
	}
	if diff := cmp.Diff([]bool{false, false}, resumed); diff != "" {
		t.Errorf("sessions resumed (-want +got):\n%s", diff)
	}
}
