package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Limits of simultaneous downloads, so that they leave room for other requests.
const (
	downloadsAtOnce   = 32
	downloadsByClient = 8
	downloadPatience  = 10 * time.Second
)

var (
	ErrRateLimited = errors.New("too many requests")  // of one client
	ErrDownloads   = errors.New("too many downloads") // of all clients
)

// MaxDownloads is how many downloads of one client may be in progress or wait.
const MaxDownloads = 64

// Gate limits the number of simultaneous downloads, in all and by client. Others wait for a while, first for a slot of
// their own client, so that a client with many waiting downloads does not block other clients.
type Gate struct {
	all chan struct{}

	mu      sync.Mutex
	clients map[ID]*clientQueue
}

// clientQueue contains the downloads of one client.
type clientQueue struct {
	slots chan struct{}
	n     int // in progress and waiting
}

func NewGate() *Gate {
	return &Gate{all: make(chan struct{}, downloadsAtOnce), clients: map[ID]*clientQueue{}}
}

// Enter waits for a slot, which leave releases. It returns ErrRateLimited if the client has too many downloads in
// progress, and ErrDownloads if all clients together have.
func (g *Gate) Enter(ctx context.Context, c ID) (leave func(), err error) {
	of := g.join(c)
	if of == nil {
		return nil, ErrRateLimited
	}
	ctx, cancel := context.WithTimeout(ctx, downloadPatience)
	defer cancel()
	if !acquire(ctx, of.slots) {
		g.leave(c)
		return nil, ErrRateLimited
	}
	if !acquire(ctx, g.all) {
		<-of.slots
		g.leave(c)
		return nil, ErrDownloads
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

func (g *Gate) join(c ID) *clientQueue {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.clients[c]
	if of == nil {
		of = &clientQueue{slots: make(chan struct{}, downloadsByClient)}
		g.clients[c] = of
	}
	if of.n == MaxDownloads {
		return nil
	}
	of.n++
	return of
}

func (g *Gate) leave(c ID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.clients[c]
	if of.n--; of.n == 0 {
		delete(g.clients, c)
	}
}

// Downloads returns how many downloads of all clients are in progress or wait.
func (g *Gate) Downloads() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, of := range g.clients {
		n += of.n
	}
	return n
}
