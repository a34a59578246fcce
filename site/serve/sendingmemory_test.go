package serve

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSendingMemory checks that a response that waits for memory gets it from one that is not read.
func TestSendingMemory(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 120)
	large := strings.Repeat("a line of a large file\n", 40<<10)
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		world.files[name] = []byte(name + large)
	}
	h := handlerOf(t, publish(t, world.files), t.Output())
	limiter := NewConnectionLimiter(ConnectionLimits{Sending: 2 * unpackMemory, Stall: time.Minute})
	addr := listenWithin(t, h, limiter)
	for _, name := range []string{"a.txt", "b.txt"} { // with their bodies, they need more than there is
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		send(t, c, "GET /"+name+" HTTP/1.1\r\nHost: a\r\n\r\n")
	}
	_, got, err := exchange(addr, "GET /c.txt", "")
	if diff := cmp.Diff("c.txt"+large, got); err != nil || diff != "" {
		t.Errorf("c.txt: %v (-want +got):\n%.200s", err, diff)
	}
	isStalled := func(c ClosedConnections) bool { return c.Reason == "memory" && c.Count > 0 }
	for deadline := time.Now().Add(time.Minute); !slices.ContainsFunc(limiter.Usage().Closed, isStalled); {
		if time.Now().After(deadline) {
			t.Fatalf("no stalled response was closed: %+v", limiter.Usage())
		}
		time.Sleep(time.Millisecond)
	}
}
