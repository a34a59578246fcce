package crawl

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"tollbook/site/postgres"
)

// pace keeps requests to a host a gap apart and their number in any hour within an allowance: each request has a slot,
// and slots are given out in the order of asking. Half of the allowance may be used at once, as visits of many endpoints
// do; the other half is regained evenly (the generic cell rate algorithm), so that no hour holds more than the whole.
//
// Where several processes visit, on one machine or many, the slots are rows in Postgres. Then a host is also held while it
// is asked, and its gap begins when that ends. Within a process goroutines queue for the turn first, so that at most one of
// them looks at a host's row.
type pace struct {
	rows   hostRows // nil where this process visits alone
	holder uuid.UUID
	hold   time.Duration
	taking coalescer[string, time.Duration] // hosts that workers want at the same time, in one statement
	leave  coalescer[string, struct{}]

	gap    time.Duration
	regain time.Duration // one request of the allowance comes back after this long; 0 for no allowance
	burst  time.Duration // what the unused allowance may be ahead by

	mu    sync.Mutex
	hosts map[string]slots
	inUse map[string]*turn
	swept time.Time
}

// turn is held by whoever asks a host; waiting counts those who hold it or want it.
type turn struct {
	held    chan struct{} // holds one token while somebody has the turn
	waiting int
}

// slots say when a host may next be asked.
type slots struct {
	next time.Time // by the gap
	used time.Time // when all of the allowance used so far is regained
}

// hostRows are what the processes of a directory know of hosts together.
type hostRows interface {
	TakeHost(ctx context.Context, host string, holder uuid.UUID, r postgres.HostRules) (wait time.Duration, err error)
	PaceHost(ctx context.Context, host string, holder uuid.UUID, gap time.Duration) error
	TakeHosts(ctx context.Context, hosts []string, holder uuid.UUID, r postgres.HostRules) (waits []time.Duration, err error)
	LeaveHosts(ctx context.Context, hosts []string, holder uuid.UUID, gap time.Duration) error
}

var _ hostRows = (*postgres.DB)(nil)

// holdLimit is how long a host stays held at most for a process that died: longer than any request, with each of which the
// hold is renewed.
const holdLimit = 45 * time.Second

// share makes the pace one with that of all processes that share rows. No request takes longer than longest.
func (p *pace) share(rows hostRows, longest time.Duration) {
	p.rows, p.holder, p.hold = rows, uuid.New(), min(longest, holdLimit)
	p.taking.do = func(hosts []string) ([]time.Duration, error) {
		ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
		defer cancel()
		return rows.TakeHosts(ctx, hosts, p.holder, p.rules(p.hold))
	}
	// A host that is not left stays held for a while; whoever is told to stop still leaves it.
	p.leave.do = func(hosts []string) ([]struct{}, error) {
		ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
		defer cancel()
		return make([]struct{}, len(hosts)), rows.LeaveHosts(ctx, hosts, p.holder, p.gap)
	}
}

func (p *pace) rules(hold time.Duration) postgres.HostRules {
	return postgres.HostRules{Gap: p.gap, Regain: p.regain, Burst: p.burst, Hold: hold}
}

// newPace keeps no allowance when perHour is not positive.
func newPace(gap time.Duration, perHour int) *pace {
	p := &pace{gap: gap, hosts: map[string]slots{}, inUse: map[string]*turn{}}
	if perHour > 0 {
		p.regain = 2 * time.Hour / time.Duration(perHour)
		p.burst = time.Hour - p.regain
	}
	return p
}

// take gives out the host's next slot at or after now.
func (p *pace) take(host string, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	at := latest(now, h.next, h.used.Add(-p.burst))
	p.hosts[host] = slots{next: at.Add(p.gap), used: latest(at, h.used).Add(p.regain)}
	p.sweep(now)
	return at
}

func latest(t time.Time, others ...time.Time) time.Time {
	for _, o := range others {
		if o.After(t) {
			t = o
		}
	}
	return t
}

// enter waits until nobody asks the host and its next slot has come. The host is ours until leave is called.
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
	leave = func() { <-t.held; forget() }
	if p.rows == nil {
		err = p.next(ctx, host)
	} else if err = p.takeShared(ctx, host, p.hold); err == nil {
		mine := leave
		leave = func() {
			_, _ = p.leave.call(host)
			mine()
		}
	}
	if err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// leaveLimit bounds how long taking or leaving hosts may take, their turns aside.
const leaveLimit = 5 * time.Second

// sharedLook is how long a host's row is waited for at most before it is looked at again: the database's clock may be set meanwhile.
const sharedLook = 5 * time.Second

// takeShared waits for a host's row, and takes it.
func (p *pace) takeShared(ctx context.Context, host string, hold time.Duration) error {
	for ctx.Err() == nil {
		began := time.Now()
		var wait time.Duration
		var err error
		if hold == p.hold {
			wait, err = p.taking.call(host)
		} else {
			wait, err = p.rows.TakeHost(ctx, host, p.holder, p.rules(hold))
		}
		if err != nil || wait == 0 && (hold == 0 || time.Since(began) < hold/2) {
			return err
		}
		if wait == 0 {
			continue // this process was stopped meanwhile, and somebody else may have the host by now
		}
		if err := sleep(ctx, min(wait, sharedLook)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// next waits for the host's next slot, in a turn that a request before it began. A redirect may lead to a host that is not
// held: that one is asked at its slot, and not kept.
func (p *pace) next(ctx context.Context, host string) error {
	if p.rows == nil {
		now := time.Now()
		return sleep(ctx, p.take(host, now).Sub(now))
	}
	p.mu.Lock()
	t := p.inUse[host]
	ours := t != nil && len(t.held) > 0
	p.mu.Unlock()
	if !ours {
		return p.takeShared(ctx, host, 0)
	}
	if err := p.rows.PaceHost(ctx, host, p.holder, p.gap); err != nil {
		return err
	}
	return p.takeShared(ctx, host, p.hold)
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

// sweep forgets, once a minute, hosts that may be asked at once and have their whole allowance.
func (p *pace) sweep(now time.Time) {
	if now.Sub(p.swept) < time.Minute {
		return
	}
	p.swept = now
	for host, h := range p.hosts {
		if h.next.Before(now) && h.used.Before(now) {
			delete(p.hosts, host)
		}
	}
}
