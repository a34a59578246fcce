package chaintest

import (
	"encoding/hex"
	"strconv"
)

// kept is a block in JSON.
type kept struct {
	short, whole []byte   // with the hashes of its transactions, and with all of them
	logs         [][]byte // by index
}

func keep(b *Block) *kept {
	k := &kept{short: appendBlock(nil, b, false), whole: appendBlock(nil, b, true)}
	for t := range b.Txs {
		for l := range b.Txs[t].Logs {
			k.logs = append(k.logs, appendLog(nil, b, t, l, len(k.logs)))
		}
	}
	return k
}

func appendBlock(b []byte, block *Block, whole bool) []byte {
	switch {
	case block == nil:
		return append(b, "null"...)
	case block.kept != nil && whole:
		return append(b, block.kept.whole...)
	case block.kept != nil:
		return append(b, block.kept.short...)
	}
	b = append(b, `{"number":`...)
	b = quantity(b, block.Number)
	b = append(b, `,"hash":`...)
	b = text(b, block.Hash[:])
	b = append(b, `,"parentHash":`...)
	b = text(b, block.Parent[:])
	b = append(b, `,"timestamp":`...)
	b = quantity(b, block.Time.Unix())
	b = append(b, `,"logsBloom":`...)
	b = text(b, block.Bloom[:])
	b = append(b, blockRest...)
	b = append(b, `,"transactions":[`...)
	for i := range block.Txs {
		if i > 0 {
			b = append(b, ',')
		}
		if whole {
			b = appendTx(b, block, i)
		} else {
			b = text(b, block.Txs[i].Hash[:])
		}
	}
	return append(b, `]}`...)
}

func appendTx(b []byte, block *Block, index int) []byte {
	t := &block.Txs[index]
	b = append(b, `{"hash":`...)
	b = text(b, t.Hash[:])
	b = append(b, `,"from":`...)
	b = text(b, t.From[:])
	b = append(b, `,"to":`...)
	b = text(b, t.To[:])
	b = append(b, `,"nonce":`...)
	b = quantity(b, int64(t.Nonce))
	b = append(b, `,"input":`...)
	b = text(b, t.Input)
	b = append(b, `,"blockHash":`...)
	b = text(b, block.Hash[:])
	b = append(b, `,"blockNumber":`...)
	b = quantity(b, block.Number)
	b = append(b, `,"transactionIndex":`...)
	b = quantity(b, int64(index))
	return append(b, txRest...)
}

func appendReceipt(b []byte, block *Block, index int) []byte {
	t := &block.Txs[index]
	b = append(b, `{"status":"0x1","type":"0x2","contractAddress":null,"cumulativeGasUsed":"0x5208",`+
		`"gasUsed":"0x5208","effectiveGasPrice":"0x7","logsBloom":`...)
	b = text(b, block.Bloom[:])
	b = append(b, `,"transactionHash":`...)
	b = text(b, t.Hash[:])
	b = append(b, `,"from":`...)
	b = text(b, t.From[:])
	b = append(b, `,"to":`...)
	b = text(b, t.To[:])
	b = append(b, `,"blockHash":`...)
	b = text(b, block.Hash[:])
	b = append(b, `,"blockNumber":`...)
	b = quantity(b, block.Number)
	b = append(b, `,"transactionIndex":`...)
	b = quantity(b, int64(index))
	b = append(b, `,"logs":[`...)
	place := 0
	for i := range block.Txs[:index] {
		place += len(block.Txs[i].Logs)
	}
	for l := range t.Logs {
		if l > 0 {
			b = append(b, ',')
		}
		b = appendLog(b, block, index, l, place+l)
	}
	return append(b, `]}`...)
}

func quantity(b []byte, n int64) []byte {
	b = append(b, `"0x`...)
	b = strconv.AppendInt(b, n, 16)
	return append(b, '"')
}

func text(b, raw []byte) []byte {
	b = append(b, `"0x`...)
	b = hex.AppendEncode(b, raw)
	return append(b, '"')
}

func appendLog(b []byte, block *Block, tx, log, index int) []byte {
	t := &block.Txs[tx]
	l := &t.Logs[log]
	b = append(b, `{"address":`...)
	b = text(b, l.Contract[:])
	b = append(b, `,"topics":[`...)
	for i := range l.Topics {
		if i > 0 {
			b = append(b, ',')
		}
		b = text(b, l.Topics[i][:])
	}
	b = append(b, `],"data":`...)
	b = text(b, l.Data)
	b = append(b, `,"blockNumber":`...)
	b = quantity(b, block.Number)
	b = append(b, `,"transactionHash":`...)
	b = text(b, t.Hash[:])
	b = append(b, `,"transactionIndex":`...)
	b = quantity(b, int64(tx))
	b = append(b, `,"blockHash":`...)
	b = text(b, block.Hash[:])
	b = append(b, `,"logIndex":`...)
	b = quantity(b, int64(index))
	return append(b, `,"removed":false}`...)
}
