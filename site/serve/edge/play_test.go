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
)

// answer is what a reader is told.
type answer struct {
	Code   int
	Header map[string]string
	Body   string // unpacked
}

// without is the answer less some headers.
func (a answer) without(names ...string) answer {
	a.Header = maps.Clone(a.Header)
	for _, name := range names {
		delete(a.Header, name)
	}
	return a
}

// compared are the headers that every reader answers alike, whoever answers. Those that count requests, name a
// connection or a moment are left out.
var compared = []string{
	"Content-Type", "Content-Encoding", "Cache-Control", "Vary", "ETag", "Last-Modified", "Link", "Accept-Ranges",
	"Content-Range", "X-Snapshot", "X-Snapshot-Warning", "X-Content-Type-Options", "Content-Security-Policy", "Allow",
	"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Allow-Methods",
	"Access-Control-Allow-Headers", "Access-Control-Max-Age",
}

// ask sends a request over a connection of its own, byte for byte as the script has it.
func ask(addr string, c call) (answer, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return answer{}, err
	}
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: tollbook.example\r\nConnection: close\r\n%s\r\n", c.method,
		c.target, c.header); err != nil {
		return answer{}, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: c.method})
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{Code: response.StatusCode, Header: map[string]string{}}
	for _, name := range compared {
		if v := response.Header.Values(name); len(v) > 0 {
			a.Header[name] = strings.Join(v, ", ")
		}
	}
	if a.Header["Content-Encoding"] == "gzip" && len(body) > 0 {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return answer{}, err
		}
		if body, err = io.ReadAll(z); err != nil {
			return answer{}, err
		}
	}
	a.Body = string(body)
	return a, nil
}

// startWorker runs the printed worker over a folder in place of a bucket.
func startWorker(t *testing.T, root string) (addr string) {
	t.Helper()
	program, err := Worker(Cloudflare{Bucket: "BUCKET", Limiter: "LIMITER", Serve: "SERVE", RateLimit: 200})
	if err != nil {
		t.Fatal(err)
	}
	return edgetest.StartWorker(t, program, root)
}

// normalPath says whether a platform that takes out dot segments and turns backslashes leaves the path as it is.
func normalPath(target string) bool {
	path, _, _ := strings.Cut(target, "?")
	for part := range strings.SplitSeq(path, "/") {
		if dots := strings.ReplaceAll(strings.ToLower(part), "%2e", "."); dots == "." || dots == ".." {
			return false
		}
	}
	return !strings.Contains(path, "\\")
}

// play sends a script, a few requests at a time.
func play(t *testing.T, addr string, script []call) []answer {
	t.Helper()
	answers := make([]answer, len(script))
	var g errgroup.Group
	g.SetLimit(8)
	for i, c := range script {
		g.Go(func() (err error) {
			if answers[i], err = ask(addr, c); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return answers
}

// TestEdges plays one script against the Go reader, the worker and nginx.
func TestEdges(t *testing.T) {
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
		"worker damage": testWorkerDamage, "worker reads": testWorkerReads, "nginx limits": testNginxLimits,
		"nginx alone": testNginxAlone,
	} {
		t.Run(name, func(t *testing.T) { test(t, w) })
	}
}

func testWorker(t *testing.T, w *world, script []call, want []answer) {
	addr := startWorker(t, w.root)
	for i, got := range play(t, addr, script) {
		if c := script[i]; normalPath(c.target) { // the platform rewrites others before the worker is asked
			want := want[i]
			// as it lies there, with what its store says of it
			if strings.HasPrefix(c.target, "/snapshots/") || strings.HasPrefix(c.target, "/packs/") {
				want, got = want.without("ETag", "Last-Modified"), got.without("ETag", "Last-Modified")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%.300s (-go +worker):\n%.1500s", c, diff)
			}
		}
	}
}
