package evm

import "sync"

// Widths of ranges in blocks, and their targets.
const (
	firstWidth  = 32 // small, so that learning from the first ranges is cheap
	widestRange = 50_000
	wantEvents  = 8000 // in a range: some megabytes
	patience    = 16   // ranges at a ceiling before a wider one is tried
)

// rangeWidth is the number of blocks of a range of a scan. It grows while answers are small, and halves when a node
// finds a range too wide. A width that was too wide once is tried again after some time.
type rangeWidth struct {
	mu      sync.Mutex
	width   int64
	ceiling int64 // widest range that nodes accepted
	fitted  int   // consecutive ranges as wide as the ceiling
}

func newRangeWidth() *rangeWidth { return &rangeWidth{width: firstWidth, ceiling: widestRange} }

func (w *rangeWidth) current() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.width
}

// answered adapts the width to a range that a node answered.
func (w *rangeWidth) answered(blocks int64, events int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if blocks < w.width && events <= wantEvents {
		return // a narrow range says nothing about wide ones
	}
	if w.width >= w.ceiling {
		if w.fitted++; w.fitted >= patience {
			w.fitted, w.ceiling = 0, min(2*w.ceiling, widestRange)
		}
	}
	switch {
	case events > 2*wantEvents:
		w.width = max(1, blocks*wantEvents/int64(events))
	case events < wantEvents/8:
		w.width = min(2*w.width, w.ceiling)
	case events < wantEvents/2:
		w.width = min(w.width+w.width/2+1, w.ceiling)
	}
}

// tooWide adapts the width to a range that no node answered completely.
func (w *rangeWidth) tooWide(blocks int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	half := max(1, blocks/2)
	w.width, w.ceiling, w.fitted = min(w.width, half), min(w.ceiling, half), 0
}

// topicLimit is the number of recipients that nodes accept in a filter.
type topicLimit struct {
	mu sync.Mutex
	n  int
}

func (l *topicLimit) current() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		l.n = topicsAtOnce
	}
	return l.n
}

// halve halves the number, and reports whether that was possible.
func (l *topicLimit) halve() bool {
	n := l.current()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n = max(1, n/2)
	return n > 1
}
