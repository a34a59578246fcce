package serve

import (
	"context"
	"sync"
	"time"
)

// pace holds what all downloads send together to so many bytes a second, so that readers always find the line and the
// processor free. A nil *pace holds nothing.
type pace struct {
	rate int64

	mu   sync.Mutex
	next time.Time // when what was let through before has gone out at the rate
}

// paceSlack is how much may go out at once after a pause.
const paceSlack = 50 * time.Millisecond

func newPace(rate int64) *pace {
	if rate <= 0 {
		return nil
	}
	return &pace{rate: rate}
}

// wait lets n bytes through when it is their turn.
func (p *pace) wait(ctx context.Context, n int) error {
	if p == nil {
		return nil
	}
	now := time.Now()
	p.mu.Lock()
	if start := now.Add(-paceSlack); p.next.Before(start) {
		p.next = start
	}
	p.next = p.next.Add(time.Duration(int64(n) * int64(time.Second) / p.rate))
	turn := p.next
	p.mu.Unlock()
	if !turn.After(now) {
		return nil
	}
	timer := time.NewTimer(turn.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
