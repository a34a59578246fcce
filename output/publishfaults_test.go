package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/output/archive"
	"tollbook/output/objects"
)

// TestPublishToFaults lets every operation on the store and on the register fail in two ways: undone, and done in spite
// of the error. Readers always have the old snapshot or the new one, complete, and the next run finishes.
func TestPublishToFaults(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		d := openFolder(t, tempDir(t))
		mustPublish(t, d, t0, tree(1))
		before := openFolder(t, tempDir(t)) // at the first snapshot
		mustPublish(t, before, t0, tree(1))
		next := tree(2)
		delete(next, "v1/services/zeta.json")
		mustPublish(t, d, t0.Add(time.Hour), next)

		setup := func(t testing.TB, hook func(op, name string, do func() error) error) (objects.Store, objects.Store,
			*memoryRegister) {
			plain, reg := open(t), &memoryRegister{}
			mustPublishTo(t, plain, reg, before)
			reg.hook = hook
			return plain, &hookedStore{plain, hook}, reg
		}
		var mu sync.Mutex
		var operations []string
		_, counted, reg := setup(t, func(op, name string, do func() error) error {
			mu.Lock()
			operations = append(operations, op+" "+name)
			mu.Unlock()
			return do()
		})
		mustPublishTo(t, counted, reg, d)
		if len(operations) < 20 {
			t.Fatalf("%d operations: %q", len(operations), operations)
		}
		for i := range operations {
			for _, done := range []bool{false, true} {
				var n atomic.Int64
				var op string
				hook := func(what, name string, do func() error) error {
					if n.Add(1)-1 != int64(i) {
						return do()
					}
					op = what + " " + name
					err := fmt.Errorf("%s %s: %w: injected network error", what, name, archive.ErrUnreachable)
					if done {
						if doErr := do(); doErr != nil && !errors.Is(doErr, fs.ErrNotExist) {
							return doErr
						}
					}
					return err
				}
				plain, faulty, reg := setup(t, hook)
				r, err := publishTo(faulty, reg, d)
				about := fmt.Sprintf("%d %s, done %v", i, op, done)
				if err != nil && !errors.Is(err, archive.ErrUnreachable) {
					t.Errorf("%s: %v, want the fault", about, err)
				}
				if err == nil && !mayBeCovered(op) {
					t.Errorf("%s: no error; %+v", about, r)
				}
				checkBetween(t, about, plain, tree(1), next)
				reg.hook = nil
				again := mustPublishTo(t, plain, reg, d)
				if !again.Moved && again.Checkpoint.Generation < 2 {
					t.Errorf("%s: the next run: %+v", about, again)
				}
				verifyWhole(t, plain)
				if _, err := NewPublisher(plain, reg, PublishOptions{Now: t0.AddDate(10, 0, 0)}).Prune(t.Context(),
					d); err != nil {
					t.Errorf("%s: prune: %v", about, err)
				}
				want := []string{archive.CheckpointFile, expandedFile, archive.SumsFile}
				for name := range next {
					want = append(want, name)
				}
				for _, id := range []string{again.Checkpoint.Snapshot, *again.Checkpoint.Previous} {
					want = append(want, archive.SnapshotName(id))
				}
				for _, h := range []int{0, 1} {
					want = append(want, archive.PackName(archive.HourOf(t0.Add(time.Duration(h)*time.Hour))))
				}
				slices.Sort(want)
				if diff := cmp.Diff(want, namesIn(t, plain)); diff != "" {
					t.Errorf("%s: left after prune (-want +got):\n%s", about, diff)
				}
			}
		}
	})
}

// mayBeCovered reports whether a publication may succeed although an operation failed, because it reads the result
// again or repeats the operation.
func mayBeCovered(op string) bool {
	return op == "put "+archive.CheckpointFile || op == "replace register" ||
		strings.HasPrefix(op, "get "+archive.SnapshotsDir) || strings.HasPrefix(op, "get "+archive.PacksDir)
}

// checkBetween checks what must be true of a store at every moment of a publication. The pointer names a complete
// snapshot, and each expanded object is complete and of the old or the new snapshot.
func checkBetween(t *testing.T, about string, s objects.Store, old, next map[string]string) {
	t.Helper()
	source := OpenStoreSource(s, 0, quiet())
	defer source.Close()
	snap, err := source.Current()
	if err != nil {
		t.Fatalf("%s: %v", about, err)
	}
	defer snap.Release()
	if err := archive.Verify(context.Background(), snap, snap.Checkpoint.Digest); err != nil {
		t.Errorf("%s: %v", about, err)
	}
	files := old
	if readString(t, snap, "index.html") == next["index.html"] {
		files = next
	}
	for name, want := range files {
		if got := readString(t, snap, name); got != want {
			t.Errorf("%s: %s of %s reads %.40q", about, name, snap.ID, got)
		}
	}
	both := maps.Clone(old)
	maps.Copy(both, next)
	for name := range both {
		got, err := content(s, name)
		_, inOld := old[name]
		_, inNext := next[name]
		switch {
		case errors.Is(err, fs.ErrNotExist) && !(inOld && inNext):
		case err != nil:
			t.Errorf("%s: %v", about, err)
		case inOld && got == old[name], inNext && got == next[name]:
		default:
			t.Errorf("%s: %s reads %.40q, which is of neither", about, name, got)
		}
	}
}

// TestTwoPublishers runs two publishers at once. One wins, the other returns an error, and the place stays complete.
func TestTwoPublishers(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, open func(testing.TB) objects.Store) {
		a, b := openFolder(t, tempDir(t)), openFolder(t, tempDir(t))
		mustPublish(t, a, t0, tree(1))
		mustPublish(t, b, t0.Add(time.Second), tree(2))

		t.Run("the lock", func(t *testing.T) {
			s, reg := open(t), &memoryRegister{locked: true}
			if _, err := publishTo(s, reg, a); !errors.Is(err, ErrBusy) {
				t.Errorf("%v, want %v", err, ErrBusy)
			}
		})
		// One of them wins, wherever the second publication happens between two operations of the first.
		for i := 0; ; i++ {
			s, reg := open(t), &memoryRegister{}
			var n atomic.Int64
			var wonErr error
			intruded := false
			// Run concurrent operations one at a time, except sending the zip, which waits for the others.
			var one sync.Mutex
			hook := func(op, name string, do func() error) error {
				one.Lock()
				sends := op == "put" && strings.HasPrefix(name, archive.SnapshotsDir)
				if !sends {
					defer one.Unlock()
				}
				if n.Add(1)-1 == int64(i) {
					intruded = true
					reg.unlock() // the first one's connection is cut
					reg.lost = true
					other := &memoryRegister{}
					other.record = reg.record
					var won Published
					if won, wonErr = publishTo(s, other, b); wonErr == nil {
						reg.mu.Lock()
						reg.record = Record{Generation: won.Checkpoint.Generation, Snapshot: won.Checkpoint.Snapshot,
							Digest: won.Checkpoint.Digest}
						reg.mu.Unlock()
					}
				}
				if sends {
					one.Unlock()
				}
				return do()
			}
			reg.hook = hook
			_, err := publishTo(&hookedStore{s, hook}, reg, a)
			if !intruded {
				break
			}
			if wonErr != nil {
				t.Errorf("before operation %d: the second: %v", i, wonErr)
			}
			moved := false
			_, data, readErr := objects.ReadObject(t.Context(), s, archive.CheckpointFile, objects.GetOptions{},
				archive.MaxCheckpoint)
			if c, parseErr := archive.ParseCheckpoint(data); readErr != nil || parseErr != nil {
				t.Errorf("before operation %d: %v, %v", i, readErr, parseErr)
			} else if moved = c.Snapshot != reg.record.Snapshot; moved {
				t.Errorf("before operation %d: the pointer names %s, the register %s", i, c.Snapshot,
					reg.record.Snapshot)
			}
			_ = err // it has won before, or it has failed: only the state of the place counts
			mustPublishTo(t, s, &memoryRegister{record: reg.record}, b, func(o *PublishOptions) { o.Force = true })
			verifyWhole(t, s)
		}
	})
}
