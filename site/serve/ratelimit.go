package serve

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	limitWindow = time.Minute
	limitShards = 64      // each has its own lock
	maxClients  = 1 << 18 // counted at the same time, in all shards; about 20 MB
)

// rateLimiter counts the requests of each client in windows of one minute. A client's first request starts its window.
//
// Memory is limited: if more than maxClients clients arrive within a minute, the oldest windows are dropped. Those
// clients get a new window early; no client is refused because of the number of other clients.
type rateLimiter struct {
	limit  int // requests in a window
	policy []string
	base   time.Time // start of the monotonic time in windows
	seed   maphash.Seed
	shards [limitShards]limitShard
}

// clientID identifies a client: an IPv4 address, or the first 64 bits of an IPv6 address. No IPv6 network of clients
// starts with 32 zero bits, so the two never collide.
type clientID uint64

// network returns the network that a client is counted in where places are few: the client itself, or the first 48 bits
// of an IPv6 address, because one host may have as many networks of 64 bits.
func (c clientID) network() clientID {
	if c <= math.MaxUint32 {
		return c
	}
	return c &^ 0xffff
}

// limitShard contains the windows of some clients. All windows have the same length, so they end in the order in which
// they started.
type limitShard struct {
	mu      sync.Mutex
	windows map[clientID]window
	began   []windowStart // from head on: the start of every window, in order, and of some windows that were replaced
	head    int
}

type window struct {
	start time.Duration // since the limiter's base
	count int
}

type windowStart struct {
	client clientID
	start  time.Duration
}

// newRateLimiter returns a limiter of limit requests per minute, or nil, which does not limit, for 0.
func newRateLimiter(limit int, now time.Time) *rateLimiter {
	if limit <= 0 {
		return nil
	}
	l := &rateLimiter{
		limit: limit, base: now, seed: maphash.MakeSeed(),
		policy: []string{`"api";q=` + strconv.Itoa(limit) + `;w=` + strconv.Itoa(int(limitWindow/time.Second))},
	}
	for i := range l.shards {
		l.shards[i].windows = map[clientID]window{}
	}
	return l
}

// newClientID returns the client of an address.
func newClientID(addr netip.Addr) clientID {
	if addr = addr.Unmap(); addr.Is4() {
		b := addr.As4()
		return clientID(binary.BigEndian.Uint32(b[:]))
	}
	b := addr.As16() // zero for an invalid address
	return clientID(binary.BigEndian.Uint64(b[:8]))
}

// take counts a request unless the client has none left in its window. It returns the number of requests left and the
// time until the window ends.
func (l *rateLimiter) take(c clientID, now time.Time) (left int, ends time.Duration, ok bool) {
	at := now.Sub(l.base)
	s := &l.shards[maphash.Comparable(l.seed, c)%limitShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.windows[c]
	if age := at - w.start; !ok || age >= limitWindow || age < 0 {
		s.makeRoom(at)
		w = window{start: at}
		s.began = append(s.began, windowStart{c, at})
	}
	if ok = w.count < l.limit; ok {
		w.count++
	}
	s.windows[c] = w
	return l.limit - w.count, w.start + limitWindow - at, ok
}

// makeRoom drops the windows that have ended, and the oldest one of a full shard.
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

// clientCount returns the number of clients that are counted.
func (l *rateLimiter) clientCount() (n int) {
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += len(s.windows)
		s.mu.Unlock()
	}
	return n
}

// rateLimitHeader returns the value of the header RateLimit: requests left, and seconds until the window ends.
func rateLimitHeader(left int, ends time.Duration) string {
	return `"api";r=` + strconv.Itoa(left) + `;t=` + strconv.FormatInt(ceilSeconds(ends), 10)
}

// ceilSeconds rounds a duration up to whole seconds, at least one.
func ceilSeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }

// maxHops is the maximum number of proxies that are followed.
const maxHops = 32

// clientAddr returns the address of a request's client. Without trusted proxies it is the peer's address. Behind
// trusted proxies it is the last forwarded address that is not itself trusted, from X-Forwarded-For or Forwarded. If
// both headers are present and disagree, the client may have sent one of them; then the proxy counts as the client. The
// zero Addr is returned for a peer without an IP address.
func clientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	listed, forwarded := r.Header["X-Forwarded-For"], r.Header["Forwarded"]
	addr := peer.Addr().Unmap().WithZone("")
	if len(trusted) == 0 || !isTrusted(addr, trusted) {
		return addr
	}
	switch {
	case len(listed) > 0 && len(forwarded) > 0:
		if a := lastUntrusted(addr, listed, listedHop, trusted); a == lastUntrusted(addr, forwarded, forwardedHop,
			trusted) {
			return a
		}
		return addr
	case len(listed) > 0:
		return lastUntrusted(addr, listed, listedHop, trusted)
	default:
		return lastUntrusted(addr, forwarded, forwardedHop, trusted)
	}
}

// isTrusted reports whether an address belongs to a trusted proxy.
func isTrusted(addr netip.Addr, trusted []netip.Prefix) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// lastUntrusted reads the hops of a forwarding header from the end, where the nearest proxy writes. A trusted proxy
// does not write an invalid hop, so the walk ends before it.
func lastUntrusted(peer netip.Addr, values []string, hop func(string) (netip.Addr, bool),
	trusted []netip.Prefix) netip.Addr {
	rest := strings.Join(values, ",")
	for range maxHops {
		if rest == "" {
			break
		}
		at := strings.LastIndexByte(rest, ',') // an address contains no comma, even if quoted
		addr, ok := hop(strings.TrimSpace(rest[at+1:]))
		if !ok {
			break
		}
		peer = addr
		if !isTrusted(addr, trusted) {
			break
		}
		rest = rest[:max(at, 0)]
	}
	return peer
}

// listedHop parses an element of X-Forwarded-For: an address with or without a port.
func listedHop(s string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		withPort, portErr := netip.ParseAddrPort(s)
		addr, err = withPort.Addr(), portErr
	}
	return addr.Unmap().WithZone(""), err == nil
}

// forwardedHop parses an element of Forwarded (RFC 7239): for="[2001:db8::1]:4711";proto=https.
func forwardedHop(s string) (netip.Addr, bool) {
	for pair := range strings.SplitSeq(s, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if ok && strings.EqualFold(name, "for") {
			if inner, quoted := strings.CutPrefix(value, `"`); quoted {
				value = strings.TrimSuffix(inner, `"`)
			}
			return listedHop(value)
		}
	}
	return netip.Addr{}, false
}

// clientName returns the client of an address as text: an IPv4 address, or an IPv6 network of 64 bits.
func clientName(addr netip.Addr) string {
	if addr = addr.Unmap(); !addr.IsValid() || addr.Is4() {
		return addr.String()
	}
	network, err := addr.WithZone("").Prefix(64)
	if err != nil {
		panic(err) // an IPv6 address has 64 bits
	}
	return network.String()
}

// Limit returns a handler that applies the API's rate limit to another handler. A client without requests left gets a
// 429. It uses the options Logger, Now, RateLimit and Trusted.
func Limit(next http.Handler, o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &handler{
		logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)), now: o.Now,
		limiter: newRateLimiter(o.RateLimit, o.Now()), trusted: o.Trusted,
	}
	if h.limiter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.admit(&responseWriter{ResponseWriter: w}, r) {
			next.ServeHTTP(w, r)
		}
	})
}
