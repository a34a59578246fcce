package serve

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
)

// countedListener counts the calls of Write of its connections. A write of several parts is none of these.
type countedListener struct {
	*net.TCPListener
	writes *atomic.Int64
}

func (l countedListener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	return &countedConn{c, l.writes}, err
}

type countedConn struct {
	*net.TCPConn
	writes *atomic.Int64
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.TCPConn.Write(p)
}

// TestJoinWrites checks that bodies of all sizes arrive whole on one connection, and that header and body of a response
// of up to pieceBytes leave together.
func TestJoinWrites(t *testing.T) {
	t.Parallel()
	in, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	var writes atomic.Int64
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, err := strconv.Atoi(r.URL.Query().Get("size"))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", strconv.Itoa(size))
		joinWrites(r, size)
		_, _ = w.Write(bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size])
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(ctx, countedListener{in, &writes}, handler, slog.New(slog.DiscardHandler), nil)
	}()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	for _, size := range []int{0, 1, 3000, bufferBytes - 1, bufferBytes, bufferBytes + 1, 8000, pieceBytes, pieceBytes + 1,
		100_000, bufferBytes, 1} {
		before := writes.Load()
		res, err := client.Get("http://" + in.Addr().String() + "/?size=" + strconv.Itoa(size))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]; err != nil || !bytes.Equal(body, want) {
			t.Fatalf("%d bytes: got %d, not the same, %v", size, len(body), err)
		}
		if n := writes.Load() - before; size >= bufferBytes && size <= pieceBytes && n != 0 {
			t.Errorf("%d bytes: %d writes beside the joined one", size, n)
		}
	}
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
