package probe

import (
	"bytes"
	"compress/gzip"
	"io"
	"log"
	"net"
	"sync"
	"testing"
	"time"
)

var quiet = log.New(io.Discard, "", 0)

// raw starts a server that calls speak for each connection, after the request's headers or, with atOnce, before them.
// It closes a connection when speak returns.
func raw(t testing.TB, atOnce bool, speak func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		conns = map[net.Conn]bool{}
	)
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns[c] = true
			mu.Unlock()
			wg.Go(func() {
				defer func() {
					c.Close()
					mu.Lock()
					delete(conns, c)
					mu.Unlock()
				}()
				if !atOnce {
					readRequest(c)
				}
				speak(c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// readRequest reads up to the end of the headers; a body may follow and is left.
func readRequest(c net.Conn) {
	buf, got := make([]byte, 4096), []byte{}
	for !bytes.Contains(got, []byte("\r\n\r\n")) {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		got = append(got, buf[:n]...)
	}
}

// untilClosed writes the same bytes over and over until the other side has had enough.
func untilClosed(c io.Writer, chunk []byte, pause time.Duration) {
	for {
		if _, err := c.Write(chunk); err != nil {
			return
		}
		if pause > 0 {
			time.Sleep(pause)
		}
	}
}

// hang waits until the other side closes.
func hang(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func say(text string) func(net.Conn) {
	return func(c net.Conn) { io.WriteString(c, text) }
}

// bomb is a gzip stream of n zeroes.
func bomb(n int64) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = io.CopyN(w, zeroes{}, n)
	w.Close()
	return b.Bytes()
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }
