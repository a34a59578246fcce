package archive

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// Verify reads and checks every file of a tree. Opening the tree has already checked that the list of sums is complete.
// Verify also compares the digest unless digest is "". The error of the first damaged file, by name, wraps ErrDamaged.
func Verify(ctx context.Context, t Tree, digest string) error {
	if digest != "" && t.Digest() != digest {
		return fmt.Errorf("verify: %w: digest is %s, not %s", ErrDamaged, t.Digest(), digest)
	}
	return EachMember(ctx, t, func(m Member) error { return m.CopyTo(io.Discard) })
}

// EachMember calls do for every file of a tree on all cores. It stops at an error. Of several errors it returns that of
// the first name.
func EachMember(ctx context.Context, t Tree, do func(Member) error) error {
	names := t.Names()
	var mu sync.Mutex
	next, failed := 0, len(names)
	var first error
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= failed || ctx.Err() != nil
				mu.Unlock()
				if stop {
					return
				}
				m, _ := t.Lookup(names[i])
				if err := do(m); err != nil {
					mu.Lock()
					if i < failed {
						failed, first = i, err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if first != nil {
		return first
	}
	return ctx.Err()
}
