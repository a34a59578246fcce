package evm_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"tollbook/crawl/chain/evm"
	"tollbook/site/postgres"
)

// ledger is a store in memory that keeps the laws of the real one.
type ledger struct {
	evm.Store // what Solana needs is not here

	mu         sync.Mutex
	settlers   []postgres.ScanSettler // that the lists name
	recipients []string
	known      map[string]bool // settlers that a scan looks for
	scans      []postgres.Scan
	own        map[int64]map[string]bool // settlers of a fill
	counted    int64                     // the first block that counts
	ranges     []postgres.Range
	rows       map[string]postgres.Settlement
	head       postgres.Head
	commits    int
	rollBacks  []int64
	onCommit   func(n int) error // called before a commit, without the lock
	busy       bool
}

func newLedger(settlers ...postgres.ScanSettler) *ledger {
	return &ledger{settlers: settlers, known: map[string]bool{}, own: map[int64]map[string]bool{},
		rows: map[string]postgres.Settlement{}}
}

func (l *ledger) NewSettlers(context.Context, string) (list []postgres.ScanSettler, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.settlers {
		if !l.known[s.Address] {
			list = append(list, s)
		}
	}
	return list, nil
}

func (l *ledger) OpenScans(_ context.Context, network string, settlers []postgres.ScanSettler, first int64, _ time.Time,
	head int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := map[string]bool{}
	for _, s := range settlers {
		if !l.known[s.Address] {
			mine[s.Address] = true
			l.known[s.Address] = true
		}
	}
	if len(mine) == 0 {
		return nil
	}
	fill := func(from, to int64, counts bool) {
		if from < to {
			id := int64(len(l.scans) + 1)
			l.scans = append(l.scans, postgres.Scan{ID: id, Network: network, Next: from, End: &to, Counts: counts})
			l.own[id] = mine
		}
	}
	if len(l.scans) == 0 {
		l.scans = []postgres.Scan{{ID: 1, Network: network, Next: head, Counts: true}}
		l.counted = min(first, head)
		fill(first, head, true)
		return nil
	}
	fill(first, min(l.counted, l.scans[0].Next), true)
	fill(max(first, l.counted), l.scans[0].Next, false)
	l.counted = min(l.counted, first)
	return nil
}

func (l *ledger) Scans(context.Context, string) (list []postgres.Scan, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.scans {
		if s.End != nil && s.Next >= *s.End {
			continue
		}
		for _, one := range l.settlers {
			if s.End == nil && l.known[one.Address] || l.own[s.ID][one.Address] {
				s.Settlers = append(s.Settlers, one)
			}
		}
		list = append(list, s)
	}
	return list, nil
}

func (l *ledger) CommitRanges(ctx context.Context, ranges ...postgres.Range) (fresh int64, err error) {
	l.mu.Lock()
	l.commits++
	n, hook := l.commits, l.onCommit
	l.mu.Unlock()
	if hook != nil {
		if err := hook(n); err != nil {
			return 0, err
		}
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.scans[ranges[0].Scan-1]
	next := s.Next
	for _, r := range ranges {
		if r.Scan != ranges[0].Scan || next != r.First || r.Last < r.First || s.End != nil && r.Last >= *s.End {
			return 0, postgres.ErrMoved
		}
		next = r.Last + 1
	}
	s.Next = next
	l.ranges = append(l.ranges, ranges...)
	for _, r := range ranges {
		for _, row := range r.Settlements {
			key := fmt.Sprintf("%s/%d", row.Transaction, row.LogIndex)
			if _, there := l.rows[key]; !there {
				l.rows[key] = row
				fresh++
			}
		}
	}
	return fresh, nil
}

func (l *ledger) RangeEnds(context.Context, string) (list []postgres.RangeEnd, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.ranges {
		list = append(list, postgres.RangeEnd{Last: r.Last, Hash: r.Hash})
	}
	slices.SortFunc(list, func(a, b postgres.RangeEnd) int { return cmp.Compare(b.Last, a.Last) })
	return list, nil
}

// end is the newest block that was committed, 0 before.
func (l *ledger) end() (last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.ranges {
		last = max(last, r.Last)
	}
	return last
}

func (l *ledger) RollBack(_ context.Context, _ string, ancestor int64) (removed int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rollBacks = append(l.rollBacks, ancestor)
	for key, row := range l.rows {
		if row.Block > ancestor {
			delete(l.rows, key)
			removed++
		}
	}
	for i := range l.scans {
		s := &l.scans[i]
		if s.End != nil {
			*s.End = min(*s.End, max(ancestor+1, s.Next))
		}
		s.Next = min(s.Next, ancestor+1)
		if s.End != nil {
			*s.End = max(min(*s.End, ancestor+1), s.Next)
		}
	}
	// what a range that reaches over the ancestor has counted can't be divided: read it again
	for _, r := range l.ranges {
		if r.Last > ancestor {
			l.scans[r.Scan-1].Next = min(l.scans[r.Scan-1].Next, r.First)
		}
	}
	l.ranges = slices.DeleteFunc(l.ranges, func(r postgres.Range) bool { return r.Last > ancestor })
	return removed, nil
}

func (l *ledger) SetHead(_ context.Context, h postgres.Head) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = h
	return nil
}

func (l *ledger) Recipients(context.Context, string) ([]string, error) { return l.recipients, nil }

func (l *ledger) LockIndex(context.Context, string) (func(), bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		return nil, false, nil
	}
	l.busy = true
	return func() { l.mu.Lock(); l.busy = false; l.mu.Unlock() }, true, nil
}

// settled are the rows in the order of the chain.
func (l *ledger) settled() []postgres.Settlement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.rows), byPlace)
}

func byPlace(a, b postgres.Settlement) int {
	return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.LogIndex, b.LogIndex))
}

// tallied are the sums of what was seen, as text: what counts is that each is there once.
func (l *ledger) tallied() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]int64{}
	payments := map[string]int64{}
	amounts := map[string]*big.Int{}
	for _, r := range l.ranges {
		for _, s := range r.Seen {
			seen[s.Day.Format(time.DateOnly)+" "+s.Token] += s.Authorizations
		}
		for _, s := range r.Senders {
			key := s.Day.Format(time.DateOnly) + " " + s.Sender + " " + s.Token
			payments[key] += s.Payments
			if amounts[key] == nil {
				amounts[key] = new(big.Int)
			}
			n, ok := new(big.Int).SetString(s.Amount, 10)
			if !ok {
				panic("amount " + s.Amount)
			}
			amounts[key].Add(amounts[key], n)
		}
	}
	for key, n := range seen {
		list = append(list, fmt.Sprintf("%s: %d seen", key, n))
	}
	for key, n := range payments {
		list = append(list, fmt.Sprintf("%s: %d paid, %v", key, n, amounts[key]))
	}
	slices.SortFunc(list, strings.Compare)
	return list
}
