package schedule

import (
	"testing"
	"time"
)

// TestClocksSet: a clock that is set is noticed once, whichever and whither; one that is corrected a little is not.
func TestClocksSet(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)
	for _, tt := range []struct {
		name          string
		own, database time.Duration // by which they are set
		want          bool
	}{
		{"neither", 0, 0, false},
		{"corrected", 20 * time.Second, -20 * time.Second, false},
		{"own forth", time.Hour, 0, true},
		{"own back", -time.Hour, 0, true},
		{"database forth over a day's end", 0, time.Hour, true},
		{"database back", 0, -time.Hour, true},
		{"both", time.Hour, time.Hour, true},
	} {
		var c clocks
		if c.set(begin, begin.Add(time.Hour)) {
			t.Errorf("%s: clocks that differ count as set at the first look", tt.name)
		}
		if got := c.set(begin.Add(tt.own), begin.Add(time.Hour+tt.database)); got != tt.want {
			t.Errorf("%s: set %t, want %t", tt.name, got, tt.want)
		}
		if c.set(begin.Add(tt.own), begin.Add(time.Hour+tt.database)) {
			t.Errorf("%s: noticed twice", tt.name)
		}
	}
}
