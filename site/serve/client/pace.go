package client

import (
	"context"
	"sync"
	"time"
)

// Pace limits the bytes per second of all downloads together, so that they leave bandwidth and CPU for other requests.
// A nil *Pace does not limit.
type Pace struct {
	rate int64

	mu   sync.Mutex
	next time.Time // when everything admitted so far has been sent at the rate
}

// paceSlack is how much may be sent at once after a pause.
const paceSlack = 50 * time.Millisecond

func NewPace(rate int64) *Pace {
	if rate <= 0 {
		return nil
	}
	return &Pace{rate: rate}
}

// Wait waits until n bytes may be sent, or returns ctx's error.
func (p *Pace) Wait(ctx context.Context, n int) error {
	if p == nil {
		return nil
	}
	now := time.Now()
	p.mu.Lock()
	if start := now.Add(-paceSlack); p.next.Before(start) {
		p.next = start
	}
	p.next = p.next.Add(time.Duration(int64(n) * int64(time.Second) / p.rate))
	sendAt := p.next
	p.mu.Unlock()
	if !sendAt.After(now) {
		return nil
	}
	timer := time.NewTimer(sendAt.Sub(now))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
