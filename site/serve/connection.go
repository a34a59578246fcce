package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tollbook/site"
)

// attach makes a server count and limit its connections. It returns the listener that the server must serve, which
// accepts connections of in within the limits of s until done is closed.
func (s *ConnectionLimiter) attach(server *http.Server, in net.Listener, done <-chan struct{}) net.Listener {
	server.Handler = awaitBodies(server.Handler)
	server.ConnContext, server.ConnState = withConn, changeState // conn limits the time of writes
	return &listener{in, s, done}
}

// listener accepts connections within the limits of a server.
type listener struct {
	net.Listener
	all    *ConnectionLimiter
	closed <-chan struct{} // ends a wait for a free connection
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		in, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := newConn(in, l.all)
		for {
			wait, err := l.all.admit(c)
			if err != nil {
				c.refuse()
				break
			}
			if wait == 0 {
				return c, nil
			}
			select {
			case <-time.After(wait):
			case <-l.closed:
				in.Close()
				return nil, net.ErrClosed
			}
		}
	}
}

// conn is the connection of a client. It counts as waiting for the client while it reads a request or writes.
type conn struct {
	net.Conn
	all     *ConnectionLimiter
	client  clientID
	isProxy bool
	waiting atomic.Int64 // nanoseconds after all.began when it began to wait for its client; 0 if it does not wait

	// all.mu protects these fields.
	isCut, isSending bool
	held             int64 // bytes of memory of its response, without those of the body

	// Only the goroutine that serves the connection uses these fields.
	sent     int64              // bytes of this response
	waited   time.Duration      // for the client to accept them
	deadline time.Time          // set by the handler
	isBegun  bool               // the next write may be the begin of a response, to be kept; see joinWrites
	begin    *[bufferBytes]byte // what was kept; nil for nothing
}

func newConn(in net.Conn, all *ConnectionLimiter) *conn {
	limitUnsent(in)
	c := &conn{Conn: in, all: all}
	if peer, err := netip.ParseAddrPort(in.RemoteAddr().String()); err == nil {
		addr := peer.Addr().Unmap().WithZone("")
		c.client, c.isProxy = newClientID(addr), isTrusted(addr, all.limits.Trusted)
	}
	return c
}

// maxUnsent is how many bytes the kernel accepts for a connection before it can send them. More would take memory of
// the kernel, without making a download faster.
const maxUnsent = 128 << 10

// limitUnsent applies maxUnsent to a TCP connection. It ignores errors, because the connection works without.
func limitUnsent(in net.Conn) {
	tcp, ok := in.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := tcp.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
		})
	}
}

type connKey struct{}

// withConn is http.Server.ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// changeState is http.Server.ConnState.
func changeState(in net.Conn, state http.ConnState) {
	c := in.(*conn)
	switch state {
	case http.StateActive: // the header of a request was read
		c.sent, c.waited, c.deadline = 0, 0, time.Time{}
		c.all.work(c)
	case http.StateIdle:
		c.all.wait(c)
	}
}

// awaitBodies returns a handler for which a connection waits for its client while h reads the body of a request.
func awaitBodies(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*conn); ok && r.ContentLength != 0 {
			// A copy, because net/http looks at the body of its own request: it waits before it closes the connection
			// of a client that still sends. Otherwise that client would get a reset in place of the response.
			r = r.WithContext(r.Context())
			r.Body = &awaitedBody{r.Body, c}
		}
		h.ServeHTTP(w, r)
	})
}

// awaitedBody is the body of a request.
type awaitedBody struct {
	io.ReadCloser
	from *conn
}

// Read implements io.Reader.
func (b *awaitedBody) Read(p []byte) (int, error) {
	b.from.all.wait(b.from)
	defer b.from.all.work(b.from)
	return b.ReadCloser.Read(p)
}

// pieceBytes is how much is written with one deadline. A client that accepts so little is making progress.
const pieceBytes = 32 << 10

// bufferBytes is the size of the buffer that net/http writes the begin of a response from.
const bufferBytes = 4 << 10

var begins = sync.Pool{New: func() any { return new([bufferBytes]byte) }}

// joinWrites makes the response to r one write in place of two. net/http writes the first bufferBytes
// of a response, with its header, and then the rest. The body must have at least bufferBytes, so that a rest follows.
func joinWrites(r *http.Request, body int) {
	if c, ok := r.Context().Value(connKey{}).(*conn); ok && body >= bufferBytes {
		c.isBegun = true
	}
}

// Write implements net.Conn. It replaces an error response of net/http by the server's own.
func (c *conn) Write(p []byte) (int, error) {
	if c.isBegun && len(p) == bufferBytes {
		c.isBegun, c.begin = false, begins.Get().(*[bufferBytes]byte)
		return copy(c.begin[:], p), nil
	}
	c.isBegun = false
	if c.begin != nil {
		defer func() {
			begins.Put(c.begin)
			c.begin = nil
		}()
		return c.send(c.begin[:], p)
	}
	response, ok := jsonError(p)
	if !ok {
		return c.send(nil, p)
	}
	if _, err := c.send(nil, response); err != nil {
		return 0, err
	}
	return len(p), nil
}

// send writes p in pieces, the first one together with the begin of its response, nil for none. It returns how many
// bytes of p it wrote. It fails if the client accepts nothing for limits.Stall, or less than limits.MinRate on average,
// or after the handler's own deadline.
func (c *conn) send(begin, p []byte) (n int, err error) {
	for len(p) > 0 {
		piece := p[:min(len(p), pieceBytes)]
		c.all.wait(c)
		began := time.Now()
		if err := c.Conn.SetWriteDeadline(c.nextDeadline(began)); err != nil {
			return n, err
		}
		k := 0
		if begin == nil {
			k, err = c.Conn.Write(piece)
		} else {
			both := net.Buffers{begin, piece}
			var sum int64
			sum, err = both.WriteTo(c.Conn)
			c.sent += min(sum, int64(len(begin)))
			k, begin = max(0, int(sum)-len(begin)), nil
		}
		c.all.work(c)
		c.waited += time.Since(began)
		c.sent += int64(k)
		n += k
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.all.slow.Add(1)
			}
			return n, err
		}
		p = p[k:]
	}
	return n, nil
}

// nextDeadline returns when the next piece must have been written.
func (c *conn) nextDeadline(now time.Time) time.Time {
	l := &c.all.limits
	left := l.Stall
	if l.MinRate > 0 {
		earned := time.Duration(float64(c.sent) / float64(l.MinRate) * float64(time.Second))
		left = min(left, l.Stall+earned-c.waited)
	}
	end := now.Add(left)
	if !c.deadline.IsZero() && c.deadline.Before(end) {
		return c.deadline
	}
	return end
}

// SetWriteDeadline implements net.Conn. It applies to one response, together with the server's own limits.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.all.close(c)
	return c.Conn.Close()
}

// CloseWrite closes the sending side, so that the client reads the error before the connection is reset.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// abort closes the connection and drops what the kernel has not sent.
func (c *conn) abort() {
	if tcp, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = tcp.SetLinger(0) // the connection is closed in any case
	}
	c.Conn.Close()
}

// refuse answers a connection that is over the limit of its client, before any request was read, and closes it.
func (c *conn) refuse() {
	defer c.Conn.Close()
	if err := c.Conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return
	}
	_, _ = c.Conn.Write(refusal)
	_ = c.CloseWrite()
}

// Limits for slow and hostile clients.
const (
	headerTimeout  = 10 * time.Second
	requestTimeout = 30 * time.Second
	idleTimeout    = 2 * time.Minute
	drainTimeout   = 4 * time.Second // for running responses when the server stops
	maxHeader      = 16 << 10
)

// Serve serves a listener within limits, until ctx ends. Then it waits for running responses. It closes the listener. A
// nil limiter means no limits.
func Serve(ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger,
	limiter *ConnectionLimiter) error {
	return serveWithin(ctx, l, h, logger, limiter, headerTimeout)
}

// serveWithin is Serve with a timeout for the header of a request.
func serveWithin(
	ctx context.Context, l net.Listener, h http.Handler, logger *slog.Logger, limiter *ConnectionLimiter,
	headerTimeout time.Duration,
) error {
	if limiter == nil {
		limiter = NewConnectionLimiter(ConnectionLimits{})
	}
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// OPTIONS * is passed to the handler like any other request.
		DisableGeneralOptionsHandler: true,

		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	limited := limiter.attach(server, l, ctx.Done())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limited) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		server.Close()
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("stop serving %s: %w", l.Addr(), err)
		}
	}
	return nil
}

// ConnectionLimits bound what clients can take from a server that read slowly, read nothing, or send nothing.
//
// netutil.LimitListener and the time limits of net/http are not enough: clients that never read would keep all places
// until they time out, and a new reader would wait for so long.
type ConnectionLimits struct {
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
	errConnections = errors.New("too many connections of one client")
	errSending     = errors.New("too much is being sent")
)

// ConnectionLimiter limits and counts the connections of one server, and the memory of the responses that they wait
// for.
//
// If a limit is reached, the connection that has waited longest for its client is closed: in the header of a request,
// between two requests, or while the client does not read. So clients that do nothing keep out nobody. A connection for
// which the server is working is never closed. Only a limit that is reached looks at all connections; reading and
// writing lock nothing.
type ConnectionLimiter struct {
	limits ConnectionLimits
	began  time.Time // start of the time in conn.waiting

	mu      sync.Mutex
	open    int
	clients map[clientID]map[*conn]struct{} // open connections
	sending int64                           // bytes of memory of responses that are being sent
	leaving int64                           // the part of sending whose connection was closed
	queue   []*claim                        // responses that wait for memory; the newest, whose client is there, is first
	cuts    [len(reasons) - 1]int64         // by event
	slow    atomic.Int64
}

// claim is a response that waits for memory.
type claim struct {
	conn  *conn
	body  *sharedBody
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

// NewConnectionLimiter returns the limiter of a server that does not run yet.
func NewConnectionLimiter(l ConnectionLimits) *ConnectionLimiter {
	if l.Stall <= 0 {
		l.Stall = defaultStall
	}
	return &ConnectionLimiter{limits: l, began: time.Now(), clients: map[clientID]map[*conn]struct{}{}}
}

// admit counts a new connection, and closes another one if a limit is reached. It returns errConnections if the client
// has too many, and how long to wait before the next try if all clients together have. Then c is not counted.
func (s *ConnectionLimiter) admit(c *conn) (wait time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.clients[c.client]
	if s.limits.PerClient > 0 && len(of) >= s.limits.PerClient && !c.isProxy &&
		s.cutOldest(of, false, eventFull) == nil {
		s.cuts[eventRefused]++
		return 0, errConnections
	}
	if s.limits.Connections > 0 && s.open >= s.limits.Connections &&
		s.cutOldest(nil, false, eventFull) == nil {
		return relieveEvery, nil
	}
	of = s.clients[c.client]
	if of == nil {
		of = map[*conn]struct{}{}
		s.clients[c.client] = of
	}
	of[c] = struct{}{}
	s.open++
	s.wait(c)
	return 0, nil
}

// now returns the time since the limiter began. It is never zero.
func (s *ConnectionLimiter) now() time.Duration { return time.Since(s.began) + 1 }

// wait records that a connection waits for its client from now on.
func (s *ConnectionLimiter) wait(c *conn) { c.waiting.Store(int64(s.now())) }

// work records that a connection does not wait for its client.
func (s *ConnectionLimiter) work(c *conn) { c.waiting.Store(0) }

// oldest returns the connection of a client, or of all if it is nil, that has waited longest for its client, cutAfter at
// least, and since when. It returns nil if none has. The caller must hold mu.
func (s *ConnectionLimiter) oldest(of map[*conn]struct{}, onlySending bool) (c *conn, since int64) {
	since = int64(s.now() - cutAfter)
	compare := func(of map[*conn]struct{}) {
		for o := range of {
			if at := o.waiting.Load(); at != 0 && at <= since && (o.isSending || !onlySending) {
				c, since = o, at
			}
		}
	}
	if of != nil {
		compare(of)
		return c, since
	}
	for _, of := range s.clients {
		compare(of)
	}
	return c, since
}

// cutOldest closes the connection that oldest returns, and returns it; nil for none. The caller must hold mu.
func (s *ConnectionLimiter) cutOldest(of map[*conn]struct{}, onlySending bool, event int) *conn {
	for {
		c, since := s.oldest(of, onlySending)
		if c == nil || s.cut(c, since, event) {
			return c
		}
	}
}

// cut closes a connection at once, without sending what the kernel still has of it, unless it stopped waiting for its
// client. It reports whether it did. The caller must hold mu.
func (s *ConnectionLimiter) cut(c *conn, since int64, event int) bool {
	if !c.waiting.CompareAndSwap(since, 0) {
		return false
	}
	s.cuts[event]++
	s.leaving += c.held
	c.isCut = true
	s.remove(c)
	c.abort()
	return true
}

// remove stops counting a connection. The caller must hold mu.
func (s *ConnectionLimiter) remove(c *conn) {
	of := s.clients[c.client]
	if _, ok := of[c]; !ok {
		return
	}
	s.open--
	if delete(of, c); len(of) == 0 {
		delete(s.clients, c.client)
	}
}

// close stops counting a connection that ends.
func (s *ConnectionLimiter) close(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(c)
}

// sharedBody is the memory of a response's body. Several connections that send the same body share it.
type sharedBody struct {
	size    int64 // bytes
	senders int   // connections that the body is being sent to; ConnectionLimiter.mu protects it
}

// heldMemory is the memory of one response.
type heldMemory struct {
	conn *conn
	body *sharedBody
}

// holdMemory counts the memory of the response to r: extra bytes, and the size of its body unless another connection
// sends the same body. It waits while there is not enough memory, and returns errSending after some seconds. A request
// that does not come from a limited server holds nothing.
func holdMemory(r *http.Request, b *sharedBody, extra int64) (heldMemory, error) {
	c, ok := r.Context().Value(connKey{}).(*conn)
	if !ok {
		return heldMemory{}, nil
	}
	if err := c.all.hold(r.Context(), c, b, extra); err != nil {
		return heldMemory{}, err
	}
	return heldMemory{c, b}, nil
}

// release ends what holdMemory counts.
func (h heldMemory) release() {
	if h.conn != nil {
		h.conn.all.release(h.conn, h.body)
	}
}

// hold is holdMemory for a connection. While there is not enough memory it closes stalled connections. It returns
// errSending after sendPatience.
func (s *ConnectionLimiter) hold(ctx context.Context, c *conn, b *sharedBody, extra int64) error {
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
	s.cutStalled(s.needs(b, extra))
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
	return errSending
}

// needs returns the bytes that a response adds to sending. The caller must hold mu.
func (s *ConnectionLimiter) needs(b *sharedBody, extra int64) int64 {
	if b.senders == 0 {
		extra += b.size
	}
	return extra
}

func (s *ConnectionLimiter) fits(b *sharedBody, extra int64) bool {
	return s.limits.Sending <= 0 || s.sending == 0 || s.sending+s.needs(b, extra) <= s.limits.Sending
}

func (s *ConnectionLimiter) take(c *conn, b *sharedBody, extra int64) {
	s.sending += s.needs(b, extra)
	b.senders++
	c.held, c.isSending = extra, true
}

// release ends what hold counts, and lets responses that wait for memory use it.
func (s *ConnectionLimiter) release(c *conn, b *sharedBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
func (s *ConnectionLimiter) relieve() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return
	}
	var need int64
	for _, q := range s.queue[max(0, len(s.queue)-relieveMost):] {
		need += s.needs(q.body, q.bytes)
	}
	s.cutStalled(need)
	time.AfterFunc(relieveEvery, s.relieve)
}

// cutStalled closes stalled connections until need more bytes can be sent. The caller must hold mu.
func (s *ConnectionLimiter) cutStalled(need int64) {
	need += s.sending - s.leaving - s.limits.Sending
	for need > 0 {
		c := s.cutOldest(nil, true, eventMemory)
		if c == nil {
			return
		}
		need -= c.held
	}
}

// ConnectionUsage is what clients have of a server, and how often a limit was reached.
type ConnectionUsage struct {
	Open    int                 // connections
	Sending int64               // bytes of memory of responses that are being sent
	Closed  []ClosedConnections // one of each reason, always in the same order
}

// ClosedConnections counts the connections that were refused or closed for one reason.
type ClosedConnections struct {
	Reason string // as a label of a metric
	Count  int64
}

// Usage returns the usage of now.
func (s *ConnectionLimiter) Usage() ConnectionUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := ConnectionUsage{Open: s.open, Sending: s.sending}
	for i, n := range s.cuts {
		u.Closed = append(u.Closed, ClosedConnections{reasons[i], n})
	}
	u.Closed = append(u.Closed, ClosedConnections{reasons[eventSlow], s.slow.Load()})
	return u
}

const statusPrefix = "HTTP/1.1 "

// plainHead follows the status in a response that net/http sends itself. A handler's response never has this header,
// because it contains at least a Date.
const plainHead = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// maxPlain is the maximum length of the text of such a response in bytes.
const maxPlain = 200

// jsonError returns the JSON error for a response that net/http sends itself, and false for any other bytes.
func jsonError(p []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(p, []byte(statusPrefix))
	if !ok || len(rest) < 3 || rest[0] != '4' && rest[0] != '5' {
		return nil, false
	}
	line, _, _ := bytes.Cut(rest, []byte("\r\n"))
	text, ok := bytes.CutPrefix(rest[len(line):], []byte(plainHead))
	if !ok || len(text) > maxPlain {
		return nil, false
	}
	code, err := strconv.Atoi(string(rest[:3]))
	if err != nil || http.StatusText(code) == "" {
		return nil, false
	}
	return newRawError(badRequestError(code), ""), true
}

// refusal is the response to a connection that is over the limit of its client, before any request was read.
var refusal = newRawError(errorOf(errConnections), "Retry-After: 1\r\n")

// newRawError returns an error response that closes the connection. more are header fields with their line ends.
func newRawError(e site.Error, more string) []byte {
	body, err := json.Marshal(site.ErrorBody{Error: e})
	if err != nil {
		panic(err) // cannot fail: strings and a number
	}
	return fmt.Appendf(nil, "%s%d %s\r\nAccess-Control-Allow-Origin: *\r\nCache-Control: no-store\r\n"+
		"Connection: close\r\nContent-Length: %d\r\nContent-Type: %s\r\nLink: %s\r\n"+
		"%sX-Content-Type-Options: nosniff\r\n\r\n%s\n",
		statusPrefix, e.Code, http.StatusText(e.Code), len(body)+1, typeJSON, headerLicense[0], more, body)
}

// badRequestError returns the error for a request that net/http cannot parse.
func badRequestError(code int) site.Error {
	e := site.Error{Code: code, Type: site.ErrorBadRequest, Message: "this is not a valid HTTP request"}
	switch code {
	case http.StatusRequestHeaderFieldsTooLarge:
		e.Message = fmt.Sprintf("the request line and header are too large: at most %d bytes are allowed", maxHeader)
	case http.StatusNotImplemented:
		e.Message = "this transfer encoding is not supported"
	case http.StatusHTTPVersionNotSupported:
		e.Message = "this version of HTTP is not supported"
	}
	return e
}
