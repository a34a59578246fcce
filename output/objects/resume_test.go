package objects

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tollbook/output/archive"
	"tollbook/output/outputtest"
)

// bucketServers are servers that keep the parts of an upload, each in its own way.
var bucketServers = map[string]func(testing.TB) *outputtest.Server{
	"versitygw": outputtest.Versity, "minio": outputtest.MinIO,
}

// TestPutContinues sends a large object to a server that accepts two parts of four, then away. The next Put sends the
// two others alone. A Put of another object after a Sweep that keeps the first leaves its parts, and a Sweep that keeps
// nothing removes them.
func TestPutContinues(t *testing.T) {
	t.Parallel()
	for about, start := range bucketServers {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			address := server.Bucket(t)
			var parts, allowed atomic.Int64
			var arriving sync.WaitGroup // a part that fails waits for those that arrive
			proxy := newProxy(t, server, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				if r.Method == http.MethodPut && r.URL.Query().Has("partNumber") {
					if allowed.Add(-1) < 0 {
						arriving.Wait()
						panic(http.ErrAbortHandler)
					}
					defer arriving.Done()
					parts.Add(1)
				}
				pass.ServeHTTP(w, r)
			})
			s, err := OpenStore(address, StoreOptions{Attempts: 2, Getenv: outputtest.Getenv(server.Env(proxy))})
			if err != nil {
				t.Fatal(err)
			}
			b := s.(*Bucket)
			data := make([]byte, 3*partSize+12345)
			rand.NewChaCha8([32]byte{3}).Read(data)
			put := func(name string, may int64) (sent int64, err error) {
				allowed.Store(may)
				arriving = sync.WaitGroup{}
				arriving.Add(int(may))
				parts.Store(0)
				_, err = s.Put(t.Context(), name, bytes.NewReader(data), PutOptions{ReadBack: true})
				return parts.Load(), err
			}
			incomplete := func() int {
				keys, err := b.IncompleteUploads(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return len(keys)
			}
			if sent, err := put("snapshots/a.zip", 2); sent != 2 || !errors.Is(err, archive.ErrUnreachable) {
				t.Errorf("a line that fails: %d parts, %v, want 2, %v", sent, err, archive.ErrUnreachable)
			}
			if err := s.Sweep(t.Context(), "snapshots/a.zip"); err != nil || incomplete() != 1 {
				t.Errorf("a sweep that keeps the object leaves %d uploads, %v", incomplete(), err)
			}
			if sent, err := put("snapshots/a.zip", 2); sent != 2 || err != nil {
				t.Errorf("the next Put: %d parts, %v, want 2", sent, err)
			}
			if err := Compare(t.Context(), s, "snapshots/a.zip", bytes.NewReader(data)); err != nil ||
				incomplete() != 0 {
				t.Errorf("%v; %d uploads are left", err, incomplete())
			}
			if _, err := put("snapshots/b.zip", 1); err == nil {
				t.Error("a second line that fails: no error")
			}
			if err := s.Sweep(t.Context(), "snapshots/a.zip"); err != nil || incomplete() != 0 {
				t.Errorf("a sweep leaves %d uploads, %v", incomplete(), err)
			}
			if sent, err := put("snapshots/b.zip", 4); sent != 4 || err != nil {
				t.Errorf("after the sweep: %d parts, %v, want 4", sent, err)
			}
		})
	}
}

// TestPutMistrustsParts sends a large object over a line that fails within a part. The server may list what arrived as a
// whole part; the next Put does not make the object of it.
func TestPutMistrustsParts(t *testing.T) {
	t.Parallel()
	for about, start := range bucketServers {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			server := start(t)
			address := server.Bucket(t)
			var cut atomic.Bool
			proxy := newProxy(t, server, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				if r.URL.Query().Get("partNumber") == "2" && cut.CompareAndSwap(false, true) {
					r.Body = struct {
						io.Reader
						io.Closer
					}{io.LimitReader(r.Body, partSize/2), r.Body}
				}
				pass.ServeHTTP(w, r)
			})
			s, err := OpenStore(address, StoreOptions{Attempts: 1, Getenv: outputtest.Getenv(server.Env(proxy))})
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, 3*partSize)
			rand.NewChaCha8([32]byte{4}).Read(data)
			if _, err := s.Put(t.Context(), "a.zip", bytes.NewReader(data), PutOptions{ReadBack: true}); err == nil {
				t.Fatal("a part was cut, and no error")
			}
			if _, err := s.Put(t.Context(), "a.zip", bytes.NewReader(data), PutOptions{ReadBack: true}); err != nil {
				t.Fatal(err)
			}
			if err := Compare(t.Context(), s, "a.zip", bytes.NewReader(data)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestListContinues lists three pages while every other request breaks off within its response.
func TestListContinues(t *testing.T) {
	t.Parallel()
	server := outputtest.Versity(t)
	address := server.Bucket(t)
	var lists atomic.Int64
	proxy := newProxy(t, server, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if !r.URL.Query().Has("list-type") || lists.Add(1)%2 == 0 {
			pass.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		pass.ServeHTTP(rec, r)
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	direct := openStore(t, address, server)
	want := make([]string, 2500)
	for i := range want {
		want[i] = "v1/" + strings.Repeat("x", i/100) + string(rune('a'+i%100/10)) + string(rune('0'+i%10))
		mustPut(t, direct, want[i], "x", PutOptions{})
	}
	s, err := OpenStore(address, StoreOptions{Attempts: 2, Getenv: outputtest.Getenv(server.Env(proxy))})
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.List(t.Context(), "v1/")
	seen := map[string]bool{}
	for _, obj := range list {
		seen[obj.Name] = true
	}
	if err != nil || len(list) != len(want) || len(seen) != len(want) {
		t.Errorf("%d objects, %d different ones, %v; want %d", len(list), len(seen), err, len(want))
	}
}

// newProxy returns the address of a proxy to a server; handle may spoil requests.
func newProxy(t *testing.T, server *outputtest.Server,
	handle func(http.ResponseWriter, *http.Request, http.Handler)) string {
	t.Helper()
	target, err := url.Parse("http://" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // the signature covers it
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, pass) }))
	t.Cleanup(proxy.Close)
	return strings.TrimPrefix(proxy.URL, "http://")
}
