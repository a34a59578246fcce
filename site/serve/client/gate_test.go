package client

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
	g := NewGate()
	gone, cancel := context.WithCancel(t.Context())
	cancel() // this client does not wait
	var leave []func()
	for range downloadsByClient {
		out, err := g.Enter(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, out)
	}
	if _, err := g.Enter(gone, 1); !errors.Is(err, ErrRateLimited) {
		t.Errorf("one more of a client: %v, want %v", err, ErrRateLimited)
	}
	for c := ID(2); len(leave) < downloadsAtOnce; c++ {
		for range downloadsByClient {
			out, err := g.Enter(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, out)
		}
	}
	if _, err := g.Enter(gone, 99); !errors.Is(err, ErrDownloads) {
		t.Errorf("one more of all: %v, want %v", err, ErrDownloads)
	}
	in := make(chan func(), 1)
	go func() {
		out, err := g.Enter(t.Context(), 99)
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
			if out, err := g.Enter(t.Context(), ID(i%7)); err == nil {
				out()
			} else if !errors.Is(err, ErrRateLimited) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(g.clients) != 0 || len(g.all) != 0 {
		t.Errorf("%d clients and %d places are left", len(g.clients), len(g.all))
	}
}

// TestPace checks that all downloads together stay within the rate. A client that disconnects does not wait.
func TestPace(t *testing.T) {
	t.Parallel()
	const rate, piece = 1 << 20, 16 << 10
	p := NewPace(rate)
	began := time.Now()
	var sent atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 8 {
				if err := p.Wait(t.Context(), piece); err != nil {
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
	if err := p.Wait(gone, 1<<30); !errors.Is(err, context.Canceled) {
		t.Errorf("who is gone: %v", err)
	}
	if err := NewPace(0).Wait(gone, 1<<30); err != nil {
		t.Errorf("without a rate: %v", err)
	}
}
