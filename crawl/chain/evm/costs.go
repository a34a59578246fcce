package evm

import (
	"cmp"
	"sync"
)

// costs are running averages of the sizes of answers. A reader uses them to choose the smaller of two requests.
type costs struct {
	mu          sync.Mutex
	transaction float64 // bytes of a transaction
	perBlock    float64 // transactions of a block
	receipt     float64 // bytes of a receipt
	ratio       float64 // transfers of measured tokens for each transaction of a settler; 0 for unknown
	ranges      int     // since the ratio was last measured
}

// Sizes to assume before the first answers, and how often the ratio is measured again.
const (
	usualTransaction = 900
	usualPerBlock    = 150
	usualReceipt     = 2500
	logSize          = 650
	smallestLog      = 500
	measureEvery     = 16 // ranges
)

// moveAverage moves an average by a tenth towards a value. An average of zero is unknown and becomes the value.
func moveAverage(average *float64, value float64) {
	if *average == 0 {
		*average = value
	}
	*average += (value - *average) / 10
}

// transfersAreLighter reports whether all transfers are a smaller answer than the receipts of settlers' transactions.
func (c *costs) transfersAreLighter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ratio > 0 && c.ratio*logSize <= cmp.Or(c.receipt, usualReceipt)
}

// blockIsLighter reports whether a block with all its transactions is a smaller answer than its header and n of them. A
// separate request costs a node more than its bytes.
func (c *costs) blockIsLighter(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	const request = 300
	one := cmp.Or(c.transaction, usualTransaction)
	return cmp.Or(c.perBlock, usualPerBlock)*one <= float64(n)*(one+request)
}

// addBlock counts the answer for a block, whole or only its header.
func (c *costs) addBlock(whole bool, size, transactions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !whole {
		moveAverage(&c.perBlock, max(1, (float64(size)-1800)/69)) // a header lists the hashes of its transactions
		return
	}
	moveAverage(&c.perBlock, max(1, float64(transactions)))
	if transactions > 0 {
		moveAverage(&c.transaction, max(1, (float64(size)-1800)/float64(transactions)))
	}
}

// addReceipt counts the answer for a receipt.
func (c *costs) addReceipt(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	moveAverage(&c.receipt, float64(size))
}

// measureDue reports whether it is time to measure the ratio again.
func (c *costs) measureDue() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ranges++
	return c.ratio == 0 || c.ranges%measureEvery == 0
}

// addTransfers counts transfers and the transactions of settlers in the same blocks.
func (c *costs) addTransfers(transfers, transactions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value := float64(transfers) / max(1, float64(transactions))
	if c.ratio == 0 {
		c.ratio = value
	}
	c.ratio = max(c.ratio+(value-c.ratio)/4, 0.01)
}
