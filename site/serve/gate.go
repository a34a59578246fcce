package serve

import (
	"context"
	"sync"
	"time"
)

// Limits of simultaneous downloads, so that they leave room for other requests.
const (
	downloadsAtOnce   = 32
	downloadsByClient = 8
	downloadsWaiting  = 64 // of one client, including those in progress
	downloadPatience  = 10 * time.Second
)

// gate limits the number of simultaneous downloads, in all and by client. Others wait for a while, first for a slot of
// their own client, so that a client with many waiting downloads does not block other clients.
type gate struct {
	all chan struct{}

	mu      sync.Mutex
	clients map[client]*clientQueue
}

// clientQueue contains the downloads of one client.
type clientQueue struct {
	slots chan struct{}
	n     int // in progress and waiting
}

func newGate() *gate {
	return &gate{all: make(chan struct{}, downloadsAtOnce), clients: map[client]*clientQueue{}}
}

// enter waits for a slot, which leave releases. It returns errRateLimited if the client has too many downloads in
// progress, and errDownloads if all clients together have.
func (g *gate) enter(ctx context.Context, c client) (leave func(), err error) {
	of := g.join(c)
	if of == nil {
		return nil, errRateLimited
	}
	ctx, cancel := context.WithTimeout(ctx, downloadPatience)
	defer cancel()
	if !acquire(ctx, of.slots) {
		g.leave(c)
		return nil, errRateLimited
	}
	if !acquire(ctx, g.all) {
		<-of.slots
		g.leave(c)
		return nil, errDownloads
	}
	return func() {
		<-g.all
		<-of.slots
		g.leave(c)
	}, nil
}

// acquire takes a free slot, or the first that becomes free before ctx ends.
func acquire(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
	}
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *gate) join(c client) *clientQueue {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.clients[c]
	if of == nil {
		of = &clientQueue{slots: make(chan struct{}, downloadsByClient)}
		g.clients[c] = of
	}
	if of.n == downloadsWaiting {
		return nil
	}
	of.n++
	return of
}

func (g *gate) leave(c client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.clients[c]
	if of.n--; of.n == 0 {
		delete(g.clients, c)
	}
}
