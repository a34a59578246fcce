package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
	"tollbook/output/outputtest"
)

// TestPublishThroughFaultyProxy publishes through a proxy that delays, cuts, answers 500 or 503 SlowDown, or drops
// bodies. The publication ends complete, or the store has the previous snapshot.
func TestPublishThroughFaultyProxy(t *testing.T) {
	t.Parallel()
	server := outputtest.Versity(t)
	target, err := url.Parse("http://" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	lies := func(etag func() string) func(http.ResponseWriter, *http.Request, http.Handler) {
		return func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			rec := httptest.NewRecorder()
			pass.ServeHTTP(rec, r)
			maps.Copy(w.Header(), rec.Header())
			if w.Header().Get("ETag") != "" {
				w.Header().Set("ETag", etag())
			}
			w.WriteHeader(rec.Code)
			_, _ = w.Write(rec.Body.Bytes())
		}
	}
	for _, test := range []struct {
		about string
		every int64 // one of so many requests fails
		spoil func(w http.ResponseWriter, r *http.Request, pass http.Handler)
	}{
		{"lies about ETags: one for all", 2, lies(func() string { return `"0123456789abcdef0123456789abcdef"` })},
		{"lies about ETags: another each time", 2, lies(func() string {
			return fmt.Sprintf(`"%032x"`, rand.Uint64())
		})},
		{"lies about every ETag", 1, lies(func() string { return fmt.Sprintf(`"%032x"`, rand.Uint64()) })},
		{"delays", 3, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			select { // a delay is what is tested
			case <-time.After(300 * time.Millisecond):
			case <-r.Context().Done():
			}
			pass.ServeHTTP(w, r)
		}},
		{"cuts before", 4, func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }},
		{"cuts after", 4, func(_ http.ResponseWriter, r *http.Request, pass http.Handler) {
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}},
		{"500", 3, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
		{"500 after", 3, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			pass.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusInternalServerError)
		}},
		{"SlowDown", 2, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w,
				`<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Slow down.</Message></Error>`)
		}},
		{"drops half of bodies", 4, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			rec := httptest.NewRecorder()
			pass.ServeHTTP(rec, r)
			maps.Copy(w.Header(), rec.Header())
			w.WriteHeader(rec.Code)
			_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		}},
		{"everything", 1, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusInternalServerError)
		}},
	} {
		t.Run(test.about, func(t *testing.T) {
			t.Parallel()
			var n, faults atomic.Int64
			pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(target)
				r.Out.Host = r.In.Host // the signature covers it
			}}
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if (n.Add(1)-1)%test.every == 0 {
					faults.Add(1)
					test.spoil(w, r, pass)
					return
				}
				pass.ServeHTTP(w, r)
			}))
			defer proxy.Close()
			// The signature covers the host name, so requests through the proxy sign the proxy's address.
			address := server.Bucket(t)
			direct := openStore(t, address, server)
			through, err := objects.OpenStore(address,
				objects.StoreOptions{Getenv: outputtest.Getenv(server.Env(strings.TrimPrefix(proxy.URL, "http://"))),
					Attempts: 6})
			if err != nil {
				t.Fatal(err)
			}
			reg, d := &memoryRegister{}, openFolder(t, tempDir(t))
			mustPublish(t, d, t0, tree(1))
			mustPublishTo(t, direct, reg, d)
			next := tree(2)
			delete(next, "v1/services/zeta.json")
			mustPublish(t, d, t0.Add(time.Minute), next)
			_, err = publishTo(through, reg, d)
			if faults.Load() == 0 {
				t.Error("the proxy did nothing")
			}
			if err != nil && !errors.Is(err, archive.ErrUnreachable) && !errors.Is(err, ErrConflict) {
				t.Errorf("%v, want ErrUnreachable or ErrConflict", err)
			}
			lied := strings.HasPrefix(test.about, "lies") // the publisher may be unable to tell whose pointer it is
			if (err == nil) == (test.every == 1) && !lied {
				t.Errorf("after %d faults: %v", faults.Load(), err)
			}
			checkBetween(t, test.about, direct, tree(1), next)
			mustPublishTo(t, direct, reg, d)
			verifyWhole(t, direct)
		})
	}
}

// TestRefusedLeavesNothing checks that a zip that fails its check while it is sent leaves neither an object nor parts.
func TestRefusedLeavesNothing(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		s, reg, d := open(t), &memoryRegister{}, openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		first := mustPublishTo(t, s, reg, d).Checkpoint
		before := namesIn(t, s)
		next := mustPublish(t, d, t0.Add(time.Minute), largeTree()).Checkpoint
		unlike := errors.New("unlike the previous one")
		_, err := publishTo(s, reg, d, func(o *PublishOptions) {
			o.Check = func(_, _ archive.Files) error { return unlike }
		})
		if !errors.Is(err, ErrSuccessor) || !errors.Is(err, unlike) {
			t.Errorf("no successor: %v", err)
		}
		flipByteOf(t, d.snapshotPath(next.Snapshot), "v1/large-1.bin")
		if _, err := publishTo(s, reg, d); !errors.Is(err, archive.ErrDamaged) {
			t.Errorf("damaged: %v", err)
		}
		if diff := cmp.Diff(before, namesIn(t, s)); diff != "" {
			t.Errorf("objects (-want +got):\n%s", diff)
		}
		if b, ok := s.(*objects.Bucket); ok {
			if left, err := b.IncompleteUploads(t.Context()); err != nil || len(left) > 0 {
				t.Errorf("parts of %v are left, %v", left, err)
			}
		}
		if v := verifyWhole(t, s); v.Snapshot != first.Snapshot {
			t.Errorf("%s is current", v.Snapshot)
		}
	})
}

// TestLyingStore checks that a publisher notices a store that changes the bytes it stores, before its pointer moves.
func TestLyingStore(t *testing.T) {
	t.Parallel()
	d := openFolder(t, tempDir(t))
	first := mustPublish(t, d, t0, tree(1)).Checkpoint
	old := openFolder(t, tempDir(t))
	mustPublish(t, old, t0, tree(1))
	folders := map[string][]string{"in one piece": {archive.SnapshotsDir, archive.PacksDir},
		"in parts": {archive.SnapshotsDir}}
	for about, files := range map[string]map[string]string{"in one piece": tree(2), "in parts": largeTree()} {
		mustPublish(t, d, t0.Add(time.Hour), files)
		for what, alter := range map[string]func([]byte) []byte{
			"the first byte": func(b []byte) []byte { b[0] ^= 1; return b },
			"a byte":         func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
			"the last byte":  func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			"the end":        func(b []byte) []byte { return b[:len(b)-1] },
			"the size":       func(b []byte) []byte { return append(b, 0) },
		} {
			for _, folder := range folders[about] {
				s, reg := openStoreDir(t, tempDir(t)), &memoryRegister{}
				mustPublishTo(t, s, reg, old)
				if _, err := publishTo(&lyingStore{s, folder, alter}, reg, d); !errors.Is(err, archive.ErrDamaged) &&
					!errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%s, %s of %s was changed: %v, want %v", about, what, folder, err, archive.ErrDamaged)
				}
				if c, err := archive.ParseCheckpoint(readFileOf(t, s, archive.CheckpointFile)); err != nil ||
					c.Snapshot != first.Snapshot {
					t.Errorf("%s, %s of %s: the pointer names %s, %v", about, what, folder, c.Snapshot, err)
				}
				mustPublishTo(t, s, reg, d)
				verifyWhole(t, s)
				hour := archive.HourOf(t0.Add(time.Hour))
				if want, err := os.ReadFile(d.packPath(hour)); err != nil ||
					!bytes.Equal(readFileOf(t, s, archive.PackName(hour)), want) {
					t.Errorf("%s, %s of %s: the next run leaves another pack, %v", about, what, folder, err)
				}
			}
		}
	}
}

// lyingStore stores what alter makes of objects, in a folder.
type lyingStore struct {
	objects.Store
	folder string
	alter  func([]byte) []byte
}

func (s *lyingStore) Put(ctx context.Context, name string, body objects.Body, o objects.PutOptions) (string, error) {
	if !strings.HasPrefix(name, s.folder+"/") {
		return s.Store.Put(ctx, name, body, o)
	}
	data := make([]byte, body.Size())
	if _, err := body.ReadAt(data, 0); err != nil && err != io.EOF {
		return "", err
	}
	return s.Store.Put(ctx, name, bytes.NewReader(s.alter(data)), o)
}
