package evm

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// Ranges are committed in batches, so that sums by day, payee and payer are written once for several ranges. A batch is
// what was read within a second, or has enough settlements. The next ranges are read meanwhile.
const (
	commitEvery       = time.Second
	commitSettlements = 50_000
	rangesAhead       = 8
)

// job is a range that is being read.
type job struct {
	done chan struct{}
	list []rangeResult
	err  error
}

// readRange is a range that was read, or an error.
type readRange struct {
	ledger.Range
	err error
}

// runScan reads a scan's ranges, several at once, and commits them in order.
func (x *Reader) runScan(ctx context.Context, p *scanPlan, last int64, committed map[int64]string, stop <-chan struct{},
	report *chain.Report) error {
	ctx, cancel := context.WithCancel(ctx)
	jobs := make(chan *job, x.options.Concurrency-1)
	ranges := make(chan readRange, rangesAhead)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	readers.Go(func() {
		defer close(jobs)
		for first := p.scan.Next; first <= last; {
			select {
			case <-stop:
				return
			default:
			}
			to := min(first+p.width.current()-1, last)
			j := &job{done: make(chan struct{})}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return
			}
			from := first
			readers.Go(func() {
				defer close(j.done)
				j.list, j.err = x.fetch(ctx, p, from, to)
			})
			first = to + 1
		}
	})
	readers.Go(func() {
		defer close(ranges)
		orderRanges(ctx, jobs, committed[p.scan.Next-1], ranges)
	})
	for open := true; open; {
		var list []ledger.Range
		var err error
		// Ranges that were read before an error are committed.
		if list, open, err = nextBatch(ctx, ranges, x.options.Batch); len(list) > 0 {
			err = cmp.Or(x.commit(ctx, p, list, report), err)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// orderRanges sends the ranges of jobs in order until one fails. Each must continue the one before.
func orderRanges(ctx context.Context, jobs <-chan *job, before string, to chan<- readRange) {
	give := func(r readRange) bool {
		select {
		case to <- r:
			return r.err == nil
		case <-ctx.Done():
			return false
		}
	}
	for j := range jobs {
		select {
		case <-j.done:
		case <-ctx.Done():
			return
		}
		for _, f := range j.list {
			r := readRange{Range: f.Range}
			if before != "" && f.parent.String() != before {
				r.err = errForked
			}
			if !give(r) {
				return
			}
			before = f.Hash
		}
		if j.err != nil {
			give(readRange{err: j.err})
			return
		}
	}
}

// nextBatch returns the ranges of a commit: those that were read when the commit is due, at least one and at most most.
// open is false after the last range.
func nextBatch(ctx context.Context, from <-chan readRange, most int) (list []ledger.Range, open bool, err error) {
	timer := time.NewTimer(commitEvery)
	defer timer.Stop()
	due, settlements := false, 0
	for len(list) == 0 || len(list) < most && settlements < commitSettlements && !due {
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-timer.C:
			due = true
		case r, more := <-from:
			if !more || r.err != nil {
				return list, more, r.err
			}
			list = append(list, r.Range)
			settlements += len(r.Settlements)
		}
	}
	return list, true, nil
}

func (x *Reader) commit(ctx context.Context, p *scanPlan, ranges []ledger.Range, report *chain.Report) error {
	first, f := ranges[0].First, ranges[len(ranges)-1]
	fresh, err := x.store.CommitRanges(ctx, ranges...)
	if err != nil {
		return fmt.Errorf("commit blocks %d to %d: %w", first, f.Last, err)
	}
	blocks := f.Last - first + 1
	x.mu.Lock()
	defer x.mu.Unlock()
	report.Blocks += blocks
	report.Settlements += fresh
	x.behind -= blocks
	x.settlements += fresh
	x.read = max(x.read, f.Last)
	x.options.Metrics.Update(x.network.ID, func(n *chain.NetworkMetrics) {
		n.Settlements += fresh
		n.Behind = x.behind
		if p.scan.End == nil {
			n.BlockTime = f.Time
		}
	})
	x.options.Progress(chain.Progress{Network: x.network.ID, Block: x.read, Head: x.head, Behind: x.behind,
		Settlements: x.settlements})
	return nil
}
