package evm_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/evm"
)

// once indexes and fails the test on an error.
func once(t *testing.T, x *evm.Reader) chain.Report {
	t.Helper()
	report, err := x.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// compare compares a ledger with the world's settlements up to the confirmed head.
func (w *world) compare(t *testing.T, what string, l *memory) {
	t.Helper()
	confirmed := max(0, w.Head().Number-2)
	if diff := cmp.Diff(w.settled(confirmed, l.settlers), l.settled()); diff != "" {
		t.Fatalf("%s: settlements (-want +got):\n%s", what, diff)
	}
	if l.counted == 0 {
		if diff := cmp.Diff(w.wantCounts(confirmed, l.settlers, l.recipients), l.counts()); diff != "" {
			t.Fatalf("%s: what was seen (-want +got):\n%s", what, diff)
		}
	}
}

// someRecipients returns recipients of listed services.
func someRecipients(n int) (list []string) {
	for i := range n {
		list = append(list, text(person('r', i)))
	}
	return list
}

func TestIndexEqualsSentPayments(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(seed)
			w.grow(300, int(seed)*3)
			l := newLedger(worldSettlers(3)...)
			l.recipients = someRecipients(5)
			x := indexer(t, l, chain.Options{}, serve(t, w))
			report := once(t, x)
			w.compare(t, "from empty", l)
			if want := int64(len(l.rows)); report.Settlements != want || report.Blocks != 299 || report.Errors != 0 {
				t.Errorf("report %+v, want %d settlements, 299 blocks, no errors", report, want)
			}
			for range 5 {
				w.grow(3, 4)
				once(t, x)
				w.compare(t, "a little later", l)
			}
			calls := once(t, x).Calls
			if calls > 4 {
				t.Errorf("%d calls with nothing new, want at most 4", calls)
			}
		})
	}
}

// TestReorganisations checks that after each kind of reorganisation the index equals a fresh one.
func TestReorganisations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(seed)
			r := rand.New(rand.NewPCG(seed, 1))
			l := newLedger(worldSettlers(3)...)
			l.recipients = someRecipients(3)
			x := indexer(t, l, chain.Options{}, serve(t, w))
			w.grow(40, 4)
			for range 12 {
				w.grow(1+r.IntN(6), 4)
				once(t, x)
			}
			for i := range 25 {
				head := w.Head().Number
				depth := 1 + r.Int64N(min(30, head-41))
				w.Cut(head - depth)
				switch i % 3 {
				case 0: // to the same height
					w.grow(int(depth), 4)
				case 1: // higher
					w.grow(int(depth)+1+r.IntN(8), 4)
				case 2: // lower at first: the reader waits until the chain has grown again
					w.grow(max(0, int(depth)-3), 4)
					if _, err := x.Once(t.Context()); err != nil {
						t.Fatal(err)
					}
					w.grow(9, 4)
				}
				once(t, x)
				w.compare(t, fmt.Sprintf("reorganisation %d, of depth %d", i, depth), l)
			}
			if len(l.rollBacks) == 0 {
				t.Error("nothing was rolled back")
			}
		})
	}
}

func TestReorganisationTooDeep(t *testing.T) {
	t.Parallel()
	w := newWorld(3)
	w.grow(50, 4)
	l := newLedger(worldSettlers(3)...)
	x := indexer(t, l, chain.Options{}, serve(t, w))
	once(t, x)
	before := l.settled()
	w.Cut(0)
	w.grow(60, 4)
	_, err := x.Once(t.Context())
	if !errors.Is(err, evm.ErrNoAncestor) {
		t.Errorf("got %v, want ErrNoAncestor", err)
	}
	if diff := cmp.Diff(before, l.settled()); diff != "" {
		t.Errorf("something changed (-want +got):\n%s", diff)
	}
}

// TestKilledAtAnyMoment checks that an index is correct if the indexer is killed before, during or after any commit.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(5)
	w.grow(700, 5)
	url := serve(t, w)
	l := newLedger(worldSettlers(3)...)
	l.recipients = someRecipients(3)
	r := rand.New(rand.NewPCG(5, 5))
	killed := 0
	for {
		ctx, kill := context.WithCancel(t.Context())
		left := 1 + r.IntN(3)
		l.onCommit = func(int) error {
			if left--; left == 0 {
				kill()
			}
			return nil
		}
		x := indexer(t, l, chain.Options{Concurrency: 1 + r.IntN(4), Batch: 1 + r.IntN(4)}, url)
		_, err := x.Once(ctx)
		kill()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		killed++
	}
	if killed < 2 {
		t.Errorf("killed %d times, want more", killed)
	}
	w.compare(t, "after the last kill", l)
}

// TestNewSettlers checks that new settlers are read from their own first day, and that nothing is counted twice.
func TestNewSettlers(t *testing.T) {
	t.Parallel()
	w := newWorld(9)
	w.grow(7300, 1) // over midnight, two hours after the first block
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	l := newLedger(worldSettlers(1)...)
	url := serve(t, w)
	once(t, indexer(t, l, chain.Options{}, url))
	w.compare(t, "with one settler", l)
	rows := len(l.rows)

	l.mu.Lock()
	l.settlers = worldSettlers(3)
	l.settlers[1].Since = &midnight
	l.mu.Unlock()
	w.grow(5, 3)
	x := indexer(t, l, chain.Options{}, url)
	once(t, x)
	confirmed := w.Head().Number - 2
	if diff := cmp.Diff(w.settled(confirmed, l.settlers), l.settled()); diff != "" {
		t.Fatalf("with two more: settlements (-want +got):\n%s", diff)
	}
	if len(l.rows) <= rows {
		t.Errorf("%d rows after new settlers, %d before", len(l.rows), rows)
	}
	if diff := cmp.Diff(w.wantCounts(confirmed, l.settlers, nil), l.counts()); diff != "" {
		t.Errorf("what was seen (-want +got):\n%s", diff)
	}
}

// TestStart checks that nothing before a network's start is read.
func TestStart(t *testing.T) {
	t.Parallel()
	w := newWorld(4)
	w.grow(7300, 1)
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	l := newLedger(worldSettlers(3)...)
	x, err := evm.New(chain.Network{ID: network, RPC: []string{serve(t, w)}, Confirmations: 2, Start: midnight}, l,
		chain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	once(t, x)
	for _, s := range l.settlers {
		s.Since = &midnight
	}
	settlers := worldSettlers(3)
	for i := range settlers {
		settlers[i].Since = &midnight
	}
	if diff := cmp.Diff(w.settled(w.Head().Number-2, settlers), l.settled()); diff != "" {
		t.Errorf("settlements (-want +got):\n%s", diff)
	}
	if first := w.Block(l.counted); first.Time.Before(midnight) || !w.Block(l.counted-1).Time.Before(midnight) {
		t.Errorf("began at block %d of %v", l.counted, first.Time)
	}
}

// TestFinalized checks that without a number of confirmations the finalized block counts, or without that a default.
func TestFinalized(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		finality int64
		want     int64 // blocks behind the newest
	}{{"the node's word", 11, 11}, {"a node without one", -1, 128}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(1)
			w.Finality = tt.finality
			w.grow(200, 2)
			l := newLedger(worldSettlers(3)...)
			x, err := evm.New(chain.Network{ID: network, RPC: []string{serve(t, w)}}, l,
				chain.Options{Backoff: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			once(t, x)
			if want := w.Head().Number - tt.want; l.head.Block != want {
				t.Errorf("head %d, want %d", l.head.Block, want)
			}
			if diff := cmp.Diff(w.settled(l.head.Block, l.settlers), l.settled()); diff != "" {
				t.Errorf("settlements (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRun checks that Run follows the chain through reorganisations until its context ends.
func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorld(8)
	w.grow(300, 3)
	l := newLedger(worldSettlers(3)...)
	l.recipients = someRecipients(4)
	ctx, end := context.WithCancel(t.Context())
	caughtUp := make(chan int64, 1000)
	x := indexer(t, l, chain.Options{Progress: func(p chain.Progress) {
		if p.Behind == 0 {
			caughtUp <- p.Block
		}
	}}, serve(t, w))
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	wait := func() {
		for block := range caughtUp {
			if block >= w.Head().Number-2 {
				return
			}
		}
	}
	wait()
	if _, err := indexer(t, l, chain.Options{}, serve(t, w)).Once(t.Context()); !errors.Is(err, chain.ErrBusy) {
		t.Errorf("a second indexer: got %v, want ErrBusy", err)
	}
	for range 5 {
		w.grow(7, 3)
		wait()
		w.Cut(w.Head().Number - 5)
		w.grow(9, 3)
		wait()
	}
	end()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run ended with %v", err)
	}
	w.compare(t, "at the end", l)
}
