//go:build !race

package serve

import (
	"sync/atomic"
	"testing"
)

// An answer that is ready takes no memory that had to be collected, with the rate of clients held, too. (Under the race detector sync.Pool forgets at random.)
func TestDirectAllocatesNothing(t *testing.T) {
	world := newWorld(t, 120)
	h := NewHandler(Options{Source: openSource(t, publish(t, world.files).Root()), Metrics: NewMetrics(), RateLimit: 1 << 30}).(*handler)
	c := &readableConn{Conn: nowhere{}, handler: h, direct: new(atomic.Int64), remote: "192.0.2.1:4020"}
	for _, target := range []string{"/v1/services", "/v1/services?page=2", "/v1/services/service-0100", "/", "/v1/services?per_page=50&page=2"} {
		get(h, target)
		request := []byte("GET " + target + " HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nUser-Agent: b\r\n\r\n")
		const answers = 1000
		allocs := testing.AllocsPerRun(10, func() {
			for range answers {
				if !c.serveDirectly(request) {
					t.Fatal("it is not known")
				}
			}
		})
		if allocs > answers/100 { // the words of a second, buffers after a collection
			t.Errorf("%s: %.0f allocations in %d answers", target, allocs, answers)
		}
	}
}
