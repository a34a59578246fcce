package chain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// ErrNoAncestor says that a chain has nothing in common with what was committed of it: either it was reorganised deeper than
// ends of ranges are kept, or another chain answers. Nothing was changed.
var ErrNoAncestor = errors.New("no block that was committed is part of the chain any more")

// errForked ends a round in which the chain was seen to change; the next one finds out how.
var errForked = &fault{kind: faultForked, text: "the chain was reorganised while it was read"}

// again says whether a round ended because something moved, and another one is due.
func again(err error) bool {
	var f *fault
	return errors.Is(err, ErrMoved) || errors.As(err, &f) && f.kind == faultForked
}

// errDisagree ends a round in which the addresses tell different chains.
var errDisagree = errors.New("the addresses disagree about the chain")

const (
	usualConfirmations = 128 // for a node that knows no finalized tag
	maxRounds          = 12  // that Once begins anew because something moved
)

// EVM indexes one EVM network. One goroutine drives it: what a round finds to do it does side by side, and everything that
// moves a scan back happens between rounds.
type EVM struct {
	network     Network
	store       Store
	options     Options
	client      *client
	tokens      map[address]*token
	contracts   []address // of tokens, in the order of the network's
	tokenMarks  marks
	proxyMarks  marks
	cost        cost
	topics      topicLimit
	spans       map[int64]*span // by scan
	noFinalized bool            // the nodes know no such tag

	// anchor is the confirmed head as this round began. Every range is read from a chain that holds it, so that all that is
	// committed is of one chain, and what of it has left the chain can be found by halving.
	anchor header

	mu          sync.Mutex // of what follows
	head        int64
	read        int64 // newest block committed
	behind      int64
	settlements int64
}

type token struct {
	Token
	text string
}

// NewEVM prepares to index; nothing is asked yet.
func NewEVM(n Network, s Store, o Options) (*EVM, error) {
	if !strings.HasPrefix(n.ID, "eip155:") {
		return nil, fmt.Errorf("index %s: is no EVM network", n.ID)
	}
	if len(n.Tokens) == 0 {
		n.Tokens = DefaultTokens(n.ID)
	}
	if len(n.Tokens) == 0 {
		return nil, fmt.Errorf("index %s: no token to measure", n.ID)
	}
	if n.Poll <= 0 {
		n.Poll = 5 * time.Second
	}
	x := &EVM{
		network: n, store: s, options: o.withDefaults(), tokens: map[address]*token{}, spans: map[int64]*span{},
		proxyMarks: marksOf([]hash{topicSettled, topicSettledWithPermit}, permit2Proxies),
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
	x.tokenMarks = marksOf([]hash{topicAuthorizationUsed}, x.contracts)
	var err error
	x.client, err = newClient(n, x.options)
	return x, err
}

// Once indexes all up to the confirmed head as of now, fills included.
func (x *EVM) Once(ctx context.Context) (Report, error) {
	report := Report{Network: x.network.ID}
	begun := x.options.Now()
	calls, failures := x.options.Metrics.sums(x.network.ID)
	err := x.locked(ctx, func() error {
		var err error
		for range maxRounds {
			if err = x.round(ctx, nil, &report); !again(err) {
				break
			}
			pause(ctx, x.options.Backoff)
		}
		return err
	})
	report.Took = x.options.Now().Sub(begun)
	report.Calls, report.Errors = x.options.Metrics.sums(x.network.ID)
	report.Calls, report.Errors = report.Calls-calls, report.Errors-failures
	return report, x.named(err)
}

// Run indexes until the context ends, and gives its error. What goes wrong is logged and tried again at the next poll; only
// ErrBusy and ErrNoAncestor end it before.
func (x *EVM) Run(ctx context.Context) error {
	return x.named(x.locked(ctx, func() error {
		for {
			poll := make(chan struct{})
			timer := time.AfterFunc(x.network.Poll, func() { close(poll) })
			err := x.round(ctx, poll, &Report{})
			switch {
			case ctx.Err() != nil:
				timer.Stop()
				return ctx.Err()
			case errors.Is(err, ErrNoAncestor):
				timer.Stop()
				return err
			case again(err):
				timer.Stop()
				pause(ctx, x.options.Backoff)
				continue
			case err != nil:
				x.options.Logger.Warn("indexing waits", "network", x.network.ID, "error", err.Error())
			}
			select {
			case <-ctx.Done():
			case <-poll:
			}
		}
	}))
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (x *EVM) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("index %s: %w", x.network.ID, err)
}

// locked runs f while no one else indexes the network.
func (x *EVM) locked(ctx context.Context, f func() error) error {
	release, ok, err := x.store.LockIndex(ctx, x.network.ID)
	if err != nil {
		return err
	}
	if !ok {
		return ErrBusy
	}
	defer release()
	return f()
}

// round brings every scan up to the confirmed head. When stop closes it goes no further than what is being read, so that the
// head does not wait for fills.
func (x *EVM) round(ctx context.Context, stop <-chan struct{}, report *Report) error {
	confirmed, newest, err := x.askConfirmed(ctx)
	if err != nil {
		return fmt.Errorf("ask for the head: %w", err)
	}
	x.anchor = confirmed
	if err := x.store.SetHead(ctx, Head{x.network.ID, confirmed.number, confirmed.time, x.options.Now()}); err != nil {
		return err
	}
	if err := x.settleForks(ctx, newest, report); err != nil {
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
	known := map[int64]string{} // hashes of committed ends
	for _, e := range ends {
		known[e.Last] = e.Hash
	}
	return x.runScans(ctx, scans, known, stop, report)
}

func (x *EVM) runScans(ctx context.Context, scans []Scan, known map[int64]string, stop <-chan struct{}, report *Report) error {
	head := x.anchor.number
	var plans []*plan
	live := map[int64]*span{}
	var behind int64
	for _, s := range scans {
		p, err := x.plan(ctx, s)
		if err != nil {
			return err
		}
		if p.span = x.spans[s.ID]; p.span == nil {
			p.span = newSpan()
		}
		live[s.ID] = p.span
		plans = append(plans, p)
		behind += max(0, last(s, head)-s.Next+1)
	}
	x.spans = live
	x.mu.Lock()
	x.head, x.behind = head, behind
	x.mu.Unlock()
	x.options.Metrics.at(x.network.ID, func(n *networkMetrics) { n.head, n.behind = head, behind })

	// A scan that fails does not hold up the others; one that finds that something moved ends the round.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make([]error, len(plans))
	var group sync.WaitGroup
	for i, p := range plans {
		group.Go(func() {
			if failed[i] = x.runScan(ctx, p, last(p.scan, head), known, stop, report); again(failed[i]) {
				cancel()
			}
		})
	}
	group.Wait()
	for _, err := range failed { // before what it made the others end with
		if again(err) {
			return err
		}
	}
	return errors.Join(failed...)
}

// last is the last block that a scan may read now.
func last(s Scan, head int64) int64 {
	if s.End != nil && *s.End-1 < head {
		return *s.End - 1
	}
	return head
}

// plan prepares a scan.
func (x *EVM) plan(ctx context.Context, s Scan) (*plan, error) {
	p := &plan{scan: s, settlers: map[address]*settler{}}
	for _, one := range s.Settlers {
		a, err := parseAddress(one.Address)
		if err != nil {
			return nil, fmt.Errorf("settler of %s: %w", one.Facilitator, err)
		}
		one.Address = a.String()
		p.settlers[a] = &settler{one, a}
	}
	if !s.Counts {
		return p, nil
	}
	list, err := x.store.Recipients(ctx, x.network.ID)
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if a, err := parseAddress(r); err == nil { // a service may ask for anything
			p.recipients = append(p.recipients, a.word())
		}
	}
	sortHashes(&p.recipients)
	return p, nil
}
