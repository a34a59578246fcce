// Package connection limits what clients can take from one HTTP server that read slowly, read nothing, or send nothing:
// connections, and memory for the responses that they wait for. It must never know what is requested, or what an error
// of the server looks like.
package connection

import (
	"container/list"
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tollbook/site/serve/client"
)

// Limits bound what clients can take from a server that read slowly, read nothing, or send nothing.
type Limits struct {
	Connections int           // at the same time; 0 means no limit
	PerClient   int           // connections of one client; 0 means no limit
	Sending     int64         // bytes of memory of responses that are being sent; 0 means no limit
	MinRate     int64         // bytes per second that a client must accept on average; 0 means no limit
	Stall       time.Duration // how long a client may accept nothing; 0 means 30 s

	Trusted []netip.Prefix // proxies, which PerClient does not limit
}

const (
	defaultStall = 30 * time.Second
	// cutAfter is how long a client must have done nothing before its connection may be closed in favour of another. It
	// is longer than a round trip, and short enough that a new client gets its response within a second.
	cutAfter = 300 * time.Millisecond
	// sendPatience is how long a response waits for memory.
	sendPatience = 10 * time.Second
	// relieveEvery is how often memory is taken from stalled responses while others wait for it.
	relieveEvery = 50 * time.Millisecond
	// relieveMost is how many responses get memory that way at a time. More would delay each other.
	relieveMost = 8
)

// Errors of a client over a limit.
var (
	ErrConnections = errors.New("too many connections of one client")
	ErrSending     = errors.New("too much is being sent")
)

// Limiter limits and counts the connections of one server, and the memory of the responses that they wait for.
//
// If a limit is reached, the connection that has waited longest for its client is closed: in the header of a request,
// between two requests, or while the client does not read. So clients that do nothing keep out nobody. A connection for
// which the server is working is never closed.
type Limiter struct {
	limits Limits

	mu      sync.Mutex
	open    int
	clients map[client.ID]*clientConns
	waiting list.List // of *conn, which wait for their client; the longest wait first
	senders list.List // those of them that use sending
	sending int64     // bytes of memory of responses that are being sent
	leaving int64     // the part of sending whose connection was closed
	queue   []*claim  // responses that wait for memory; the newest is served first, because its client is still there
	events  [len(reasons)]int64
}

// clientConns contains the connections of one client.
type clientConns struct {
	open    int
	waiting list.List // of *conn
}

// claim is a response that waits for memory.
type claim struct {
	conn  *conn
	body  *Body
	bytes int64
	ready chan struct{} // closed when the response may be sent
}

// Reasons why a connection was refused or closed, as indexes of reasons.
const (
	eventRefused = iota
	eventFull
	eventMemory
	eventSlow
)

// reasons are the reasons as labels of metrics.
var reasons = [...]string{"client_limit", "connection_limit", "memory", "slow"}

// NewLimiter returns the limiter of a server that does not run yet.
func NewLimiter(l Limits) *Limiter {
	if l.Stall <= 0 {
		l.Stall = defaultStall
	}
	return &Limiter{limits: l, clients: map[client.ID]*clientConns{}}
}

// admit counts a new connection, and closes another one if a limit is reached. It returns ErrConnections if the client
// has too many, and how long to wait before the next try if all clients together have. Then c is not counted.
func (s *Limiter) admit(c *conn) (wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if of := s.clients[c.client]; of != nil && s.limits.PerClient > 0 && of.open >= s.limits.PerClient &&
		!c.isProxy && !s.cutOldest(&of.waiting, now) {
		s.events[eventRefused]++
		return 0, ErrConnections
	}
	if s.limits.Connections > 0 && s.open >= s.limits.Connections && !s.cutOldest(&s.waiting, now) {
		return relieveEvery, nil
	}
	s.open++
	c.of = s.clients[c.client]
	if c.of == nil {
		c.of = &clientConns{}
		s.clients[c.client] = c.of
	}
	c.of.open++
	c.isOpen = true
	s.listWaiting(c, now)
	return 0, nil
}

// cutOldest closes the connection of a list that has waited longest for its client, and reports whether there is one.
func (s *Limiter) cutOldest(of *list.List, now time.Time) bool {
	front := of.Front()
	if front == nil || now.Sub(front.Value.(*conn).since) < cutAfter {
		return false
	}
	s.cut(front.Value.(*conn), eventFull)
	return true
}

// cut closes a connection at once, without sending what the kernel still has of it. The caller must hold mu.
func (s *Limiter) cut(c *conn, event int) {
	s.events[event]++
	s.leaving += c.held
	c.isCut = true
	s.remove(c)
	c.abort()
}

// remove stops counting a connection. The caller must hold mu.
func (s *Limiter) remove(c *conn) {
	if !c.isOpen {
		return
	}
	s.unlistWaiting(c)
	c.isOpen = false
	s.open--
	if c.of.open--; c.of.open == 0 {
		delete(s.clients, c.client)
	}
}

// close stops counting a connection that ends.
func (s *Limiter) close(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c)
}

// wait records that a connection waits for its client from now on.
func (s *Limiter) wait(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistWaiting(c)
	s.listWaiting(c, time.Now())
}

// work records that a connection does not wait for its client.
func (s *Limiter) work(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistWaiting(c)
}

// listWaiting appends a connection to the lists of those that wait. The caller must hold mu.
func (s *Limiter) listWaiting(c *conn, now time.Time) {
	if !c.isOpen {
		return
	}
	c.since = now
	c.inAll, c.inClient = s.waiting.PushBack(c), c.of.waiting.PushBack(c)
	if c.isSending {
		c.inSenders = s.senders.PushBack(c)
	}
}

// unlistWaiting removes a connection from these lists. The caller must hold mu.
func (s *Limiter) unlistWaiting(c *conn) {
	if c.inAll == nil {
		return
	}
	s.waiting.Remove(c.inAll)
	c.of.waiting.Remove(c.inClient)
	if c.inSenders != nil {
		s.senders.Remove(c.inSenders)
	}
	c.inAll, c.inClient, c.inSenders = nil, nil, nil
}

// hold counts the memory of a response: extra bytes, and the size of its body unless another connection sends the same
// body. It waits while there is not enough memory; then it closes stalled connections. It returns ErrSending after
// sendPatience. release ends what hold counts.
func (s *Limiter) hold(ctx context.Context, c *conn, b *Body, extra int64) error {
	s.mu.Lock()
	if len(s.queue) == 0 && s.fits(b, extra) {
		s.take(c, b, extra)
		s.mu.Unlock()
		return nil
	}
	q := &claim{conn: c, body: b, bytes: extra, ready: make(chan struct{})}
	if s.queue = append(s.queue, q); len(s.queue) == 1 {
		time.AfterFunc(relieveEvery, s.relieve)
	}
	s.cutStalled(s.needs(b, extra), time.Now())
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	select {
	case <-q.ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, q)
	if i < 0 {
		return nil // it was granted at the same moment
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	return ErrSending
}

// needs returns the bytes that a response adds to sending. The caller must hold mu.
func (s *Limiter) needs(b *Body, extra int64) int64 {
	if b.senders == 0 {
		extra += int64(b.Size)
	}
	return extra
}

func (s *Limiter) fits(b *Body, extra int64) bool {
	return s.limits.Sending <= 0 || s.sending == 0 || s.sending+s.needs(b, extra) <= s.limits.Sending
}

func (s *Limiter) take(c *conn, b *Body, extra int64) {
	s.sending += s.needs(b, extra)
	b.senders++
	c.held, c.isSending = extra, true
}

// release ends what hold counts, and lets responses that wait for memory use it.
func (s *Limiter) release(c *conn, b *Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlistWaiting(c)
	b.senders--
	s.sending -= s.needs(b, c.held)
	if c.isCut {
		s.leaving -= c.held
	}
	c.held, c.isSending = 0, false
	for len(s.queue) > 0 {
		last := len(s.queue) - 1
		q := s.queue[last]
		if !s.fits(q.body, q.bytes) {
			return
		}
		s.take(q.conn, q.body, q.bytes)
		s.queue = s.queue[:last]
		close(q.ready)
	}
}

// relieve closes stalled connections if there is not enough memory for the newest responses that wait for it. It is
// repeated while any wait.
func (s *Limiter) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return
	}
	var need int64
	for _, q := range s.queue[max(0, len(s.queue)-relieveMost):] {
		need += s.needs(q.body, q.bytes)
	}
	s.cutStalled(need, time.Now())
	time.AfterFunc(relieveEvery, s.relieve)
}

// cutStalled closes stalled connections until need more bytes can be sent. The caller must hold mu.
func (s *Limiter) cutStalled(need int64, now time.Time) {
	need += s.sending - s.leaving - s.limits.Sending
	for need > 0 {
		front := s.senders.Front()
		if front == nil || now.Sub(front.Value.(*conn).since) < cutAfter {
			return
		}
		c := front.Value.(*conn)
		need -= c.held
		s.cut(c, eventMemory)
	}
}

// countSlow counts a connection that was closed because its client accepted too little.
func (s *Limiter) countSlow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[eventSlow]++
}

// Usage is what clients have of a server, and how often a limit was reached.
type Usage struct {
	Open    int      // connections
	Sending int64    // bytes of memory of responses that are being sent
	Closed  []Closed // one of each reason, always in the same order
}

// Closed counts the connections that were refused or closed for one reason.
type Closed struct {
	Reason string // as a label of a metric
	Count  int64
}

// Usage returns the usage of now.
func (s *Limiter) Usage() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Usage{Open: s.open, Sending: s.sending}
	for i, n := range s.events {
		u.Closed = append(u.Closed, Closed{reasons[i], n})
	}
	return u
}
