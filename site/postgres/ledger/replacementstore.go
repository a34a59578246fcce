// This file is what the reader of a replacement sees: scans and walks of the stretch alone, which begin at its first
// block and end where those of the network are.

package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// scanReplacement is the stretch of a network that scans read.
type scanReplacement struct {
	exists      bool
	settlers    []ScanSettler // that were scanned up to last
	first, last int64
	hash        string // of block last as it is stored; "" if no range ends there
	parts       []*partReplacement
}

// partReplacement is the part of a stretch that one counting scan has counted.
type partReplacement struct {
	scan   int32
	Scan           // Next moves
	ranges []Range // that were read, without their settlements, neighbours joined
}

// joinedBlocks is how many blocks joined ranges have at most. A roll-back removes whole ranges.
const joinedBlocks = 10_000

// walkReplacement is the stretch of a settler that a walk reads.
type walkReplacement struct {
	is     Walk
	last   int64           // newest block that was read before
	payees map[string]bool // that were read before; nil for payments to anybody
	moved  bool            // whether a page was read
}

func (r *Replacement) beginScans(ctx context.Context) error {
	var next int64
	err := r.conn.QueryRow(ctx, `SELECT s.next, coalesce((SELECT r.hash FROM ranges r
			WHERE r.scan_id = s.id AND r.last = s.next - 1), '')
		FROM scans s WHERE s.chain_id = $1 AND s.until IS NULL`, r.chain).Scan(&next, &r.scans.hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := r.db.Scans(ctx, r.network)
	if err != nil {
		return err
	}
	if len(list) != 1 || list[0].Next != next {
		return fmt.Errorf("%d backfills are not finished: %w", len(list)-1, ErrUnfinished)
	}
	if len(list[0].Settlers) == 0 {
		return fmt.Errorf("no settler of it was scanned: %w", ErrUnfinished)
	}
	r.scans.exists, r.scans.settlers, r.scans.last = true, list[0].Settlers, next-1
	return nil
}

func (r *Replacement) beginWalks(ctx context.Context) error {
	list, err := r.db.Walks(ctx, r.network)
	if err != nil {
		return err
	}
	for _, w := range list {
		if w.NewestTime == nil {
			continue // a settler that was never read has nothing to replace
		}
		if w.Newest != "" {
			return fmt.Errorf("the walk of settler %s is not finished: %w", w.Settler.Address, ErrUnfinished)
		}
		one := walkReplacement{is: Walk{Settler: w.Settler}, last: w.NewestSlot - r.margin}
		if strings.HasPrefix(r.network, "xrpl:") {
			one.payees = map[string]bool{}
			for _, a := range strings.Fields(w.Before) {
				one.payees[a] = true
			}
		}
		r.walks = append(r.walks, one)
	}
	return nil
}

// commonPayees returns the recipients that were read both times.
func (w *walkReplacement) commonPayees() (list []string) {
	for _, a := range strings.Fields(w.is.Before) {
		if w.payees[a] {
			list = append(list, a)
		}
	}
	return list
}

// last returns the newest block of the stretch.
func (r *Replacement) last() int64 {
	last := r.scans.last
	for _, w := range r.walks {
		last = max(last, w.last)
	}
	return last
}

// Finished reports whether the reader has read the whole stretch.
func (r *Replacement) Finished() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.checkFinished() == nil
}

func (r *Replacement) checkFinished() error {
	if r.scans.exists && len(r.scans.parts) == 0 {
		return errors.New("it was not read again")
	}
	for _, p := range r.scans.parts {
		if p.Next != *p.End {
			return fmt.Errorf("it was read again up to block %d, not up to block %d; its nodes may be behind", p.Next-1,
				r.scans.last)
		}
	}
	for _, w := range r.walks {
		if !w.moved || w.is.Newest != "" {
			return fmt.Errorf("the transactions of settler %s were not read again", w.is.Settler.Address)
		}
		if read := w.is.NewestSlot - r.margin; read < w.last {
			return fmt.Errorf("the transactions of settler %s were read again up to block %d, not up to block %d; its nodes "+
				"may be behind", w.is.Settler.Address, read, w.last)
		}
	}
	return nil
}

// LockIndex does nothing: the caller of BeginReplacement has the lock.
func (r *Replacement) LockIndex(context.Context, string) (release func(), ok bool, err error) {
	return func() {}, true, nil
}

// SetHead does nothing: the network is not read on.
func (r *Replacement) SetHead(context.Context, Head) error { return nil }

// RangeEnds returns nothing: the stretch begins without ranges.
func (r *Replacement) RangeEnds(context.Context, string) ([]RangeEnd, error) { return nil, nil }

// RollBack fails. Only blocks that are final are read again.
func (r *Replacement) RollBack(context.Context, string, int64) (int64, error) {
	return 0, errors.New("the chain was reorganised while it was read again; run tollbook index --once first")
}

// Recipients returns the same recipients as the ledger.
func (r *Replacement) Recipients(ctx context.Context, network string) ([]string, error) {
	return r.db.Recipients(ctx, network)
}

// NewSettlers returns the settlers of the stretch until OpenScans has its first block.
func (r *Replacement) NewSettlers(context.Context, string) ([]ScanSettler, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.scans.parts) > 0 {
		return nil, nil
	}
	if !r.scans.exists {
		return nil, errors.New("no scans of it are stored")
	}
	return r.scans.settlers, nil
}

// OpenScans begins the stretch at a block, or later at the first one that was read before. If the block is in the
// middle of a stored range that counts, the stretch begins with this range.
func (r *Replacement) OpenScans(ctx context.Context, _ string, _ []ScanSettler, first int64, firstTime time.Time,
	_ int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if firstTime.Before(r.from) { // the chain's head
		return fmt.Errorf("its last final block is of %s, before that day", firstTime.UTC().Format(time.RFC3339))
	}
	err := r.conn.QueryRow(ctx, `SELECT coalesce((SELECT min(r.first) FROM ranges r JOIN scans s ON s.id = r.scan_id
			WHERE r.chain_id = c.id AND s.counts AND r.first <= $2 AND r.last >= $2), greatest($2, c.counted_from))
		FROM chains c WHERE c.id = $1`, r.chain, first).Scan(&r.scans.first)
	if err != nil {
		return fmt.Errorf("find the first range to replace: %w", err)
	}
	if r.scans.first > r.scans.last {
		return fmt.Errorf("it was read up to block %d only, before %s", r.scans.last, r.from.Format(time.DateOnly))
	}
	// Counting scans are adjacent. After a roll-back one may begin below its first block, where the one below it ends.
	list, err := r.conn.Query(ctx, `
		SELECT id, first, last FROM (
			SELECT id, greatest($2, lag(until, 1, $2) OVER by_end) AS first, least(coalesce(until, $3 + 1), $3 + 1) AS last
			FROM scans WHERE chain_id = $1 AND counts WINDOW by_end AS (ORDER BY until NULLS LAST, id)
		) parts WHERE first < last ORDER BY first`,
		r.chain, r.scans.first, r.scans.last)
	if err != nil {
		return fmt.Errorf("read the scans to replace: %w", err)
	}
	r.scans.parts, err = pgx.CollectRows(list, func(row pgx.CollectableRow) (*partReplacement, error) {
		p := &partReplacement{Scan: Scan{Network: r.network, Counts: true, Settlers: r.scans.settlers, End: new(int64)}}
		return p, row.Scan(&p.scan, &p.Next, p.End)
	})
	if err != nil {
		return fmt.Errorf("read the scans to replace: %w", err)
	}
	for i, p := range r.scans.parts {
		p.ID = int64(i)
	}
	return nil
}

// Scans returns the parts of the stretch that are not read yet.
func (r *Replacement) Scans(context.Context, string) (list []Scan, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.scans.parts {
		if p.Next < *p.End {
			list = append(list, p.Scan)
		}
	}
	return list, nil
}

// CommitRanges keeps ranges of a part, with their settlements, until Apply.
func (r *Replacement) CommitRanges(ctx context.Context, ranges ...Range) (fresh int64, err error) {
	if len(ranges) == 0 {
		return 0, nil
	}
	if err := checkRanges(ranges); err != nil {
		return 0, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	first, last := &ranges[0], &ranges[len(ranges)-1]
	if first.Scan >= int64(len(r.scans.parts)) || r.scans.parts[first.Scan].Next != first.First {
		return 0, ErrMoved
	}
	if last.Last == r.scans.last && r.scans.hash != "" && last.Hash != r.scans.hash {
		return 0, fmt.Errorf("block %d is %s, not %s as it is stored; run tollbook index --once first", last.Last,
			last.Hash, r.scans.hash)
	}
	for i := range ranges {
		if err := r.stage(ctx, ranges[i].Settlements); err != nil {
			return 0, err
		}
		fresh += int64(len(ranges[i].Settlements))
	}
	p := r.scans.parts[first.Scan]
	for _, one := range ranges {
		one.Settlements = nil
		if n := len(p.ranges); n > 0 && one.Last-p.ranges[n-1].First < joinedBlocks {
			p.ranges[n-1] = joinRanges(p.ranges[n-1], one)
		} else {
			p.ranges = append(p.ranges, one)
		}
	}
	p.Next = last.Last + 1
	return fresh, nil
}

// joinRanges returns two neighbouring ranges as one.
func joinRanges(a, b Range) Range {
	for _, s := range b.Authorizations {
		i := slices.IndexFunc(a.Authorizations, func(o AuthorizationDay) bool {
			return o.Token == s.Token && o.Day.Equal(s.Day)
		})
		if i < 0 {
			a.Authorizations = append(a.Authorizations, s)
		} else {
			a.Authorizations[i].Authorizations += s.Authorizations
		}
	}
	a.Senders = append(a.Senders, b.Senders...) // queueSenders sums them
	a.Last, a.Hash, a.Time = b.Last, b.Hash, b.Time
	return a
}

// Walks returns the walks of the stretch. Each settler counts from the first day on.
func (r *Replacement) Walks(context.Context, string) (list []Walk, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.walks {
		list = append(list, w.is)
	}
	return list, nil
}

// CommitWalk keeps the settlements of a page until Apply. It returns ErrForgotten if the nodes' history begins within
// the stretch.
func (r *Replacement) CommitWalk(ctx context.Context, _ string, was, is Walk, settlements []Settlement) (fresh int64,
	err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.walks, func(w walkReplacement) bool { return w.is.Settler.Address == was.Settler.Address })
	if i < 0 {
		return 0, ErrMoved
	}
	w := &r.walks[i]
	if w.is.Until != was.Until || w.is.Newest != was.Newest || w.is.Before != was.Before {
		return 0, ErrMoved
	}
	if is.HistoryStart != nil {
		return 0, fmt.Errorf("the nodes' transactions begin at %s: %w", is.HistoryStart.UTC().Format(time.RFC3339),
			ErrForgotten)
	}
	if err := r.stage(ctx, settlements); err != nil {
		return 0, err
	}
	settler := w.is.Settler
	w.is, w.moved = is, true
	w.is.Settler = settler
	return int64(len(settlements)), nil
}
