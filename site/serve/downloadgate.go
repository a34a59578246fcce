package serve

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Limits of simultaneous downloads, so that they leave room for other requests.
const (
	downloadsAtOnce   = 32
	downloadsByClient = 8
	downloadPatience  = 10 * time.Second
)

var (
	errRateLimited = errors.New("too many requests")  // of one client
	errDownloads   = errors.New("too many downloads") // of all clients
)

// maxDownloads is how many downloads of one client may be in progress or wait.
const maxDownloads = 64

// downloadGate limits the number of simultaneous downloads, in all and by client. Others wait for a while, first for a
// slot of their own client, so that a client with many waiting downloads does not block other clients.
type downloadGate struct {
	all *semaphore.Weighted

	mu      sync.Mutex
	clients map[clientID]*clientQueue
}

// clientQueue contains the downloads of one client.
type clientQueue struct {
	slots *semaphore.Weighted
	n     int // in progress and waiting
}

func newDownloadGate() *downloadGate {
	return &downloadGate{all: semaphore.NewWeighted(downloadsAtOnce), clients: map[clientID]*clientQueue{}}
}

// enter waits for a slot, which leave releases. It returns errRateLimited if the client has too many downloads in
// progress, and errDownloads if all clients together have.
func (g *downloadGate) enter(ctx context.Context, c clientID) (leave func(), err error) {
	of := g.join(c)
	if of == nil {
		return nil, errRateLimited
	}
	ctx, cancel := context.WithTimeout(ctx, downloadPatience)
	defer cancel()
	if of.slots.Acquire(ctx, 1) != nil {
		g.leave(c)
		return nil, errRateLimited
	}
	if g.all.Acquire(ctx, 1) != nil {
		of.slots.Release(1)
		g.leave(c)
		return nil, errDownloads
	}
	return func() {
		g.all.Release(1)
		of.slots.Release(1)
		g.leave(c)
	}, nil
}

func (g *downloadGate) join(c clientID) *clientQueue {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.clients[c]
	if of == nil {
		of = &clientQueue{slots: semaphore.NewWeighted(downloadsByClient)}
		g.clients[c] = of
	}
	if of.n == maxDownloads {
		return nil
	}
	of.n++
	return of
}

func (g *downloadGate) leave(c clientID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.clients[c]
	if of.n--; of.n == 0 {
		delete(g.clients, c)
	}
}

// downloads returns how many downloads of all clients are in progress or wait.
func (g *downloadGate) downloads() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, of := range g.clients {
		n += of.n
	}
	return n
}

// downloadPause is how much of the rate may be sent at once after a pause.
const downloadPause = 50 * time.Millisecond

// maxDownloadWrite is the most that one write of a download may have.
const maxDownloadWrite = 256 << 10

// newDownloadPace returns a limiter of the bytes per second of all downloads together, so that they leave bandwidth and
// CPU for other requests. A rate of 0 does not limit.
func newDownloadPace(bytes int64) *rate.Limiter {
	if bytes <= 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(bytes), max(int(bytes*int64(downloadPause)/int64(time.Second)), maxDownloadWrite))
}
