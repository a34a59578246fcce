package evm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

func sortHashes(list *[]hash) {
	slices.SortFunc(*list, compareHashes)
	*list = slices.Compact(*list)
}

// askHead asks for the newest confirmed block and the newest block.
func (x *Reader) askHead(ctx context.Context) (confirmed, newest header, err error) {
	if newest, err = x.blockAt(ctx, `"latest"`); err != nil {
		return confirmed, newest, err
	}
	depth := int64(x.network.Confirmations)
	if depth <= 0 && !x.noFinalized {
		confirmed, err = x.blockAt(ctx, `"finalized"`)
		var f *chain.NodeFault
		if !errors.As(err, &f) || f.Kind != chain.KindUnsupported && f.Kind != chain.KindBehind {
			return confirmed, newest, err
		}
		x.noFinalized = f.Kind == chain.KindUnsupported
		x.options.Logger.Info("node without a finalized block; counting confirmations instead", "network", x.network.ID,
			"confirmations", usualConfirmations)
	}
	if depth <= 0 {
		depth = usualConfirmations
	}
	confirmed, err = x.block(ctx, max(0, newest.number-depth))
	return confirmed, newest, err
}

// askConfirmed is askHead with a confirmed block that has a child, because a node could invent a hash that no later
// block names. Both blocks come in one answer, so that the client asks again if a node contradicts itself.
func (x *Reader) askConfirmed(ctx context.Context) (confirmed, newest header, err error) {
	confirmed, newest, err = x.askHead(ctx)
	if err != nil || newest.number <= confirmed.number {
		return confirmed, newest, err
	}
	at := confirmed.number
	err = x.client.Ask(ctx, chain.Question{
		Calls:  []chain.Call{blockCall(at, false), blockCall(at+1, false)},
		Atomic: true,
		Read: func(_ int, calls []chain.Call) (err error) {
			if confirmed, err = x.readNumbered(calls[0].Result, at); err != nil {
				return err
			}
			child, err := x.readNumbered(calls[1].Result, at+1)
			if err == nil && child.parent != confirmed.hash {
				err = fmt.Errorf("block %d does not follow block %d", child.number, at)
			}
			return err
		},
	})
	return confirmed, newest, err
}

// block asks for a header by number.
func (x *Reader) block(ctx context.Context, number int64) (header, error) {
	h, _, err := x.askBlock(ctx, x.client, number)
	return h, err
}

// askBlock asks c's nodes for a header by number, and returns the node that answered.
func (x *Reader) askBlock(ctx context.Context, c *chain.Client, number int64) (h header, by *chain.Node, err error) {
	err = c.Ask(ctx, chain.Question{Calls: []chain.Call{blockCall(number, false)}, AnsweredBy: &by,
		Read: func(_ int, calls []chain.Call) error {
			h, err = x.readNumbered(calls[0].Result, number)
			return err
		}})
	return h, by, err
}

// readNumbered reads the header of a block that was requested by number.
func (x *Reader) readNumbered(result []byte, number int64) (header, error) {
	h, _, err := readHeader(result, nil)
	if err == nil && h.number != number {
		err = fmt.Errorf("got block %d instead of %d", h.number, number)
	}
	if err == nil {
		err = x.checkTime(h)
	}
	return h, err
}

// firstTime is the time of Ethereum's block 1, before which no chain of this kind had a block with transactions.
var firstTime = time.Date(2015, 7, 30, 15, 26, 28, 0, time.UTC)

// checkTime checks the time of a header whose neighbours are unknown. Block 0 is not mined: many chains have it at
// 1970.
func (x *Reader) checkTime(h header) error {
	if h.number == 0 {
		return chain.CheckTime(h.time, time.Unix(0, 0), x.options.Now())
	}
	return chain.CheckTime(h.time, firstTime, x.options.Now())
}

func (x *Reader) blockAt(ctx context.Context, at string) (h header, err error) {
	err = x.client.Ask(ctx, chain.Question{
		Calls: []chain.Call{{Method: "eth_getBlockByNumber", Params: `[` + at + `,false]`}},
		Read: func(_ int, calls []chain.Call) error {
			if h, _, err = readHeader(calls[0].Result, nil); err == nil {
				err = x.checkTime(h)
			}
			return err
		},
	})
	return h, err
}

// openScans opens scans for settlers without one.
func (x *Reader) openScans(ctx context.Context, confirmed header) error {
	settlers, err := x.store.NewSettlers(ctx, x.network.ID)
	if err != nil || len(settlers) == 0 {
		return err
	}
	var from time.Time // the first day to read
	for i, s := range settlers {
		day := x.network.Start
		if s.Since != nil && s.Since.After(day) {
			day = *s.Since
		}
		if i == 0 || day.Before(from) {
			from = day
		}
	}
	first, err := x.firstBlock(ctx, dayOf(from), confirmed)
	if err != nil {
		return fmt.Errorf("find the first block of %s: %w", from.Format(time.DateOnly), err)
	}
	return x.store.OpenScans(ctx, x.network.ID, settlers, first.number, first.time, confirmed.number)
}

// firstBlock returns the first block of a day, or the oldest block that nodes still have. It returns the first block of
// a chain that began later, and the confirmed head for a day in the future. If nodes said that they no longer have a
// block, it asks for the block again at the end: a node that failed for a moment would cost all history before it.
func (x *Reader) firstBlock(ctx context.Context, day time.Time, confirmed header) (header, error) {
	if confirmed.time.Before(day) {
		return confirmed, nil
	}
	for range maxRounds {
		first, oldest, err := x.searchDay(ctx, day, confirmed)
		if err == nil {
			err = x.compareFirst(ctx, day, first)
		}
		if errors.Is(err, chain.ErrOutvoted) {
			continue
		}
		if err != nil || !oldest {
			return first, err
		}
		_, forgotten, err := x.blockIfKept(ctx, first.number-1)
		if forgotten && x.network.Whole {
			return first, fmt.Errorf("their first block is %d, of %s: %w", first.number, first.time.Format(time.RFC3339),
				ledger.ErrForgotten)
		}
		if forgotten || err != nil {
			return first, err
		}
	}
	return header{}, fmt.Errorf("find the first block of %s: nodes have blocks that they did not have before",
		day.Format(time.DateOnly))
}

// compareFirst compares the first block of a day, and the one before it, with what another node says: a node with wrong
// times could hide the history before.
func (x *Reader) compareFirst(ctx context.Context, day time.Time, first header) error {
	if x.client.Nodes() < 2 || first.number == 0 {
		return nil
	}
	type pair struct{ before, first blockTime }
	ask := func(ctx context.Context, c *chain.Client) (p pair, err error) {
		before, _, err := x.askBlock(ctx, c, first.number-1)
		if err != nil {
			return p, err
		}
		h, _, err := x.askBlock(ctx, c, first.number)
		return pair{blockTime{before.hash, before.time}, blockTime{h.hash, h.time}}, err
	}
	_, by, err := x.askBlock(ctx, x.client, first.number)
	if err != nil {
		return err
	}
	says, err := ask(ctx, x.client.Only(by))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return nil // no node may have the block before
	}
	if !says.before.time.Before(day) || says.first.time.Before(day) {
		return chain.ErrOutvoted // another node answered the search
	}
	return chain.Compare(ctx, x.client, by, says, ask, func(one, other pair) string {
		if one == other {
			return ""
		}
		return fmt.Sprintf("the first block of %s is not %d, of %s", day.Format(time.DateOnly), first.number,
			one.first.time.Format(time.RFC3339))
	})
}

// searchDay is one binary search of firstBlock. oldest means that the block before may be of the day too, but no node
// has it any more.
func (x *Reader) searchDay(ctx context.Context, day time.Time, confirmed header) (first header, oldest bool,
	err error) {
	low, high := int64(0), confirmed // low and blocks before it are unknown; high is not before the day
	for low < high.number {
		middle := low + (high.number-low)/2
		h, forgotten, err := x.blockIfKept(ctx, middle)
		switch {
		case forgotten:
			low, oldest = middle+1, true
		case err != nil:
			return h, false, err
		case h.time.Before(day):
			low, oldest = middle+1, false
		default:
			high = h
		}
	}
	return high, oldest, nil
}

// blockIfKept asks for a header that nodes may no longer have.
func (x *Reader) blockIfKept(ctx context.Context, number int64) (h header, forgotten bool, err error) {
	h, err = x.block(ctx, number)
	var f *chain.NodeFault
	if errors.As(err, &f) && f.Kind == chain.KindBehind {
		return h, true, nil
	}
	return h, false, err
}

// rollBackForks compares the newest committed end that the chain reaches with the chain. If they differ, it finds the
// newest stored end that is still part of the chain and rolls back to it.
func (x *Reader) rollBackForks(ctx context.Context, newest header, report *chain.Report) error {
	ends, err := x.store.RangeEnds(ctx, x.network.ID)
	if err != nil {
		return err
	}
	// the node is behind, or the chain is shorter now: a later round decides
	for len(ends) > 0 && ends[0].Last > newest.number {
		ends = ends[1:]
	}
	if len(ends) == 0 {
		return nil
	}
	same, err := x.isOnChain(ctx, ends[0])
	if err != nil || same {
		return err
	}
	x.client.ForgetIdentity() // a node that begins to serve another chain is no reorganisation
	if same, err = x.isOnChain(ctx, ends[0]); err != nil || same {
		return err
	}
	if err := x.confirmFork(ctx, ends[0], newest.number); err != nil {
		return err
	}
	var failed error
	i := sort.Search(len(ends), func(i int) bool {
		if failed != nil {
			return true
		}
		same, err := x.isOnChain(ctx, ends[i])
		failed = err
		return same
	})
	if failed != nil {
		return failed
	}
	if i == len(ends) {
		return fmt.Errorf("%w: of %d stored ends, blocks %d to %d", ErrNoAncestor, len(ends), ends[i-1].Last,
			ends[0].Last)
	}
	removed, err := x.store.RollBack(ctx, x.network.ID, ends[i].Last)
	if err != nil {
		return fmt.Errorf("roll back to block %d: %w", ends[i].Last, err)
	}
	report.RolledBack += removed
	x.options.Metrics.Update(x.network.ID, func(n *chain.NetworkMetrics) { n.RollBacks++; n.RolledBack += removed })
	x.options.Logger.Info("rolled back a reorganisation", "network", x.network.ID, "ancestor", ends[i].Last,
		"settlements", removed)
	return nil
}

// isOnChain reports whether a committed end is part of the chain that contains the anchor.
func (x *Reader) isOnChain(ctx context.Context, e ledger.RangeEnd) (same bool, err error) {
	err = x.client.Ask(ctx, chain.Question{
		Calls:  []chain.Call{blockCall(e.Last, false), blockCall(x.anchor.number, false)},
		Atomic: true,
		Read: func(_ int, calls []chain.Call) error {
			h, err := x.readNumbered(calls[0].Result, e.Last)
			if err != nil {
				return err
			}
			anchor, err := x.readNumbered(calls[1].Result, x.anchor.number)
			if err == nil && anchor.hash != x.anchor.hash {
				err = errForked
			}
			same = h.hash.String() == e.Hash
			return err
		},
	})
	if err != nil {
		return false, fmt.Errorf("compare block %d: %w", e.Last, err)
	}
	return same, nil
}

// confirmFork asks every node before a roll-back. If a node that is as far as the others still has the committed block,
// the nodes disagree, and the reader waits until they agree.
func (x *Reader) confirmFork(ctx context.Context, e ledger.RangeEnd, newest int64) error {
	if x.client.Nodes() < 2 {
		return nil
	}
	has := false
	_, err := x.client.AskEach(ctx, chain.Question{
		Calls: []chain.Call{blockCall(e.Last, false), {Method: "eth_blockNumber", Params: "[]"}},
		Read: func(_ int, calls []chain.Call) error {
			h, err := x.readNumbered(calls[0].Result, e.Last)
			if err != nil {
				return err
			}
			s := chain.NewScanner(calls[1].Result)
			at := s.Quantity()
			has = has || s.Err == nil && at >= newest && h.hash.String() == e.Hash
			return s.Err
		},
	})
	if err == nil && has {
		return fmt.Errorf("block %d: %w", e.Last, errDisagree)
	}
	return err
}
