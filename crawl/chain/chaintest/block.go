package chaintest

import (
	"encoding/hex"
	"strconv"
)

// encoded is a block in JSON.
type encoded struct {
	short, whole []byte   // with transaction hashes, and with whole transactions
	logs         [][]byte // by index
}

func encode(b *Block) *encoded {
	k := &encoded{short: appendBlock(nil, b, false), whole: appendBlock(nil, b, true)}
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
	case block.json != nil && whole:
		return append(b, block.json.whole...)
	case block.json != nil:
		return append(b, block.json.short...)
	}
	b = append(b, `{"number":`...)
	b = appendQuantity(b, block.Number)
	b = append(b, `,"hash":`...)
	b = appendHex(b, block.Hash[:])
	b = append(b, `,"parentHash":`...)
	b = appendHex(b, block.Parent[:])
	b = append(b, `,"timestamp":`...)
	b = appendQuantity(b, block.Time.Unix())
	b = append(b, `,"logsBloom":`...)
	b = appendHex(b, block.Bloom[:])
	b = append(b, blockRest...)
	b = append(b, `,"transactions":[`...)
	for i := range block.Txs {
		if i > 0 {
			b = append(b, ',')
		}
		if whole {
			b = appendTx(b, block, i)
		} else {
			b = appendHex(b, block.Txs[i].Hash[:])
		}
	}
	return append(b, `]}`...)
}

func appendTx(b []byte, block *Block, index int) []byte {
	t := &block.Txs[index]
	b = append(b, `{"hash":`...)
	b = appendHex(b, t.Hash[:])
	b = append(b, `,"from":`...)
	b = appendHex(b, t.From[:])
	b = append(b, `,"to":`...)
	b = appendHex(b, t.To[:])
	b = append(b, `,"nonce":`...)
	b = appendQuantity(b, int64(t.Nonce))
	b = append(b, `,"input":`...)
	b = appendHex(b, t.Input)
	b = append(b, `,"blockHash":`...)
	b = appendHex(b, block.Hash[:])
	b = append(b, `,"blockNumber":`...)
	b = appendQuantity(b, block.Number)
	b = append(b, `,"transactionIndex":`...)
	b = appendQuantity(b, int64(index))
	return append(b, txRest...)
}

func appendReceipt(b []byte, block *Block, index int) []byte {
	t := &block.Txs[index]
	b = append(b, `{"status":"0x1","type":"0x2","contractAddress":null,"cumulativeGasUsed":"0x5208",`+
		`"gasUsed":"0x5208","effectiveGasPrice":"0x7","logsBloom":`...)
	b = appendHex(b, block.Bloom[:])
	b = append(b, `,"transactionHash":`...)
	b = appendHex(b, t.Hash[:])
	b = append(b, `,"from":`...)
	b = appendHex(b, t.From[:])
	b = append(b, `,"to":`...)
	b = appendHex(b, t.To[:])
	b = append(b, `,"blockHash":`...)
	b = appendHex(b, block.Hash[:])
	b = append(b, `,"blockNumber":`...)
	b = appendQuantity(b, block.Number)
	b = append(b, `,"transactionIndex":`...)
	b = appendQuantity(b, int64(index))
	b = append(b, `,"logs":[`...)
	offset := 0
	for i := range block.Txs[:index] {
		offset += len(block.Txs[i].Logs)
	}
	for l := range t.Logs {
		if l > 0 {
			b = append(b, ',')
		}
		b = appendLog(b, block, index, l, offset+l)
	}
	return append(b, `]}`...)
}

func appendQuantity(b []byte, n int64) []byte {
	b = append(b, `"0x`...)
	b = strconv.AppendInt(b, n, 16)
	return append(b, '"')
}

func appendHex(b, raw []byte) []byte {
	b = append(b, `"0x`...)
	b = hex.AppendEncode(b, raw)
	return append(b, '"')
}

func appendLog(b []byte, block *Block, tx, log, index int) []byte {
	t := &block.Txs[tx]
	l := &t.Logs[log]
	b = append(b, `{"address":`...)
	b = appendHex(b, l.Contract[:])
	b = append(b, `,"topics":[`...)
	for i := range l.Topics {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendHex(b, l.Topics[i][:])
	}
	b = append(b, `],"data":`...)
	b = appendHex(b, l.Data)
	b = append(b, `,"blockNumber":`...)
	b = appendQuantity(b, block.Number)
	b = append(b, `,"transactionHash":`...)
	b = appendHex(b, t.Hash[:])
	b = append(b, `,"transactionIndex":`...)
	b = appendQuantity(b, int64(tx))
	b = append(b, `,"blockHash":`...)
	b = appendHex(b, block.Hash[:])
	b = append(b, `,"logIndex":`...)
	b = appendQuantity(b, int64(index))
	return append(b, `,"removed":false}`...)
}
