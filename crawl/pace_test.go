package crawl

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestOneAtATime checks that one of many goroutines uses a host at a time.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	p := newPace(open(t).DB, 0, 0, time.Minute)
	var inside, most atomic.Int32
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			leave, err := p.enter(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			if n := inside.Add(1); n > most.Load() {
				most.Store(n)
			}
			inside.Add(-1)
			leave()
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d goroutines used the host at once", most.Load())
	}
	if len(p.inUse) != 0 {
		t.Errorf("%d queues left without goroutines", len(p.inUse))
	}
}

// TestGivingUpLeavesNothing checks that a goroutine that gives up, while another uses the host or while the gap lasts,
// blocks nobody.
func TestGivingUpLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPace(open(t).DB, time.Hour, 0, time.Minute)
	leave, err := p.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.enter(over, "a"); !errors.Is(err, context.Canceled) { // in use
		t.Errorf("enter a host in use with an ended context: %v", err)
	}
	leave()
	if _, err := p.enter(over, "a"); !errors.Is(err, context.Canceled) { // not in use; its gap lasts an hour
		t.Errorf("enter a host during its gap with an ended context: %v", err)
	}
	if len(p.inUse) != 0 {
		t.Errorf("%d queues left without goroutines", len(p.inUse))
	}
}

// TestNoHourContainsMore checks that no hour contains more requests than the allowance, and no two requests are closer
// than the gap, for random times of requests. Time passes by moving the host's row back.
func TestNoHourContainsMore(t *testing.T) {
	t.Parallel()
	m := open(t)
	pauses := []time.Duration{0, 0, 0, time.Second, 5 * time.Minute, time.Hour}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 0))
		perHour := 2 + r.IntN(12)
		gap := []time.Duration{0, time.Second, time.Minute}[r.IntN(3)]
		p := newPace(m.DB, gap, perHour, time.Minute)
		host := fmt.Sprint("host", seed)
		began, moved := time.Now(), time.Duration(0)
		pass := func(d time.Duration) {
			moved += d
			if _, err := m.conn.Exec(t.Context(), `UPDATE hosts SET next_at = next_at - $2::interval,
				refilled_at = refilled_at - $2::interval WHERE host = $1`, host, d); err != nil {
				t.Fatal(err)
			}
		}
		now := func() time.Duration { return time.Since(began) + moved }
		type request struct{ earliest, latest time.Duration }
		var requests []request
		for range 3 * perHour {
			pass(pauses[r.IntN(len(pauses))])
			for {
				from := now()
				waits, err := m.TakeHosts(t.Context(), []string{host}, p.holder, p.rules(p.hold))
				if err != nil {
					t.Fatal(err)
				}
				if waits[0] == 0 {
					requests = append(requests, request{from, now()})
					break
				}
				pass(waits[0])
			}
			n := len(requests) - 1
			if n > 0 && requests[n].latest-requests[n-1].earliest < gap {
				t.Fatalf("seed %d: requests at most %s apart, gap is %s", seed,
					requests[n].latest-requests[n-1].earliest, gap)
			}
			if n >= perHour && requests[n].latest-requests[n-perHour].earliest < time.Hour {
				t.Fatalf("seed %d: %d requests in %s, %d an hour are allowed", seed, perHour+1,
					requests[n].latest-requests[n-perHour].earliest, perHour)
			}
		}
	}
}

// TestSharedPace checks that processes that share rows use a host one at a time, with a gap after each request, also
// within one use of a host. Other hosts are not delayed.
func TestSharedPace(t *testing.T) {
	t.Parallel()
	m := open(t)
	const gap = 20 * time.Millisecond
	type use struct{ from, to time.Time }
	var mu sync.Mutex
	uses := map[string][]use{}
	record := func(host string) {
		from := time.Now()
		mu.Lock()
		defer mu.Unlock()
		uses[host] = append(uses[host], use{from, time.Now()})
	}
	var g sync.WaitGroup
	for range 3 {
		p := newPace(m.DB, gap, 0, time.Minute)
		for range 2 {
			g.Go(func() {
				for _, host := range []string{"a", "b", "a"} {
					leave, err := p.enter(t.Context(), host)
					if err != nil {
						t.Error(err)
						return
					}
					record(host)
					if err := p.waitAgain(t.Context(), host); err != nil {
						t.Error(err)
					}
					record(host)
					leave()
				}
			})
		}
	}
	g.Wait()
	for host, want := range map[string]int{"a": 24, "b": 12} {
		list := uses[host]
		if len(list) != want {
			t.Errorf("%s got %d requests, want %d", host, len(list), want)
		}
		slices.SortFunc(list, func(a, b use) int { return a.from.Compare(b.from) })
		for i := 1; i < len(list); i++ {
			if since := list[i].from.Sub(list[i-1].to); since < gap {
				t.Errorf("%s got a request %s after the last one, want %s or more", host, since, gap)
			}
		}
	}
}

// TestPaceOfSources checks that pages of a source keep the gap of their host, and that they need nothing of its hourly
// allowance, which visits have used up.
func TestPaceOfSources(t *testing.T) {
	t.Parallel()
	m := open(t)
	p := newPace(m.DB, 20*time.Millisecond, 2, time.Minute)
	enter := func(enter func(context.Context, string) (func(), error)) {
		leave, err := enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
	began := time.Now()
	for range 5 {
		enter(p.enterSource)
	}
	if took := time.Since(began); took < 4*p.gap {
		t.Errorf("5 pages took %s, want gaps of %s between them", took, p.gap)
	}
	enter(p.enter) // half of the allowance; the next request of a visit must wait for an hour
	enter(p.enterSource)
	waits, err := m.TakeHosts(t.Context(), []string{"a"}, p.holder, p.rules(p.hold))
	if err != nil || waits[0] < 50*time.Minute {
		t.Errorf("a visit waits %s, error %v; want about an hour", waits[0], err)
	}
}
