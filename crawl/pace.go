package crawl

import (
	"context"
	"sync"
	"time"
)

// pace keeps requests to a host a gap apart and their number in any hour within an allowance: each request has a slot,
// and slots are given out in the order of asking. Half of the allowance may be used at once, as visits of many endpoints
// do; the other half is regained evenly (the generic cell rate algorithm), so that no hour holds more than the whole.
type pace struct {
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
	if err := p.next(ctx, host); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// next waits for the host's next slot.
func (p *pace) next(ctx context.Context, host string) error {
	now := time.Now()
	wait := time.NewTimer(p.take(host, now).Sub(now))
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
