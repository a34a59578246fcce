package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/output"
	"tollbook/output/objects"
)

// downloadWorld has a gate and the downloads that entered it.
type downloadWorld struct {
	t *testing.T
	g *downloadGate
}

// enter starts a download of a client, which must not have to wait.
func (w downloadWorld) enter(c clientID) (within context.Context, leave func()) {
	w.t.Helper()
	within, leave, err := w.g.enter(w.t.Context(), c)
	if err != nil {
		w.t.Fatal(err)
	}
	return within, leave
}

// refused returns the error of a download that waits for a moment only.
func (w downloadWorld) refused(c clientID) error {
	ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Millisecond)
	defer cancel()
	_, leave, err := w.g.enter(ctx, c)
	if err == nil {
		leave()
	}
	return err
}

// checkEmpty checks that nothing is counted after all downloads ended.
func (w downloadWorld) checkEmpty() {
	w.t.Helper()
	if g := w.g; len(g.running)+len(g.waiting) != 0 {
		w.t.Errorf("of downloads that ended are left: %+v", g)
	}
}

// TestGate checks that each client has a limited number of downloads at a time. Other clients have their own limit, and
// an ended download frees its place.
func TestGate(t *testing.T) {
	t.Parallel()
	w := downloadWorld{t, &downloadGate{}}
	var leave []func()
	for range downloadsByClient {
		_, out := w.enter(1)
		leave = append(leave, out)
	}
	if err := w.refused(1); !errors.Is(err, errRateLimited) {
		t.Errorf("one more of a client: %v, want %v", err, errRateLimited)
	}
	for c := clientID(2); len(leave) < downloadsAtOnce; c++ {
		_, out := w.enter(c)
		leave = append(leave, out)
	}
	in := make(chan func(), 1)
	go func() {
		_, out, err := w.g.enter(t.Context(), 1)
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
	w.checkEmpty()
	var wg sync.WaitGroup // many clients at once
	for i := range 500 {
		wg.Go(func() {
			if _, out, err := w.g.enter(t.Context(), clientID(i%7)); err == nil {
				out()
			} else if !errors.Is(err, errRateLimited) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	w.checkEmpty()
}

// TestGateGivesWay checks that few clients that take all places keep out nobody, and that many with one download each
// keep theirs. A network of IPv6 with many clients counts as one.
func TestGateGivesWay(t *testing.T) {
	t.Parallel()
	const v6 = clientID(0x2001_0db8_0001_0000) // the /48 of 65,536 clients
	for _, c := range []struct {
		name    string
		taken   func(i int) clientID // who has which place
		comes   clientID
		entered int // how many of four newcomers of comes find a place
	}{
		{"four clients", func(i int) clientID { return clientID(1 + i%4) }, 99, 4},
		{"one network", func(i int) clientID { return v6 + clientID(i) }, 99, 4},
		{"its own network", func(i int) clientID { return v6 + clientID(i) }, v6 + 999, 0},
		{"sixteen with two each", func(i int) clientID { return clientID(1 + i%16) }, 99, 1},
		{"everybody has one", func(i int) clientID { return clientID(1 + i) }, 99, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := downloadWorld{t, &downloadGate{}}
			var running sync.WaitGroup
			all, end := context.WithCancel(t.Context())
			for i := range downloadsAtOnce {
				within, leave := w.enter(c.taken(i))
				running.Go(func() {
					select {
					case <-within.Done():
					case <-all.Done():
					}
					leave()
				})
			}
			entered := 0
			var leave []func()
			for range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), patienceIf(entered < c.entered))
				if _, out, err := w.g.enter(ctx, c.comes); err == nil {
					entered++
					leave = append(leave, out)
				} else if !errors.Is(err, errDownloads) {
					t.Errorf("no place: %v, want %v", err, errDownloads)
				}
				cancel()
			}
			if entered != c.entered {
				t.Errorf("%d of 4 newcomers found a place, want %d", entered, c.entered)
			}
			for _, out := range leave {
				out()
			}
			end()
			running.Wait()
			w.checkEmpty()
		})
	}
}

// patienceIf returns how long to wait for a place: long if one must come, because the machine may be slow.
func patienceIf(expected bool) time.Duration {
	if expected {
		return downloadPatience
	}
	return 20 * time.Millisecond
}

// TestDownloadPace checks that all downloads together stay within the rate. A client that disconnects does not wait.
func TestDownloadPace(t *testing.T) {
	t.Parallel()
	const rate, piece = 1 << 20, 32 << 10
	p := newDownloadPace(rate)
	began := time.Now()
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 8 {
				if err := p.WaitN(t.Context(), piece); err != nil {
					t.Error(err)
				}
				sent.Add(piece)
			}
		})
	}
	wg.Wait()
	least := time.Duration(sent.Load())*time.Second/rate - time.Duration(p.Burst())*time.Second/rate
	if took := time.Since(began); took < least {
		t.Errorf("%d bytes took %s, at %d a second it is %s at least", sent.Load(), took, rate, least)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.WaitN(gone, piece); !errors.Is(err, context.Canceled) {
		t.Errorf("who is gone: %v", err)
	}
	if err := newDownloadPace(0).WaitN(t.Context(), 1<<30); err != nil {
		t.Errorf("without a rate: %v", err)
	}
}

// TestDownloadsGiveWay checks that four clients that take all places and read nothing keep out nobody: a fifth one gets
// a whole pack, and the connections that gave way end.
func TestDownloadsGiveWay(t *testing.T) {
	t.Parallel()
	d := publish(t, siteFiles(t))
	const name = "packs/2026030100.zip"
	pack := make([]byte, 32<<20) // more than a connection that nobody reads accepts
	if err := os.MkdirAll(filepath.Join(d.Root(), "packs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Root(), name), pack, 0o644); err != nil {
		t.Fatal(err)
	}
	store, err := objects.OpenStoreDir(d.Root())
	if err != nil {
		t.Fatal(err)
	}
	source := output.OpenStoreSource(store, 1<<20, slog.New(slog.DiscardHandler))
	t.Cleanup(source.Close)
	h := NewHandler(Options{Source: source, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	get := func(client string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", client)
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	var greedy []*http.Response
	for i := range downloadsAtOnce {
		greedy = append(greedy, get(fmt.Sprintf("192.0.2.%d", 1+i%4)))
	}
	for range 3 {
		res := get("198.51.100.7")
		data, err := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK || err != nil || !bytes.Equal(data, pack) {
			t.Fatalf("a fifth client: %d, %d bytes, %v", res.StatusCode, len(data), err)
		}
	}
	cut := 0
	for _, res := range greedy {
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			cut++
		}
	}
	if cut != 1 {
		t.Errorf("%d of %d downloads gave way to three after one another, want 1", cut, downloadsAtOnce)
	}
}
