package crawl

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCoalescer checks that calls during a batch join the next batch, and that each gets its own result.
func TestCoalescer(t *testing.T) {
	t.Parallel()
	sizes := make(chan int, 2)
	began, goOn := make(chan struct{}), make(chan struct{})
	var c coalescer[int, int]
	c.run = func(list []int) ([]int, error) {
		sizes <- len(list)
		if len(list) == 1 {
			close(began)
			<-goOn
		}
		out := make([]int, len(list))
		for i, n := range list {
			out[i] = n * n
		}
		return out, nil
	}
	var calls sync.WaitGroup
	call := func(n int) {
		calls.Go(func() {
			if got, err := c.call(n); got != n*n || err != nil {
				t.Errorf("call of %d = %d, %v", n, got, err)
			}
		})
	}
	call(1)
	<-began
	const more = 20
	for n := range more {
		call(n + 2)
	}
	for waiting := 0; waiting < more; { // until all have joined
		c.mu.Lock()
		if c.next != nil {
			waiting = len(c.next.args)
		}
		c.mu.Unlock()
		runtime.Gosched()
	}
	close(goOn)
	calls.Wait()
	if diff := cmp.Diff([]int{1, more}, []int{<-sizes, <-sizes}); diff != "" {
		t.Errorf("sizes of batches (-want +got):\n%s", diff)
	}
	broken := errors.New("broken")
	c.run = func([]int) ([]int, error) { return nil, broken }
	if _, err := c.call(1); !errors.Is(err, broken) {
		t.Errorf("a call that fails: %v", err)
	}
}
