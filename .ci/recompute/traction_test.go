package main

import (
	"math/big"
	"testing"
)

// TestPart checks the methodology's example of a divided sum, and that parts add up.
func TestPart(t *testing.T) {
	sum := big.NewRat(50004, 10_000_000_000) // $0.0000050004
	total := new(big.Rat)
	for place, want := range []string{"0.0000020000", "0.0000020000", "0.0000010004"} {
		got := part(sum, 3, place)
		if got.FloatString(10) != want {
			t.Errorf("part of service %d: $%s, want $%s", place, got.FloatString(10), want)
		}
		total.Add(total, got)
	}
	if total.Cmp(sum) != 0 {
		t.Errorf("the parts add up to $%s, want $%s", total.FloatString(10), sum.FloatString(10))
	}
}
