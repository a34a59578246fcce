package crawl

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"tollbook/site/postgres"
)

// pace keeps requests to a host a gap apart and their number in any hour within an allowance. Half of the allowance may
// be used at once, as visits of many endpoints do; the other half is regained evenly (the generic cell rate algorithm),
// so that no hour contains more than the whole.
//
// The rule is applied to rows in Postgres, since several processes visit, on one machine or many. A process holds a
// host while it asks it, and the gap begins when that ends. Within a process goroutines queue for the host first, so
// that at most one of them looks at a host's row.
type pace struct {
	rows   hostRows
	holder uuid.UUID
	hold   time.Duration
	take   coalescer[string, time.Duration] // hosts that workers want at the same time are taken in one statement
	leave  coalescer[string, struct{}]

	gap    time.Duration
	regain time.Duration // one request of the allowance comes back after this long; 0 for no allowance
	burst  time.Duration // what the unused allowance may be ahead by

	mu    sync.Mutex
	inUse map[string]*turn
}

// turn is held by the goroutine that asks a host; waiting counts those that hold or want it.
type turn struct {
	held    chan struct{} // contains a token while a goroutine has the turn
	waiting int
}

// hostRows are the rows by which the processes of a directory share hosts.
type hostRows interface {
	TakeHost(ctx context.Context, host string, holder uuid.UUID, r postgres.HostRules) (wait time.Duration, err error)
	PaceHost(ctx context.Context, host string, holder uuid.UUID, gap time.Duration) error
	TakeHosts(ctx context.Context, hosts []string, holder uuid.UUID, r postgres.HostRules) (waits []time.Duration,
		err error)
	LeaveHosts(ctx context.Context, hosts []string, holder uuid.UUID, gap time.Duration) error
}

var _ hostRows = (*postgres.DB)(nil)

// holdLimit is how long a host stays held at most by a process that died: longer than any request, each of which renews
// the hold.
const holdLimit = 45 * time.Second

// newPace returns the pace of one process. There is no allowance when perHour is not positive. No request takes longer
// than longest.
func newPace(rows hostRows, gap time.Duration, perHour int, longest time.Duration) *pace {
	p := &pace{rows: rows, holder: uuid.New(), hold: min(longest, holdLimit), gap: gap, inUse: map[string]*turn{}}
	if perHour > 0 {
		p.regain = 2 * time.Hour / time.Duration(perHour)
		p.burst = time.Hour - p.regain
	}
	p.take.run = func(hosts []string) ([]time.Duration, error) {
		ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
		defer cancel()
		return rows.TakeHosts(ctx, hosts, p.holder, p.rules(p.hold))
	}
	// A host that is not left stays held for a while; a process that is told to stop still leaves it.
	p.leave.run = func(hosts []string) ([]struct{}, error) {
		ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
		defer cancel()
		return make([]struct{}, len(hosts)), rows.LeaveHosts(ctx, hosts, p.holder, p.gap)
	}
	return p
}

func (p *pace) rules(hold time.Duration) postgres.HostRules {
	return postgres.HostRules{Gap: p.gap, Regain: p.regain, Burst: p.burst, Hold: hold}
}

// enter waits until nobody asks the host and its gap is over. The host is held until leave is called.
func (p *pace) enter(ctx context.Context, host string) (leave func(), err error) {
	p.mu.Lock()
	t := p.inUse[host]
	if t == nil {
		t = &turn{held: make(chan struct{}, 1)}
		p.inUse[host] = t
	}
	t.waiting++
	p.mu.Unlock()
	forget := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(p.inUse, host)
		}
	}
	select {
	case t.held <- struct{}{}:
	case <-ctx.Done():
		forget()
		return nil, ctx.Err()
	}
	next := func() { <-t.held; forget() }
	if err := p.takeHost(ctx, host, p.hold); err != nil {
		next()
		return nil, err
	}
	return func() {
		_, _ = p.leave.call(host)
		next()
	}, nil
}

// leaveLimit bounds how long the statement that takes or leaves hosts may take.
const leaveLimit = 5 * time.Second

// rowLook is the longest pause before a host's row is looked at again: the database's clock may be set meanwhile.
const rowLook = 5 * time.Second

// takeHost waits until the host may be asked, and takes it.
func (p *pace) takeHost(ctx context.Context, host string, hold time.Duration) error {
	for ctx.Err() == nil {
		began := time.Now()
		var wait time.Duration
		var err error
		if hold == p.hold {
			wait, err = p.take.call(host)
		} else {
			wait, err = p.rows.TakeHost(ctx, host, p.holder, p.rules(hold))
		}
		if err != nil || wait == 0 && (hold == 0 || time.Since(began) < hold/2) {
			return err
		}
		if wait == 0 {
			continue // this process was stopped meanwhile, and somebody else may have the host by now
		}
		if err := sleep(ctx, min(wait, rowLook)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// next waits until the host may be asked again, within a turn that an earlier request began. A redirect may lead to a
// host that is not held: that one is asked when its gap is over, without holding it.
func (p *pace) next(ctx context.Context, host string) error {
	p.mu.Lock()
	t := p.inUse[host]
	ours := t != nil && len(t.held) > 0
	p.mu.Unlock()
	if !ours {
		return p.takeHost(ctx, host, 0)
	}
	if err := p.rows.PaceHost(ctx, host, p.holder, p.gap); err != nil {
		return err
	}
	return p.takeHost(ctx, host, p.hold)
}

// sleep waits, or answers why ctx ended before.
func sleep(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
