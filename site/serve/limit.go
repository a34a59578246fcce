package serve

import (
	"encoding/binary"
	"hash/maphash"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

const (
	limitWindow = time.Minute
	limitShards = 64      // each with a lock of its own
	maxClients  = 1 << 18 // counted at once, in all shards; some 20 MB
)

// limiter counts the requests of each client in windows of a minute, the first of which begins with his first request.
//
// Its memory is bounded: where more than maxClients come within a minute, room is made by forgetting those whose window
// began first. They get a new one early; nobody is refused for the number of others.
type limiter struct {
	limit  int // requests in a window
	policy []string
	base   time.Time // instants are counted from here, by the clock that never steps
	seed   maphash.Seed
	shards [limitShards]limitShard
}

// client is who is counted: an IPv4 address, or the 64 bits of an IPv6 network. No network of clients begins with 32
// zero bits, so the two never meet.
type client uint64

// limitShard is the windows of some clients. Windows are equally long, so they end in the order in which they began.
type limitShard struct {
	mu      sync.Mutex
	windows map[client]window
	began   []beginning // from head on: of every window, in order; also of some that were replaced after their end
	head    int
}

type window struct {
	start time.Duration // since the limiter's base
	count int
}

type beginning struct {
	client client
	start  time.Duration
}

// newLimiter allows limit requests a minute; it is nil, which allows all, for 0.
func newLimiter(limit int, now time.Time) *limiter {
	if limit <= 0 {
		return nil
	}
	l := &limiter{
		limit: limit, base: now, seed: maphash.MakeSeed(),
		policy: []string{`"api";q=` + strconv.Itoa(limit) + `;w=` + strconv.Itoa(int(limitWindow/time.Second))},
	}
	for i := range l.shards {
		l.shards[i].windows = map[client]window{}
	}
	return l
}

// clientOf is who is counted under an address.
func clientOf(addr netip.Addr) client {
	if addr = addr.Unmap(); addr.Is4() {
		b := addr.As4()
		return client(binary.BigEndian.Uint32(b[:]))
	}
	b := addr.As16() // of no address, zero
	return client(binary.BigEndian.Uint64(b[:8]))
}

// take counts a request, unless the client has none left in his window. It answers how many he has left and when the
// window ends.
func (l *limiter) take(c client, now time.Time) (left int, ends time.Duration, ok bool) {
	at := now.Sub(l.base)
	s := &l.shards[maphash.Comparable(l.seed, c)%limitShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	w, known := s.windows[c]
	if age := at - w.start; !known || age >= limitWindow || age < 0 {
		s.makeRoom(at)
		w = window{start: at}
		s.began = append(s.began, beginning{c, at})
	}
	if ok = w.count < l.limit; ok {
		w.count++
	}
	s.windows[c] = w
	return l.limit - w.count, w.start + limitWindow - at, ok
}

// makeRoom forgets the windows that have ended, and the oldest of a full shard.
func (s *limitShard) makeRoom(at time.Duration) {
	for s.head < len(s.began) {
		b := s.began[s.head]
		if full := len(s.began)-s.head >= maxClients/limitShards; at-b.start < limitWindow && !full {
			break
		}
		if w, ok := s.windows[b.client]; ok && w.start == b.start {
			delete(s.windows, b.client)
		}
		s.head++
	}
	if s.head > len(s.began)/2 {
		s.began = s.began[:copy(s.began, s.began[s.head:])]
		s.head = 0
	}
}

// clients is how many are counted now.
func (l *limiter) clients() (n int) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += len(s.windows)
		s.mu.Unlock()
	}
	return n
}

// rateLimit is the value of the header field: requests left, and seconds until all are there again.
func rateLimit(left int, ends time.Duration) string {
	return `"api";r=` + strconv.Itoa(left) + `;t=` + strconv.FormatInt(ceilSeconds(ends), 10)
}

// ceilSeconds is a span in whole seconds, one at least.
func ceilSeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
