package chain

import (
	"testing"
	"time"
)

// TestCheckTime checks between which times a block may be dated.
func TestCheckTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	earlier := now.Add(-time.Hour)
	for at, ok := range map[time.Time]bool{
		earlier: true, earlier.Add(-time.Second): false, now: true, now.Add(ClockTolerance): true,
		now.Add(ClockTolerance + time.Second): false, {}: false, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC): false,
	} {
		if err := CheckTime(at, earlier, now); (err == nil) != ok {
			t.Errorf("a block of %s: %v", at, err)
		}
	}
}
