package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site"
)

// watched counts what a handler lets its connections answer themselves.
type watched struct {
	*handler
	direct atomic.Int64
}

func (w *watched) find(r *plain, t *turn, now time.Time) (*known, *paging) {
	k, p := w.handler.find(r, t, now)
	if k != nil || p != nil {
		w.direct.Add(1)
	}
	return k, p
}

func (w *watched) reads(path string) bool {
	ok := w.handler.reads(path)
	if ok {
		w.direct.Add(1)
	}
	return ok
}

// listenTo serves a handler on a loopback port until the test ends.
func listenTo(t testing.TB, h http.Handler) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, h, slog.New(slog.DiscardHandler)) }()
	stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		done <- nil
	}
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

// said is an answer as it came.
type said struct {
	Status string
	Header http.Header
	Body   string
}

func ask(t testing.TB, c net.Conn, in *bufio.Reader, request string) said {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(in, &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	if resp.StatusCode == http.StatusOK && resp.Header.Get("Date") == "" {
		t.Errorf("%q: no Date", request)
	}
	resp.Header.Del("Date")
	return said{resp.Status, resp.Header, string(body)}
}

func dial(t testing.TB, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

// What a connection answers itself is what net/http answers, which has the first request of every connection.
func TestDirect(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 120)
	w := &watched{handler: NewHandler(Options{
		Source: openSource(t, publish(t, world.files).Root()), Now: func() time.Time { return now }, Metrics: NewMetrics(),
	}).(*handler)}
	addr, _ := listenTo(t, w)
	const end = "\r\n\r\n"
	get := func(target string, fields ...string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: tollbook.example\r\n" + strings.Join(append(fields, ""), "\r\n") + "\r\n"
	}
	tag := ask2(t, addr, get("/v1/services")).Header.Get("Etag")
	for _, test := range []struct {
		about, request string
		direct         bool
	}{
		{"a list", get("/v1/services"), true},
		{"packed", get("/v1/services", "Accept-Encoding: gzip, deflate, br"), true},
		{"a browser's fields", get("/v1/services", "user-agent: Mozilla/5.0 (X11)", "ACCEPT: */*", "Sec-Fetch-Mode: cors", "connection: keep-alive"), true},
		{"a page, with the link to the next", get("/v1/services?page=2&per_page=25", "Accept-Encoding: gzip"), true},
		{"a window", get("/v1/services?page=2&per_page=7"), true},
		{"a window that nobody asked for twice", get("/v1/services?page=3&per_page=8", "Accept-Encoding: gzip"), true},
		{"a window of few rows", get("/v1/services?page=9&per_page=2"), true},
		{"a page past the end", get("/v1/services?page=900"), true},
		{"another name of a route", get("/api/v1/services?page=4&per_page=9"), true},
		{"an earlier snapshot that is not kept", get("/v1/services?snapshot=20200101T000000Z-000000"), true},
		{"a log", get("/v1/checks?limit=7&offset=3", "Accept-Encoding: gzip"), true},
		{"no data is there", get("/v1/none"), true},
		{"a wrong parameter", get("/v1/services?page=x", "Accept-Encoding: gzip"), true},
		{"a parameter that can't be read", get("/v1/services?page=%zz"), true},
		{"a file", get("/v1/services.json"), true},
		{"a document", get("/"), true},
		{"what is known already", get("/v1/services", "If-None-Match: "+tag), true},
		{"what was known before", get("/v1/services", `If-None-Match: "x"`), true},
		{"unchanged since", get("/v1/services", "If-Modified-Since: Fri, 20 Nov 2026 23:45:01 GMT"), true},
		{"changed since", get("/v1/services", "If-Modified-Since: Fri, 20 Nov 2026 23:45:00 GMT"), true},

		{"HEAD", strings.Replace(get("/v1/stats"), "GET", "HEAD", 1), false},
		{"another method", strings.Replace(get("/v1/services"), "GET", "POST", 1), false},
		{"no page is there", get("/none"), false},
		{"a submission", get("/v1/submissions/none"), false},
		{"the pointer", get("/checkpoint.json"), false},
		{"an escape", get("/v1/%73ervices"), false},
		{"a range", get("/v1/services", "Range: bytes=0-3"), false},
		{"two packings", get("/v1/services", "Accept-Encoding: gzip", "Accept-Encoding: br"), false},
		{"an empty field", get("/v1/services", "Accept-Encoding:"), false},
		{"a body", get("/v1/services", "Content-Length: 1") + "x", false},
		{"a body in pieces", get("/v1/services", "Transfer-Encoding: chunked") + "0" + end, false},
		{"the last one", get("/v1/services", "Connection: close"), false},
		{"an unknown field", get("/v1/services", "X-Something: else"), false},
		{"two hosts", get("/v1/services", "Host: other.example"), false},
		{"no host", "GET /v1/services HTTP/1.1" + end, false},
		{"a host that is none", "GET /v1/services HTTP/1.1\r\nHost: a/b" + end, false},
		{"an older protocol", "GET /v1/services HTTP/1.0\r\nHost: a" + end, false},
		{"a folded field", get("/v1/services", "Accept: a", " b"), false},
		{"a field without name", get("/v1/services", "nothing"), false},
		{"bare ends of lines", "GET /v1/services HTTP/1.1\nHost: a\n\n", false},
	} {
		want := ask2(t, addr, test.request) // makes the address known, too
		c, in := dial(t, addr)
		ask(t, c, in, get("/v1/stats"))
		before := w.direct.Load()
		got := ask(t, c, in, test.request)
		for tries := 0; test.direct && w.direct.Load() == before && tries < 100; tries++ {
			got = ask(t, c, in, test.request) // net/http may have had a byte of the one before, since it reads ahead while it answers
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-net/http +direct):\n%s", test.about, diff)
		}
		if direct := w.direct.Load() > before; direct != test.direct {
			t.Errorf("%s: answered by the connection itself: %v", test.about, direct)
		}
	}
}

// ask2 asks on a connection of its own.
func ask2(t testing.TB, addr, request string) said {
	t.Helper()
	c, in := dial(t, addr)
	defer c.Close()
	return ask(t, c, in, request)
}

// Requests that come in pieces, or several at once, are answered in order, whoever answers them.
func TestDirectInPieces(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 120)
	h := handlerOf(t, publish(t, world.files), t.Output())
	addr, _ := listenTo(t, h)
	text := ""
	var want []string
	for _, page := range []int{1, 2, 3, 1, 3, 2, 2, 1} {
		target := fmt.Sprintf("/v1/services?page=%d", page)
		text += "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n"
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, target, nil))
		want = append(want, rec.Body.String())
	}
	for size := 1; size <= len(text); size = size*3/2 + 1 {
		c, in := dial(t, addr)
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		go func() {
			for part := range slices.Chunk([]byte(text), size) {
				if _, err := c.Write(part); err != nil {
					return // the reader says so
				}
			}
		}()
		for i := range want {
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("pieces of %d bytes: answer %d: %v", size, i, err)
			}
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != want[i] {
				t.Fatalf("pieces of %d bytes: answer %d: %v (-want +got):\n%s", size, i, err, cmp.Diff(want[i], string(body)))
			}
		}
		c.Close()
	}
}

// A client who is over his rate is told so on a connection that answers itself, too.
func TestDirectIsLimited(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 30)
	w := &watched{handler: NewHandler(Options{
		Source: openSource(t, publish(t, world.files).Root()), Now: func() time.Time { return now }, RateLimit: 3,
	}).(*handler)}
	addr, _ := listenTo(t, w)
	c, in := dial(t, addr)
	var got []string
	var answers []said
	for range 5 {
		answer := ask(t, c, in, "GET /v1/services HTTP/1.1\r\nHost: a\r\n\r\n")
		got = append(got, answer.Status+" "+answer.Header.Get("Ratelimit"))
		answer.Header.Del("Ratelimit")
		answers = append(answers, answer)
	}
	for _, answer := range answers[1:3] {
		if diff := cmp.Diff(answers[0], answer); diff != "" {
			t.Errorf("with a limit (-net/http +direct):\n%s", diff)
		}
	}
	want := []string{`200 OK "api";r=2;t=60`, `200 OK "api";r=1;t=60`, `200 OK "api";r=0;t=60`, `429 Too Many Requests "api";r=0;t=60`, `429 Too Many Requests "api";r=0;t=60`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := w.direct.Load(); n == 0 { // net/http may take some: it reads ahead while it answers
		t.Errorf("none was answered by the connection itself")
	}
}

// Told to stop, a server sends what is under way to its end.
func TestDirectStops(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 120)
	w := &slow{handler: handlerOf(t, publish(t, world.files), t.Output()).(*handler), entered: make(chan bool), leave: make(chan bool)}
	addr, stop := listenTo(t, w)
	c, in := dial(t, addr)
	const request = "GET /v1/services HTTP/1.1\r\nHost: a\r\n\r\n"
	want := ask(t, c, in, request)
	answered := make(chan said)
	go func() { answered <- ask(t, c, in, request) }()
	<-w.entered
	stopped := make(chan bool)
	go func() {
		stop()
		close(stopped)
	}()
	for d, err := net.Dial("tcp", addr); err == nil; d, err = net.Dial("tcp", addr) { // it still listens
		d.Close()
	}
	close(w.leave)
	if diff := cmp.Diff(want, <-answered); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("after the last answer: %v", err)
	}
	<-stopped
}

// slow is a handler whose direct answers wait.
type slow struct {
	*handler
	entered, leave chan bool
}

func (s *slow) repeat(a *directAnswer, r *plain, k *known, began time.Time) bool {
	s.entered <- true
	<-s.leave
	return s.handler.repeat(a, r, k, began)
}

// After an answer that could not be sent whole the connection is closed: what followed would be taken for its rest.
func TestDirectBrokenOff(t *testing.T) {
	t.Parallel()
	world := newWorld(t, 30)
	h := handlerOf(t, publish(t, world.files), t.Output()).(*handler)
	get(h, "/v1/services") // known now
	for about, test := range map[string]struct {
		fails  bool
		size   string // declared by a handler that sends five bytes
		closed bool
	}{
		"whole": {}, "the line is cut": {fails: true, closed: true}, "the handler sends less": {size: "7", closed: true}, "the handler sends all": {size: "5"},
	} {
		line := &brittle{fails: test.fails}
		c := &readableConn{Conn: line, handler: &short{h, test.size}, direct: new(atomic.Int64), remote: "192.0.2.1:4020"}
		if !c.serveDirectly([]byte("GET /v1/services HTTP/1.1\r\nHost: a\r\n\r\n")) || line.closed != test.closed {
			t.Errorf("%s: closed is %v, want %v", about, line.closed, test.closed)
		}
	}
}

// brittle is a connection that may fail.
type brittle struct {
	nowhere
	fails, closed bool
}

func (b *brittle) Write(p []byte) (int, error) {
	if b.fails {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func (b *brittle) Close() error {
	b.closed = true
	return nil
}

// short is a handler that declares a size, unless it is "", and sends five bytes.
type short struct {
	*handler
	size string
}

func (s *short) repeat(a *directAnswer, r *plain, k *known, began time.Time) bool {
	return s.size == "" && s.handler.repeat(a, r, k, began)
}

func (s *short) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.size == "" {
		s.handler.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Length", s.size)
	_, _ = w.Write([]byte("bytes"))
}

// FuzzPlain holds what is taken for a plain request to what net/http reads in it.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{
		"GET /v1/services?page=2 HTTP/1.1\r\nHost: a.example:4020\r\nAccept-Encoding: gzip\r\n\r\n",
		"GET / HTTP/1.1\r\nhost: [::1]:1\r\nIf-None-Match:  \"x\", W/\"y\" \r\nUser-Agent: a: b\r\n\r\n",
		"GET //a/b? HTTP/1.1\r\nHost: a\r\nForwarded: for=1.1.1.1\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p plain
		if !p.parse(b) {
			return
		}
		in := bufio.NewReader(bytes.NewReader(b))
		r, err := http.ReadRequest(in)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if _, err := in.ReadByte(); err != io.EOF || r.Body != http.NoBody || r.Close || r.Method != http.MethodGet || !r.ProtoAtLeast(1, 1) {
			t.Fatalf("%q is more than a plain request: %v, %+v", b, err, r)
		}
		if want, got := (address{r.URL.Path, r.URL.RawPath, r.URL.RawQuery}), (address{string(p.path), "", string(p.query)}); want != got {
			t.Fatalf("%q: %+v, want %+v", b, got, want)
		}
		for i, name := range heard {
			var want []string
			if p.header[i] != nil {
				want = []string{string(p.header[i])}
			}
			if diff := cmp.Diff(want, r.Header[name]); diff != "" {
				t.Fatalf("%q: %s (-got +net/http):\n%s", b, name, diff)
			}
		}
	})
}

// BenchmarkDirect is what a connection that answers itself costs beside its two system calls.
func BenchmarkDirect(b *testing.B) {
	world := newWorld(b, 2000)
	h := NewHandler(Options{Source: openSource(b, publish(b, world.files).Root()), Metrics: NewMetrics()}).(*handler)
	c := &readableConn{Conn: nowhere{}, handler: h, direct: new(atomic.Int64), remote: "192.0.2.1:4020"}
	for _, target := range []string{"/v1/services", "/v1/services?page=2", "/v1/services/service-0100", "/v1/services.json"} {
		b.Run(target, func(b *testing.B) {
			if got := get(h, target, "Accept-Encoding", "gzip"); got.Code != http.StatusOK {
				b.Fatal(got.Code)
			}
			request := []byte("GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1:4020\r\nAccept-Encoding: gzip\r\n\r\n")
			b.ReportAllocs()
			for b.Loop() {
				if !c.serveDirectly(request) {
					b.Fatal("it is not known")
				}
			}
		})
	}
	b.Run("window cut anew", func(b *testing.B) {
		const target = "/v1/services?per_page=50&page="
		get(h, target+"3")
		request := []byte("GET " + target + "4 HTTP/1.1\r\nHost: 127.0.0.1:4020\r\nAccept-Encoding: gzip\r\n\r\n")
		b.ReportAllocs()
		for b.Loop() {
			if !c.serveDirectly(request) {
				b.Fatal("it is not answered")
			}
		}
	})
	b.Run("window of an unknown list", func(b *testing.B) {
		q, err := site.ParseRequest("/v1/services", "per_page=50&page=3")
		if err != nil {
			b.Fatal(err)
		}
		snap, err := h.source.Current()
		if err != nil {
			b.Fatal(err)
		}
		defer snap.Release()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := h.window(snap, q, len(world.services)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPack packs the rows of a file.
func BenchmarkPack(b *testing.B) {
	world := newWorld(b, site.MaxPageSize)
	var rows [][]byte
	for _, s := range world.services {
		rows = append(rows, []byte(s.row()))
	}
	shared := newCache(1 << 20).rows.share(rows)
	b.ReportAllocs()
	for b.Loop() {
		pack(shared)
	}
}

// nowhere is a connection on which all that is written is gone.
type nowhere struct{ net.Conn }

func (nowhere) Write(p []byte) (int, error)      { return len(p), nil }
func (nowhere) SetReadDeadline(time.Time) error  { return nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }
