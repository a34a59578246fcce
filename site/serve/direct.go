package serve

import (
	"bytes"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// net/http costs several times what an answer from memory does. So a connection answers the plainest of requests itself,
// while net/http waits on it for the next one: a GET in one piece, with a header of which nothing needs a decision beyond
// what the handler makes, for an address that is known (known.go) or that names data of the snapshot. It calls the same handler. All others, the first of each
// connection among them, go to net/http, byte by byte as they came. TestDirect holds the two to the same answers.

// knower is a handler that says beforehand what it can answer at once.
type knower interface {
	http.Handler
	// find is what a request's address is known to name, or what is known of the pages of which it names one.
	find(r *plain, t *turn, now time.Time) (*known, *paging)
	// reads says whether what a path names is read in the snapshot alone, which needs nothing of net/http.
	reads(path string) bool
	// repeat answers a request for what is known. It is false, and nothing was sent, where ServeHTTP has to.
	repeat(a *directAnswer, r *plain, k *known, began time.Time) bool
	// turn is the like for a page.
	turn(a *directAnswer, r *plain, t *turn, p *paging, began time.Time) bool
}

// readSize is the buffer that net/http reads a connection by: a read of less has something in it already.
const readSize = 4 << 10

// renewEvery is how old the deadlines of a connection may be.
const renewEvery = time.Second

// plain is a request that is answered directly.
type plain struct {
	target      []byte // path, and query behind a question mark
	path, query []byte
	header      [len(heard)][]byte // values, nil where absent
}

// heard are the header fields that an answer depends on.
var heard = [...]string{
	heardAcceptEncoding: "Accept-Encoding", heardIfNoneMatch: "If-None-Match", heardIfModifiedSince: "If-Modified-Since",
	heardListed: "X-Forwarded-For", heardForwarded: "Forwarded",
}

const (
	heardAcceptEncoding = iota
	heardIfNoneMatch
	heardIfModifiedSince
	heardListed
	heardForwarded
)

// unheard are those that it does not. A request with any other field goes to net/http, which knows what it means.
var unheard = []string{"user-agent", "accept", "accept-language", "referer", "origin", "cookie", "dnt", "priority", "cache-control", "pragma",
	"upgrade-insecure-requests", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "sec-ch-ua", "sec-ch-ua-mobile",
	"sec-ch-ua-platform", "sec-gpc"}

// parse reads a request, all of which must be in b. It is false for any that is not plain.
func (r *plain) parse(b []byte) bool {
	*r = plain{}
	b, ok := bytes.CutPrefix(b, []byte("GET "))
	if !ok || len(b) == 0 || b[0] != '/' {
		return false
	}
	end := bytes.IndexByte(b, '\r')
	if end < 0 {
		return false
	}
	target, ok := bytes.CutSuffix(b[:end], []byte(" HTTP/1.1"))
	if !ok {
		return false
	}
	r.target = target[:len(target):len(target)]
	r.path, r.query, _ = bytes.Cut(r.target, []byte{'?'})
	for _, c := range r.path {
		if !inPath[c] {
			return false
		}
	}
	for _, c := range r.query {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return false
		}
	}
	host := false
	for b = b[end:]; ; {
		b, ok = bytes.CutPrefix(b, []byte("\r\n"))
		if !ok {
			return false
		}
		if len(b) == 2 {
			return host && b[0] == '\r' && b[1] == '\n'
		}
		end, colon := 0, -1
		for ; end < len(b) && b[end] != '\r'; end++ {
			switch c := b[end]; {
			case c == ':' && colon < 0:
				colon = end
			case c < ' ' || c >= 0x7f:
				return false
			}
		}
		if colon < 0 {
			return false
		}
		name, value := b[:colon], bytes.Trim(b[colon+1:end], " ")
		if isName(name, "host") {
			if host || !isHost(value) {
				return false
			}
			host = true
		} else if !r.hear(name, value) {
			return false
		}
		b = b[end:]
	}
}

// hear takes a field in. It is false for one that may mean something else.
func (r *plain) hear(name, value []byte) bool {
	for i, h := range heard {
		if isName(name, h) {
			first := r.header[i] == nil
			r.header[i] = value[:len(value):len(value)]
			return first && len(value) > 0
		}
	}
	if isName(name, "connection") {
		return isName(value, "keep-alive")
	}
	return slices.ContainsFunc(unheard, func(u string) bool { return isName(name, u) })
}

// isName compares without regard to case; both are ASCII.
func isName(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i := range b {
		if lower(b[i]) != lower(name[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// inPath are the bytes that stand for themselves in a path, however it is read.
var inPath = func() (in [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~/=") {
		in[c] = true
	}
	return in
}()

// isHost says whether a Host is a plain one, with a port or without.
func isHost(b []byte) bool {
	for _, c := range b {
		if !inPath[c] && c != ':' && c != '[' && c != ']' || c == '/' || c == '=' || c == '~' {
			return false
		}
	}
	return len(b) > 0
}

// direct is what answering a request needs. Its parts are used again.
type direct struct {
	plain
	turn    turn
	request http.Request
	url     url.URL
	sent    http.Header // of the request
	answer  directAnswer
}

var directs = sync.Pool{New: func() any {
	d := &direct{sent: http.Header{}, answer: directAnswer{header: http.Header{}}}
	d.request = http.Request{Method: http.MethodGet, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, URL: &d.url, Header: d.sent, Body: http.NoBody}
	return d
}}

// has says whether a field is there.
func (r *plain) has(field int) bool { return r.header[field] != nil }

// values are those of a field as net/http has them.
func (r *plain) values(field int) []string {
	if r.header[field] == nil {
		return nil
	}
	return []string{string(r.header[field])}
}

// acceptsGzip is what the client of c can read: he mostly says the same.
func (r *plain) acceptsGzip(c *readableConn) bool {
	if said := r.header[heardAcceptEncoding]; string(said) != c.accepts {
		c.accepts, c.gzip = string(said), acceptsGzip(r.values(heardAcceptEncoding))
	}
	return c.gzip
}

// notModified says whether the client already has what has this tag.
func (r *plain) notModified(tag string, built time.Time) bool {
	return notModified(http.Header{
		"If-None-Match": r.values(heardIfNoneMatch), "If-Modified-Since": r.values(heardIfModifiedSince),
	}, tag, built)
}

// client is who sent a request over c.
func (r *plain) client(c *readableConn, trusted []netip.Prefix) netip.Addr {
	if !c.peer.IsValid() {
		c.peer = clientAddr(&http.Request{RemoteAddr: c.remote}, nil)
	}
	if len(trusted) == 0 {
		return c.peer
	}
	return behind(c.peer, r.values(heardListed), r.values(heardForwarded), trusted)
}

// forHandler is the request for a handler. Its parts are used again.
func (d *direct) forHandler(remote string) *http.Request {
	d.url = url.URL{Path: string(d.path), RawQuery: string(d.query)} // which may be remembered
	d.request.RemoteAddr = remote
	clear(d.sent)
	for i := range heard {
		if d.has(i) {
			d.sent[heard[i]] = d.values(i)
		}
	}
	return &d.request
}

// serveDirectly answers what a read brought, if it is a plain request for a known address or for data. It is false, and
// nothing was sent, for any other.
func (c *readableConn) serveDirectly(read []byte) bool {
	d := directs.Get().(*direct)
	defer directs.Put(d)
	if !d.parse(read) {
		return false
	}
	now := time.Now()
	k, p := c.handler.find(&d.plain, &d.turn, now)
	if k == nil && p == nil && !c.handler.reads(string(d.path)) || !c.begin() {
		return false
	}
	defer c.end()
	if now.Sub(c.renewed) > renewEvery {
		c.renewed = now
		if c.Conn.SetReadDeadline(now.Add(idleTimeout)) != nil || c.Conn.SetWriteDeadline(now.Add(answerTimeout)) != nil {
			return false
		}
	}
	if c.remote == "" {
		c.remote = c.RemoteAddr().String()
	}
	d.answer.begin(c)
	whole := false
	if k != nil && c.handler.repeat(&d.answer, &d.plain, k, now) || p != nil && c.handler.turn(&d.answer, &d.plain, &d.turn, p, now) {
		whole = d.answer.err == nil
	} else {
		d.answer.begin(c)
		clear(d.answer.header)
		c.handler.ServeHTTP(&d.answer, d.forHandler(c.remote))
		whole = d.answer.isWhole()
	}
	if !whole { // the next one would be read as its rest
		_ = c.Conn.Close()
	}
	d.answer.conn = nil
	return true
}

// directAnswer writes an answer straight onto its connection.
type directAnswer struct {
	header http.Header
	conn   *readableConn
	names  []string
	out    []byte // the head, and what is sent with it
	begun  bool
	code   int
	sent   int // bytes of the body
	err    error

	cutting     cutting // of a page
	summed, tag []byte  // what makes its tag
}

func (a *directAnswer) begin(c *readableConn) {
	a.conn, a.begun, a.code, a.out, a.sent, a.err = c, false, 0, a.out[:0], 0, nil
}

// isWhole says whether all was sent that the head tells of.
func (a *directAnswer) isWhole() bool {
	if a.err != nil || !a.begun {
		return false
	}
	size, err := strconv.Atoi(a.header.Get("Content-Length"))
	return a.code == http.StatusNotModified || err == nil && size == a.sent
}

// Header implements http.ResponseWriter.
func (a *directAnswer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. What has no body is sent at once, other heads with the first of theirs.
func (a *directAnswer) WriteHeader(code int) {
	if a.code != 0 {
		return
	}
	a.code, a.out = code, appendStatus(a.out[:0], code)
	a.names = a.names[:0]
	for name := range a.header {
		a.names = append(a.names, name)
	}
	slices.Sort(a.names)
	for _, name := range a.names {
		if code == http.StatusNotModified && name == "Content-Length" {
			continue
		}
		for _, value := range a.header[name] {
			a.field(name, value)
		}
	}
	a.field("Date", httpDate(time.Now()))
	a.out = append(a.out, "\r\n"...)
	if size := a.header["Content-Length"]; code == http.StatusNotModified || len(size) == 1 && size[0] == "0" {
		_, _ = a.Write(nil)
	}
}

// atOnce is how many bytes of a body are copied behind the head, so that both are sent by one call.
const atOnce = 64 << 10

// Write implements http.ResponseWriter.
func (a *directAnswer) Write(p []byte) (int, error) {
	if a.code == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.begun {
		a.put(p)
	} else {
		a.begun = true
		a.send(p)
	}
	a.sent += len(p)
	return len(p), a.err
}

// send sends the head, and the first of the body.
func (a *directAnswer) send(p []byte) {
	if len(p) <= atOnce {
		a.out = append(a.out, p...)
		a.put(a.out)
		return
	}
	a.put(a.out)
	a.put(p)
}

// put sends bytes, unless earlier ones could not be.
func (a *directAnswer) put(p []byte) {
	if a.err == nil {
		_, a.err = a.conn.Conn.Write(p)
	}
}

// date is a second in the form of a header.
type date struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[date]

// httpDate is the time as Date tells it, put into words once a second.
func httpDate(now time.Time) string {
	second := now.Unix()
	d := lastDate.Load()
	if d == nil || d.second != second {
		d = &date{second, now.UTC().Format(http.TimeFormat)}
		lastDate.Store(d)
	}
	return d.text
}

// find implements knower.
func (h *handler) find(r *plain, t *turn, now time.Time) (*known, *paging) {
	id := h.source.ID(now)
	if k, ok := h.lately.find(id, r.target); ok {
		return k, nil
	}
	if p, ok := h.findPaging(r, t, id); ok {
		return nil, p
	}
	e, ok := h.cache.entry(cacheKey{snapshot: id, address: address{path: string(r.path), query: string(r.query)}})
	if !ok {
		return nil, nil
	}
	h.lately.put(r.target, e)
	k, _ := h.lately.find(id, r.target)
	return k, nil
}

// reads implements knower.
func (h *handler) reads(path string) bool {
	call, _ := callOf(path)
	return call == "" && isAPI(path)
}
