package sample

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/creachadair/jrpc2"
	"github.com/creachadair/jrpc2/handler"
	"github.com/creachadair/jrpc2/jhttp"
)

// node answers JSON-RPC like a node of an EVM chain, with the limits of public nodes. It has the methods that a reader
// of settlements calls, and of blocks, transactions and receipts the members that it reads.
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
		"eth_chainId": n.answer(0, func([]json.RawMessage) (any, error) { return n.chainID(), nil }),
		"eth_blockNumber": n.answer(0, func([]json.RawMessage) (any, error) {
			return quantity(c.head(n.now())), nil
		}),
		"eth_getBlockByNumber":      n.answer(1, n.blockByNumber),
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

// full reports whether the call asks for whole transactions.
func full(params []json.RawMessage) bool { return len(params) > 1 && string(params[1]) == "true" }

type blockJSON struct {
	Number       string `json:"number"`
	Hash         string `json:"hash"`
	ParentHash   string `json:"parentHash"`
	LogsBloom    string `json:"logsBloom"`
	Timestamp    string `json:"timestamp"`
	Transactions []any  `json:"transactions"` // hashes, or whole
}

func (n *node) block(block int64, full bool, now time.Time) *blockJSON {
	c := n.chain
	b := &blockJSON{Number: quantity(block), Hash: c.hash(block, c.branch(block, now)),
		ParentHash: "0x" + strings.Repeat("0", 64), Timestamp: quantity(c.stamp(block).Unix()), Transactions: []any{}}
	if block > 0 {
		b.ParentHash = c.hash(block-1, c.branch(block-1, now))
	}
	var events []event
	for _, t := range c.sent(block, block, now) {
		events = append(events, t.settling()...)
		if full {
			b.Transactions = append(b.Transactions, transactionJSON{t.hash, b.Hash, t.settler})
		} else {
			b.Transactions = append(b.Transactions, t.hash)
		}
	}
	b.LogsBloom = bloom(events)
	return b
}

type transactionJSON struct {
	Hash      string `json:"hash"`
	BlockHash string `json:"blockHash"`
	From      string `json:"from"`
}

func (n *node) transactionByHash(params []json.RawMessage) (any, error) {
	now := n.now()
	t, _, _, ok, err := n.find(params[0], now)
	if err != nil || !ok {
		return nil, err
	}
	return transactionJSON{t.hash, n.chain.hash(t.block, n.chain.branch(t.block, now)), t.settler}, nil
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
	TransactionHash string     `json:"transactionHash"`
	BlockHash       string     `json:"blockHash"`
	Logs            []*logJSON `json:"logs"`
}

func (n *node) receipt(params []json.RawMessage) (any, error) {
	now := n.now()
	t, index, firstLog, ok, err := n.find(params[0], now)
	if err != nil || !ok {
		return nil, err
	}
	hash := n.chain.hash(t.block, n.chain.branch(t.block, now))
	return &receiptJSON{t.hash, hash, n.placed(t, index, firstLog, hash)}, nil
}

// filter is the parameter of eth_getLogs.
type filter struct {
	FromBlock json.RawMessage   `json:"fromBlock"`
	ToBlock   json.RawMessage   `json:"toBlock"`
	Address   oneOrMore         `json:"address"`
	Topics    []json.RawMessage `json:"topics"`
}

// oneOrMore is a string or a list of strings.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if one != "" {
			*o = oneOrMore{one}
		}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(o))
}

// any reports whether o contains text or is empty.
func (o oneOrMore) any(text string) bool {
	return len(o) == 0 || slices.ContainsFunc(o, func(s string) bool { return strings.EqualFold(s, text) })
}

func (n *node) logs(params []json.RawMessage) (any, error) {
	now := n.now()
	var f filter
	if err := json.Unmarshal(params[0], &f); err != nil {
		return nil, jrpc2.Errorf(jrpc2.InvalidParams, "invalid filter: %v", err)
	}
	topics := make([]oneOrMore, len(f.Topics))
	for i, raw := range f.Topics {
		if err := json.Unmarshal(raw, &topics[i]); err != nil {
			return nil, jrpc2.Errorf(jrpc2.InvalidParams, "invalid topic %d", i)
		}
	}
	first, last, err := n.span(f, now)
	if err != nil {
		return nil, err
	}
	wanted := func(l *logJSON) bool {
		if !f.Address.any(l.Address) || len(l.Topics) < len(topics) {
			return false
		}
		for i, t := range topics {
			if !t.any(l.Topics[i]) {
				return false
			}
		}
		return true
	}
	list := []*logJSON{}
	block, hash, index, firstLog := int64(-1), "", 0, 0
	for _, t := range n.chain.sent(first, last, now) {
		if t.block != block {
			block, hash, index, firstLog = t.block, n.chain.hash(t.block, n.chain.branch(t.block, now)), 0, 0
		}
		logs := n.placed(t, index, firstLog, hash)
		for _, l := range logs {
			if wanted(l) {
				list = append(list, l)
			}
		}
		index, firstLog = index+1, firstLog+len(logs)
	}
	return list, nil
}

// span returns the range of blocks of a filter.
func (n *node) span(f filter, now time.Time) (first, last int64, err error) {
	first, last = n.chain.head(now), n.chain.head(now)
	var beyond bool
	for raw, to := range map[*json.RawMessage]*int64{&f.FromBlock: &first, &f.ToBlock: &last} {
		if len(*raw) == 0 {
			continue
		}
		var past bool
		if *to, past, err = n.number(*raw, now); err != nil {
			return 0, 0, err
		}
		beyond = beyond || past
	}
	switch {
	case first > last:
		return 0, 0, jrpc2.Errorf(jrpc2.InvalidParams, "invalid block range params")
	case beyond:
		return 0, 0, jrpc2.Errorf(-32000, "block range extends beyond current head block")
	case last-first >= maxRange:
		return 0, 0, jrpc2.Errorf(codeRange, "eth_getLogs is limited to a 10,000 range")
	}
	return first, last, nil
}
