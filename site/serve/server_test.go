package serve

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
)

// TestServeDrains checks that a server that stops finishes the running response and accepts no new request.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		io.WriteString(w, "whole")
	})
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, h, slog.New(slog.DiscardHandler), nil) }()

	type answer struct {
		body string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		_, body, err := exchange(l.Addr().String(), "GET /", "")
		answered <- answer{body, err}
	}()
	<-entered
	cancel()
	for { // until the listener is closed
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			break
		}
		c.Close()
	}
	close(release)
	if a := <-answered; a.err != nil || a.body != "whole" {
		t.Errorf("the answer under way: %q, %v", a.body, a.err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeRefusesHugeHeaders(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, l, http.NotFoundHandler(), slog.New(slog.DiscardHandler), nil) }()
	response, _, err := exchange(l.Addr().String(), "GET /"+strings.Repeat("a", 17<<10), "")
	if err != nil || response.StatusCode != http.StatusNotFound {
		t.Errorf("17 KiB: %v, %v", response, err)
	}
	response, _, err = exchange(l.Addr().String(), "GET /"+strings.Repeat("a", 21<<10), "")
	if err != nil || response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("21 KiB: %v, %v", response, err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeOnClosedListener(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := Serve(context.Background(), l, http.NotFoundHandler(), slog.New(slog.DiscardHandler), nil); err == nil ||
		!strings.Contains(err.Error(), l.Addr().String()) {
		t.Errorf("got %v, want the address named", err)
	}
}
