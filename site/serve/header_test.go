package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHalfHeader sends a request line and, in a later segment, bytes that look like another request. They are one
// request: the server must not respond before its header ends, nor extend the header deadline.
func TestHalfHeader(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	h := handlerOf(t, publish(t, newWorld(t, 120).files), t.Output())
	go func() { served <- serveWithin(ctx, l, h, slog.New(slog.DiscardHandler), nil, timeout) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	const get = "GET /v1/services HTTP/1.1\r\nHost: a\r\n\r\n"
	dial := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		in := bufio.NewReader(c)
		for range 3 { // the connection is kept alive, and the address is known
			send(t, c, get)
			answer(t, in, http.StatusOK)
		}
		return c, in
	}

	c, in := dial()
	send(t, c, "POST /v1/submit HTTP/1.1\r\n")
	silent(t, c, in, 200*time.Millisecond) // the segment has been read
	send(t, c, get)
	answer(t, in, http.StatusBadRequest) // to the POST: its first header field is invalid
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("after the error: %q, %v", rest, err)
	}

	c, in = dial()
	send(t, c, "POST /v1/submit HTTP/1.1\r\n")
	began := time.Now()
	silent(t, c, in, timeout/2)
	send(t, c, "Host: a\r\n")
	if err := c.SetReadDeadline(began.Add(10 * timeout)); err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(in) // the response of net/http, if any
	if took := time.Since(began); errors.Is(err, os.ErrDeadlineExceeded) || took > 2*timeout {
		t.Errorf("a half header was kept for %v: %v", took, err)
	}
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// answer reads one complete response.
func answer(t *testing.T, in *bufio.Reader, code int) (body string) {
	t.Helper()
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != code {
		t.Fatalf("%d, %v, want %d: %.80s", response.StatusCode, err, code, data)
	}
	return string(data)
}

// silent checks that nothing is sent for a while.
func silent(t *testing.T, c net.Conn, in *bufio.Reader, wait time.Duration) {
	t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		t.Fatal(err)
	}
	if b, err := in.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("byte %q, %v: nothing may be sent now", b, err)
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
}

// TestRequestsInPieces checks that requests which arrive in pieces, or several at once, are answered in order.
func TestRequestsInPieces(t *testing.T) {
	t.Parallel()
	h := handlerOf(t, publish(t, newWorld(t, 120).files), t.Output())
	addr := listenAndServe(t, h)
	text := ""
	var want []string
	for _, page := range []int{1, 2, 3, 1, 3, 2, 2, 1} {
		target := fmt.Sprintf("/v1/services?page=%d", page)
		text += "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n"
		want = append(want, get(h, target).Body.String())
	}
	for size := 1; size <= len(text); size = size*3/2 + 1 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		go func() {
			for part := range slices.Chunk([]byte(text), size) {
				if _, err := c.Write(part); err != nil {
					return // the reader reports the error
				}
			}
		}()
		in := bufio.NewReader(c)
		for i := range want {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("pieces of %d bytes: answer %d: %v", size, i, err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != want[i] {
				t.Fatalf("pieces of %d bytes: answer %d: %v (-want +got):\n%s", size, i, err,
					cmp.Diff(want[i], string(body)))
			}
		}
		c.Close()
	}
}
