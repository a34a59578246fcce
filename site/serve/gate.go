package serve

import (
	"context"
	"sync"
	"time"
)

// Of downloads, which are large: so many at a time, so that they leave room for those who read.
const (
	downloadsAtOnce   = 32
	downloadsByClient = 8
	downloadsWaiting  = 64 // of one client, those under way among them
	downloadPatience  = 10 * time.Second
)

// gate lets so many in at a time, and of each client so many. Others wait a while, in front of their own number first:
// who has many waiting keeps nobody else out.
type gate struct {
	all chan struct{}

	mu      sync.Mutex
	clients map[client]*guests
}

// guests are those of one client.
type guests struct {
	seats chan struct{}
	n     int // in seats, and waiting
}

func newGate() *gate {
	return &gate{all: make(chan struct{}, downloadsAtOnce), clients: map[client]*guests{}}
}

// enter waits for a place, which leave gives back. It is errRateLimited where the client himself has too many under
// way, errDownloads where all together have.
func (g *gate) enter(ctx context.Context, c client) (leave func(), err error) {
	of := g.come(c)
	if of == nil {
		return nil, errRateLimited
	}
	ctx, cancel := context.WithTimeout(ctx, downloadPatience)
	defer cancel()
	if !sit(ctx, of.seats) {
		g.goAway(c)
		return nil, errRateLimited
	}
	if !sit(ctx, g.all) {
		<-of.seats
		g.goAway(c)
		return nil, errDownloads
	}
	return func() {
		<-g.all
		<-of.seats
		g.goAway(c)
	}, nil
}

// sit takes a seat that is free, or the first that is before ctx ends.
func sit(ctx context.Context, seats chan struct{}) bool {
	select {
	case seats <- struct{}{}:
		return true
	default:
	}
	select {
	case seats <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *gate) come(c client) *guests {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.clients[c]
	if of == nil {
		of = &guests{seats: make(chan struct{}, downloadsByClient)}
		g.clients[c] = of
	}
	if of.n == downloadsWaiting {
		return nil
	}
	of.n++
	return of
}

func (g *gate) goAway(c client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.clients[c]
	if of.n--; of.n == 0 {
		delete(g.clients, c)
	}
}
