package evm

import (
	"math"
	"testing"
)

// TestLogIndexRange checks that a log index that the database column can't store is refused: cut to 32 bits, it would
// identify another log.
func TestLogIndexRange(t *testing.T) {
	t.Parallel()
	var topic hash
	f := filter{contracts: []address{{}}, topics: []hash{topic}}
	for index, want := range map[int64]bool{0: true, math.MaxInt32: true, math.MaxInt32 + 1: false, 1<<32 + 5: false,
		-1: false} {
		e := event{block: 7, index: index, topicCount: 1}
		e.topics[0] = topic
		if got := f.matches(&e, 7, 7); got != want {
			t.Errorf("log %d accepted: %t, want %t", index, got, want)
		}
	}
}
