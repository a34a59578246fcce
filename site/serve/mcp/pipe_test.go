package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asking is a connection with an endless number of requests to read. It drops the responses.
type asking struct{ sdk.Connection }

func (asking) Read(context.Context) (jsonrpc.Message, error) {
	id, err := jsonrpc.MakeID("1")
	return &jsonrpc.Request{ID: id, Method: "ping"}, err
}
func (asking) Write(context.Context, jsonrpc.Message) error { return nil }
func (asking) Close() error                                 { return nil }

// TestPipeReadsNoFurtherThanItAnswers checks that the pipe reads a limited number of requests, then one for each
// response. It reads none after the end.
func TestPipeReadsNoFurtherThanItAnswers(t *testing.T) {
	t.Parallel()
	c := newPipeConn(asking{})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for round := range 3 {
		for i := range maxUnanswered {
			if _, err := c.Read(t.Context()); err != nil {
				t.Fatalf("round %d, request %d: %v", round, i, err)
			}
		}
		if m, err := c.Read(over); !errors.Is(err, context.Canceled) {
			t.Fatalf("round %d: one more is read: %v, %v", round, m, err)
		}
		for range maxUnanswered + 1 { // a response without a request is not counted
			if err := c.Write(t.Context(), &jsonrpc.Response{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range maxUnanswered {
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	if m, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, %v", m, err)
	}
}

// TestPipeAnswersAll checks that a client that sends many requests before it reads gets every response.
func TestPipeAnswersAll(t *testing.T) {
	t.Parallel()
	const requests = 1000
	s, err := New(Options{Reader: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"tag":"AI","service_count":1}]}`)
	})})
	if err != nil {
		t.Fatal(err)
	}
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background(), Pipe(in, out)) }()
	lines := bufio.NewReader(answers)
	fmt.Fprintln(ask,
		`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := range requests {
			fmt.Fprintf(ask, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_categories"}}`+"\n",
				i)
		}
	}()
	for i := range requests {
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, `"structuredContent":{"data":`) {
			t.Fatalf("answer %d: %v %s", i, err, line)
		}
	}
	ask.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
