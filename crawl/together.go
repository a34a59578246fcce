package crawl

import "sync"

// together makes one call of many: while one is under way, those that come wait for the next, and none waits for others to come.
type together[A, R any] struct {
	do func([]A) ([]R, error) // a result for each, in their order

	mu    sync.Mutex
	next  *joint[A, R]
	under sync.Mutex // held while one is under way
}

// joint is a call of many.
type joint[A, R any] struct {
	asked   []A
	results []R
	err     error
	done    chan struct{}
}

// call answers when the call that a became part of is done.
func (t *together[A, R]) call(a A) (result R, err error) {
	t.mu.Lock()
	c, first := t.next, t.next == nil
	if first {
		c = &joint[A, R]{done: make(chan struct{})}
		t.next = c
	}
	at := len(c.asked)
	c.asked = append(c.asked, a)
	t.mu.Unlock()
	if first {
		t.under.Lock()
		t.mu.Lock()
		t.next = nil
		t.mu.Unlock()
		c.results, c.err = t.do(c.asked)
		t.under.Unlock()
		close(c.done)
	}
	<-c.done
	if c.err != nil {
		return result, c.err
	}
	return c.results[at], nil
}
