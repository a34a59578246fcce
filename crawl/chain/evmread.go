package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/sha3"
)

// What a range is asked with.
const (
	topicsAtOnce = 200 // recipients in a filter
	bloomChecks  = 16  // blocks without events whose bloom is looked at
)

// roundCounts are numbers of logs at which nodes are known to cut an answer without saying so. An answer of such a length
// is asked for again in halves.
var roundCounts = []int{500, 1000, 2000, 2500, 3000, 5000, 10_000, 15_000, 20_000, 25_000, 30_000, 50_000, 100_000, 150_000}

// errCut says that a node's answers contradict each other: some of a range's events are missing.
var errCut = errors.New("events are missing from the answer")

// found is what a range holds, ready to be committed.
type found struct {
	Range
	parent hash // of block First
	events int
}

// plan is a scan as one round sees it.
type plan struct {
	scan       Scan
	settlers   map[address]*settler
	recipients []hash // of a counting scan, as topics
	span       *span
}

type settler struct {
	ScanSettler
	address address
}

// fetch reads a range, in halves where a node gives no more at once. What it gives covers the range without gaps, in order.
func (x *EVM) fetch(ctx context.Context, p *plan, first, last int64) ([]found, error) {
	one, err := x.fetchWhole(ctx, p, first, last)
	if err == nil {
		p.span.fits(last-first+1, one.events)
		return []found{one}, nil
	}
	var f *fault
	tooMuch := errors.As(err, &f) && f.kind == faultRange
	cut := errors.Is(err, errCut) || errors.As(err, &f) && f.kind == faultLie // no node could agree with what was read
	if ctx.Err() != nil || !tooMuch && !cut {
		return nil, err
	}
	if first == last {
		if tooMuch && len(p.recipients) > 0 && x.topics.narrow() {
			return x.fetch(ctx, p, first, last)
		}
		return nil, fmt.Errorf("read block %d: %w", first, err)
	}
	p.span.tooWide(last - first + 1)
	middle := first + (last-first)/2
	list, err := x.fetch(ctx, p, first, middle)
	if err != nil {
		return nil, err
	}
	rest, err := x.fetch(ctx, p, middle+1, last)
	return append(list, rest...), err
}

// reading is a range while it is being read.
type reading struct {
	x           *EVM
	plan        *plan
	first, last int64
	wide        bool    // all transfers were asked for, and no receipts are needed
	teller      *node   // of the events
	events      []event // by block and index
	head, start header  // of blocks last and first
	blocks      []blockRun
	senders     map[hash]address // of each transaction among events
}

// blockRun is a block's part of events.
type blockRun struct {
	from, to int
	header   header
}

func (x *EVM) fetchWhole(ctx context.Context, p *plan, first, last int64) (found, error) {
	r := &reading{x: x, plan: p, first: first, last: last, wide: x.cost.wide()}
	defer func() { x.cost.release(r.events) }()
	if err := r.askEvents(ctx); err != nil {
		return found{}, fmt.Errorf("read events of blocks %d to %d: %w", first, last, err)
	}
	if err := r.askSenders(ctx); err != nil {
		return found{}, fmt.Errorf("read senders in blocks %d to %d: %w", first, last, err)
	}
	f, err := r.judge(ctx)
	if err != nil {
		return found{}, fmt.Errorf("read transactions of blocks %d to %d: %w", first, last, err)
	}
	return f, nil
}

// filter is an eth_getLogs with what its answer must keep to.
type filter struct {
	contracts []address
	topics    []hash // any of them first
	third     []hash // any of them third; none: any
}

func (f *filter) params(first, last int64) string {
	var b strings.Builder
	b.WriteString(`[{"fromBlock":"0x` + strconv.FormatInt(first, 16) + `","toBlock":"0x` + strconv.FormatInt(last, 16) + `","address":[`)
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

// holds says whether an event is what the filter asks for.
func (f *filter) holds(e *event, first, last int64) bool {
	return e.block >= first && e.block <= last && e.index >= 0 && e.index <= math.MaxInt32 && slices.Contains(f.contracts, e.contract) &&
		e.topicCount > 0 && slices.Contains(f.topics, e.topics[0]) &&
		(len(f.third) == 0 || e.topicCount > 2 && slices.Contains(f.third, e.topics[2]))
}

// filters are the questions of a range.
func (r *reading) filters() []filter {
	tokens := r.x.contracts
	own := filter{contracts: tokens, topics: []hash{topicAuthorizationUsed}}
	if r.wide {
		own.topics = append(own.topics, topicTransfer)
	}
	list := []filter{own, {contracts: permit2Proxies, topics: []hash{topicSettled, topicSettledWithPermit}}}
	if r.plan.scan.Counts && !r.wide {
		for part := range slices.Chunk(r.plan.recipients, r.x.topics.at()) {
			list = append(list, filter{tokens, []hash{topicTransfer}, part})
		}
	}
	return list
}

func blockCall(number int64, whole bool) call {
	return call{method: "eth_getBlockByNumber", params: `["0x` + strconv.FormatInt(number, 16) + `",` + strconv.FormatBool(whole) + `]`}
}

// askEvents asks for the events, between the header of the last block and that of the block after it, whose parent it must
// be: had the chain changed in between, had another node answered, or were the hash made up, they would not fit. Of the
// anchor, whose child was seen when the round began, the same header is asked again. The anchor's header comes last.
func (r *reading) askEvents(ctx context.Context) error {
	filters := r.filters()
	calls := []call{blockCall(r.first, false), blockCall(r.last, false)}
	for i := range filters {
		calls = append(calls, call{method: "eth_getLogs", params: filters[i].params(r.first, r.last)})
	}
	after := min(r.last+1, r.x.anchor.number)
	calls = append(calls, blockCall(after, false), blockCall(r.x.anchor.number, false))
	return r.x.client.ask(ctx, question{calls: calls, whole: true, by: &r.teller, read: func(_ int, calls []call) (err error) {
		var again, anchor header
		for _, h := range []struct {
			to     *header
			number int64
			result []byte
		}{{&r.start, r.first, calls[0].result}, {&r.head, r.last, calls[1].result}, {&again, after, calls[len(calls)-2].result}, {&anchor, r.x.anchor.number, calls[len(calls)-1].result}} {
			if *h.to, err = readNumbered(h.result, h.number); err != nil {
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
		r.x.cost.saw(false, len(calls[1].result), 0)
		return r.readFilters(filters, calls[2:len(calls)-2])
	}})
}

func (r *reading) readFilters(filters []filter, calls []call) error {
	r.events = r.x.cost.take(r.events)
	for i := range filters {
		s := &scanner{data: calls[i].result}
		from := len(r.events)
		r.events = readEvents(s, r.events)
		if err := s.end(); err != nil {
			return fmt.Errorf("read logs: %w", err)
		}
		got := r.events[from:]
		if r.last > r.first && slices.Contains(roundCounts, len(got)) {
			return &fault{kind: faultRange, text: fmt.Sprintf("%d logs, as many as a node that cuts would give", len(got))}
		}
		for j := range got {
			if !filters[i].holds(&got[j], r.first, r.last) {
				return fmt.Errorf("a log of block %d, contract %v was not asked for", got[j].block, got[j].contract)
			}
		}
	}
	return r.order()
}

// order sorts the events and splits them by block. No log may be told twice, and a block has one hash.
func (r *reading) order() error {
	byPlace := func(a, b event) int { return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.index, b.index)) }
	if !slices.IsSortedFunc(r.events, byPlace) {
		slices.SortStableFunc(r.events, byPlace)
	}
	r.blocks = r.blocks[:0]
	for i := range r.events {
		e := &r.events[i]
		if i == 0 || e.block != r.events[i-1].block {
			r.blocks = append(r.blocks, blockRun{from: i, to: i + 1})
			continue
		}
		before := &r.events[i-1]
		if e.index == before.index || e.blockHash != before.blockHash {
			return fmt.Errorf("block %d has two logs at one place, or two hashes", e.block)
		}
		r.blocks[len(r.blocks)-1].to = i + 1
	}
	if n := len(r.blocks); n > 0 {
		if e := r.events[r.blocks[n-1].from]; e.block == r.last && e.blockHash != r.head.hash {
			return fmt.Errorf("logs of block %d are of another block", r.last)
		}
		if e := r.events[r.blocks[0].from]; e.block == r.first && e.blockHash != r.start.hash {
			return fmt.Errorf("logs of block %d are of another block", r.first)
		}
	}
	return nil
}

// wanted says whether it matters who sent an event's transaction.
func (r *reading) wanted(e *event) bool {
	if e.authorization() || e.settled() {
		return true
	}
	return r.plan.scan.Counts && e.transfer() && e.amount != (hash{}) && r.toRecipient(e)
}

func (r *reading) toRecipient(e *event) bool {
	_, known := slices.BinarySearchFunc(r.plan.recipients, e.topics[2], compareHashes)
	return known
}

func compareHashes(a, b hash) int { return slices.Compare(a[:], b[:]) }

// askSenders asks who sent the transactions, and for the headers of their blocks: by whole block, or by header and
// transaction, whichever is less. Headers of some blocks without events come with them, to look at their blooms.
func (r *reading) askSenders(ctx context.Context) error {
	r.senders = map[hash]address{}
	q := question{of: r.teller}
	var readers []func(result []byte) error
	for b := range r.blocks {
		run := &r.blocks[b]
		events := r.events[run.from:run.to]
		var transactions []hash
		for i := range events {
			if t := events[i].transaction; r.wanted(&events[i]) && (len(transactions) == 0 || transactions[len(transactions)-1] != t) {
				transactions = append(transactions, t)
			}
		}
		if len(transactions) == 0 {
			continue
		}
		whole := r.x.cost.whole(len(transactions))
		for _, t := range transactions {
			r.senders[t] = address{}
		}
		q.calls = append(q.calls, blockCall(events[0].block, whole))
		readers = append(readers, func(result []byte) error { return r.readBlock(run, result, whole, len(transactions)) })
		if whole {
			continue
		}
		for _, t := range transactions {
			q.calls = append(q.calls, call{method: "eth_getTransactionByHash", params: `["` + t.String() + `"]`})
			readers = append(readers, func(result []byte) error { return r.readSender(t, events[0].blockHash, result) })
		}
	}
	var doubtful []int64
	for _, number := range r.emptyBlocks() {
		q.calls = append(q.calls, blockCall(number, false))
		readers = append(readers, func(result []byte) error {
			h, err := readNumbered(result, number)
			if err == nil && r.x.mayHold(&h) {
				doubtful = append(doubtful, number)
			}
			return err
		})
	}
	if len(q.calls) == 0 {
		return nil
	}
	q.read = func(from int, calls []call) error {
		for i := range calls {
			if err := readers[from+i](calls[i].result); err != nil {
				return err
			}
		}
		return nil
	}
	if err := r.x.client.ask(ctx, q); err != nil {
		return err
	}
	return r.checkEmpty(ctx, doubtful)
}

// readBlock reads the header of a block with events, and who sent its transactions where those came with it.
func (r *reading) readBlock(run *blockRun, result []byte, whole bool, want int) error {
	e := &r.events[run.from]
	transactions, got := 0, 0
	var each func(sent)
	if whole {
		each = func(t sent) {
			transactions++
			if _, asked := r.senders[t.transaction]; asked {
				r.senders[t.transaction] = t.from
				got++
			}
		}
	}
	h, size, err := readHeader(result, each)
	if err != nil {
		return err
	}
	if h.number != e.block || h.hash != e.blockHash {
		return fmt.Errorf("block %d is not the one that its logs are of", e.block)
	}
	if whole && got != want {
		return fmt.Errorf("block %d lacks transactions that its logs are of", e.block)
	}
	run.header = h
	r.x.cost.saw(whole, size, transactions)
	return nil
}

func (r *reading) readSender(transaction, block hash, result []byte) error {
	s := &scanner{data: result}
	if s.null() {
		return errNull
	}
	t, in := readSent(s)
	if err := s.end(); err != nil {
		return fmt.Errorf("read a transaction: %w", err)
	}
	if t.transaction != transaction || in != block {
		return fmt.Errorf("transaction %v is another, or in another block", transaction)
	}
	r.senders[transaction] = t.from
	return nil
}

// emptyBlocks are blocks of the range that gave no events: all of a short range, of a long one some, spread evenly.
func (r *reading) emptyBlocks() (list []int64) {
	count := r.last - r.first + 1
	step := max(1, count/bloomChecks)
	for number := r.last; number >= r.first && len(list) < bloomChecks; number -= step {
		_, hit := slices.BinarySearchFunc(r.blocks, number, func(b blockRun, n int64) int { return cmp.Compare(r.events[b.from].block, n) })
		if !hit {
			list = append(list, number)
		}
	}
	return list
}

// checkEmpty asks by itself for each block that gave nothing and whose bloom says that it might. A log that shows now was
// missing from the range's answer: a node that cuts answers short without a word is found out by it.
func (r *reading) checkEmpty(ctx context.Context, blocks []int64) error {
	if len(blocks) == 0 || r.first == r.last {
		return nil
	}
	filters := []filter{
		{contracts: r.x.contracts, topics: []hash{topicAuthorizationUsed}},
		{contracts: permit2Proxies, topics: []hash{topicSettled, topicSettledWithPermit}},
	}
	q := question{}
	for _, number := range blocks {
		for i := range filters {
			q.calls = append(q.calls, call{method: "eth_getLogs", params: filters[i].params(number, number)})
		}
	}
	missing := false
	q.read = func(from int, calls []call) error {
		for i := range calls {
			s := &scanner{data: calls[i].result}
			list := readEvents(s, nil)
			if err := s.end(); err != nil {
				return err
			}
			for j := range list {
				number := blocks[(from+i)/len(filters)]
				if !filters[(from+i)%len(filters)].holds(&list[j], number, number) {
					return errors.New("a log was not asked for")
				}
			}
			missing = missing || len(list) > 0
		}
		return nil
	}
	if err := r.x.client.ask(ctx, q); err != nil {
		return err
	}
	if missing {
		r.x.options.Metrics.failure(r.x.network.ID, string(faultLie))
		return errCut
	}
	return nil
}

// marks are what an event of a contract leaves in blooms.
type marks struct {
	topics, contracts []bloomBits
}

func marksOf(topics []hash, contracts []address) (m marks) {
	for _, t := range topics {
		m.topics = append(m.topics, bloomOf(t[:]))
	}
	for _, c := range contracts {
		m.contracts = append(m.contracts, bloomOf(c[:]))
	}
	return m
}

func (m *marks) in(bloom *[256]byte) bool {
	in := func(b bloomBits) bool { return b.in(bloom) }
	return slices.ContainsFunc(m.topics, in) && slices.ContainsFunc(m.contracts, in)
}

// mayHold says whether a block may hold an event that settles.
func (x *EVM) mayHold(h *header) bool {
	return x.tokenMarks.in(&h.bloom) || x.proxyMarks.in(&h.bloom)
}

func bloomOf(item []byte) (b bloomBits) {
	k := sha3.NewLegacyKeccak256()
	k.Write(item)
	sum := k.Sum(nil)
	for i := range b {
		b[i] = (uint16(sum[2*i])<<8 | uint16(sum[2*i+1])) & 2047
	}
	return b
}

// topicLimit is how many recipients nodes take in a filter.
type topicLimit struct {
	mu sync.Mutex
	n  int
}

func (l *topicLimit) at() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		l.n = topicsAtOnce
	}
	return l.n
}

// narrow halves the number, and says whether that was possible.
func (l *topicLimit) narrow() bool {
	n := l.at()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n = max(1, n/2)
	return n > 1
}
