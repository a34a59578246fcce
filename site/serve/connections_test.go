package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// serveAll serves h within limits until the test ends.
func serveAll(t *testing.T, h http.Handler, limits Limits) (addr string, all *Connections) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all = NewConnections(limits)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, h, slog.New(slog.DiscardHandler), all) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if open, sending, _ := all.usage(); open != 0 || sending != 0 || len(all.clients) != 0 ||
			all.waiting.Len() != 0 || all.senders.Len() != 0 || all.leaving != 0 {
			t.Errorf("after the end %d connections and %d bytes are counted: %+v", open, sending, all)
		}
	})
	return l.Addr().String(), all
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

// await polls until a condition on the connections holds.
func await(t *testing.T, all *Connections, what string, holds func(open int, events map[string]int64) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		open, _, counts := all.usage()
		events := map[string]int64{}
		for i, n := range counts {
			events[connectionEvents[i]] = n
		}
		if holds(open, events) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d connections, %v", what, open, events)
		}
	}
}

const getRoot = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// TestConnectionsOfOneClient checks that a client over its limit gets an error while the server works for all its
// connections, and a new connection in place of an idle one.
func TestConnectionsOfOneClient(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	addr, all := serveAll(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
	}), Limits{PerClient: 1})
	first := dial(t, addr)
	send(t, first, getRoot)
	<-entered

	response, err := http.ReadResponse(bufio.NewReader(dial(t, addr)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var body site.ErrorBody
	if err := json.NewDecoder(response.Body).Decode(&body); err != nil || response.StatusCode != 429 ||
		body.Error.Type != site.ErrorRateLimited || response.Header.Get("Retry-After") == "" {
		t.Errorf("over the limit: %d %v %+v, %v", response.StatusCode, response.Header, body, err)
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
	await(t, all, "one idle connection closed", func(open int, events map[string]int64) bool {
		return open == 1 && events["client_limit"] == 1 && events["connection_limit"] == 1
	})
}

// TestConnectionsOfAll checks that a new connection takes the place of one that sends half a header, and waits while
// the server works for all.
func TestConnectionsOfAll(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}, 2), make(chan struct{})
	addr, all := serveAll(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-release
	}), Limits{Connections: 2})
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
	silent(t, fourth, bufio.NewReader(fourth), 2*cutAfter)
	close(release)
	for _, c := range []net.Conn{busy, third, fourth} {
		answer(t, bufio.NewReader(c), http.StatusOK)
		c.Close()
	}
	await(t, all, "all closed", func(open int, events map[string]int64) bool { return open == 0 })
}

// TestSlowReaders checks that a client that reads nothing, or too slowly, loses its connection, and that a slow client
// above the rate gets everything.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789abcdef", 1<<20)
	addr, all := serveAll(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, text)
	}), Limits{Stall: 500 * time.Millisecond, MinRate: 1 << 20})
	none := dial(t, addr)
	send(t, none, getRoot)
	await(t, all, "nothing is read", func(open int, events map[string]int64) bool {
		return open == 0 && events["slow"] == 1
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
	await(t, all, "too little is read", func(open int, events map[string]int64) bool {
		return open == 0 && events["slow"] == 2
	})

	steady := dial(t, addr)
	send(t, steady, getRoot)
	answer(t, bufio.NewReaderSize(&slowReader{steady, 5 * time.Millisecond}, 64<<10), http.StatusOK)
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

// TestSendingMemory checks that a response that waits for memory gets it from one that is not read.
func TestSendingMemory(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 120)
	large := strings.Repeat("a line of a large file\n", 40<<10)
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		world.files[name] = []byte(name + large)
	}
	h := handlerOf(t, publish(t, world.files), t.Output())
	addr, all := serveAll(t, h, Limits{Sending: 2 * unpackMemory, Stall: time.Minute})
	var conns []net.Conn
	for _, name := range []string{"a.txt", "b.txt"} { // with their bodies, they need more than there is
		conns = append(conns, dial(t, addr))
		send(t, conns[len(conns)-1], "GET /"+name+" HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	_, got, err := exchange(addr, "GET /c.txt", "")
	if diff := cmp.Diff("c.txt"+large, got); err != nil || diff != "" {
		t.Errorf("c.txt: %v (-want +got):\n%.200s", err, diff)
	}
	await(t, all, "the stalled ones are closed", func(open int, events map[string]int64) bool {
		return events["memory"] >= 1
	})
	for _, c := range conns {
		c.Close()
	}
}

// TestNextDeadline checks how long a client may take for the next bytes.
func TestNextDeadline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name string
		conn conn
		want time.Duration
	}{
		{"at the start", conn{}, 30 * time.Second},
		{"after a fast part", conn{sent: 1 << 20, waited: time.Second}, 30 * time.Second},
		{"after a slow part", conn{sent: 10 << 10, waited: 30 * time.Second}, 10 * time.Second},
		{"too slow", conn{sent: 10 << 10, waited: 41 * time.Second}, -time.Second},
		{"with an earlier deadline of the handler", conn{deadline: now.Add(time.Second)}, time.Second},
		{"with a later one", conn{deadline: now.Add(time.Hour)}, 30 * time.Second},
	} {
		test.conn.all = NewConnections(Limits{MinRate: 1 << 10, Stall: 30 * time.Second})
		if got := test.conn.nextDeadline(now).Sub(now); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
