package evm

import (
	"math"
	"testing"
)

// A log whose number no database column of ours holds is not what was asked for: cut to 32 bits it would stand for
// another.
func TestPlaceOfALog(t *testing.T) {
	t.Parallel()
	var topic hash
	f := filter{contracts: []address{{}}, topics: []hash{topic}}
	for index, want := range map[int64]bool{0: true, math.MaxInt32: true, math.MaxInt32 + 1: false, 1<<32 + 5: false,
		-1: false} {
		e := event{block: 7, index: index, topicCount: 1}
		e.topics[0] = topic
		if got := f.matches(&e, 7, 7); got != want {
			t.Errorf("log %d is taken: %t, want %t", index, got, want)
		}
	}
}
