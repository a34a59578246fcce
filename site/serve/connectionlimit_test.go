package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// serveAll serves h within limits on a port of its own until the test ends.
func serveAll(t *testing.T, h http.Handler, limits ConnectionLimits) (addr string, limiter *ConnectionLimiter) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), serveOn(t, l, h, limits)
}

// serveOn serves h on l within limits until the test ends.
func serveOn(t *testing.T, l net.Listener, h http.Handler, limits ConnectionLimits) *ConnectionLimiter {
	t.Helper()
	limiter := NewConnectionLimiter(limits)
	server := &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	done, served := make(chan struct{}), make(chan error, 1)
	limited := limiter.attach(server, l, done)
	go func() { served <- server.Serve(limited) }()
	t.Cleanup(func() {
		close(done)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		if u := limiter.Usage(); u.Open != 0 || u.Sending != 0 || len(limiter.clients) != 0 ||
			limiter.leaving != 0 {
			t.Errorf("after the end %d connections and %d bytes are counted: %+v", u.Open, u.Sending, limiter)
		}
	})
	return limiter
}

// pipes is a listener whose connections are pipes. They have no buffers, and the clock of a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	closed := make(chan struct{})
	return &pipes{make(chan net.Conn), closed, sync.OnceFunc(func() { close(closed) })}
}

// Accept implements net.Listener.
func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipes) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// dial connects to the server.
func (l *pipes) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// dial connects to an address until the test ends.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// await polls until a condition on the usage holds.
func await(t *testing.T, limiter *ConnectionLimiter, what string, holds func(u ConnectionUsage) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		u := limiter.Usage()
		if holds(u) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %+v", what, u)
		}
	}
}

// count returns how many connections were closed for a reason.
func count(u ConnectionUsage, reason string) int64 {
	for _, c := range u.Closed {
		if c.Reason == reason {
			return c.Count
		}
	}
	return 0
}

const getRoot = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// TestConnectionsOfOneClient checks that a client over its limit gets an error while the server works for all its
// connections, and a new connection in place of an idle one.
func TestConnectionsOfOneClient(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	addr, limiter := serveAll(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
	}), ConnectionLimits{PerClient: 1})
	first := dial(t, addr)
	send(t, first, getRoot)
	<-entered

	if body := answer(t, bufio.NewReader(dial(t, addr)), http.StatusTooManyRequests); !strings.Contains(body, `"rate_limited"`) {
		t.Errorf("over the limit: %q", body)
	}
	release <- struct{}{}
	in := bufio.NewReader(first)
	answer(t, in, http.StatusOK)

	time.Sleep(2 * cutAfter) // the first connection is idle for so long
	second := dial(t, addr)
	send(t, second, getRoot)
	<-entered
	release <- struct{}{}
	answer(t, bufio.NewReader(second), http.StatusOK)
	if _, err := in.ReadByte(); err == nil {
		t.Error("the idle connection is still open")
	}
	await(t, limiter, "one idle connection closed", func(u ConnectionUsage) bool {
		return u.Open == 1 && count(u, "client_limit") == 1 && count(u, "connection_limit") == 1
	})
}

// TestConnectionsOfAll checks that a new connection takes the place of one that sends half a header, and waits while
// the server works for all.
func TestConnectionsOfAll(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 2), make(chan struct{})
	addr, limiter := serveAll(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
	}), ConnectionLimits{Connections: 2})
	busy, half := dial(t, addr), dial(t, addr)
	send(t, busy, getRoot)
	<-entered
	send(t, half, "GET / HTTP/1.1\r\nHo")
	third := dial(t, addr)
	send(t, third, getRoot)
	<-entered
	if _, err := half.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the half header: %v, want a reset", err)
	}
	fourth := dial(t, addr)
	send(t, fourth, getRoot)
	if err := fourth.SetReadDeadline(time.Now().Add(2 * cutAfter)); err != nil {
		t.Fatal(err)
	}
	if _, err := fourth.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the fourth: %v, want no byte", err)
	}
	if err := fourth.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	close(release)
	for _, c := range []net.Conn{busy, third, fourth} {
		answer(t, bufio.NewReader(c), http.StatusOK)
		c.Close()
	}
	await(t, limiter, "all closed", func(u ConnectionUsage) bool { return u.Open == 0 })
}

// TestReplace checks that a response of net/http itself is replaced, and no other.
func TestReplace(t *testing.T) {
	t.Parallel()
	addr, _ := serveAll(t, http.NotFoundHandler(), ConnectionLimits{})
	c := dial(t, addr)
	in := bufio.NewReader(c)
	send(t, c, getRoot)
	answer(t, in, http.StatusNotFound)
	send(t, c, "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n")
	answer(t, in, http.StatusBadRequest)
}

// TestSlowReaders checks that a client that reads nothing, or too slowly, loses its connection, although the kernel
// takes some of the response.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 1<<20)
	addr, limiter := serveAll(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, text)
	}), ConnectionLimits{Stall: 500 * time.Millisecond, MinRate: 1 << 20})
	none := dial(t, addr)
	send(t, none, getRoot)
	await(t, limiter, "nothing is read", func(u ConnectionUsage) bool {
		return u.Open == 0 && count(u, "slow") == 1
	})

	trickle := dial(t, addr)
	if err := trickle.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	send(t, trickle, getRoot)
	go func() {
		for p := make([]byte, 32<<10); ; time.Sleep(200 * time.Millisecond) { // 160 KB a second
			if _, err := trickle.Read(p); err != nil {
				return
			}
		}
	}()
	await(t, limiter, "too little is read", func(u ConnectionUsage) bool {
		return u.Open == 0 && count(u, "slow") == 2
	})
}

// TestReadRate checks how slowly a client may read: it gets everything above the rate, however long that takes, and
// loses its connection below it. The clock is that of a bubble, so that it never stops for the client alone.
func TestReadRate(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	for _, test := range []struct {
		name  string
		pause time.Duration // before each piece is read
		slow  int64         // connections that are closed
	}{
		{"fast", 0, 0},
		{"twice the rate", 15625 * time.Microsecond, 0},
		{"just above the rate", 31 * time.Millisecond, 0},
		{"below the rate", 33 * time.Millisecond, 1},
		{"a stall", 501 * time.Millisecond, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newPipes()
				limiter := serveOn(t, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Length", strconv.Itoa(len(text)))
					_, _ = w.Write(text)
				}), ConnectionLimits{Stall: 500 * time.Millisecond, MinRate: 1 << 20})
				c := l.dial()
				defer c.Close()
				send(t, c, getRoot)
				response, err := http.ReadResponse(bufio.NewReaderSize(&slowReader{c, test.pause}, pieceBytes), nil)
				var body []byte
				if err == nil {
					body, err = io.ReadAll(response.Body)
				}
				if isWhole := err == nil && bytes.Equal(body, text); isWhole != (test.slow == 0) {
					t.Errorf("%d bytes of %d, %v", len(body), len(text), err)
				}
				if got := count(limiter.Usage(), "slow"); got != test.slow {
					t.Errorf("%d connections were closed as slow, want %d", got, test.slow)
				}
			})
		})
	}
}

// slowReader pauses before each read.
type slowReader struct {
	io.Reader
	pause time.Duration
}

func (r *slowReader) Read(p []byte) (int, error) {
	time.Sleep(r.pause)
	return r.Reader.Read(p)
}

// TestHoldMemory checks that a response that waits for memory gets it from one that is not read, and that responses of the
// same body share its memory.
func TestHoldMemory(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("a line of a large file\n", 1<<20)
	bodies := map[string]*sharedBody{"/a": {size: 1 << 20}, "/b": {size: 1 << 20}}
	addr, limiter := serveAll(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		held, err := holdMemory(r, bodies[r.URL.Path], 1<<10)
		if err != nil {
			t.Error(err)
			return
		}
		defer held.release()
		_, _ = io.WriteString(w, large)
	}), ConnectionLimits{Sending: 1<<20 + 2<<10, Stall: time.Minute})
	for range 2 { // of one body, so that both have memory
		stalled := dial(t, addr)
		send(t, stalled, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	await(t, limiter, "two share a body", func(u ConnectionUsage) bool { return u.Sending == 1<<20+2<<10 })
	reader := dial(t, addr)
	send(t, reader, "GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
	answer(t, bufio.NewReader(reader), http.StatusOK)
	reader.Close()
	await(t, limiter, "the stalled ones are closed", func(u ConnectionUsage) bool {
		return u.Open == 0 && u.Sending == 0 && count(u, "memory") == 2
	})
}

// TestNextDeadline checks how long a client may take for the next bytes.
func TestNextDeadline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name string
		conn *conn
		want time.Duration
	}{
		{"at the start", &conn{}, 30 * time.Second},
		{"after a fast part", &conn{sent: 1 << 20, waited: time.Second}, 30 * time.Second},
		{"after a slow part", &conn{sent: 10 << 10, waited: 30 * time.Second}, 10 * time.Second},
		{"too slow", &conn{sent: 10 << 10, waited: 41 * time.Second}, -time.Second},
		{"with an earlier deadline of the handler", &conn{deadline: now.Add(time.Second)}, time.Second},
		{"with a later one", &conn{deadline: now.Add(time.Hour)}, 30 * time.Second},
	} {
		test.conn.all = NewConnectionLimiter(ConnectionLimits{MinRate: 1 << 10, Stall: 30 * time.Second})
		if got := test.conn.nextDeadline(now).Sub(now); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
