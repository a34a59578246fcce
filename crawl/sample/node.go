package sample

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"
	"github.com/creachadair/jrpc2/jhttp"
)

// node answers JSON-RPC like a node of an EVM chain: the methods that readers of settlements call, with the limits of
// public nodes.
type node struct {
	chain *liveChain
	now   func() time.Time
}

const (
	maxRange  = 10_000  // most blocks of one eth_getLogs
	maxAsked  = 1 << 20 // most bytes of a request
	safety    = 6       // blocks from the head to the safe block
	finality  = 12      // blocks from the head to the finalized block
	codeRange = -32614
)

// serveNode returns the node as an HTTP handler; end stops it.
func serveNode(c *liveChain, now func() time.Time) (h http.Handler, end func() error) {
	n := &node{c, now}
	bridge := jhttp.NewBridge(handler.Map{
		"web3_clientVersion": n.answer(0, func([]json.RawMessage) (any, error) {
			return "tollbook-sample", nil
		}),
		"net_version": n.answer(0, func([]json.RawMessage) (any, error) {
			return strings.TrimPrefix(c.network, "eip155:"), nil
		}),
		"eth_syncing": n.answer(0, func([]json.RawMessage) (any, error) { return false, nil }),
		"eth_chainId": n.answer(0, func([]json.RawMessage) (any, error) { return n.chainID(), nil }),
		"eth_blockNumber": n.answer(0, func([]json.RawMessage) (any, error) {
			return quantity(c.head(n.now())), nil
		}),
		"eth_getBlockByNumber":      n.answer(1, n.blockByNumber),
		"eth_getBlockByHash":        n.answer(1, n.blockByHash),
		"eth_getBlockReceipts":      n.answer(1, n.blockReceipts),
		"eth_getLogs":               n.answer(1, n.logs),
		"eth_getTransactionByHash":  n.answer(1, n.transactionByHash),
		"eth_getTransactionReceipt": n.answer(1, n.receipt),
	}, nil)
	return http.MaxBytesHandler(bridge, maxAsked), bridge.Close
}

// answer returns a handler for a method with at least least parameters.
func (n *node) answer(least int, f func([]json.RawMessage) (any, error)) handler.Func {
	return func(_ context.Context, req *jrpc2.Request) (any, error) {
		var params []json.RawMessage
		if err := req.UnmarshalParams(&params); err != nil {
			return nil, err
		}
		if len(params) < least {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "missing value for required argument %d", len(params))
		}
		return f(params)
	}
}

func (n *node) chainID() string {
	id, err := strconv.ParseInt(strings.TrimPrefix(n.chain.network, "eip155:"), 10, 64)
	if err != nil {
		panic(fmt.Errorf("chain id of %s: %w", n.chain.network, err)) // a broken build, not a broken input
	}
	return quantity(id)
}

func quantity(n int64) string { return "0x" + strconv.FormatInt(n, 16) }

// number parses a block's number or tag. beyond means that the block does not exist yet.
func (n *node) number(param json.RawMessage, now time.Time) (block int64, beyond bool, err error) {
	var text string
	if err := json.Unmarshal(param, &text); err != nil {
		return 0, false, jrpc2.Errorf(jrpc2.InvalidParams, "invalid block number or tag")
	}
	head := n.chain.head(now)
	switch text {
	case "earliest":
		return 0, false, nil
	case "latest", "pending":
		return head, false, nil
	case "safe":
		return max(0, head-safety), false, nil
	case "finalized":
		return max(0, head-finality), false, nil
	}
	digits, ok := strings.CutPrefix(text, "0x")
	block, err = strconv.ParseInt(digits, 16, 64)
	if !ok || err != nil || block < 0 {
		return 0, false, jrpc2.Errorf(jrpc2.InvalidParams, "invalid block number or tag")
	}
	return block, block > head, nil
}

func (n *node) blockByNumber(params []json.RawMessage) (any, error) {
	now := n.now()
	block, beyond, err := n.number(params[0], now)
	if err != nil || beyond {
		return nil, err
	}
	return n.block(block, full(params), now), nil
}

func (n *node) blockByHash(params []json.RawMessage) (any, error) {
	now := n.now()
	var hash string
	if err := json.Unmarshal(params[0], &hash); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "invalid block hash")
	}
	block, ok := n.chain.blockByHash(hash, now)
	if !ok {
		return nil, nil
	}
	return n.block(block, full(params), now), nil
}

// full reports whether the call asks for whole transactions.
func full(params []json.RawMessage) bool { return len(params) > 1 && string(params[1]) == "true" }

// blockJSON is a block in the format of nodes. Roots and the like are hashes of the right length that prove nothing.
type blockJSON struct {
	Number           string `json:"number"`
	Hash             string `json:"hash"`
	ParentHash       string `json:"parentHash"`
	Nonce            string `json:"nonce"`
	MixHash          string `json:"mixHash"`
	Sha3Uncles       string `json:"sha3Uncles"`
	LogsBloom        string `json:"logsBloom"`
	TransactionsRoot string `json:"transactionsRoot"`
	StateRoot        string `json:"stateRoot"`
	ReceiptsRoot     string `json:"receiptsRoot"`
	Miner            string `json:"miner"`
	Difficulty       string `json:"difficulty"`
	ExtraData        string `json:"extraData"`
	Size             string `json:"size"`
	GasLimit         string `json:"gasLimit"`
	GasUsed          string `json:"gasUsed"`
	BaseFeePerGas    string `json:"baseFeePerGas"`
	Timestamp        string `json:"timestamp"`
	Transactions     []any  `json:"transactions"`
	Uncles           []any  `json:"uncles"`
}

const gasOf = 85_000 // of a payment

func (n *node) block(block int64, full bool, now time.Time) *blockJSON {
	c := n.chain
	hash := c.hash(block, c.branch(block, now))
	parent := "0x" + strings.Repeat("0", 64)
	if block > 0 {
		parent = c.hash(block-1, c.branch(block-1, now))
	}
	b := &blockJSON{
		Number: quantity(block), Hash: hash, ParentHash: parent, Nonce: "0x0000000000000000",
		MixHash: topic("mix " + hash), Sha3Uncles: topic("uncles"),
		TransactionsRoot: topic("transactions " + hash), StateRoot: topic("state " + hash),
		ReceiptsRoot: topic("receipts " + hash),
		Miner:        "0x4200000000000000000000000000000000000011", Difficulty: "0x0",
		ExtraData: "0x" + hex.EncodeToString([]byte(Domain)),
		GasLimit:  quantity(30_000_000), BaseFeePerGas: "0xf4240", Timestamp: quantity(c.stamp(block).Unix()),
		Transactions: []any{}, Uncles: []any{},
	}
	var gas int64
	var events []event
	for i, t := range c.sent(block, block, now) {
		events = append(events, t.settling()...)
		gas += t.gas()
		if full {
			b.Transactions = append(b.Transactions, n.transaction(t, i, hash))
		} else {
			b.Transactions = append(b.Transactions, t.hash)
		}
	}
	b.GasUsed, b.LogsBloom, b.Size = quantity(gas), bloom(events), quantity(600+300*int64(len(b.Transactions)))
	return b
}

func (t transaction) gas() int64 { return gasOf * int64(len(t.payments)) }

type transactionJSON struct {
	BlockHash            string `json:"blockHash"`
	BlockNumber          string `json:"blockNumber"`
	From                 string `json:"from"`
	To                   string `json:"to"`
	Gas                  string `json:"gas"`
	GasPrice             string `json:"gasPrice"`
	MaxFeePerGas         string `json:"maxFeePerGas"`
	MaxPriorityFeePerGas string `json:"maxPriorityFeePerGas"`
	Hash                 string `json:"hash"`
	Input                string `json:"input"`
	Nonce                string `json:"nonce"`
	TransactionIndex     string `json:"transactionIndex"`
	Value                string `json:"value"`
	Type                 string `json:"type"`
	AccessList           []any  `json:"accessList"`
	ChainID              string `json:"chainId"`
	V                    string `json:"v"`
	YParity              string `json:"yParity"`
	R                    string `json:"r"`
	S                    string `json:"s"`
}

func (n *node) transaction(t transaction, index int, blockHash string) *transactionJSON {
	to, input := t.call()
	return &transactionJSON{
		BlockHash: blockHash, BlockNumber: quantity(t.block), From: t.settler, To: to, Gas: quantity(2 * t.gas()),
		GasPrice:     "0xf4240",
		MaxFeePerGas: "0x1e8480", MaxPriorityFeePerGas: "0x0", Hash: t.hash, Input: input, Nonce: quantity(t.block),
		TransactionIndex: quantity(int64(index)),
		Value:            "0x0", Type: "0x2", AccessList: []any{}, ChainID: n.chainID(), V: "0x1", YParity: "0x1",
		R: topic("r" + t.hash), S: topic("s" + t.hash),
	}
}

func (n *node) transactionByHash(params []json.RawMessage) (any, error) {
	now := n.now()
	t, index, _, ok, err := n.find(params[0], now)
	if err != nil || !ok {
		return nil, err
	}
	return n.transaction(t, index, n.chain.hash(t.block, n.chain.branch(t.block, now))), nil
}

// find returns a transaction with its index in its block and the index of its first log.
func (n *node) find(param json.RawMessage, now time.Time) (t transaction, index, firstLog int, ok bool, err error) {
	var hash string
	if err := json.Unmarshal(param, &hash); err != nil {
		return t, 0, 0, false, jrpc2.Errorf(jrpc2.InvalidParams, "invalid transaction hash")
	}
	if t, ok = n.chain.transactionByHash(hash, now); !ok {
		return t, 0, 0, false, nil
	}
	for _, other := range n.chain.sent(t.block, t.block, now) {
		if other.hash == hash {
			break
		}
		index, firstLog = index+1, firstLog+len(other.settling())
	}
	return t, index, firstLog, true, nil
}

type logJSON struct {
	Address          string   `json:"address"`
	Topics           []string `json:"topics"`
	Data             string   `json:"data"`
	BlockNumber      string   `json:"blockNumber"`
	BlockHash        string   `json:"blockHash"`
	BlockTimestamp   string   `json:"blockTimestamp"`
	TransactionHash  string   `json:"transactionHash"`
	TransactionIndex string   `json:"transactionIndex"`
	LogIndex         string   `json:"logIndex"`
	Removed          bool     `json:"removed"`
}

// placed returns the logs of a transaction at a position in its block.
func (n *node) placed(t transaction, index, firstLog int, blockHash string) []*logJSON {
	events := t.settling()
	list := make([]*logJSON, len(events))
	for i, e := range events {
		list[i] = &logJSON{
			Address: e.address, Topics: e.topics, Data: e.data, BlockNumber: quantity(t.block), BlockHash: blockHash,
			BlockTimestamp:  quantity(n.chain.stamp(t.block).Unix()),
			TransactionHash: t.hash, TransactionIndex: quantity(int64(index)), LogIndex: quantity(int64(firstLog + i)),
		}
	}
	return list
}

type receiptJSON struct {
	BlockHash         string     `json:"blockHash"`
	BlockNumber       string     `json:"blockNumber"`
	From              string     `json:"from"`
	To                string     `json:"to"`
	ContractAddress   *string    `json:"contractAddress"`
	TransactionHash   string     `json:"transactionHash"`
	TransactionIndex  string     `json:"transactionIndex"`
	Type              string     `json:"type"`
	Status            string     `json:"status"`
	GasUsed           string     `json:"gasUsed"`
	CumulativeGasUsed string     `json:"cumulativeGasUsed"`
	EffectiveGasPrice string     `json:"effectiveGasPrice"`
	LogsBloom         string     `json:"logsBloom"`
	Logs              []*logJSON `json:"logs"`
}

func (n *node) receipt(params []json.RawMessage) (any, error) {
	now := n.now()
	t, _, _, ok, err := n.find(params[0], now)
	if err != nil || !ok {
		return nil, err
	}
	for _, r := range n.receipts(t.block, now) {
		if r.TransactionHash == t.hash {
			return r, nil
		}
	}
	return nil, nil
}

func (n *node) blockReceipts(params []json.RawMessage) (any, error) {
	now := n.now()
	var hash string
	if json.Unmarshal(params[0], &hash) == nil && len(hash) == 66 {
		block, ok := n.chain.blockByHash(hash, now)
		if !ok {
			return nil, nil
		}
		return n.receipts(block, now), nil
	}
	block, beyond, err := n.number(params[0], now)
	if err != nil || beyond {
		return nil, err
	}
	return n.receipts(block, now), nil
}

func (n *node) receipts(block int64, now time.Time) []*receiptJSON {
	hash := n.chain.hash(block, n.chain.branch(block, now))
	list := []*receiptJSON{}
	var gas int64
	logs := 0
	for i, t := range n.chain.sent(block, block, now) {
		to, _ := t.call()
		events := t.settling()
		gas += t.gas()
		list = append(list, &receiptJSON{
			BlockHash: hash, BlockNumber: quantity(block), From: t.settler, To: to, TransactionHash: t.hash,
			TransactionIndex: quantity(int64(i)), Type: "0x2", Status: "0x1",
			GasUsed: quantity(t.gas()), CumulativeGasUsed: quantity(gas), EffectiveGasPrice: "0xf4240",
			LogsBloom: bloom(events), Logs: n.placed(t, i, logs, hash),
		})
		logs += len(events)
	}
	return list
}
