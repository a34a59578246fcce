package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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
