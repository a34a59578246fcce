package postgres_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"tollbook/site/postgres"
)

// TestTakeHost checks that one holder at a time has a host, that nobody has it during its gap, and that other hosts are
// free.
func TestTakeHost(t *testing.T) {
	t.Parallel()
	db := open(t)
	rules := postgres.HostRules{Gap: time.Hour, Hold: time.Hour}
	a, b := uuid.New(), uuid.New()
	take := func(host string, who uuid.UUID, free bool) {
		t.Helper()
		wait, err := db.TakeHost(t.Context(), host, who, rules)
		if err != nil {
			t.Fatal(err)
		}
		if (wait == 0) != free {
			t.Errorf("%s is taken in %s, want free %t", host, wait, free)
		}
	}
	take("one:443", a, true)
	take("one:443", b, false)
	take("one", b, true)
	rules.Gap = 0
	if err := db.ReleaseHosts(t.Context(), []string{"one:443"}, b, 0); err != nil { // it is not b's to leave
		t.Fatal(err)
	}
	take("one:443", b, false)
	if err := db.ReleaseHosts(t.Context(), []string{"one:443"}, a, 0); err != nil {
		t.Fatal(err)
	}
	take("one:443", b, true)
	if err := db.DelayHost(t.Context(), "one:443", b, time.Hour); err != nil {
		t.Fatal(err)
	}
	take("one:443", b, false)
	if err := db.ReleaseHosts(t.Context(), []string{"one:443"}, b, time.Hour); err != nil {
		t.Fatal(err)
	}
	take("one:443", a, false)
}

// TestHostLeaseExpires checks that the host of a dead process is free when its lease ends.
func TestHostLeaseExpires(t *testing.T) {
	t.Parallel()
	db := open(t)
	dead, other := uuid.New(), uuid.New()
	if wait, err := db.TakeHost(t.Context(), "h", dead, postgres.HostRules{Hold: 10 * time.Millisecond}); wait != 0 ||
		err != nil {
		t.Fatal(wait, err)
	}
	for {
		wait, err := db.TakeHost(t.Context(), "h", other, postgres.HostRules{Hold: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if wait == 0 {
			return
		}
		time.Sleep(wait)
	}
}

// TestHostAllowance checks that a host gets no more requests than its allowance, whatever the gap.
func TestHostAllowance(t *testing.T) {
	t.Parallel()
	db := open(t)
	who := uuid.New()
	// ten at once, then one an hour
	rules := postgres.HostRules{Refill: time.Hour, Burst: 9 * time.Hour, Hold: time.Hour}
	for i := range 11 {
		wait, err := db.TakeHost(t.Context(), "h", who, rules)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := wait == 0, i < 10; got != want {
			t.Fatalf("request %d waits %s", i+1, wait)
		}
		if i == 10 && (wait < 59*time.Minute || wait > time.Hour) {
			t.Errorf("the next is told to wait %s, want an hour", wait)
		}
	}
}

// TestTakeHostInParallel checks that only one of many concurrent takers has the host at a time.
func TestTakeHostInParallel(t *testing.T) {
	t.Parallel()
	db := open(t)
	var inside, taken atomic.Int32
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			who := uuid.New()
			for n := 0; n < 10; {
				wait, err := db.TakeHost(t.Context(), "h", who, postgres.HostRules{Hold: time.Hour})
				if err != nil {
					t.Error(err)
					return
				}
				if wait > 0 {
					time.Sleep(time.Millisecond)
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the host")
				}
				n++
				taken.Add(1)
				inside.Add(-1)
				if err := db.ReleaseHosts(t.Context(), []string{"h"}, who, 0); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	g.Wait()
	if taken.Load() != 80 {
		t.Errorf("it was taken %d times, want 80", taken.Load())
	}
}

// TestTakeHosts checks that one statement takes and releases hosts as single calls do, and that concurrent statements
// with another order of hosts do not deadlock.
func TestTakeHosts(t *testing.T) {
	t.Parallel()
	db := open(t)
	ctx, a, b := t.Context(), uuid.New(), uuid.New()
	rules := postgres.HostRules{Gap: time.Hour, Hold: time.Hour}
	free := func(who uuid.UUID, hosts ...string) (free []bool) {
		t.Helper()
		waits, err := db.TakeHosts(ctx, hosts, who, rules)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range waits {
			free = append(free, w == 0)
		}
		return free
	}
	if diff := cmp.Diff([]bool{true, true, false}, free(a, "two", "one", "two")); diff != "" {
		t.Errorf("taken by the first (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{false, true, false}, free(b, "one", "three", "two")); diff != "" {
		t.Errorf("taken by the second (-want +got):\n%s", diff)
	}
	if err := db.ReleaseHosts(ctx, []string{"three", "two", "one"}, a, 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]bool{true, true, false}, free(b, "one", "two", "three")); diff != "" {
		t.Errorf("taken by the second after the first left his (-want +got):\n%s", diff)
	}
	var asking errgroup.Group
	names := []string{"p", "q", "r", "s", "t", "u"}
	for i := range 8 {
		asking.Go(func() error {
			who := uuid.New()
			hosts := slices.Concat(names[i%6:], names[:i%6])
			for range 50 {
				if _, err := db.TakeHosts(ctx, hosts, who, postgres.HostRules{Hold: time.Hour}); err != nil {
					return err
				}
				if err := db.ReleaseHosts(ctx, hosts, who, 0); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := asking.Wait(); err != nil {
		t.Errorf("all at once: %v", err)
	}
}
