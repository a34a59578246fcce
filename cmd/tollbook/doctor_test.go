package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/tollbook/doctor"
	"tollbook/crawl/chain/chaintest"
	"tollbook/output/objects"
	"tollbook/output/outputtest"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// examined runs doctor and returns the state of each check, and the output.
func examined(t *testing.T, dir string, env []string, args ...string) (states map[string]string, said string,
	code int) {
	t.Helper()
	p := command(t, env, append([]string{"doctor", "--json"}, args...)...)
	p.Dir = dir
	p.start(t)
	code = p.status(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []doctor.Finding
	if err := json.Unmarshal(p.stdout.Bytes(), &list); err != nil {
		t.Fatalf("%v:\n%s%s", err, p.stdout.String(), p.stderr.String())
	}
	states = map[string]string{}
	for _, f := range list {
		states[f.Check] = f.State
		if (f.State == doctor.Wrong || f.State == doctor.Warning) == (f.Do == "") {
			t.Errorf("%s is %s: what to do is %q", f.Check, f.State, f.Do)
		}
	}
	return states, p.stdout.String() + p.stderr.String(), code
}

// TestDoctor checks a healthy directory, then breaks one part after the other. The output must never contain a secret.
func TestDoctor(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	dir := t.TempDir()
	env := []string{"DATABASE_URL=" + dsn, "OPENAI_API_KEY=s3cret"}
	key := filepath.Join(dir, "key.pem")
	ran(t, env, "key", "new", key)
	data := filepath.Join(dir, "tollbook-data")
	ran(t, env, "build", "--data", data, "--publish-key", key)
	node := chaintest.New(8453, time.Now().Add(-time.Hour))
	node.Add(time.Now().Add(-time.Second))
	var current atomic.Pointer[chaintest.Chain]
	current.Store(node)
	nodes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		current.Load().ServeHTTP(w, r)
	}))
	defer nodes.Close()
	serve := command(t, env, "serve", "--from", filepath.Join(data, "public"), "--serve-listen", "127.0.0.1:0").start(t)
	base := strings.TrimSuffix(strings.Fields(serve.await(t, "Serving "))[2], "/")
	bucket := filepath.Join(dir, "bucket")
	ran(t, env, "publish", "--data", data, "--publish-to", bucket, "--publish-key", key)
	write(t, filepath.Join(dir, "tollbook.toml"), `
[crawl]
contact = "`+testContact+`"
[site]
base_url = "`+base+`"
[publish]
to = "`+bucket+`"
key = "`+key+`"
[[network]]
caip2 = "eip155:8453"
rpc = ["`+nodes.URL+`/v2/s3cret"]
`)
	well := map[string]string{"configuration": "ok", "contact": "ok", "database": "ok", "visits": "ok", "disk": "ok", "snapshot": "ok",
		"bucket": "ok", "crawler key": "none",
		"published": "ok", "node eip155:8453 1": "ok", "readers": "ok"}
	look := func(what string, worse map[string]string, env []string, want string, args ...string) {
		t.Helper()
		states, said, code := examined(t, dir, env, args...)
		delete(states, "disk") // depends on the machine
		expect := map[string]string{}
		wantCode := 0
		for check, state := range well {
			expect[check] = state
		}
		for check, state := range worse {
			expect[check] = state
			if state == doctor.Wrong {
				wantCode = 1
			}
			if state == "" {
				delete(expect, check)
			}
		}
		delete(expect, "disk")
		if diff := cmp.Diff(expect, states); diff != "" || code != wantCode || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, want %d, and %q (-want +got):\n%s%s", what, code, wantCode, want, diff, said)
		}
		if strings.Contains(said, "s3cret") {
			t.Errorf("%s: a secret is said:\n%s", what, said)
		}
	}
	look("all is well", nil, env, "supports conditional writes")
	if left, err := filepath.Glob(filepath.Join(bucket, "doctor-*")); err != nil || len(left) > 0 {
		t.Errorf("left in the place: %v, %v", left, err)
	}
	look("no contact", map[string]string{"contact": "warning"}, env,
		"crawl.contact is not set: services on hosts of others are not visited", "--crawl-contact=")
	look("an example of a contact", map[string]string{"contact": "warning"}, env,
		"crawl.contact https://tollbook.example/bot is only an example: services on hosts of others are not visited",
		"--crawl-contact", "https://tollbook.example/bot")
	look("a proxy", map[string]string{"proxy": "warning"}, append(slices.Clone(env), "HTTPS_PROXY=http://me:s3cret@127.0.0.1:1"),
		"although HTTPS_PROXY names a proxy")
	look("another key", map[string]string{"snapshot": "wrong", "published": "wrong"}, env,
		"is not signed with the signing key", "--publish-key", otherKey(t, env, dir))
	look("no key", map[string]string{"snapshot": "warning", "published": "warning"}, env,
		"tollbook publish would be refused", "--publish-key=")
	late := postgrestest.Connect(t, dsn)
	if _, err := late.Exec(t.Context(), `
		INSERT INTO services (slug, name, description, base_url, category, source, created_at)
			VALUES ('late', 'Late', '', 'https://late.example.com', 'AI', 'imported:x', now());
		INSERT INTO service_states (service_id, next_check_at) SELECT id, now() FROM services ON CONFLICT DO NOTHING;
		UPDATE service_states SET next_check_at = now() - interval '3 days'`); err != nil {
		t.Fatal(err)
	}
	look("a visit that is overdue", map[string]string{"visits": "warning"}, env, "overdue visits: 1, the first since")
	if _, err := late.Exec(t.Context(), `DELETE FROM services`); err != nil {
		t.Fatal(err)
	}
	look("a database that is away", map[string]string{"database": "wrong", "visits": ""},
		[]string{"DATABASE_URL=postgres://me:s3cret@127.0.0.1:1/x"}, "check that the server runs")
	look("another chain", map[string]string{"node eip155:137 1": "wrong"}, env, "8453", "--rpc",
		"eip155:137="+nodes.URL+"/s3cret")
	current.Store(chaintest.New(8453, time.Now().Add(-time.Hour)))
	look("a node that is behind", map[string]string{"node eip155:8453 1": "wrong"}, env, "behind")

	conn := postgrestest.Connect(t, dsn)
	well["node eip155:8453 1"] = "wrong"
	if _, err := conn.Exec(t.Context(),
		`UPDATE tollbook_schema SET version = version + 1000, program = 'v9.0.0'`); err != nil {
		t.Fatal(err)
	}
	look("a newer schema", map[string]string{"database": "wrong", "visits": "", "node eip155:8453 1": "wrong"}, env,
		"use tollbook v9.0.0, which migrated it, or a newer one")
	if _, err := conn.Exec(t.Context(),
		`UPDATE tollbook_schema SET version = version - 1000; ALTER TABLE settings RENAME TO hidden; CREATE VIEW `+
			`settings AS SELECT name, value FROM hidden WHERE name <> '' LIMIT 1`); err != nil {
		t.Fatal(err)
	}
	look("a table that can't be written to", map[string]string{"database": "wrong", "node eip155:8453 1": "wrong"}, env,
		"can't be written to")
	well["database"] = "wrong"
	write(t, filepath.Join(data, "public", "checkpoint.json"), "{")
	look("a damaged pointer", map[string]string{"snapshot": "wrong", "database": "wrong"}, env, "tollbook verify")
	serve.interrupt(t, os.Interrupt)
	well["snapshot"] = "wrong"
	look("no reader is answered", map[string]string{"readers": "wrong"}, env, "does not answer")
	if err := os.RemoveAll(bucket); err != nil {
		t.Fatal(err)
	}
	write(t, bucket, "a file in its place")
	well["readers"] = "wrong"
	look("a place that can't be written to", map[string]string{"bucket": "wrong", "published": ""}, env, "bucket")
}

func otherKey(t *testing.T, env []string, dir string) string {
	t.Helper()
	key := filepath.Join(dir, "other.pem")
	ran(t, env, "key", "new", key)
	return key
}

// TestDoctorNeverHangs checks that a server that accepts a connection and sends nothing delays one check only, and is
// reported.
func TestDoctorNeverHangs(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			held = append(held, c)
		}
		for _, c := range held {
			c.Close()
		}
	}()
	silent := l.Addr().String()
	env := []string{"DATABASE_URL=postgres://me:s3cret@" + silent + "/x?sslmode=disable",
		"AWS_ENDPOINT_URL=http://" + silent, "AWS_ACCESS_KEY_ID=s3cret", "AWS_SECRET_ACCESS_KEY=s3cret"}
	states, said, code := examined(t, t.TempDir(), env, "--timeout", "5s", "--publish-to", "s3://bucket/x",
		"--site-base-url", "https://"+silent, "--rpc", "eip155:8453=http://"+silent+"/s3cret", "--rpc",
		"solana=http://"+silent)
	want := map[string]string{"configuration": "ok", "contact": "warning", "crawler key": "none",
		"database": "wrong", "snapshot": "warning", "bucket": "wrong",
		"readers": "wrong", "node eip155:8453 1": "wrong", "node solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp 1": "wrong"}
	delete(states, "disk")
	if diff := cmp.Diff(want, states); diff != "" || code != 1 || strings.Contains(said, "s3cret") {
		t.Errorf("exit %d (-want +got):\n%s%s", code, diff, said)
	}
}

// TestDoctorOfABucket checks a real S3 server, which doctor leaves unchanged. A missing write permission is reported.
func TestDoctorOfABucket(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	server := outputtest.Versity(t)
	address := server.Bucket(t) + "/prefix"
	env := server.Env(server.Address)
	states, said, _ := examined(t, t.TempDir(), env, "--publish-to", address)
	if states["bucket"] != "ok" || states["published"] != "warning" ||
		!strings.Contains(said, "supports conditional writes") {
		t.Errorf("%v:\n%s", states, said)
	}
	store, err := objects.OpenStore(address, objects.StoreOptions{Getenv: server.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := store.List(t.Context(), ""); err != nil || len(left) > 0 {
		t.Errorf("left in it: %v, %v", left, err)
	}
	states, said, code := examined(t, t.TempDir(), append(env, "AWS_SECRET_ACCESS_KEY=s3cret-and-wrong"),
		"--publish-to", address)
	if states["bucket"] != "wrong" || code != 1 || strings.Contains(said, "s3cret") {
		t.Errorf("with a wrong key: exit %d, %v:\n%s", code, states, said)
	}
}

// TestDoctorOfCertificates checks a certificate that ends soon, an untrusted one, and a good one.
func TestDoctorOfCertificates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, state, said string
		lasts             time.Duration
		trusted           bool
	}{
		{"good", "ok", "its certificate is valid until", 90 * 24 * time.Hour, true},
		{"ends soon", "wrong", "ends on", 5 * 24 * time.Hour, true},
		{"over", "wrong", "expired", -time.Hour, true},
		{"nobody vouches", "wrong", "unknown authority", 90 * 24 * time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			certificate, text := certify(t, tt.lasts)
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			server.StartTLS()
			defer server.Close()
			dir := t.TempDir()
			var env []string
			if tt.trusted {
				write(t, filepath.Join(dir, "roots.pem"), text)
				env = []string{"SSL_CERT_FILE=" + filepath.Join(dir, "roots.pem")}
			}
			states, said, _ := examined(t, dir, env, "--site-base-url", server.URL)
			if states["readers"] != tt.state || !strings.Contains(said, tt.said) {
				t.Errorf("%v, want %s:\n%s", states, tt.said, said)
			}
		})
	}
}

// TestDoctorOfTheCrawlerKey checks what doctor says of the key that signs requests, and of the site that publishes it.
func TestDoctorOfTheCrawlerKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	own, other := filepath.Join(dir, "crawler.pem"), filepath.Join(dir, "other.pem")
	ran(t, nil, "key", "new", own)
	ran(t, nil, "key", "new", other)
	directoryOf := func(key string) string {
		return ran(t, nil, "key", "directory", "--crawl-key", key, "--site-base-url", "https://tollbook.example")
	}
	const right = "application/http-message-signatures-directory+json"
	for _, tt := range []struct {
		name, state, said string
		body, mediaType   string // of the key directory; "" for a 404
		args              []string
	}{
		{"no key", "none", "crawl.key is not set", "", "", nil},
		{"published", "ok", "without a signature of its own", directoryOf(own), right, []string{"--crawl-key", own}},
		{"another key is published", "wrong", "lacks the key", directoryOf(other), right, []string{"--crawl-key", own}},
		{"not published", "wrong", "answers 404", "", "", []string{"--crawl-key", own}},
		{"a page", "wrong", "is no JSON Web Key Set", "<html>", "text/html", []string{"--crawl-key", own}},
		{"the type of a page", "warning", "has the media type", directoryOf(own), "text/html",
			[]string{"--crawl-key", own}},
		{"the key of snapshots", "wrong", "it is the key that signs checkpoints", directoryOf(own), right,
			[]string{"--crawl-key", own, "--publish-key", own}},
		{"no file", "wrong", "no such file", "", "", []string{"--crawl-key", filepath.Join(dir, "missing.pem")}},
		{"not at the root", "wrong", "only at the root of a host", "", "",
			[]string{"--crawl-key", own, "--site-base-url", "https://tollbook.example/directory"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			certificate, text := certify(t, 90*24*time.Hour)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.body == "" || r.URL.Path != "/.well-known/http-message-signatures-directory" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", tt.mediaType)
				_, _ = w.Write([]byte(tt.body))
			}))
			server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
			server.StartTLS()
			defer server.Close()
			here := t.TempDir()
			write(t, filepath.Join(here, "roots.pem"), text)
			states, said, _ := examined(t, here, []string{"SSL_CERT_FILE=" + filepath.Join(here, "roots.pem")},
				append([]string{"--site-base-url", server.URL}, tt.args...)...)
			if states["crawler key"] != tt.state || !strings.Contains(said, tt.said) {
				t.Errorf("%v, want %s: %s\n%s", states, tt.state, tt.said, said)
			}
			key, err := os.ReadFile(own)
			if err != nil {
				t.Fatal(err)
			}
			if line := strings.Split(string(key), "\n")[1]; strings.Contains(said, line) {
				t.Error("doctor prints the private key")
			}
		})
	}
}

// certify creates a self-signed certificate of 127.0.0.1.
func certify(t *testing.T, lasts time.Duration) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "doctor"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(lasts),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
