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
	"tollbook/site/postgres/ledger"
)

// memory is a store in memory with the rules of the real one.
type memory struct {
	evm.Store // methods that the reader of EVM chains does not call

	mu         sync.Mutex
	settlers   []ledger.ScanSettler // on the lists
	recipients []string
	scanned    map[string]bool // settlers with a scan
	scans      []ledger.Scan
	own        map[int64]map[string]bool // settlers of a fill
	counted    int64                     // the first block that counts
	ranges     []ledger.Range
	rows       map[string]ledger.Settlement
	head       ledger.Head
	commits    int
	rollBacks  []int64
	onCommit   func(n int) error // called before a commit, without the lock
	busy       bool
}

func newLedger(settlers ...ledger.ScanSettler) *memory {
	return &memory{settlers: settlers, scanned: map[string]bool{}, own: map[int64]map[string]bool{},
		rows: map[string]ledger.Settlement{}}
}

func (l *memory) NewSettlers(context.Context, string) (list []ledger.ScanSettler, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.settlers {
		if !l.scanned[s.Address] {
			list = append(list, s)
		}
	}
	return list, nil
}

func (l *memory) OpenScans(_ context.Context, network string, settlers []ledger.ScanSettler, first int64, _ time.Time,
	head int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := map[string]bool{}
	for _, s := range settlers {
		if !l.scanned[s.Address] {
			mine[s.Address] = true
			l.scanned[s.Address] = true
		}
	}
	if len(mine) == 0 {
		return nil
	}
	fill := func(from, to int64, counts bool) {
		if from < to {
			id := int64(len(l.scans) + 1)
			l.scans = append(l.scans, ledger.Scan{ID: id, Network: network, Next: from, End: &to, Counts: counts})
			l.own[id] = mine
		}
	}
	if len(l.scans) == 0 {
		l.scans = []ledger.Scan{{ID: 1, Network: network, Next: head, Counts: true}}
		l.counted = min(first, head)
		fill(first, head, true)
		return nil
	}
	fill(first, min(l.counted, l.scans[0].Next), true)
	fill(max(first, l.counted), l.scans[0].Next, false)
	l.counted = min(l.counted, first)
	return nil
}

func (l *memory) Scans(context.Context, string) (list []ledger.Scan, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.scans {
		if s.End != nil && s.Next >= *s.End {
			continue
		}
		for _, one := range l.settlers {
			if s.End == nil && l.scanned[one.Address] || l.own[s.ID][one.Address] {
				s.Settlers = append(s.Settlers, one)
			}
		}
		list = append(list, s)
	}
	return list, nil
}

func (l *memory) CommitRanges(ctx context.Context, ranges ...ledger.Range) (fresh int64, err error) {
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
			return 0, ledger.ErrMoved
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

func (l *memory) RangeEnds(context.Context, string) (list []ledger.RangeEnd, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.ranges {
		list = append(list, ledger.RangeEnd{Last: r.Last, Hash: r.Hash})
	}
	slices.SortFunc(list, func(a, b ledger.RangeEnd) int { return cmp.Compare(b.Last, a.Last) })
	return list, nil
}

// end returns the newest committed block, 0 for none.
func (l *memory) end() (last int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.ranges {
		last = max(last, r.Last)
	}
	return last
}

func (l *memory) RollBack(_ context.Context, _ string, ancestor int64) (removed int64, err error) {
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
	// The counts of a range that contains the ancestor can't be divided: the range is read again.
	for _, r := range l.ranges {
		if r.Last > ancestor {
			l.scans[r.Scan-1].Next = min(l.scans[r.Scan-1].Next, r.First)
		}
	}
	l.ranges = slices.DeleteFunc(l.ranges, func(r ledger.Range) bool { return r.Last > ancestor })
	return removed, nil
}

func (l *memory) SetHead(_ context.Context, h ledger.Head) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = h
	return nil
}

func (l *memory) Recipients(context.Context, string) ([]string, error) { return l.recipients, nil }

func (l *memory) LockIndex(context.Context, string) (func(), bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		return nil, false, nil
	}
	l.busy = true
	return func() { l.mu.Lock(); l.busy = false; l.mu.Unlock() }, true, nil
}

// settled returns the rows in the order of the chain.
func (l *memory) settled() []ledger.Settlement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.rows), byPlace)
}

func byPlace(a, b ledger.Settlement) int {
	return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.LogIndex, b.LogIndex))
}

// counts returns the sums of counting scans as text, in order.
func (l *memory) counts() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]int64{}
	payments := map[string]int64{}
	amounts := map[string]*big.Int{}
	for _, r := range l.ranges {
		for _, s := range r.Authorizations {
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
