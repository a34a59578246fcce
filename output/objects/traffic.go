package objects

import (
	"net/http"
	"sync/atomic"
)

// Traffic counts requests to a store, in the way that stores charge for them, and the bytes of their bodies. Attempts
// that failed are counted too.
type Traffic struct {
	Writes   int64 `json:"writes"`   // PUT, POST and lists: class A
	Reads    int64 `json:"reads"`    // GET and HEAD: class B
	Deletes  int64 `json:"deletes"`  // mostly free; one request deletes up to 1,000 objects
	Sent     int64 `json:"sent"`     // bytes
	Received int64 `json:"received"` // bytes
}

// Since returns the traffic after the count start.
func (t Traffic) Since(start Traffic) Traffic {
	return Traffic{t.Writes - start.Writes, t.Reads - start.Reads, t.Deletes - start.Deletes,
		t.Sent - start.Sent, t.Received - start.Received}
}

// trafficCounter counts the traffic of concurrent requests.
type trafficCounter struct{ writes, reads, deletes, sent, received atomic.Int64 }

func (c *trafficCounter) traffic() Traffic {
	return Traffic{c.writes.Load(), c.reads.Load(), c.deletes.Load(), c.sent.Load(), c.received.Load()}
}

func (c *trafficCounter) count(r *http.Request) {
	switch q := r.URL.Query(); {
	case r.Method == http.MethodDelete || q.Has("delete"):
		c.deletes.Add(1)
	case r.Method == http.MethodPut, r.Method == http.MethodPost, q.Has("list-type"), q.Has("uploads"),
		q.Has("uploadId"): // lists cost as much as writes
		c.writes.Add(1)
	default:
		c.reads.Add(1)
	}
}
