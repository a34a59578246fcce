package read

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tollbook/cmd/bench/harness"
)

// swapInterval is the time between two snapshots.
const swapInterval = 2 * time.Second

// slowest is the bound of the 99th percentile.
var slowest = harness.Bound{Target: 1.5, Hoped: 1.1, Most: true}

// swaps compares the same load with and without snapshots that replace each other.
func (b *bench) swaps(ctx context.Context, report *harness.Report, ours *server) error {
	if _, err := os.Stat(b.checkpoint(1)); err != nil {
		return errors.New("-swap generates its directory")
	}
	flips := 0
	results, err := harness.Alternate(ctx, b.runs,
		func(ctx context.Context) (float64, error) {
			stop := b.flip(ctx)
			l, err := b.load(ctx, ours, b.mixes.addresses)
			n, flipErr := stop()
			flips += n
			b.taken["flips"] = append(b.taken["flips"], l)
			return l.p99(), errors.Join(err, flipErr)
		},
		func(ctx context.Context) (float64, error) {
			l, err := b.load(ctx, ours, b.mixes.addresses)
			b.taken["still"] = append(b.taken["still"], l)
			return l.p99(), err
		})
	if err != nil {
		return err
	}
	report.Compare("p99 while snapshots are published", "no new snapshot", "ms", results[0], results[1], slowest)
	report.Compare("slowest request", "no new snapshot", "ms", b.of("flips", load.max), b.of("still", load.max),
		harness.Bound{})
	report.Compare("CPU per request", "no new snapshot", "µs", b.of("flips", load.cpuMicros),
		b.of("still", load.cpuMicros), harness.Bound{})
	report.Add("snapshots published", "", float64(flips))
	return nil
}

// flip makes the pointer name the other snapshot repeatedly, until stop, which returns how often it did so.
func (b *bench) flip(ctx context.Context) (stop func() (int, error)) {
	ctx, cancel := context.WithCancel(ctx)
	var flips int
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		every := time.NewTicker(swapInterval)
		defer every.Stop()
		for err == nil {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
				err = b.point(flips % 2)
				flips++
			}
		}
	}()
	return func() (int, error) {
		cancel()
		<-done
		return flips, err
	}
}

// point makes one of the two snapshots the current one, as a build does.
func (b *bench) point(to int) error {
	data, err := os.ReadFile(b.checkpoint(to))
	if err != nil {
		return err
	}
	next := filepath.Join(b.public, "checkpoint.next")
	if err := os.WriteFile(next, data, 0o644); err != nil {
		return fmt.Errorf("point at snapshot %d: %w", to, err)
	}
	return os.Rename(next, filepath.Join(b.public, "checkpoint.json"))
}
