package evm

import (
	"encoding/hex"
	"strings"

	"tollbook/site/postgres/ledger"
	"tollbook/site/x402"
)

// mark is the beginning of a memo by which payments are recognised that payers send themselves. The client library of
// MPP writes four bytes of the hash of "mpp" and a version in front of fingerprints of the two parties.
type mark [5]byte

// topicTransferWithMemo is TransferWithMemo(address indexed from, address indexed to, uint256 amount, bytes32 indexed
// memo) of Tempo's token standard, TIP-20. A token emits it for the Transfer before it.
var topicTransferWithMemo = mustHash("0x57bc7354aa85aed339e000bccffabbc529466af35f0772c8f8ee1145927de7f0")

// parseMark parses a settler that is a mark in normal form. It returns false for an address.
func parseMark(network, text string) (m mark, ok bool) {
	if !x402.IsMark(network, text) {
		return m, false
	}
	_, err := hex.Decode(m[:], []byte(strings.TrimPrefix(text, "memo:0x")))
	return m, err == nil
}

// isMemoTransfer reports whether an event is a transfer with a memo between two accounts. Tokens that are minted or
// burned have the zero address on one side.
func (e *event) isMemoTransfer() bool {
	return e.topicCount == 4 && e.topics[0] == topicTransferWithMemo && e.oneWord &&
		e.topics[1] != hash{} && e.topics[2] != hash{}
}

// markOf returns the listed mark of an event, nil for none.
func (r *rangeReader) markOf(e *event) *settler {
	if len(r.plan.marks) == 0 || !e.isMemoTransfer() {
		return nil
	}
	return r.plan.marks[mark(e.topics[3][:len(mark{})])]
}

// hasMark reports whether an event of a block has a listed mark, so that the block's header is needed.
func (r *rangeReader) hasMark(b *blockEvents) bool {
	return anyOf(r.events[b.from:b.to], func(e *event) bool { return r.markOf(e) != nil })
}

// addMarked adds the payments with a listed mark to the settlements of a range. Any account may have sent them.
func (r *rangeReader) addMarked(f *rangeResult) {
	if len(r.plan.marks) == 0 {
		return
	}
	for b := range r.blocks {
		run := &r.blocks[b]
		for i := run.from; i < run.to; i++ {
			e := &r.events[i]
			if s := r.markOf(e); s != nil {
				if row, counts := r.x.settlement(payment{e, methodMemo}, s, run); counts {
					f.Settlements = append(f.Settlements, row)
				}
			}
		}
	}
	sortSettlements(f.Settlements)
}

// addSettler adds a settler of a scan to its plan.
func (p *scanPlan) addSettler(network string, one ledger.ScanSettler) error {
	if m, ok := parseMark(network, one.Address); ok {
		p.marks[m] = &settler{ScanSettler: one}
		return nil
	}
	a, err := parseAddress(one.Address)
	if err == nil {
		one.Address = a.String()
		p.settlers[a] = &settler{one, a}
	}
	return err
}
