package crawl

import "sync"

// coalescer joins calls that come at the same time into one. While a batch runs, further calls join the next batch. It
// never waits to fill a batch.
type coalescer[A, R any] struct {
	run func([]A) ([]R, error) // returns a result for each argument, in their order

	mu      sync.Mutex
	next    *batch[A, R]
	running sync.Mutex // locked while a batch runs
}

// batch is one call of run for several callers.
type batch[A, R any] struct {
	args    []A
	results []R
	err     error
	done    chan struct{}
}

// call returns the result of a when the batch that it joined is done.
func (c *coalescer[A, R]) call(a A) (result R, err error) {
	c.mu.Lock()
	b, first := c.next, c.next == nil
	if first {
		b = &batch[A, R]{done: make(chan struct{})}
		c.next = b
	}
	at := len(b.args)
	b.args = append(b.args, a)
	c.mu.Unlock()
	if first {
		c.running.Lock()
		c.mu.Lock()
		c.next = nil
		c.mu.Unlock()
		b.results, b.err = c.run(b.args)
		c.running.Unlock()
		close(b.done)
	}
	<-b.done
	if b.err != nil {
		return result, b.err
	}
	return b.results[at], nil
}
