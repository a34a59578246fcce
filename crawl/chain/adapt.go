package chain

import (
	"sync"
)

// Widths of ranges, in blocks, and what they aim at.
const (
	firstWidth  = 32 // what the first ranges teach is cheap then
	widestRange = 50_000
	wantEvents  = 8000 // of a range: some megabytes
	patience    = 16   // ranges that fit below a ceiling before a wider one is tried
)

// span is how many blocks of a scan are asked for at once. It grows while answers are small, and halves when a node finds
// it too wide; what was too wide once is tried again, rarely.
type span struct {
	mu      sync.Mutex
	width   int64
	ceiling int64 // what nodes took
	fitted  int   // ranges as wide as the ceiling, in a row
}

func newSpan() *span { return &span{width: firstWidth, ceiling: widestRange} }

func (s *span) at() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.width
}

// fits takes in a range that was answered.
func (s *span) fits(blocks int64, events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if blocks < s.width && events <= wantEvents {
		return // it says nothing of wider ones
	}
	if s.width >= s.ceiling {
		if s.fitted++; s.fitted >= patience {
			s.fitted, s.ceiling = 0, min(2*s.ceiling, widestRange)
		}
	}
	switch {
	case events > 2*wantEvents:
		s.width = max(1, blocks*wantEvents/int64(events))
	case events < wantEvents/8:
		s.width = min(2*s.width, s.ceiling)
	case events < wantEvents/2:
		s.width = min(s.width+s.width/2+1, s.ceiling)
	}
}

// tooWide takes in a range that no node answered whole.
func (s *span) tooWide(blocks int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	half := max(1, blocks/2)
	s.width, s.ceiling, s.fitted = min(s.width, half), min(s.ceiling, half), 0
}

// cost is what answers have weighed lately, by which the lighter of two ways to ask is chosen. It holds spare memory too.
type cost struct {
	mu          sync.Mutex
	transaction float64 // bytes of one
	perBlock    float64 // transactions of a block
	receiptSize float64 // bytes
	ratio       float64 // transfers of measured tokens for each transaction of a settler; 0: not known
	probes      int     // ranges since the ratio was looked at
	spare       [][]event
}

// Until they are seen.
const (
	usualTransaction = 900
	usualPerBlock    = 150
	usualReceipt     = 2500
	logSize          = 650
	leastLog         = 500
	probeEvery       = 16
)

// average moves an average, of which zero is not known, by a tenth towards a value.
func average(old *float64, value float64) {
	if *old == 0 {
		*old = value
	}
	*old += (value - *old) / 10
}

func or(value, usual float64) float64 {
	if value == 0 {
		return usual
	}
	return value
}

// wide says whether all transfers are a lighter answer than the receipts of settlers' transactions.
func (c *cost) wide() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ratio > 0 && c.ratio*logSize <= or(c.receiptSize, usualReceipt)
}

// whole says whether a block with all its transactions is a lighter answer than its header and n of them. A request of its
// own costs a node more than its bytes do.
func (c *cost) whole(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	const request = 300
	one := or(c.transaction, usualTransaction)
	return or(c.perBlock, usualPerBlock)*one <= float64(n)*(one+request)
}

// saw takes in a block's answer.
func (c *cost) saw(whole bool, size, transactions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !whole {
		average(&c.perBlock, max(1, (float64(size)-1800)/69)) // beside its own, a header has the hashes of its transactions
		return
	}
	average(&c.perBlock, max(1, float64(transactions)))
	if transactions > 0 {
		average(&c.transaction, max(1, (float64(size)-1800)/float64(transactions)))
	}
}

func (c *cost) receipt(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	average(&c.receiptSize, float64(size))
}

// probe says whether it is time to look at the ratio.
func (c *cost) probe() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probes++
	return c.ratio == 0 || c.probes%probeEvery == 0
}

// transfers takes in how many transfers there were beside the transactions of settlers.
func (c *cost) transfers(transfers, transactions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value := float64(transfers) / max(1, float64(transactions))
	if c.ratio == 0 {
		c.ratio = value
	}
	c.ratio = max(c.ratio+(value-c.ratio)/4, 0.01)
}

// take gives room for events, the same again where there is some.
func (c *cost) take(list []event) []event {
	if list != nil {
		return list[:0]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.spare); n > 0 {
		list = c.spare[n-1]
		c.spare = c.spare[:n-1]
		return list[:0]
	}
	return make([]event, 0, 256)
}

func (c *cost) release(list []event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list != nil && len(c.spare) < 8 && cap(list) < 64<<10 {
		c.spare = append(c.spare, list)
	}
}

// topicLimit is how many recipients nodes take in a filter.
type topicLimit struct {
	mu sync.Mutex
	n  int
}

func (l *topicLimit) at() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		l.n = topicsAtOnce
	}
	return l.n
}

// narrow halves the number, and says whether that was possible.
func (l *topicLimit) narrow() bool {
	n := l.at()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n = max(1, n/2)
	return n > 1
}
