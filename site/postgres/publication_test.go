package postgres_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"tollbook/site/postgres"
)

// Of those who publish to one place, one has the lock; it goes with its connection.
func TestLockPublication(t *testing.T) {
	t.Parallel()
	db := open(t)
	first, err := db.LockPublication(t.Context(), "s3://a/b")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := db.LockPublication(t.Context(), "s3://a/b"); !errors.Is(err, postgres.ErrLocked) {
		t.Errorf("a second: %v, want %v", err, postgres.ErrLocked)
	}
	other, err := db.LockPublication(t.Context(), "s3://a/c")
	if err != nil {
		t.Errorf("another place: %v", err)
	}
	other.Release()
	first.Release()
	again, err := db.LockPublication(t.Context(), "s3://a/b")
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	again.Release()
}

// A row is replaced by the generation that it had: of many who read the same, one wins.
func TestReplacePublication(t *testing.T) {
	t.Parallel()
	db := open(t)
	const place = "s3://a/b"
	if p, err := db.Publication(t.Context(), place); err != nil || p != (postgres.Publication{}) {
		t.Errorf("before the first: %+v, %v", p, err)
	}
	if err := db.ReplacePublication(t.Context(), place, 3, postgres.Publication{Generation: 4, Snapshot: "x"},
		start); !errors.Is(err, postgres.ErrConflict) {
		t.Errorf("in place of a row that is not there: %v", err)
	}
	for _, was := range []int64{0, 7} {
		var won atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				err := db.ReplacePublication(t.Context(), place, was,
					postgres.Publication{Generation: was + 7, Snapshot: "s", Digest: "d", Withdrawn: "w"}, start)
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, postgres.ErrConflict):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("after generation %d %d have won", was, won.Load())
		}
	}
	want := postgres.Publication{Generation: 14, Snapshot: "s", Digest: "d", Withdrawn: "w"}
	if p, err := db.Publication(t.Context(), place); err != nil || p != want {
		t.Errorf("%+v, %v, want %+v", p, err, want)
	}
	if p, err := db.Publication(t.Context(), "s3://a/c"); err != nil || p.Generation != 0 {
		t.Errorf("another place: %+v, %v", p, err)
	}
}
