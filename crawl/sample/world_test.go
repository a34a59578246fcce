package sample

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// startWorld starts a world in which nothing takes time and the flapping service is up. It returns a client that can
// only reach the world.
func startWorld(t *testing.T) (*World, *http.Client) {
	t.Helper()
	period := int64(flapPeriod / time.Second)
	up := time.Unix(start.Unix()/period*period, 0)
	w, err := Start(t.Context(), Options{Now: func() time.Time { return up }, Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	c := client(w)
	t.Cleanup(func() {
		c.CloseIdleConnections()
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return w, c
}

func client(w *World) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: w.RootCAs()},
			ForceAttemptHTTP2: true,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, mine, err := w.Dial(ctx, network, addr)
				if !mine {
					return nil, errors.New("not a name of the world: " + addr)
				}
				return conn, err
			},
		},
	}
}

func do(t *testing.T, c *http.Client, method, url, body string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read %s: %v", url, err)
	}
	return resp, got, nil
}

// TestEveryServiceOverTheWire requests every endpoint of the world over loopback and TLS, and checks the answers.
func TestEveryServiceOverTheWire(t *testing.T) {
	t.Parallel()
	_, c := startWorld(t)
	for _, s := range cast() {
		t.Run(s.Slug, func(t *testing.T) {
			for _, e := range s.endpoints {
				if s.Behaviour == "timeout" {
					t.Skip("see TestTimeoutLastsAsLongAsTheCaller")
				}
				url := s.baseURL() + e.path
				resp, body, err := do(t, c, e.method, url, string(e.sampleBody()))
				switch b := behaviours[s.Behaviour]; {
				case b.deaf:
					if !errors.Is(err, syscall.ECONNREFUSED) {
						t.Errorf("error %v, want a refused connection", err)
					}
					continue
				case b.expired:
					var invalid x509.CertificateInvalidError
					if !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
						t.Errorf("error %v, want an expired certificate", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				want, ok := wantSeen(s.Behaviour, len(e.rails))
				if !ok {
					t.Fatalf("no expected answer for %s", s.Behaviour)
				}
				if diff := cmp.Diff(want, capture(resp.StatusCode, resp.Header, body, url)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", e.key(), diff)
				}
				if wantProto := map[bool]int{true: 1, false: 2}[s.Plain]; resp.ProtoMajor != wantProto {
					t.Errorf("%s was sent by %s", e.key(), resp.Proto)
				}
			}
		})
	}
}

func TestHeadersOfRefusals(t *testing.T) {
	t.Parallel()
	_, c := startWorld(t)
	for _, test := range []struct{ method, url, header, want string }{
		{"POST", "https://weighbridge-facts.sample.test/weigh", "Retry-After", "60"},
		{"GET", "https://lamplighter-domains.sample.test/domain", "Cf-Mitigated", "challenge"},
		{"POST", "https://hourglass-cron.sample.test/schedules", "X-Vercel-Error", "DEPLOYMENT_DISABLED"},
		{"GET", "https://bellows-render.sample.test/png", "Allow", "POST"},
		{"GET", "http://harborlight-search.sample.test/v1/suggest?q=1", "Location",
			"https://harborlight-search.sample.test/v1/suggest?q=1"},
	} {
		resp, _, err := do(t, c, test.method, test.url, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := resp.Header.Get(test.header); got != test.want {
			t.Errorf("%s %s: %s is %q, want %q", test.method, test.url, test.header, got, test.want)
		}
	}
}

func TestDial(t *testing.T) {
	t.Parallel()
	w, _ := startWorld(t)
	for _, test := range []struct {
		addr string
		mine bool
		err  error // nil: it connects, when mine
	}{
		{"harborlight-search.sample.test:443", true, nil},
		{"HARBORLIGHT-SEARCH.Sample.Test.:443", true, nil},
		{"harborlight-search.sample.test:80", true, nil},
		{"harborlight-search.sample.test:8443", true, syscall.ECONNREFUSED},
		{"sandglass-trivia.sample.test:80", true, nil},
		{"sandglass-trivia.sample.test:443", true, syscall.ECONNREFUSED},
		{"millstone-grain.sample.test:443", true, syscall.ECONNREFUSED},
		{"millstone-grain.sample.test:80", true, syscall.ECONNREFUSED},
		{"nobody.sample.test:443", true, &net.DNSError{}},
		{"deeper.harborlight-search.sample.test:443", true, &net.DNSError{}},
		{"sample.test:443", false, nil},
		{"harborlight-search.sample.test.example:443", false, nil},
		{"notsample.test:443", false, nil},
		{"127.0.0.1:443", false, nil},
		{"harborlight-search.sample.test", false, nil},
	} {
		conn, mine, err := w.Dial(t.Context(), "tcp", test.addr)
		if conn != nil {
			conn.Close()
		}
		if mine != test.mine {
			t.Errorf("%s: mine is %v", test.addr, mine)
		}
		if connects := test.mine && test.err == nil; (conn != nil) != connects {
			t.Errorf("%s: connection %v, error %v", test.addr, conn != nil, err)
		}
		var dns *net.DNSError
		if isDNS := errors.As(test.err, &dns); isDNS && (!errors.As(err, &dns) || !dns.IsNotFound) ||
			!isDNS && !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", test.addr, err, test.err)
		}
	}
}

// TestAuthorityIsForTheWorldAlone tries the world's root for other names, and the world's names without the root.
func TestAuthorityIsForTheWorldAlone(t *testing.T) {
	t.Parallel()
	w, _ := startWorld(t)
	leaf, err := w.ca.Certificate("example.com", false)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(leaf.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: "example.com", Roots: w.RootCAs()}); err == nil {
		t.Error("the authority is valid for example.com")
	}
	if _, err := w.certificate(&tls.ClientHelloInfo{ServerName: "example.com"}); err == nil {
		t.Error("the authority issues a certificate for example.com")
	}
	conn, _, err := w.Dial(t.Context(), "tcp", "harborlight-search.sample.test:443")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = tls.Client(conn, &tls.Config{ServerName: "harborlight-search.sample.test"}).HandshakeContext(t.Context())
	var unknown x509.UnknownAuthorityError
	if !errors.As(err, &unknown) {
		t.Errorf("without the root: error %v, want an unknown authority", err)
	}
}

func TestCertificatesAreReused(t *testing.T) {
	t.Parallel()
	w, _ := startWorld(t)
	hello := &tls.ClientHelloInfo{ServerName: "harborlight-search.sample.test"}
	a, err := w.certificate(hello)
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.certificate(hello)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Certificate[0], b.Certificate[0]) {
		t.Error("two certificates for one name")
	}
}

func TestTimeoutLastsAsLongAsTheCaller(t *testing.T) {
	t.Parallel()
	_, c := startWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", "https://glasswing-census.sample.test/area",
		strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the caller's own deadline", err)
	}
}

func TestLargeBodyIsRefused(t *testing.T) {
	t.Parallel()
	_, c := startWorld(t)
	resp, _, err := do(t, c, "POST", "https://harborlight-search.sample.test/v1/search", strings.Repeat("x", maxBody+1))
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// TestCloseEndsEverything closes a world during a request, by Close and by its context, and counts goroutines. It is
// not parallel, so that no other test's goroutines are counted.
func TestCloseEndsEverything(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(w *World, cancel context.CancelFunc)
	}{
		{"by Close", func(w *World, _ context.CancelFunc) { w.Close() }},
		{"by its context", func(_ *World, cancel context.CancelFunc) { cancel() }},
	} {
		before := runtime.NumGoroutine()
		ctx, cancel := context.WithCancel(t.Context())
		w, err := Start(ctx, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := client(w)
		broken := make(chan error)
		go func() {
			resp, err := c.Post("https://glasswing-census.sample.test/area", "application/json", nil)
			if err == nil {
				resp.Body.Close()
			}
			broken <- err
		}()
		if _, _, err := do(t, c, "GET", "https://plinthstone-gas.sample.test/gas", ""); err != nil {
			t.Fatal(err)
		}
		test.end(w, cancel)
		if err := <-broken; err == nil {
			t.Errorf("%s: the hanging request was answered", test.name)
		}
		if err := w.Close(); err != nil {
			t.Errorf("%s: closed again: %v", test.name, err)
		}
		c.CloseIdleConnections()
		if conn, _, err := w.Dial(t.Context(), "tcp", "plinthstone-gas.sample.test:443"); err == nil {
			conn.Close()
			t.Errorf("%s: the closed world can be dialled", test.name)
		}
		cancel()
		if after := waitForGoroutines(before); after > before {
			t.Errorf("%s: %d goroutines before, %d after", test.name, before, after)
		}
	}
}

// waitForGoroutines waits until at most n goroutines run, for a minute at most, and returns their number. The client's
// own goroutines end a moment after their connections, without a signal.
func waitForGoroutines(n int) int {
	for range 6000 {
		if runtime.NumGoroutine() <= n {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return runtime.NumGoroutine()
}
