package mcp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPipeWaitsForWhoDoesNotListen: a client that asks and does not read is asked no more than so many times ahead; once
// it reads, everything is answered.
func TestPipeWaitsForWhoDoesNotListen(t *testing.T) {
	t.Parallel()
	const requests = 1000
	var asked, taken atomic.Int64
	full := make(chan struct{})
	s, err := New(Options{Reader: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		if ahead := n - taken.Load(); ahead > maxUnanswered+1 { // one that is counted just after it was taken
			t.Errorf("%d requests are under way", ahead)
		}
		if n == maxUnanswered {
			close(full)
		}
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
	fmt.Fprintln(ask, `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := range requests {
			fmt.Fprintf(ask, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_categories"}}`+"\n", i)
		}
	}()
	<-full
	for taken.Load() < requests {
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, `"structuredContent":{"data":`) {
			t.Fatalf("answer %d: %v %s", taken.Load(), err, line)
		}
		taken.Add(1)
	}
	ask.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if asked.Load() != requests {
		t.Errorf("the reader was asked %d times, want %d", asked.Load(), requests)
	}
}
