package serve

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestGate checks that each client has a limited number of downloads at a time. Other clients have their own limit, and
// an ended download frees its place.
func TestGate(t *testing.T) {
	t.Parallel()
	g := newDownloadGate()
	// enterSoon is enter for a client that does not wait for long.
	enterSoon := func(c clientID) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := g.enter(ctx, c)
		return err
	}
	var leave []func()
	for range downloadsByClient {
		out, err := g.enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	if err := enterSoon(1); !errors.Is(err, errRateLimited) {
		t.Errorf("one more of a client: %v, want %v", err, errRateLimited)
	}
	for c := clientID(2); len(leave) < downloadsAtOnce; c++ {
		for range downloadsByClient {
			out, err := g.enter(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, out)
		}
	}
	if err := enterSoon(99); !errors.Is(err, errDownloads) {
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
	if len(g.clients) != 0 || !g.all.TryAcquire(downloadsAtOnce) {
		t.Errorf("%d clients are left, or a place is taken", len(g.clients))
	}
	g.all.Release(downloadsAtOnce)
	var wg sync.WaitGroup // many clients at once
	for i := range 500 {
		wg.Go(func() {
			if out, err := g.enter(t.Context(), clientID(i%7)); err == nil {
				out()
			} else if !errors.Is(err, errRateLimited) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(g.clients) != 0 || !g.all.TryAcquire(downloadsAtOnce) {
		t.Errorf("%d clients are left, or a place is taken", len(g.clients))
	}
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
