package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"tollbook/crawl"
	"tollbook/crawl/probe"
	"tollbook/site/postgres"
)

// probeStage measures rounds of visits, including everything that is parsed, judged and stored, beside ab, which
// stores nothing.
//
// A server in a process of its own answers each request with 402 and an x402 envelope of version 2, over TLS with an
// ECDSA P-256 certificate. Ours has the parts of "tollbook crawl --once": the crawler, its pace shared through Postgres,
// and the whole guard. Its resolver returns a public address for each name; only the dial leads to loopback. It visits
// every service once from an empty database (first round), then all of them again (second round). Between the rounds it
// closes connections, as fifteen minutes would, but keeps TLS sessions.
//
// The peer sends as many requests to one name, from as many concurrent senders, each on a new connection, as in a first
// contact. It does not verify the certificate, resumes no session, and cannot use HTTP/2.
//
// An endpoint gets HEAD once a day; the bench marks it as sent. The server counts the requests of each side. Postgres
// must have a check of each visit, online, with its envelope and its price.
var probeStage = stage{name: "probe", short: "measure rounds of visits, beside ab", services: 10_000, runs: 5,
	peers: []string{"ab.sh"}, flags: plain((*bench).measureProbes)}

// senders is the number of concurrent requests of either side.
const senders = 128

func (b *bench) measureProbes() {
	defer debug.SetGCPercent(debug.SetGCPercent(crawl.GCPercent))
	d := b.postgres(b.path("postgres"), false)
	var target probeTarget
	b.serveRole("probe server", struct{}{}, &target)
	check(os.WriteFile(b.path("authority.pem"), []byte(target.Authority), 0o600))
	check(os.Setenv("SSL_CERT_FILE", b.path("authority.pem"))) // before the first handshake
	check(os.Setenv("SSL_CERT_DIR", "/nonexistent"))
	var crawler *crawl.Crawler
	peer := fmt.Sprintf("ab -n %d -c %d", b.services, senders)
	b.alternate(side{"first round", func() (float64, string) {
		d.create("probe", "")
		db := must(postgres.Open(b.ctx, d.DSNFor("probe")))
		check(db.AddListings(b.ctx, numberedListings(b.services, time.Now().Add(-time.Minute))))
		d.execute("probe", `UPDATE endpoints SET head_at = now()`, `VACUUM ANALYZE`)
		guard := &probe.Guard{Resolver: oneAddress{}, Connect: func(ctx context.Context, network string,
			_ netip.AddrPort) (net.Conn, error) {
			var dialer net.Dialer
			return dialer.DialContext(ctx, network, target.Address)
		}}
		crawler = crawl.New(db, crawl.Options{Workers: senders, HostGap: time.Nanosecond}, probe.Options{Guard: guard})
		b.atEnd(db.Close)
		return b.round(d, target, crawler, 1), ""
	}}, side{"second round", func() (float64, string) {
		crawler.Close() // closes connections, as fifteen minutes without use would; the crawler stays usable
		d.execute("probe", `UPDATE service_states SET next_check_at = now() - interval '1 minute'`, `VACUUM ANALYZE`)
		rate := b.round(d, target, crawler, 2)
		crawler.Close()
		return rate, ""
	}}, side{peer, func() (rate float64, _ string) {
		b.counted(target, func() {
			out, _ := b.run(b.peer(nil, "ab.sh", "-q", "-n", fmt.Sprint(b.services), "-c", fmt.Sprint(senders),
				"-H", "Accept: application/json", "-H", "Accept-Encoding: gzip", "-H", "Cache-Control: no-cache",
				"https://"+target.Address+"/quote"))
			for name, want := range map[string]int{"Non-2xx responses": b.services, "Failed requests": 0} {
				if got := abNumber(name, out); got != float64(want) {
					failf("ab reports %v %s, want %d\n%s", got, name, want, out)
				}
			}
			rate = abNumber("Requests per second", out)
		})
		return rate, ""
	}})
	b.compare("first round: probes with checks and storage, TLS", "probes/s", "first round", peer, atLeast(0.9))
	b.compare("second round: TLS sessions resumed", "probes/s", "second round", peer, atLeast(1.1))
}

// abNumber returns a number of ab's report.
func abNumber(name string, out []byte) float64 {
	m := regexp.MustCompile(name + `:\s+([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		failf("the report of ab has no %s\n%s", name, out)
	}
	return must(strconv.ParseFloat(string(m[1]), 64))
}

// counted checks that f sends a request for each service.
func (b *bench) counted(target probeTarget, f func()) {
	count := func() (c probeCounts) {
		data, _ := b.read(target.Control)
		check(json.Unmarshal(data, &c))
		return c
	}
	before := count()
	f()
	after := count()
	if got := after.Requests - before.Requests; got != int64(b.services) {
		failf("%d requests were sent, want %d", got, b.services)
	}
	log.Printf("    CPU %.2f s of the server, %d connections, %d resumed", after.CPU-before.CPU,
		after.Handshakes-before.Handshakes, after.Resumed-before.Resumed)
}

// round lets the crawler visit all services, checks what is stored after n rounds, and returns the probes a second.
func (b *bench) round(d *database, target probeTarget, crawler *crawl.Crawler, n int) (rate float64) {
	b.counted(target, func() {
		defer startProfile(b.profile)()
		before, began := selfCPU(), time.Now()
		must(crawler.Round(b.ctx))
		rate = float64(b.services) / time.Since(began).Seconds()
		log.Printf("    CPU %.2f s of the crawler", selfCPU()-before)
	})
	want := fmt.Sprintf("%d checks, %[2]d services online, %[2]d envelopes, %[2]d prices", n*b.services, b.services)
	got := d.text("probe", `SELECT format('%s checks, %s services online, %s envelopes, %s prices',
		(SELECT count(*) FROM checks WHERE counted AND status = 'online' AND status_code = 402 AND endpoints_found = 1),
		(SELECT count(*) FROM service_states WHERE last_status = 'online' AND next_check_at > last_checked_at),
		(SELECT count(*) FROM envelopes WHERE status_code = 402 AND tls_verified AND header ? 'Payment-Required'),
		(SELECT count(*) FROM prices WHERE until IS NULL AND amount = 10000))`)
	if got != want {
		failf("stored after round %d: %s; want %s", n, got, want)
	}
	return rate
}

// oneAddress resolves every name to one address that the guard accepts.
type oneAddress struct{}

func (oneAddress) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// probeTarget describes the server.
type probeTarget struct {
	Address   string // "127.0.0.1:port"
	Control   string // URL of its counts
	Authority string // PEM
}

// probeCounts are the counts of the server.
type probeCounts struct {
	Requests, Handshakes, Resumed int64
	CPU                           float64 // seconds
}

// probeDomain is the parent of all service names.
const probeDomain = "bench.test"

// challenge is the header of each response. The body is empty JSON, as the SDKs of x402 version 2 send it.
const challenge = `{"x402Version":2,"error":"Payment required","resource":{"url":"https://quotes.bench.test/quote",` +
	`"description":"The last price of a share, and when it was paid.","mimeType":"application/json"},` +
	`"accepts":[{"scheme":"exact","network":"eip155:8453","amount":"10000",` +
	`"asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C",` +
	`"maxTimeoutSeconds":60,"extra":{"name":"USD Coin","version":"2"}}],` +
	`"extensions":{"bazaar":{"info":{"input":{"type":"http","method":"GET","queryParams":{"symbol":"ACME"}},` +
	`"output":{"type":"json","example":{"symbol":"ACME","price":"12.34"}}},` +
	`"schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"properties":{"input":{"type":"object","properties":{"type":{"type":"string","const":"http"},` +
	`"method":{"type":"string","enum":["GET"]}},"required":["type"]}},"required":["input"]}}}}`

// serveChallenges is the process of the server.
func serveChallenges(context.Context, struct{}) {
	certificate, authority := certify()
	listener, control := must(net.Listen("tcp", "127.0.0.1:0")), must(net.Listen("tcp", "127.0.0.1:0"))
	var requests, handshakes, resumed atomic.Int64
	header := []string{base64.StdEncoding.EncodeToString([]byte(challenge))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /quote", func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		h := w.Header()
		h["Payment-Required"], h["Content-Type"] = header, []string{"application/json"}
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = io.WriteString(w, "{}")
	})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // ab cannot use HTTP/2
	s := &http.Server{
		Handler: mux, Protocols: protocols, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate},
			VerifyConnection: func(c tls.ConnectionState) error {
				handshakes.Add(1)
				if c.DidResume {
					resumed.Add(1)
				}
				return nil
			},
		},
	}
	go func() {
		_ = http.Serve(control, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(probeCounts{requests.Load(), handshakes.Load(), resumed.Load(), selfCPU()})
		}))
	}()
	serveUntilEnd(probeTarget{listener.Addr().String(), "http://" + control.Addr().String(), authority},
		func() error { return s.ServeTLS(listener, "", "") })
}

// certify creates a certificate for all services and loopback, and its authority as PEM.
func certify() (tls.Certificate, string) {
	now := time.Now()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Bench authority"}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(24 * time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: probeDomain}, NotBefore: root.NotBefore,
		NotAfter: root.NotAfter,
		DNSNames: []string{probeDomain, "*." + probeDomain}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	rootKey := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	authority := must(x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey))
	certificate := must(x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), rootKey))
	return tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: key},
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority}))
}
