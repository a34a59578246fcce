package probe

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tollbook/site/testgate"
	"tollbook/site/x402"
)

// bomb16 decompresses to 16 MiB and is sent repeatedly.
var bomb16 = bomb(16 << 20)

// emptyMember is an empty gzip member: any number of them decompress to an empty body.
var emptyMember = bomb(0)

const paymentHead = "HTTP/1.1 402 Payment Required\r\nPayment-Required: "

func hostile() []hostileCase {
	head := paymentHead + envelopeHeader("") + "\r\n"
	limits := 2 * time.Second
	return []hostileCase{
		{name: "42 silence", speak: hang, class: ClassUnreachable, reason: "timed out after 2 s", limit: limits},
		{name: "slow status line", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 ")
			untilClosed(c, []byte("X"), 20*time.Millisecond)
		}, class: ClassUnreachable, reason: "timed out after 2 s", limit: limits},
		{name: "slow header lines", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 X\r\n")
			untilClosed(c, []byte("X: y\r\n"), 20*time.Millisecond)
		}, class: ClassUnreachable, reason: "timed out after 2 s", limit: limits},
		{name: "slow body", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 X\r\nContent-Length: 100000\r\n\r\n{")
			untilClosed(c, []byte(" "), 20*time.Millisecond)
		}, class: ClassUnreachable, reason: "timed out after 2 s", limit: limits},
		{name: "slow body after a good header", speak: func(c net.Conn) {
			io.WriteString(c, head+"Content-Length: 100000\r\n\r\n{")
			untilClosed(c, []byte(" "), 20*time.Millisecond)
		}, class: ClassPaidOK, reason: "asks for payment", limit: limits},
		{name: "endless body", speak: func(c net.Conn) {
			io.WriteString(c, head+"\r\n")
			untilClosed(c, bytes.Repeat([]byte("x"), 32<<10), 0)
		}, class: ClassPaidOK, reason: "asks for payment"},
		{name: "endless chunks", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			untilClosed(c, []byte("1\r\nx\r\n"), 0)
		}, class: ClassOpen, reason: "answers 200 OK without asking for payment"},
		{name: "endless chunk extension", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;")
			untilClosed(c, bytes.Repeat([]byte("x"), 32<<10), 0)
		}, class: ClassInvalidHTTP, reason: "the answer is not valid HTTP"},
		{name: "endless header", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 X\r\nX: ")
			untilClosed(c, bytes.Repeat([]byte("x"), 32<<10), 0)
		}, class: ClassOversized, reason: "response headers exceed 256 KiB"},
		{name: "endless header lines", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 X\r\n")
			untilClosed(c, bytes.Repeat([]byte("X: y\r\n"), 4096), 0)
		}, class: ClassOversized, reason: "response headers exceed 256 KiB"},
		{name: "endless status line", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 ")
			untilClosed(c, bytes.Repeat([]byte("x"), 32<<10), 0)
		}, class: ClassOversized, reason: "response headers exceed 256 KiB"},
		{name: "300 KiB header", speak: func(c net.Conn) {
			io.WriteString(c, head+"X: "+strings.Repeat("x", 300<<10)+"\r\n\r\n")
			hang(c)
		}, class: ClassOversized, reason: "response headers exceed 256 KiB"},
		{name: "35 60 KiB header", speak: say(paymentHead +
			envelopeHeader(`,"extensions":{"x":"`+strings.Repeat("x", 45<<10)+`"}`) +
			"\r\nContent-Length: 2\r\n\r\n{}"),
			class: ClassPaidOK, reason: "asks for payment"},
		{name: "flood of 100 Continue", speak: func(c net.Conn) {
			untilClosed(c, bytes.Repeat([]byte("HTTP/1.1 100 Continue\r\n\r\n"), 512), 0)
		}, class: ClassOversized, reason: "response headers exceed 256 KiB"},
		{name: "flood of early hints", speak: func(c net.Conn) {
			untilClosed(c, bytes.Repeat([]byte("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"), 512), 0)
		}, class: ClassOversized, reason: "response headers exceed 256 KiB"},
		{name: "a few early hints", speak: say("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + head +
			"Content-Length: 0\r\n\r\n"), class: ClassPaidOK, reason: "asks for payment"},
		{name: "101 and silence", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			hang(c)
		}, class: ClassInvalidHTTP, reason: "answers 101 Switching Protocols, which is no answer to a request"},
		{name: "no answer", speak: func(net.Conn) {}, class: ClassUnreachable,
			reason: "connection closed without an answer"},
		{name: "closed at once", atOnce: true, speak: func(net.Conn) {}, class: ClassUnreachable},
		{name: "reset", speak: func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }, class: ClassUnreachable,
			reason: "connection reset"},
		{name: "half closed", speak: func(c net.Conn) {
			c.(*net.TCPConn).CloseWrite()
			hang(c)
		}, class: ClassUnreachable, reason: "connection closed without an answer"},
		{name: "half closed within the headers", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 X\r\nX:")
			c.(*net.TCPConn).CloseWrite()
			hang(c)
		}, class: ClassUnreachable, reason: "connection closed without an answer"},
		{name: "half closed within the body", speak: func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 402 X\r\nContent-Length: 1000\r\n\r\n{}")
			c.(*net.TCPConn).CloseWrite()
			hang(c)
		}, class: ClassUnreachable, reason: "connection closed without an answer"},
		{name: "not HTTP", speak: say("220 mail.example.com ESMTP\r\n"), class: ClassInvalidHTTP,
			reason: "the answer is not valid HTTP"},
		{name: "HTTP/0.9", speak: say("<html>pay</html>"), class: ClassInvalidHTTP,
			reason: "the answer is not valid HTTP"},
		{name: "HTTP/7", speak: say("HTTP/7.0 402 X\r\n\r\n"), class: ClassUnreadable, reason: ""},
		{name: "status 40x", speak: say("HTTP/1.1 40x X\r\n\r\n"), class: ClassInvalidHTTP,
			reason: "the answer is not valid HTTP"},
		{name: "status -1", speak: say("HTTP/1.1 -402 X\r\n\r\n"), class: ClassInvalidHTTP,
			reason: "the answer is not valid HTTP"},
		{name: "header without a colon", speak: say("HTTP/1.1 402 X\r\nfoo\r\n\r\n"), class: ClassInvalidHTTP,
			reason: "the answer is not valid HTTP"},
		{name: "header with NUL", speak: say("HTTP/1.1 402 X\r\nX\x00: y\r\n\r\n"), class: ClassInvalidHTTP,
			reason: "the answer is not valid HTTP"},
		{name: "two lengths", speak: say("HTTP/1.1 402 X\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"),
			class: ClassInvalidHTTP, reason: "the answer is not valid HTTP"},
		{name: "negative length", speak: say("HTTP/1.1 402 X\r\nContent-Length: -1\r\n\r\nx"), class: ClassInvalidHTTP,
			reason: "the answer is not valid HTTP"},
		{name: "bad chunk", speak: say("HTTP/1.1 402 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
			class: ClassInvalidHTTP, reason: "the answer is not valid HTTP"},
		{name: "unknown transfer encoding", speak: say("HTTP/1.1 402 X\r\nTransfer-Encoding: br\r\n\r\nx"),
			class: ClassInvalidHTTP, reason: "the answer is not valid HTTP"},
		{name: "gzip bomb", speak: func(c net.Conn) {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n", 100*len(bomb16))
			untilClosed(c, bomb16, 0)
		}, class: ClassOpen, reason: "answers 200 OK without asking for payment"},
		{name: "gzip of nothing, endless", speak: func(c net.Conn) {
			io.WriteString(c, head+"Content-Encoding: gzip\r\n\r\n")
			untilClosed(c, bytes.Repeat(emptyMember, 1024), 0)
		}, class: ClassPaidOK, reason: "asks for payment"},
		{name: "gzip that is none", speak: say(head + "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"),
			class: ClassPaidOK, reason: "asks for payment"},
		{name: "broken gzip", speak: say("HTTP/1.1 402 X\r\nContent-Encoding: gzip\r\nContent-Length: " +
			"14\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"),
			class: ClassInvalidHTTP, reason: "the body is not valid gzip"},
		{name: "TLS alert in plain text", speak: say("\x15\x03\x01\x00\x02\x02\x46"), class: ClassInvalidHTTP,
			reason: "the answer is not valid HTTP"},
		{name: "TLS that is none", tls: true, atOnce: true, speak: say("HTTP/1.1 402 X\r\n\r\n"),
			class: ClassUnreachable, reason: "TLS: the server does not speak TLS on this port"},
		{name: "TLS silence", tls: true, atOnce: true, speak: hang, class: ClassUnreachable, limit: limits},
		{name: "TLS closed", tls: true, atOnce: true, speak: func(net.Conn) {}, class: ClassUnreachable},
		{name: "TLS garbage", tls: true, atOnce: true, speak: say("\x16\x03\x03\x00\x04\x02\x00\x00\x00garbage"),
			class: ClassUnreachable},
	}
}

type hostileCase struct {
	name   string
	atOnce bool // answers before the request
	tls    bool
	speak  func(net.Conn)
	class  string
	reason string        // "" is not checked
	limit  time.Duration // for the request; 0 for the default
}

func (c hostileCase) probe(t testing.TB) Result {
	base := raw(t, c.atOnce, c.speak)
	if c.tls {
		base = "https" + strings.TrimPrefix(base, "http")
	}
	p := New(Options{Guard: &Guard{AllowPrivate: []string{"127.0.0.1"}}, RequestTimeout: c.limit})
	t.Cleanup(p.Close)
	return p.Probe(t.Context(), Target{URL: base, Method: "GET"})
}

func TestHostileServers(t *testing.T) {
	t.Parallel()
	for _, c := range hostile() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.probe(t)
			if got.Class != c.class || c.reason != "" && got.Reason != c.reason {
				t.Errorf("%s %s (%s), want %s (%s)", got.Verdict, got.Class, got.Reason, c.class, c.reason)
			}
			if len(got.Answer.Body) > x402.MaxBody {
				t.Errorf("body of %d bytes", len(got.Answer.Body))
			}
			if strings.Contains(got.Reason, "127.0.0.1") || strings.Contains(got.Reason, "net/http") {
				t.Errorf("reason %q reveals our internals", got.Reason)
			}
		})
	}
}

// TestTruncated checks that of 4 MB the first 256 KiB are returned, and that the connection is closed.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, compressed := range []bool{false, true} {
		p, _, base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			body := bytes.Repeat([]byte("x"), 4<<20)
			if compressed {
				w.Header().Set("Content-Encoding", "gzip")
				body = bomb(4 << 20)
			}
			w.Header().Set("Payment-Required", envelopeHeader(""))
			w.WriteHeader(402)
			w.Write(body)
		})
		got := p.Probe(t.Context(), Target{URL: base})
		if got.Verdict != Paid || len(got.Answer.Body) != x402.MaxBody || !got.Answer.Truncated {
			t.Errorf("compressed %v: %s, %d bytes, truncated %v", compressed, got.Verdict, len(got.Answer.Body),
				got.Answer.Truncated)
		}
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	p, _, base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(402)
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, envelope, "")
		z.Close()
	})
	got := p.Probe(t.Context(), Target{URL: base})
	if got.Verdict != Paid || string(got.Answer.Body) != fmt.Sprintf(envelope, "") || got.Answer.Truncated {
		t.Errorf("%s (%s), body %q", got.Verdict, got.Reason, got.Answer.Body)
	}
}

// TestHostileHTTP2 checks that the limits hold for HTTP/2 too.
func TestHostileHTTP2(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	tests := []struct {
		name    string
		service http.HandlerFunc
		class   string
		reason  string
	}{
		{"300 KiB header", status(402, "Payment-Required", envelopeHeader(""), "X", strings.Repeat("x", 300<<10)),
			ClassOversized, "response headers exceed 256 KiB or are damaged"},
		{"300 KiB of headers", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 300 {
				w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 1<<10))
			}
			demand(w)
		}, ClassOversized, "response headers exceed 256 KiB or are damaged"},
		{"60 KiB header", status(402, "Payment-Required",
			envelopeHeader(`,"extensions":{"x":"`+strings.Repeat("x", 45<<10)+`"}`)), ClassPaidOK, "asks for payment"},
		{"endless body", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Payment-Required", envelopeHeader(""))
			w.WriteHeader(402)
			untilClosed(w, bytes.Repeat([]byte("x"), 32<<10), 0)
		}, ClassPaidOK, "asks for payment"},
		{"abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ClassInvalidHTTP,
			"the answer is not valid HTTP"},
		{"silence", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ClassUnreachable,
			"timed out after 2 s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := startTLS(t, &tls.Config{Certificates: []tls.Certificate{ca.issue(t, "a.sample.test", -time.Hour,
				time.Hour)}}, tt.service)
			o := Options{Routes: []Route{sampleRoute(server.Listener.Addr().String(), ca.pool)}}
			if tt.class == ClassUnreachable {
				o.RequestTimeout = 2 * time.Second
			}
			p := New(o)
			t.Cleanup(p.Close)
			got := p.Probe(t.Context(), Target{URL: "https://a.sample.test/", Method: "GET"})
			if got.Class != tt.class || got.Reason != tt.reason || len(got.Answer.Body) > x402.MaxBody {
				t.Errorf("%s %s (%s), %d bytes; want %s (%s)", got.Verdict, got.Class, got.Reason, len(got.Answer.Body),
					tt.class, tt.reason)
			}
		})
	}
}

// TestUnreachable probes a port on which no server listens.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	p := New(Options{Guard: &Guard{AllowPrivate: []string{"127.0.0.1"}}})
	t.Cleanup(p.Close)
	got := p.Probe(t.Context(), Target{URL: "http://127.0.0.1:1"})
	if got.Verdict != Failed || got.Class != ClassUnreachable || got.Reason != "connection refused" ||
		got.Attempts != 1 {
		t.Errorf("%s %s (%s) after %d attempts", got.Verdict, got.Class, got.Reason, got.Attempts)
	}
}

// TestThousandHostileServers probes a thousand hostile servers at once. Each probe must end, and memory must stay
// bounded.
func TestThousandHostileServers(t *testing.T) {
	testgate.All(t)
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // the environment may say otherwise, and the test bounds the heap
	cases := hostile()
	var bases []string
	for _, c := range cases {
		base := raw(t, c.atOnce, c.speak)
		if c.tls {
			base = "https" + strings.TrimPrefix(base, "http")
		}
		bases = append(bases, base)
	}
	p := New(Options{Guard: &Guard{AllowPrivate: []string{"127.0.0.1"}}, RequestTimeout: 3 * time.Second})
	t.Cleanup(p.Close)
	const visitors = 1000
	results, took := make([]Result, visitors), make([]time.Duration, visitors)
	var wg sync.WaitGroup
	for i := range visitors {
		wg.Go(func() {
			began := time.Now()
			r := p.Probe(t.Context(), Target{URL: bases[i%len(bases)], Method: "GET"})
			results[i] = Result{Class: r.Class, Requests: r.Requests}
			took[i] = time.Since(began)
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var peak uint64
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-tick.C:
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			continue
		case <-done:
			tick.Stop()
		}
		break
	}
	for i, r := range results {
		if r.Class == "" || r.Requests != 1 {
			t.Errorf("visit %d: class %q after %d requests", i, r.Class, r.Requests)
		}
	}
	t.Logf("figures: peak heap %d MiB with %d visits at once, of which the longest took %s", peak>>20, visitors,
		slices.Max(took))
	if limit := uint64(visitors * 2 << 20); peak > limit {
		t.Errorf("peak heap %d MiB, want at most %d", peak>>20, limit>>20)
	}
}
