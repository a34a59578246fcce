// Package evm reads settlements from EVM networks.
//
// A settlement is a payment in a transaction that a settler sent. It is recognised by the events of measured tokens
// alone, never by a function's selector, so that direct calls, batches and wallets of any kind are one case (settle.go
// pairs events):
//
//   - an AuthorizationUsed with the Transfer of the same token from the authoriser that follows it (method eip3009); if
//     several follow, with the one that the call data of the transaction name;
//   - the event of one of x402's two Permit2 proxies with the Transfer that comes before it (permit2);
//   - the Settled of x402's batch-settlement contract with the Transfer from it that comes before it (batch). This is a
//     redemption: it pays a recipient for the calls of any number of payers, whom it does not name.
//
// A settler may also be a mark (memo; mark.go). Then a transfer of a measured token is a settlement if its memo begins
// with the mark. Any account may send the transaction: payers themselves send the charges of MPP on Tempo.
//
// Nothing else that such a transaction moves is a settlement: no top-up, refund or fee leg, no deposit for batch
// settlement, and no payment to a known recipient without authorisation. Nor is a payment of nothing, of the settler's
// own money, or from before the settler's first day. A payment to oneself is a settlement; the row shows it, and the
// build leaves it out.
//
// No answer of a single node is accepted unchecked. A range's logs are requested between two requests for its last
// block, and with the head that the round began with. They must be of the blocks of headers and receipts, in the range,
// of the contracts and topics that were requested, each exactly once. Ranges are linked by their blocks' parents. Some
// blocks without events are sampled, and requested again if their Bloom filters say that they might have some. Where
// there are several nodes, another one gives these filters, and a part of each range is read again from another one
// alone (compare.go). A contradiction is a fault of the node: another node is asked at once, the question is repeated later, and less is
// requested at a time. In the end the scan waits where it is. It never skips a range.
//
// The package stores nothing itself: a Store stores each range with its settlements in one transaction. The package
// must never know what a service is.
package evm

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/postgres/ledger"
)

// ErrNoAncestor is returned if no committed block is part of the chain: the chain was reorganised deeper than the ends
// of ranges are stored, or nodes serve another chain. Nothing was changed.
var ErrNoAncestor = errors.New("no block that was committed is part of the chain any more")

// errForked ends a round during which the chain changed. The next round finds the fork.
var errForked = &chain.NodeFault{Kind: chain.KindForked, Text: "the chain was reorganised while it was read"}

// hasMoved reports whether a round ended because the chain or a scan changed meanwhile, so that another round is due.
func hasMoved(err error) bool {
	var f *chain.NodeFault
	return errors.Is(err, ledger.ErrMoved) || errors.As(err, &f) && f.Kind == chain.KindForked
}

// errDisagree ends a round in which the nodes serve different chains.
var errDisagree = errors.New("the addresses disagree about the chain")

const (
	usualConfirmations = 128 // for a node without the finalized tag
	maxRounds          = 12  // most rounds of Once, which repeats a round if something changed
)

// Reader reads one EVM network. One goroutine drives it: a round works concurrently, and every roll-back happens
// between rounds.
type Reader struct {
	network        chain.Network
	store          Store
	options        chain.Options
	client         *chain.Client
	tokens         map[address]*token
	contracts      []address // of the network's tokens, in order
	tokenBlooms    eventBlooms
	memoBlooms     eventBlooms
	contractBlooms eventBlooms
	costs          costs
	topics         topicLimit
	widths         map[int64]*rangeWidth // by scan
	noFinalized    bool                  // the nodes have no finalized tag

	// anchor is the confirmed head at the beginning of this round. Every range is read from a chain that contains it,
	// so that all committed ranges are of one chain, and a binary search finds those that have left the chain.
	anchor header

	mu          sync.Mutex // guards the fields below
	head        int64
	read        int64 // newest block committed
	behind      int64
	settlements int64
}

var _ chain.Reader = (*Reader)(nil)

type token struct {
	chain.Token
	text string
}

const defaultPoll = 5 * time.Second

// New returns a reader of an EVM network that stores settlements in s. It sends nothing.
func New(n chain.Network, s Store, o chain.Options) (*Reader, error) {
	n, err := n.WithDefaults("eip155", defaultPoll)
	if err != nil {
		return nil, err
	}
	x := &Reader{
		network: n, store: s, options: o.WithDefaults(), tokens: map[address]*token{}, widths: map[int64]*rangeWidth{},
		contractBlooms: newEventBlooms(contractEvents),
	}
	for _, t := range n.Tokens {
		a, err := parseAddress(t.Address)
		if err != nil {
			return nil, fmt.Errorf("index %s: token %w", n.ID, err)
		}
		if x.tokens[a] != nil {
			continue
		}
		x.tokens[a] = &token{t, a.String()}
		x.contracts = append(x.contracts, a)
	}
	x.tokenBlooms = newEventBlooms(filter{contracts: x.contracts, topics: []hash{topicAuthorizationUsed}})
	x.memoBlooms = newEventBlooms(filter{contracts: x.contracts, topics: []hash{topicTransferWithMemo}})
	x.client, err = chain.NewClient(n, identity(), x.options)
	return x, err
}

// Inspect asks one node of a network, at the URL address, for its newest block. It fails if the node serves another
// chain. Errors name the node by scheme and host alone.
func Inspect(ctx context.Context, network, address string, o chain.Options) (ledger.Head, error) {
	n := chain.Network{ID: network, RPC: []string{address}}
	o = o.WithDefaults()
	head := ledger.Head{Network: network}
	c, err := chain.NewClient(n, identity(), o)
	if err != nil {
		return head, err
	}
	x := &Reader{network: n, client: c, options: o}
	newest, err := x.blockAt(ctx, `"latest"`)
	if err != nil {
		return head, fmt.Errorf("ask a node of %s for its newest block: %w", network, err)
	}
	head.Block, head.Time, head.PolledAt = newest.number, newest.time, o.Now()
	return head, nil
}

// identity returns the call for a chain's id.
func identity() chain.Identity {
	return chain.Identity{
		Call: chain.Call{Method: "eth_chainId", Params: "[]"},
		Network: func(result []byte) (string, error) {
			s := chain.NewScanner(result)
			id := s.Quantity()
			return "eip155:" + strconv.FormatInt(id, 10), s.Err
		},
	}
}

// Once reads up to the current confirmed head, including fills.
func (x *Reader) Once(ctx context.Context) (chain.Report, error) {
	report := chain.Report{Network: x.network.ID}
	begun := x.options.Now()
	calls, failures := x.options.Metrics.Sums(x.network.ID)
	err := x.whileLocked(ctx, func() error {
		var err error
		for range maxRounds {
			if err = x.runRound(ctx, nil, &report); !hasMoved(err) {
				break
			}
			pause(ctx, x.options.Backoff)
		}
		return err
	})
	report.Took = x.options.Now().Sub(begun)
	report.Calls, report.Errors = x.options.Metrics.Sums(x.network.ID)
	report.Calls, report.Errors = report.Calls-calls, report.Errors-failures
	return report, x.wrap(err)
}

// Run reads until the context ends, and returns the context's error. It logs other errors and tries again at the next
// poll. Only ErrBusy and ErrNoAncestor end it at once.
func (x *Reader) Run(ctx context.Context) error {
	return x.wrap(x.whileLocked(ctx, func() error {
		for {
			poll := make(chan struct{})
			timer := time.AfterFunc(x.network.Poll, func() { close(poll) })
			err := x.runRound(ctx, poll, &chain.Report{})
			switch {
			case ctx.Err() != nil:
				timer.Stop()
				return ctx.Err()
			case errors.Is(err, ErrNoAncestor):
				timer.Stop()
				return err
			case hasMoved(err):
				timer.Stop()
				pause(ctx, x.options.Backoff)
				continue
			case err != nil:
				x.options.Logger.Warn("indexing failed; trying again at the next poll", "network", x.network.ID,
					"error", err.Error())
			}
			select {
			case <-ctx.Done():
			case <-poll:
			}
		}
	}))
}

// pause waits for d or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// wrap adds the network to an error.
func (x *Reader) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("index %s: %w", x.network.ID, err)
}

// whileLocked runs f while no other process reads the network.
func (x *Reader) whileLocked(ctx context.Context, f func() error) error {
	release, err := chain.Lock(ctx, x.store, x.network.ID)
	if err != nil {
		return err
	}
	defer release()
	return f()
}

// runRound brings every scan up to the confirmed head. When stop is closed, it finishes the ranges that are being read
// and starts no others, so that the head does not wait for fills.
func (x *Reader) runRound(ctx context.Context, stop <-chan struct{}, report *chain.Report) error {
	confirmed, newest, err := x.askConfirmed(ctx)
	if err != nil {
		return fmt.Errorf("ask for the head: %w", err)
	}
	x.anchor = confirmed
	if err := x.store.SetHead(ctx, ledger.Head{
		Network: x.network.ID, Block: confirmed.number, Time: confirmed.time, PolledAt: x.options.Now(),
		ComparedNodes: x.client.Nodes(),
	}); err != nil {
		return err
	}
	if err := x.rollBackForks(ctx, newest, report); err != nil {
		return err
	}
	if err := x.openScans(ctx, confirmed); err != nil {
		return err
	}
	scans, err := x.store.Scans(ctx, x.network.ID)
	if err != nil {
		return err
	}
	ends, err := x.store.RangeEnds(ctx, x.network.ID)
	if err != nil {
		return err
	}
	committed := map[int64]string{} // hashes of committed ends
	for _, e := range ends {
		committed[e.Last] = e.Hash
	}
	return x.runScans(ctx, scans, committed, stop, report)
}

func (x *Reader) runScans(ctx context.Context, scans []ledger.Scan, committed map[int64]string, stop <-chan struct{},
	report *chain.Report) error {
	head := x.anchor.number
	var plans []*scanPlan
	live := map[int64]*rangeWidth{}
	var behind int64
	for _, s := range scans {
		p, err := x.planScan(ctx, s)
		if err != nil {
			return err
		}
		if p.width = x.widths[s.ID]; p.width == nil {
			p.width = newRangeWidth()
		}
		live[s.ID] = p.width
		plans = append(plans, p)
		behind += max(0, lastBlock(s, head)-s.Next+1)
	}
	x.widths = live
	x.mu.Lock()
	x.head, x.behind = head, behind
	x.mu.Unlock()
	x.options.Metrics.Update(x.network.ID, func(n *chain.NetworkMetrics) { n.Head, n.Behind = head, behind })

	// A scan that fails does not stop the others. A scan that finds a change of the chain ends the round.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]error, len(plans))
	var group sync.WaitGroup
	for i, p := range plans {
		group.Go(func() {
			if failed[i] = x.runScan(ctx, p, lastBlock(p.scan, head), committed, stop, report); hasMoved(failed[i]) {
				cancel()
			}
		})
	}
	group.Wait()
	for _, err := range failed { // this error caused those of the others
		if hasMoved(err) {
			return err
		}
	}
	return errors.Join(failed...)
}

// lastBlock returns the last block that a scan may read now.
func lastBlock(s ledger.Scan, head int64) int64 {
	if s.End != nil && *s.End-1 < head {
		return *s.End - 1
	}
	return head
}

// planScan prepares a scan for one round.
func (x *Reader) planScan(ctx context.Context, s ledger.Scan) (*scanPlan, error) {
	p := &scanPlan{scan: s, settlers: map[address]*settler{}, marks: map[mark]*settler{}}
	for _, one := range s.Settlers {
		if err := p.addSettler(x.network.ID, one); err != nil {
			return nil, fmt.Errorf("settler of %s: %w", one.Facilitator, err)
		}
	}
	if !s.Counts {
		return p, nil
	}
	list, err := x.store.Recipients(ctx, x.network.ID)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if a, err := parseAddress(r); err == nil { // services may state invalid addresses
			p.recipients = append(p.recipients, a.word())
		}
	}
	sortHashes(&p.recipients)
	return p, nil
}
