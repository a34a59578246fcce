package crawl

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestGapBetweenRequests(t *testing.T) {
	t.Parallel()
	p := newPace(time.Second, 0)
	for i, step := range []struct {
		host      string
		ask, want time.Duration // after noon
	}{
		{"a", 0, 0},
		{"a", 0, time.Second},
		{"a", 0, 2 * time.Second},
		{"b", 0, 0}, // another host, or another port of it
		{"a:8443", 0, 0},
		{"a", 1500 * time.Millisecond, 3 * time.Second},
		{"a", 10 * time.Second, 10 * time.Second}, // time that was not used is not saved up
		{"a", 10 * time.Second, 11 * time.Second},
		{"b", 500 * time.Millisecond, time.Second},
	} {
		if got := p.take(step.host, noon.Add(step.ask)).Sub(noon); got != step.want {
			t.Errorf("step %d: %s asked at %s has its slot at %s, want %s", i, step.host, step.ask, got, step.want)
		}
	}
}

func TestHourlyAllowance(t *testing.T) {
	t.Parallel()
	p := newPace(0, 600)
	for i := range 300 { // half of it at once
		if got := p.take("a", noon).Sub(noon); got != 0 {
			t.Fatalf("request %d waits %s", i+1, got)
		}
	}
	for i := range 3 { // the rest evenly
		if got, want := p.take("a", noon).Sub(noon), time.Duration(i+1)*12*time.Second; got != want {
			t.Errorf("request %d has its slot at %s, want %s", i+301, got, want)
		}
	}
	later := noon.Add(3 * time.Hour)
	for i := range 300 { // regained
		if got := p.take("a", later).Sub(later); got != 0 {
			t.Fatalf("request %d after a rest waits %s", i+1, got)
		}
	}
}

// TestNoHourHoldsMore: however requests come, no hour holds more than the allowance and no two are closer than the gap.
func TestNoHourHoldsMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		perHour := rapid.IntRange(2, 40).Draw(t, "per hour")
		gap := rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "gap")
		p := newPace(gap, perHour)
		now := noon
		var slots []time.Time
		for _, wait := range rapid.SliceOfN(rapid.SampledFrom([]time.Duration{0, 0, 0, time.Second, 5 * time.Minute, time.Hour}), 1, 200).Draw(t, "waits") {
			now = now.Add(wait)
			at := p.take("a", now)
			if at.Before(now) {
				t.Fatalf("a slot in the past: %s at %s", at, now)
			}
			if n := len(slots); n > 0 && at.Sub(slots[n-1]) < gap {
				t.Fatalf("slots %s apart, gap is %s", at.Sub(slots[n-1]), gap)
			}
			slots = append(slots, at)
			if n := len(slots) - perHour - 1; n >= 0 && at.Sub(slots[n]) < time.Hour {
				t.Fatalf("%d requests in %s, allowed are %d an hour", perHour+1, at.Sub(slots[n]), perHour)
			}
		}
	})
}

func TestPaceForgets(t *testing.T) {
	t.Parallel()
	p := newPace(time.Second, 600)
	p.take("a", noon)
	p.take("b", noon.Add(50*time.Second))
	p.take("c", noon.Add(61*time.Second)) // sweeps: a is ready again and has its whole allowance
	if _, kept := p.hosts["a"]; kept || len(p.hosts) != 2 {
		t.Errorf("%d hosts are remembered, a among them: %t; want b and c", len(p.hosts), kept)
	}
}

// TestOneAtATime: of many who ask for a host, one has it.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	p := newPace(0, 0)
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
		t.Errorf("%d had the host at once", most.Load())
	}
	if len(p.inUse) != 0 {
		t.Errorf("%d hosts are held when nobody asks", len(p.inUse))
	}
}

// TestGivingUpLeavesNothing: whoever gives up, while somebody has the host or while its slot is far, blocks nobody.
func TestGivingUpLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newPace(time.Hour, 0)
	leave, err := p.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.enter(over, "a"); !errors.Is(err, context.Canceled) { // held
		t.Errorf("entering a host that is held, with an ended context: %v", err)
	}
	leave()
	if _, err := p.enter(over, "a"); !errors.Is(err, context.Canceled) { // not held; its slot is an hour away
		t.Errorf("entering a host whose slot is far, with an ended context: %v", err)
	}
	if len(p.inUse) != 0 {
		t.Errorf("%d hosts are held when nobody asks", len(p.inUse))
	}
}
