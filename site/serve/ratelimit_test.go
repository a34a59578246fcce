package serve

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestLimiter compares the limiter with a plain list of a client's requests.
func TestLimiter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		l := newRateLimiter(limit, now)
		at := now
		type naive struct {
			start time.Time
			count int
		}
		clients := map[clientID]*naive{}
		for range rapid.IntRange(1, 100).Draw(t, "requests") {
			at = at.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "ms")) * time.Millisecond)
			c := clientID(rapid.IntRange(0, 3).Draw(t, "client"))
			n := clients[c]
			if n == nil || at.Sub(n.start) >= time.Minute {
				n = &naive{start: at}
				clients[c] = n
			}
			want := n.count < limit
			if want {
				n.count++
			}
			left, ends, ok := l.take(c, at)
			if ok != want || left != limit-n.count || ends != time.Minute-at.Sub(n.start) {
				t.Fatalf("client %d: %v, %d left for %v, want %v, %d for %v", c, ok, left, ends, want, limit-n.count,
					time.Minute-at.Sub(n.start))
			}
		}
	})
}

// TestLimiterIsBounded checks that a million addresses within a minute stay within the limiter's capacity, and that the
// newest are still counted. After the minute all capacity is free again.
func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	l := newRateLimiter(2, now)
	const many = 1_000_000
	for i := range many {
		if _, _, ok := l.take(clientID(i), now); !ok {
			t.Fatalf("the first request of client %d is refused", i)
		}
	}
	if n := l.clientCount(); n > maxClients || n < maxClients*9/10 {
		t.Errorf("%d clients are counted, want at most %d", n, maxClients)
	}
	for i := range l.shards {
		if s := &l.shards[i]; len(s.began) > 2*maxClients/limitShards || len(s.began)-s.head < len(s.windows) {
			t.Errorf("shard %d has %d windows, in order %d from %d", i, len(s.windows), len(s.began), s.head)
		}
	}
	for i := many - 1000; i < many; i++ {
		_, _, first := l.take(clientID(i), now)
		if left, _, second := l.take(clientID(i), now); !first || second || left != 0 {
			t.Errorf("client %d of a full table: %v, %v", i, first, second)
		}
	}
	for i := range 100_000 { // some in every shard
		l.take(clientID(i), now.Add(limitWindow))
	}
	if n := l.clientCount(); n != 100_000 {
		t.Errorf("%d clients are counted a minute later, want those who came since", n)
	}
	t.Logf("figures: the rate limit was asked by %d addresses within a minute and kept no more than %d of them", many,
		maxClients)
}

// TestLimiterMemory checks that the limiter's memory for a client is small, and limited for a flood of clients.
func TestLimiterMemory(t *testing.T) { // not parallel: the memory of other tests would count
	var before, after runtime.MemStats
	for _, test := range []struct{ clients, most int }{{100_000, 16 << 20}, {1_000_000, 32 << 20}} {
		runtime.GC()
		runtime.ReadMemStats(&before)
		l := newRateLimiter(200, now)
		peak := uint64(0)
		for i := range test.clients {
			l.take(clientID(i), now.Add(time.Duration(i)*time.Microsecond))
			if i%10_000 == 0 || i == test.clients-1 {
				runtime.ReadMemStats(&after)
				peak = max(peak, after.HeapAlloc)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		used, most := int(after.HeapAlloc)-int(before.HeapAlloc), int(peak)-int(before.HeapAlloc)
		t.Logf(
			"%d clients, %d of them counted: %.1f MB, %d bytes each; %.1f MB at most, with what is not collected yet",
			test.clients, l.clientCount(), float64(used)/1e6, used/l.clientCount(), float64(most)/1e6)
		if used > test.most {
			t.Errorf("%d clients take %d bytes, want %d at most", test.clients, used, test.most)
		}
		runtime.KeepAlive(l)
	}
}

func TestLimiterIsExactUnderLoad(t *testing.T) {
	t.Parallel()
	l := newRateLimiter(100, now)
	var passed [3]atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 300 {
				if _, _, ok := l.take(clientID(i%3), now); ok {
					passed[i%3].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for i := range passed {
		if n := passed[i].Load(); n != 100 {
			t.Errorf("client %d passed %d times, want 100", i, n)
		}
	}
}

func TestClientOf(t *testing.T) {
	t.Parallel()
	same := [][]string{
		{"192.0.2.1", "::ffff:192.0.2.1"},
		{"192.0.2.2"},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::"},
		{"2001:db8:1:3::1"},
		{"::1"},
	}
	seen := map[clientID]int{}
	for i, addrs := range same {
		for _, a := range addrs {
			c := newClientID(netip.MustParseAddr(a))
			if before, ok := seen[c]; ok && before != i {
				t.Errorf("%s is counted with %s", a, same[before][0])
			}
			seen[c] = i
		}
	}
	if len(seen) != len(same) {
		t.Errorf("%d clients, want %d", len(seen), len(same))
	}
}

func BenchmarkLimiter(b *testing.B) {
	for _, clients := range []int{1, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(clients, " clients"), func(b *testing.B) {
			l := newRateLimiter(200, now)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				c := binary.BigEndian.Uint64([]byte{0, 0, 0, 0, byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
				l.take(clientID(c%uint64(clients)), now.Add(time.Duration(i)*time.Microsecond))
				i++
			}
		})
	}
}
