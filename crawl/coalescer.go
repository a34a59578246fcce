package crawl

import "sync"

// coalescer makes one call out of many: while a call is under way, later arguments are collected for the next one. It never
// waits to fill a batch.
type coalescer[A, R any] struct {
	do func([]A) ([]R, error) // a result for each argument, in their order

	mu      sync.Mutex
	next    *batch[A, R]
	running sync.Mutex // held during a call
}

// batch is the arguments and results of one call.
type batch[A, R any] struct {
	arguments []A
	results   []R
	err       error
	done      chan struct{}
}

// call returns the result for a when the call that contains it is done.
func (c *coalescer[A, R]) call(a A) (result R, err error) {
	c.mu.Lock()
	b, first := c.next, c.next == nil
	if first {
		b = &batch[A, R]{done: make(chan struct{})}
		c.next = b
	}
	at := len(b.arguments)
	b.arguments = append(b.arguments, a)
	c.mu.Unlock()
	if first {
		c.running.Lock()
		c.mu.Lock()
		c.next = nil
		c.mu.Unlock()
		b.results, b.err = c.do(b.arguments)
		c.running.Unlock()
		close(b.done)
	}
	<-b.done
	if b.err != nil {
		return result, b.err
	}
	return b.results[at], nil
}
