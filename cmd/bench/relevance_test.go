package main

import (
	"math"
	"testing"
)

// TestRanking checks that search does not become worse at finding what queries mean. Floors are just below what it
// reached when it was written.
func TestRanking(t *testing.T) {
	t.Parallel()
	floors := map[string]quality{"tune": {0.93, 0.92}, "heldout": {0.77, 0.75}}
	documents := readDocuments()
	slugs := map[string]bool{}
	for _, d := range documents {
		slugs[d.Slug] = true
	}
	for name, floor := range floors {
		s := readSet(name)
		for _, grades := range s.grades {
			for slug := range grades {
				if !slugs[slug] {
					t.Errorf("%s: an answer is %s, which is no service", s.name, slug)
				}
			}
		}
		got := s.measure(searchOurs(documents, s.queries))
		t.Logf("%s, %d queries: nDCG@10 %.4f, success@1 %.4f", s.name, len(s.queries), got.ndcg, got.success)
		if got.ndcg < floor.ndcg || got.success < floor.success {
			t.Errorf("%s: %+v, want at least %+v", s.name, got, floor)
		}
	}
}

func TestGain(t *testing.T) {
	t.Parallel()
	if got, want := gain([]int{3, 0, 1}), 7+0.5; math.Abs(got-want) > 1e-9 {
		t.Errorf("gain = %v, want %v", got, want)
	}
	if got := gain(make([]int, 30)); got != 0 {
		t.Errorf("gain without answers = %v", got)
	}
}
