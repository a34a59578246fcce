package edge

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"tollbook/site/serve/edge/edgetest"
	"tollbook/site/testgate"
)

// response is a response in the parts that all servers must send alike.
type response struct {
	Code   int
	Header map[string]string
	Body   string // unpacked
}

// without returns the response without some headers.
func (a response) without(names ...string) response {
	a.Header = maps.Clone(a.Header)
	for _, name := range names {
		delete(a.Header, name)
	}
	return a
}

// comparedHeaders are the headers that all servers must send alike. Headers about rate limits, the connection and the
// time are left out.
var comparedHeaders = []string{
	"Content-Type", "Content-Encoding", "Cache-Control", "Vary", "ETag", "Last-Modified", "Link", "Accept-Ranges",
	"Content-Range", "X-Snapshot", "X-Snapshot-Warning", "X-Unknown-Parameters", "X-Content-Type-Options",
	"Content-Security-Policy", "Allow",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Allow-Headers", "Access-Control-Max-Age",
}

// ask sends a request byte for byte, over a connection of its own.
func ask(addr string, c call) (response, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return response{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return response{}, err
	}
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: tollbook.example\r\nConnection: close\r\n%s\r\n", c.method,
		c.target, c.header); err != nil {
		return response{}, err
	}
	r, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: c.method})
	if err != nil {
		return response{}, err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return response{}, err
	}
	a := response{Code: r.StatusCode, Header: map[string]string{}}
	for _, name := range comparedHeaders {
		if v := r.Header.Values(name); len(v) > 0 {
			a.Header[name] = strings.Join(v, ", ")
		}
	}
	if a.Header["Content-Encoding"] == "gzip" && len(body) > 0 {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return response{}, err
		}
		if body, err = io.ReadAll(z); err != nil {
			return response{}, err
		}
	}
	a.Body = string(body)
	return a, nil
}

// startWorker runs the worker over a folder instead of a bucket.
func startWorker(t *testing.T, root string) (addr string) {
	t.Helper()
	program, err := Worker(Cloudflare{Bucket: "BUCKET", Limiter: "LIMITER", Serve: "SERVE", RateLimit: 200})
	if err != nil {
		t.Fatal(err)
	}
	return edgetest.StartWorker(t, program, root)
}

// isNormalPath reports whether a path has no dot segments and no backslashes, which the platform would rewrite.
func isNormalPath(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	for part := range strings.SplitSeq(path, "/") {
		if dots := strings.ReplaceAll(strings.ToLower(part), "%2e", "."); dots == "." || dots == ".." {
			return false
		}
	}
	return !strings.Contains(path, "\\")
}

// play sends the requests of a script, eight at a time.
func play(t *testing.T, addr string, script []call) []response {
	t.Helper()
	responses := make([]response, len(script))
	var g errgroup.Group
	g.SetLimit(8)
	for i, c := range script {
		g.Go(func() (err error) {
			if responses[i], err = ask(addr, c); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return responses
}

// TestEdges plays one script against the Go reader, the worker and nginx.
func TestEdges(t *testing.T) {
	testgate.NotRaced(t)
	w := newWorld(t)
	script := w.script(t)
	if len(script) < 1000 {
		t.Fatalf("the script has %d requests", len(script))
	}
	want := play(t, w.addr, script)
	codes := map[int]int{}
	for _, a := range want {
		codes[a.Code]++
	}
	t.Logf("%d requests, by status %v", len(script), codes)
	for _, code := range []int{200, 204, 304, 400, 404, 405} {
		if codes[code] == 0 {
			t.Errorf("no request is answered with %d", code)
		}
	}
	t.Run("worker", func(t *testing.T) { testWorker(t, w, script, want) })
	t.Run("nginx", func(t *testing.T) { testNginx(t, w, script, want) })
	t.Run("cloudfront", func(t *testing.T) { testCloudFront(t, w, script) })
	for name, test := range map[string]func(*testing.T, *world){
		"worker limits": testWorkerLimits, "worker paths": testWorkerPaths, "worker follows": testWorkerFollows,
		"worker damage": testWorkerDamage, "worker lists": testWorkerLists, "worker reads": testWorkerReads,
		"nginx limits": testNginxLimits,
		"nginx alone":  testNginxAlone,
	} {
		t.Run(name, func(t *testing.T) { test(t, w) })
	}
}

func testWorker(t *testing.T, w *world, script []call, want []response) {
	addr := startWorker(t, w.root)
	for i, got := range play(t, addr, script) {
		if c := script[i]; isNormalPath(c.target) { // the platform rewrites other paths before the worker runs
			want := want[i]
			// zips are sent with the validators of the bucket
			if strings.HasPrefix(c.target, "/snapshots/") || strings.HasPrefix(c.target, "/packs/") {
				want, got = want.without("ETag", "Last-Modified"), got.without("ETag", "Last-Modified")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%.300s (-go +worker):\n%.1500s", c, diff)
			}
		}
	}
}
