package evm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// Limits of the requests for a range.
const (
	topicsAtOnce = 200 // recipients in a filter
	bloomChecks  = 16  // blocks without events whose Bloom filter is checked
)

// roundCounts are numbers of logs at which nodes are known to truncate answers silently. A range whose answer has such
// a length is read again in halves.
var roundCounts = []int{500, 1000, 2000, 2500, 3000, 5000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000, 100_000,
	150_000}

// errCut is returned if a node's answers contradict each other because some of a range's events are missing.
var errCut = errors.New("events are missing from the answer")

// rangeResult is a range with its settlements, ready to commit.
type rangeResult struct {
	ledger.Range
	parent hash // of block First
	events int
}

// scanPlan is the state of a scan in one round.
type scanPlan struct {
	scan       ledger.Scan
	settlers   map[address]*settler
	marks      map[mark]*settler
	recipients []hash // of a counting scan, as topics
	width      *rangeWidth
}

type settler struct {
	ledger.ScanSettler
	address address
}

// fetch reads a range, in halves if no node returns all of it. The results cover the range without gaps, in order.
func (x *Reader) fetch(ctx context.Context, p *scanPlan, first, last int64) ([]rangeResult, error) {
	one, err := x.fetchWhole(ctx, p, first, last)
	if err == nil {
		p.width.answered(last-first+1, one.events)
		return []rangeResult{one}, nil
	}
	var f *chain.NodeFault
	tooMuch := errors.As(err, &f) && f.Kind == chain.KindRange
	// No node agrees with the answers so far.
	cut := errors.Is(err, errCut) || errors.As(err, &f) && f.Kind == chain.KindLie
	if ctx.Err() != nil || !tooMuch && !cut {
		return nil, err
	}
	if first == last {
		if tooMuch && len(p.recipients) > 0 && x.topics.halve() {
			return x.fetch(ctx, p, first, last)
		}
		return nil, fmt.Errorf("read block %d: %w", first, err)
	}
	p.width.tooWide(last - first + 1)
	middle := first + (last-first)/2
	list, err := x.fetch(ctx, p, first, middle)
	if err != nil {
		return nil, err
	}
	rest, err := x.fetch(ctx, p, middle+1, last)
	return append(list, rest...), err
}

// rangeReader reads one range.
type rangeReader struct {
	x           *Reader
	client      *chain.Client
	plan        *scanPlan
	first, last int64
	transfers   bool        // whether all transfers were requested, so that no receipts are needed
	answeredBy  *chain.Node // of the events
	events      []event     // by block and index
	head, start header      // of blocks last and first
	blocks      []blockEvents
	senders     int // of all blocks
}

// blockEvents are the events of one block in a range.
type blockEvents struct {
	from, to int
	header   header
	hash     string   // of the header, set when a settlement needs it
	senders  []sender // of the transactions that need one, in order
}

// fetchWhole reads a range. Part of it is compared with what another node says.
func (x *Reader) fetchWhole(ctx context.Context, p *scanPlan, first, last int64) (rangeResult, error) {
	var f rangeResult
	err := x.client.AskAgain(func() (err error) {
		r := &rangeReader{x: x, client: x.client, plan: p, first: first, last: last,
			transfers: x.costs.transfersAreLighter()}
		if f, err = r.read(ctx); err == nil {
			err = r.compare(ctx, &f)
		}
		return err
	})
	return f, err
}

// read reads the range with its settlements.
func (r *rangeReader) read(ctx context.Context) (rangeResult, error) {
	if err := r.askEvents(ctx); err != nil {
		return rangeResult{}, fmt.Errorf("read events of blocks %d to %d: %w", r.first, r.last, err)
	}
	if err := r.askSenders(ctx); err != nil {
		return rangeResult{}, fmt.Errorf("read senders in blocks %d to %d: %w", r.first, r.last, err)
	}
	f, err := r.findSettlements(ctx)
	if err != nil {
		return rangeResult{}, fmt.Errorf("read transactions of blocks %d to %d: %w", r.first, r.last, err)
	}
	return f, nil
}

// filter is a call of eth_getLogs with the rules that its answer must obey.
type filter struct {
	contracts []address
	topics    []hash // one of them must be the first topic
	third     []hash // one of them must be the third topic; nil for any
}

func (f *filter) params(first, last int64) string {
	var b strings.Builder
	b.WriteString(`[{"fromBlock":"0x` + strconv.FormatInt(first, 16) + `","toBlock":"0x` + strconv.FormatInt(last, 16) +
		`","address":[`)
	for i, c := range f.contracts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + c.String() + `"`)
	}
	b.WriteString(`],"topics":[`)
	list := func(topics []hash) {
		b.WriteByte('[')
		for i, t := range topics {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"` + t.String() + `"`)
		}
		b.WriteByte(']')
	}
	list(f.topics)
	if len(f.third) > 0 {
		b.WriteString(`,null,`)
		list(f.third)
	}
	b.WriteString(`]}]`)
	return b.String()
}

// matches reports whether an event matches the filter.
func (f *filter) matches(e *event, first, last int64) bool {
	return e.block >= first && e.block <= last && e.index >= 0 && e.index <= math.MaxInt32 &&
		slices.Contains(f.contracts, e.contract) &&
		e.topicCount > 0 && slices.Contains(f.topics, e.topics[0]) &&
		(len(f.third) == 0 || e.topicCount > 2 && slices.Contains(f.third, e.topics[2]))
}

// ownTopics returns the topics of the events of tokens that settle.
func (r *rangeReader) ownTopics() []hash {
	topics := []hash{topicAuthorizationUsed}
	if len(r.plan.marks) > 0 {
		topics = append(topics, topicTransferWithMemo)
	}
	return topics
}

// filters returns the filters for a range.
func (r *rangeReader) filters() []filter {
	tokens := r.x.contracts
	own := filter{contracts: tokens, topics: r.ownTopics()}
	if r.transfers {
		own.topics = append(own.topics, topicTransfer)
	}
	list := []filter{own, contractEvents}
	if r.plan.scan.Counts && !r.transfers {
		for part := range slices.Chunk(r.plan.recipients, r.x.topics.current()) {
			list = append(list, filter{tokens, []hash{topicTransfer}, part})
		}
	}
	return list
}

func blockCall(number int64, whole bool) chain.Call {
	return chain.Call{Method: "eth_getBlockByNumber",
		Params: `["0x` + strconv.FormatInt(number, 16) + `",` + strconv.FormatBool(whole) + `]`}
}

// askEvents asks for the events between two headers: that of the last block, and that of the next block, whose parent
// it must be. They do not fit if the chain changed in between, if another node answered, or if the hash was invented.
// For the anchor, whose child was read when the round began, the same header is requested again. The anchor's header
// comes last. The times of the headers must be in their order: a hash does not prove the time that a node gives for it.
func (r *rangeReader) askEvents(ctx context.Context) error {
	filters := r.filters()
	calls := []chain.Call{blockCall(r.first, false), blockCall(r.last, false)}
	for i := range filters {
		calls = append(calls, chain.Call{Method: "eth_getLogs", Params: filters[i].params(r.first, r.last)})
	}
	after := min(r.last+1, r.x.anchor.number)
	calls = append(calls, blockCall(after, false), blockCall(r.x.anchor.number, false))
	return r.client.Ask(ctx, chain.Question{Calls: calls, Range: true, AnsweredBy: &r.answeredBy,
		Read: func(_ int, calls []chain.Call) (err error) {
			var again, anchor header
			for _, h := range []struct {
				to     *header
				number int64
				result []byte
			}{{&r.start, r.first, calls[0].Result}, {&r.head, r.last, calls[1].Result},
				{&again, after, calls[len(calls)-2].Result}, {&anchor, r.x.anchor.number, calls[len(calls)-1].Result}} {
				if *h.to, err = r.x.readNumbered(h.result, h.number); err != nil {
					return err
				}
			}
			same := again.hash
			if after > r.last {
				same = again.parent
			}
			if r.head.hash != same || r.first == r.last && r.start.hash != r.head.hash {
				return fmt.Errorf("block %d changed while it was read", r.last)
			}
			if anchor.hash != r.x.anchor.hash {
				return errForked
			}
			earlier := r.start.time
			for _, h := range []header{r.head, again, anchor} {
				if err := chain.CheckTime(h.time, earlier, r.x.options.Now()); err != nil {
					return err
				}
				earlier = h.time
			}
			r.x.costs.addBlock(false, len(calls[1].Result), 0)
			return r.readFilters(filters, calls[2:len(calls)-2])
		}})
}

func (r *rangeReader) readFilters(filters []filter, calls []chain.Call) error {
	r.events = r.events[:0]
	for i := range filters {
		s := chain.NewScanner(calls[i].Result)
		from := len(r.events)
		r.events = readEvents(s, slices.Grow(r.events, s.Len()/smallestLog))
		if err := s.End(); err != nil {
			return fmt.Errorf("read logs: %w", err)
		}
		got := r.events[from:]
		if r.last > r.first && slices.Contains(roundCounts, len(got)) {
			return &chain.NodeFault{Kind: chain.KindRange,
				Text: fmt.Sprintf("%d logs, as many as a node that cuts would give", len(got))}
		}
		for j := range got {
			if !filters[i].matches(&got[j], r.first, r.last) {
				return fmt.Errorf("the answer has a log outside the filter: block %d, contract %v", got[j].block,
					got[j].contract)
			}
		}
	}
	return r.orderEvents()
}

// orderEvents sorts the events and splits them by block. It fails for duplicate logs and for a block with two hashes.
func (r *rangeReader) orderEvents() error {
	sorted := true
	for i := 1; i < len(r.events) && sorted; i++ {
		a, b := &r.events[i-1], &r.events[i]
		sorted = a.block < b.block || a.block == b.block && a.index <= b.index
	}
	if !sorted { // a node may answer out of order, and a second filter follows
		slices.SortStableFunc(r.events,
			func(a, b event) int { return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.index, b.index)) })
	}
	r.blocks = slices.Grow(r.blocks[:0], int(min(r.last-r.first+1, int64(len(r.events)))))
	for i := range r.events {
		e := &r.events[i]
		if i == 0 || e.block != r.events[i-1].block {
			r.blocks = append(r.blocks, blockEvents{from: i, to: i + 1})
			continue
		}
		before := &r.events[i-1]
		if e.index == before.index || e.blockHash != before.blockHash {
			return fmt.Errorf("block %d has two logs with one index, or two hashes", e.block)
		}
		r.blocks[len(r.blocks)-1].to = i + 1
	}
	if n := len(r.blocks); n > 0 {
		if e := r.events[r.blocks[n-1].from]; e.block == r.last && e.blockHash != r.head.hash {
			return fmt.Errorf("logs of block %d have another block's hash", r.last)
		}
		if e := r.events[r.blocks[0].from]; e.block == r.first && e.blockHash != r.start.hash {
			return fmt.Errorf("logs of block %d have another block's hash", r.first)
		}
	}
	return nil
}
