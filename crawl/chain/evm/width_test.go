package evm

import "testing"

// TestRangeWidth checks that ranges grow while answers are small, halve when one is too wide, and grow again later.
func TestRangeWidth(t *testing.T) {
	t.Parallel()
	w := newRangeWidth()
	for range 50 {
		w.answered(w.current(), 0)
	}
	if w.current() != widestRange {
		t.Errorf("after many empty ranges: %d blocks, want %d", w.current(), widestRange)
	}
	for w.current() > 100 {
		w.tooWide(w.current())
	}
	small := w.current()
	for range patience - 1 {
		w.answered(w.current(), 0)
	}
	if w.current() != small {
		t.Errorf("grew from %d to %d at once", small, w.current())
	}
	for range 3 {
		w.answered(w.current(), 0)
	}
	if w.current() <= small {
		t.Errorf("never grew from %d", small)
	}
	for range 100 {
		w.tooWide(w.current())
	}
	if w.current() != 1 {
		t.Errorf("%d blocks after many faults, want 1", w.current())
	}
	w = newRangeWidth()
	w.answered(firstWidth, 4*wantEvents)
	if w.current() != firstWidth/4 {
		t.Errorf("%d blocks after a dense range, want %d", w.current(), firstWidth/4)
	}
}
