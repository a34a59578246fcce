package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/output/objects"
)

// zipOf returns the name and the bytes of a publication's current zip.
func zipOf(t testing.TB, d *output.Folder) (name string, data []byte) {
	t.Helper()
	c, err := d.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	name = "snapshots/" + c.Snapshot + ".zip"
	data, err = os.ReadFile(filepath.Join(d.Root(), name))
	if err != nil {
		t.Fatal(err)
	}
	return name, data
}

func TestDownload(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	h := handlerOf(t, d, t.Output())
	name, zip := zipOf(t, d)
	n := len(zip)
	whole := get(h, "/"+name)
	tag := whole.Header().Get("Etag")
	if len(tag) < 10 || strings.HasPrefix(tag, "W/") {
		t.Fatalf("ETag %s", tag)
	}
	for _, test := range []struct {
		name    string
		method  string
		headers []string
		code    int
		from    int
		to      int // exclusive
	}{
		{"whole", "GET", nil, 200, 0, n},
		{"only its header", "HEAD", nil, 200, 0, n},
		{"a range", "GET", []string{"Range", "bytes=10-19"}, 206, 10, 20},
		{"the header of a range", "HEAD", []string{"Range", "bytes=10-19"}, 206, 10, 20},
		{"from a byte on", "GET", []string{"Range", fmt.Sprintf("bytes=%d-", n-7)}, 206, n - 7, n},
		{"the last bytes", "GET", []string{"Range", "bytes=-5"}, 206, n - 5, n},
		{"past the end", "GET", []string{"Range", fmt.Sprintf("bytes=5-%d", n+100)}, 206, 5, n},
		{"of the same zip", "GET", []string{"Range", "bytes=1-2", "If-Range", tag}, 206, 1, 3},
		{"of another zip", "GET", []string{"Range", "bytes=1-2", "If-Range", `"other"`}, 200, 0, n},
		{"several ranges", "GET", []string{"Range", "bytes=1-2,4-5"}, 200, 0, n},
		{"another unit", "GET", []string{"Range", "rows=1-2"}, 416, 0, 0},
		{"behind the end", "GET", []string{"Range", fmt.Sprintf("bytes=%d-", n)}, 416, 0, 0},
		{"known", "GET", []string{"If-None-Match", `"other", ` + tag}, 304, 0, 0},
		{"expected", "GET", []string{"If-Match", tag, "Range", "bytes=0-0"}, 206, 0, 1},
		{"not as expected", "GET", []string{"If-Match", `"other"`}, 412, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, "/"+name+"?a=b", nil)
			for i := 0; i < len(test.headers); i += 2 {
				r.Header.Set(test.headers[i], test.headers[i+1])
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.code {
				t.Fatalf("status %d, want %d: %v", w.Code, test.code, w.Header())
			}
			header := w.Header()
			switch {
			case test.code == 416:
				if header.Get("Content-Type") != typeJSON || !strings.Contains(w.Body.String(), `"code":416`) ||
					header.Get("Etag") != "" || header.Get("Cache-Control") != "no-store" {
					t.Errorf("%v %s", header, w.Body)
				}
				return
			case test.code > 300:
				if w.Body.Len() > 0 {
					t.Errorf("a body: %q", w.Body)
				}
				return
			}
			want := zip[test.from:test.to]
			if test.method == "HEAD" {
				want = nil
			}
			if !bytes.Equal(w.Body.Bytes(), want) {
				t.Errorf("%d bytes, want %d", w.Body.Len(), len(want))
			}
			got := map[string]string{}
			for _, field := range []string{"Content-Type", "Cache-Control", "Etag", "Accept-Ranges", "Content-Length",
				"Content-Range", "Content-Encoding", "X-Content-Type-Options", "Ratelimit"} {
				got[field] = header.Get(field)
			}
			wantHeader := map[string]string{
				"Content-Type": "application/zip", "Cache-Control": "public, max-age=31536000, immutable", "Etag": tag,
				"Accept-Ranges":  "bytes",
				"Content-Length": fmt.Sprint(test.to - test.from), "Content-Range": "", "Content-Encoding": "",
				"X-Content-Type-Options": "nosniff", "Ratelimit": "",
			}
			if test.code == 206 {
				wantHeader["Content-Range"] = fmt.Sprintf("bytes %d-%d/%d", test.from, test.to-1, n)
			}
			if diff := cmp.Diff(wantHeader, got); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDownloadNames checks that clients can download only files of the publication, and no other path or file of its
// folder.
func TestDownloadNames(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	h := handlerOf(t, d, t.Output())
	name, zip := zipOf(t, d)
	if err := os.WriteFile(filepath.Join(d.Root(), "snapshots", "secret.zip"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	packs, err := d.Packs()
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs %v, %v", packs, err)
	}
	if got := get(h, "/packs/"+packs[0]+".zip"); got.Code != 200 ||
		got.Header().Get("Content-Type") != "application/zip" {
		t.Errorf("a pack: %d %v", got.Code, got.Header())
	}
	for _, path := range []string{
		"/snapshots/secret.zip", "/snapshots/", "/snapshots", "/snapshots/20261120T234501Z-3f2a9c.zip",
		"/packs/2020010100.zip", "/packs/2026112024.zip",
		"/" + strings.ToUpper(name), "/" + name + "/", "/" + strings.TrimSuffix(name, ".zip"), "/snapshots/../" + name,
		"//" + name, "/v1/" + name,
		"/" + strings.Replace(name, "Z", "%5A", 1), "/packs/..%2f" + name, "/.lock", "/tree/", "/checkpoint.json/",
		"/checkpoint", "/%63heckpoint.json",
	} {
		if got := get(h, path); got.Code != 404 || bytes.Contains(got.Body.Bytes(), zip[:20]) {
			t.Errorf("GET %s: %d", path, got.Code)
		}
	}
	r := httptest.NewRecorder()
	h.ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/"+name, nil))
	if r.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", r.Code)
	}
}

func TestCheckpoint(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	source := openSource(t, d.Root())
	h := NewHandler(Options{Source: source, Now: func() time.Time { return now }, RateLimit: 1})
	for range 3 { // no client's limit counts this request
		want, err := os.ReadFile(filepath.Join(d.Root(), "checkpoint.json"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := archive.ParseCheckpoint(want)
		if err != nil {
			t.Fatal(err)
		}
		got := get(h, "/checkpoint.json")
		if diff := cmp.Diff(string(want), got.Body.String()); diff != "" || got.Code != 200 {
			t.Errorf("status %d (-want +got):\n%s", got.Code, diff)
		}
		if got.Header().Get("Cache-Control") != "public, max-age=5" || got.Header().Get("X-Snapshot") != c.Snapshot ||
			got.Header().Get("Last-Modified") != "" {
			t.Errorf("header %v", got.Header())
		}
		if again := get(h, "/checkpoint.json", "If-None-Match", got.Header().Get("Etag")); again.Code != 304 {
			t.Errorf("known: %d", again.Code)
		}
		publishTo(t, d, c.Built().Add(time.Minute), siteFiles(t))
		if err := source.Refresh(); err != nil {
			t.Fatal(err)
		}
	}
	// A tree without a publication has no checkpoint and no zips.
	bare := NewHandler(Options{Source: openSource(t, filepath.Join(d.Root(), "current"))})
	for _, path := range []string{"/checkpoint.json", "/snapshots/" + func() string {
		name, _ := zipOf(t, d)
		return name
	}()} {
		if got := get(bare, path); got.Code != 404 {
			t.Errorf("%s of a tree: %d", path, got.Code)
		}
	}
}

// TestVerifyServed checks that the downloads of a running server match their sums and signature, with packs and single
// files.
func TestVerifyServed(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	server := httptest.NewServer(handlerOf(t, d, t.Output()))
	defer server.Close()
	packs, err := d.Packs()
	if err != nil {
		t.Fatal(err)
	}
	verify := func(files bool) (output.Verified, string) {
		web, err := objects.OpenWeb(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		var report strings.Builder
		v, err := output.VerifyStore(t.Context(), web, output.VerifyOptions{
			Files: files, Packs: func(archive.Tree) ([]string, error) { return packs, nil },
			Report: func(name string, err error) { fmt.Fprintln(&report, name, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return v, report.String()
	}
	if v, _ := verify(false); v.Packs != len(packs) || v.Packs == 0 || v.Files < 10 || v.Objects != 0 || v.Wrong != 0 {
		t.Errorf("%+v", v)
	}
	if v, report := verify(true); v.Objects != v.Files || v.Wrong != 0 {
		t.Errorf("%+v\n%s", v, report)
	}
	// Verification detects a changed pack.
	path := filepath.Join(d.Root(), "packs", packs[0]+".zip")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[30+int(data[26])+int(data[28])+2] ^= 1 // a byte of the first file, behind its name and extra field
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if v, report := verify(false); v.Wrong == 0 || !strings.Contains(report, "packs/"+packs[0]) {
		t.Errorf("%+v\n%s", v, report)
	}
}

// flaky is a store whose first breaks bodies fail after cut bytes.
type flaky struct {
	objects.Store
	cut      int64
	breaks   atomic.Int64
	read     atomic.Int64
	requests atomic.Int64
	get      func(ctx context.Context)
}

func (f *flaky) Get(ctx context.Context, name string, o objects.GetOptions) (objects.Object, io.ReadCloser, error) {
	if strings.HasPrefix(name, "snapshots/") {
		f.requests.Add(1)
		if f.get != nil {
			f.get(ctx)
		}
	}
	obj, body, err := f.Store.Get(ctx, name, o)
	if err != nil || !strings.HasPrefix(name, "snapshots/") {
		return obj, body, err
	}
	var r io.Reader = body
	if f.breaks.Add(-1) >= 0 {
		r = io.MultiReader(io.LimitReader(body, f.cut), broken{})
	}
	return obj, struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r, &counted{&f.read}), body}, nil
}

type counted struct{ n *atomic.Int64 }

func (c *counted) Write(p []byte) (int, error) { c.n.Add(int64(len(p))); return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fmt.Errorf("%w: cut", archive.ErrUnreachable) }

// flakyHandler serves a publication through a flaky store. Its snapshot is already open.
func flakyHandler(t *testing.T, log io.Writer) (*flaky, http.Handler, string, []byte) {
	t.Helper()
	d := publish(t, siteFiles(t))
	store, err := objects.OpenStoreDir(d.Root())
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{Store: store}
	source := output.OpenStoreSource(f, 1<<20, slog.New(slog.DiscardHandler))
	t.Cleanup(source.Close)
	name, zip := zipOf(t, d)
	return f, NewHandler(Options{Source: source, Logger: slog.New(slog.NewTextHandler(log, nil))}), name, zip
}

// TestDownloadFromStore checks that the server reads no more from a store than it sends, and continues after a break.
// If the rest never arrives, the response is visibly incomplete.
func TestDownloadFromStore(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	f, h, name, zip := flakyHandler(t, &log)
	server := httptest.NewServer(h)
	defer server.Close()
	fetch := func(headers ...string) (int, []byte, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		return res.StatusCode, data, err
	}
	code, data, err := fetch("Range", "bytes=100-163")
	if err != nil || code != 206 || !bytes.Equal(data, zip[100:164]) || f.requests.Load() != 1 || f.read.Load() != 64 {
		t.Errorf("a range: %d, %d bytes, %v; %d requests for %d bytes", code, len(data), err, f.requests.Load(),
			f.read.Load())
	}
	f.cut = 1000
	f.breaks.Store(2)
	if code, data, err = fetch(); err != nil || code != 200 || !bytes.Equal(data, zip) {
		t.Errorf("broken off twice: %d, %d bytes of %d, %v", code, len(data), len(zip), err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
	f.cut = 0
	f.breaks.Store(1 << 40)
	if code, data, err = fetch(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("nothing comes: %d, %d bytes, %v, want %v", code, len(data), err, io.ErrUnexpectedEOF)
	}
	server.Close() // waits until the handler has returned
	if !strings.Contains(log.String(), "download aborted") {
		t.Errorf("logged %s", &log)
	}
}

// TestDownloadOutlastsReadTimeout checks that a download may take longer than the read timeout.
func TestDownloadOutlastsReadTimeout(t *testing.T) {
	t.Parallel()
	f, h, name, zip := flakyHandler(t, t.Output())
	server := httptest.NewUnstartedServer(h)
	const timeout = 2 * time.Second // a request must arrive within this time
	server.Config.ReadTimeout = timeout
	server.Config.IdleTimeout = time.Minute // the default is the read timeout
	server.Start()
	defer server.Close()
	if a, err := server.Client().Get(server.URL + "/checkpoint.json"); err != nil || a.Body.Close() != nil ||
		a.StatusCode != 200 {
		t.Fatalf("%v, %v", a, err)
	}
	f.get = func(ctx context.Context) {
		select {
		case <-ctx.Done(): // must not happen
		case <-time.After(timeout + timeout/2):
		}
	}
	res, err := server.Client().Get(server.URL + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if data, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(data, zip) {
		t.Errorf("%d bytes of %d, %v", len(data), len(zip), err)
	}
}

// TestGate checks that each client has a limited number of downloads at a time. Other clients have their own limit, and
// an ended download frees its place.
func TestGate(t *testing.T) {
	t.Parallel()
	g := newGate()
	gone, cancel := context.WithCancel(t.Context())
	cancel() // this client does not wait
	var leave []func()
	for range downloadsByClient {
		out, err := g.enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	if _, err := g.enter(gone, 1); !errors.Is(err, errRateLimited) {
		t.Errorf("one more of a client: %v, want %v", err, errRateLimited)
	}
	for c := client(2); len(leave) < downloadsAtOnce; c++ {
		for range downloadsByClient {
			out, err := g.enter(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, out)
		}
	}
	if _, err := g.enter(gone, 99); !errors.Is(err, errDownloads) {
		t.Errorf("one more of all: %v, want %v", err, errDownloads)
	}
	in := make(chan func(), 1)
	go func() {
		out, err := g.enter(t.Context(), 99)
		if err != nil {
			t.Errorf("after one left: %v", err)
			out = func() {}
		}
		in <- out
	}()
	leave[0]()
	leave[0] = <-in
	for _, out := range leave {
		out()
	}
	if len(g.clients) != 0 || len(g.all) != 0 {
		t.Errorf("%d clients and %d places are left", len(g.clients), len(g.all))
	}
	var wg sync.WaitGroup // many clients at once
	for i := range 500 {
		wg.Go(func() {
			if out, err := g.enter(t.Context(), client(i%7)); err == nil {
				out()
			} else if !errors.Is(err, errRateLimited) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(g.clients) != 0 || len(g.all) != 0 {
		t.Errorf("%d clients and %d places are left", len(g.clients), len(g.all))
	}
}

// TestDownloadsOfOneClientAreLimited checks that a client whose download is refused gets an error, and can still send
// other requests.
func TestDownloadsOfOneClientAreLimited(t *testing.T) {
	t.Parallel()
	f, h, name, _ := flakyHandler(t, t.Output())
	get(h, "/v1/services") // opens the snapshot
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	under := make(chan struct{}, downloadsWaiting)
	f.get = func(ctx context.Context) {
		under <- struct{}{}
		<-ctx.Done()
	}
	var wg sync.WaitGroup
	for range downloadsWaiting {
		wg.Go(func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+name, nil))
		})
	}
	for range downloadsByClient {
		<-under
	}
	of := h.(*handler).gate
	for waiting := 0; waiting < downloadsWaiting; time.Sleep(time.Millisecond) {
		of.mu.Lock()
		for _, g := range of.clients {
			waiting = g.n
		}
		of.mu.Unlock()
	}
	got := get(h, "/"+name)
	var e struct{ Error struct{ Type string } }
	if err := json.Unmarshal(got.Body.Bytes(), &e); err != nil || got.Code != http.StatusTooManyRequests ||
		got.Header().Get("Retry-After") == "" || e.Error.Type != "rate_limited" {
		t.Errorf("one more: %d %v %s", got.Code, got.Header(), got.Body)
	}
	if got := get(h, "/v1/services"); got.Code != 200 {
		t.Errorf("a reader beside: %d", got.Code)
	}
	cancel()
	wg.Wait()
}

// TestPace checks that all downloads together stay within the rate. A client that disconnects does not wait.
func TestPace(t *testing.T) {
	t.Parallel()
	const rate, piece = 1 << 20, 16 << 10
	p := newPace(rate)
	began := time.Now()
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 8 {
				if err := p.wait(t.Context(), piece); err != nil {
					t.Error(err)
				}
				sent.Add(piece)
			}
		})
	}
	wg.Wait()
	least := time.Duration(sent.Load())*time.Second/rate - paceSlack
	if took := time.Since(began); took < least {
		t.Errorf("%d bytes took %s, at %d a second it is %s at least", sent.Load(), took, rate, least)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.wait(gone, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("who is gone: %v", err)
	}
	if err := newPace(0).wait(gone, 1<<30); err != nil {
		t.Errorf("without a rate: %v", err)
	}
}
