package crawl

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"tollbook/crawl/facts"
	"tollbook/site/postgres"
)

// pace keeps a gap between requests to a host and limits their number in any hour. Half of the hourly allowance may be
// used at once, as visits of services with many endpoints do. The other half is regained evenly (the generic cell rate
// algorithm), so that no hour contains more requests than the allowance.
//
// The rule applies to rows in Postgres, because several processes crawl, on one machine or on many. A process takes a
// host while it sends requests to it, and the gap begins when the process leaves the host. Within a process, goroutines
// queue for the host first, so that at most one of them reads the host's row.
type pace struct {
	rows   hostRows
	holder uuid.UUID
	hold   time.Duration
	take   coalescer[string, time.Duration] // takes hosts that several workers want in one statement
	leave  coalescer[string, struct{}]

	gap    time.Duration
	regain time.Duration // after this long one request is allowed again; 0 for no limit
	burst  time.Duration // most unused allowance, as time

	mu    sync.Mutex
	inUse map[string]*hostQueue
}

// hostQueue lets one goroutine at a time use a host. waiting counts the goroutines that use it or wait for it.
type hostQueue struct {
	held    chan struct{} // contains a token while a goroutine uses the host
	waiting int
}

// hostRows are the rows by which the processes of a directory share hosts.
type hostRows interface {
	TakeHost(ctx context.Context, host string, holder uuid.UUID, r postgres.HostRules) (wait time.Duration, err error)
	DelayHost(ctx context.Context, host string, holder uuid.UUID, gap time.Duration) error
	TakeHosts(ctx context.Context, hosts []string, holder uuid.UUID, r postgres.HostRules) ([]time.Duration, error)
	ReleaseHosts(ctx context.Context, hosts []string, holder uuid.UUID, gap time.Duration) error
}

var _ hostRows = (*postgres.DB)(nil)

// holdLimit is the longest time that a process that died keeps a host. It is longer than any request, and each request
// renews it.
const holdLimit = 45 * time.Second

// newPace returns the pace of one process. perHour <= 0 means no hourly limit. longest is an upper bound of the time
// that a request takes.
func newPace(rows hostRows, gap time.Duration, perHour int, longest time.Duration) *pace {
	p := &pace{rows: rows, holder: uuid.New(), hold: min(longest, holdLimit), gap: gap, inUse: map[string]*hostQueue{}}
	if perHour > 0 {
		p.regain = 2 * time.Hour / time.Duration(perHour)
		p.burst = time.Hour - p.regain
	}
	p.take.run = func(hosts []string) ([]time.Duration, error) {
		ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
		defer cancel()
		return rows.TakeHosts(ctx, hosts, p.holder, p.rules(p.hold))
	}
	// A host that this statement does not release stays taken until its hold ends. The context is a new one, so that a
	// process that is stopping still releases its hosts.
	p.leave.run = func(hosts []string) ([]struct{}, error) {
		ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
		defer cancel()
		return make([]struct{}, len(hosts)), rows.ReleaseHosts(ctx, hosts, p.holder, p.gap)
	}
	return p
}

// rules returns the rules of visits.
func (p *pace) rules(hold time.Duration) postgres.HostRules {
	return postgres.HostRules{Gap: p.gap, Refill: p.regain, Burst: p.burst, Hold: hold}
}

// enter waits until no other request to the host runs, the gap is over and the hourly limit allows a request. The
// caller keeps the host until it calls leave.
func (p *pace) enter(ctx context.Context, host string) (leave func(), err error) {
	return p.enterBy(ctx, host, p.rules(p.hold))
}

// sourceHold is the longest time that a process that died keeps the host of a source.
const sourceHold = facts.SourceTimeout + 15*time.Second

// enterSource is enter for a page of a public source. Its host publishes a list to be read whole, so the gap alone
// counts: a list of 200,000 resources takes an hour at one request a second, and six hours at 600 an hour.
func (p *pace) enterSource(ctx context.Context, host string) (leave func(), err error) {
	return p.enterBy(ctx, host, postgres.HostRules{Gap: p.gap, Burst: 24 * time.Hour, Hold: sourceHold})
}

func (p *pace) enterBy(ctx context.Context, host string, r postgres.HostRules) (leave func(), err error) {
	p.mu.Lock()
	t := p.inUse[host]
	if t == nil {
		t = &hostQueue{held: make(chan struct{}, 1)}
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
	release := func() { <-t.held; forget() }
	if err := p.takeHost(ctx, host, r); err != nil {
		release()
		return nil, err
	}
	return func() {
		_, _ = p.leave.call(host)
		release()
	}, nil
}

// leaveLimit bounds the statement that takes or releases hosts.
const leaveLimit = 5 * time.Second

// rowPoll is the longest pause before a host's row is read again, since the database's clock may be set meanwhile.
const rowPoll = 5 * time.Second

// takeHost waits until the host is free, and takes it.
func (p *pace) takeHost(ctx context.Context, host string, r postgres.HostRules) error {
	for ctx.Err() == nil {
		began := time.Now()
		var wait time.Duration
		var err error
		if r == p.rules(p.hold) {
			wait, err = p.take.call(host)
		} else {
			wait, err = p.rows.TakeHost(ctx, host, p.holder, r)
		}
		if err != nil || wait == 0 && (r.Hold == 0 || time.Since(began) < r.Hold/2) {
			return err
		}
		if wait == 0 {
			continue // this process was suspended, and another may have the host by now
		}
		if err := sleep(ctx, min(wait, rowPoll)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// waitAgain waits until another request to the host is allowed, for a caller that entered the host already. A redirect
// may lead to a host that the caller has not entered: then next waits for that host's gap without taking the host.
func (p *pace) waitAgain(ctx context.Context, host string) error {
	p.mu.Lock()
	t := p.inUse[host]
	ours := t != nil && len(t.held) > 0
	p.mu.Unlock()
	if !ours {
		return p.takeHost(ctx, host, p.rules(0))
	}
	if err := p.rows.DelayHost(ctx, host, p.holder, p.gap); err != nil {
		return err
	}
	return p.takeHost(ctx, host, p.rules(p.hold))
}

// sleep waits for d. It returns ctx.Err() if ctx ends first.
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
