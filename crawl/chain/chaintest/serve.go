package chaintest

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// Call is one request.
type Call struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// Error is the error member of an answer.
type Error struct {
	Code    int
	Message string
}

func (e *Error) Error() string { return e.Message }

// ServeHTTP answers a request or a batch.
func (c *Chain) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	calls, batch, err := Decode(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	spare := buffers.Get().(*[]byte)
	defer buffers.Put(spare)
	*spare = c.AppendAnswers((*spare)[:0], calls, batch)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(*spare)))
	_, _ = w.Write(*spare) // an error means that the client has gone
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// Decode decodes a request or a batch.
func Decode(body []byte) (calls []Call, batch bool, err error) {
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		err = json.Unmarshal(body, &calls)
		return calls, true, err
	}
	calls = make([]Call, 1)
	err = json.Unmarshal(body, &calls[0])
	return calls, false, err
}

// AppendAnswers answers calls in their order.
func (c *Chain) AppendAnswers(b []byte, calls []Call, batch bool) []byte {
	if batch {
		b = append(b, '[')
	}
	for i, call := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"jsonrpc":"2.0","id":`...)
		b = append(b, call.ID...)
		from := len(b)
		b = append(b, `,"result":`...)
		var err *Error
		if b, err = c.Answer(b, call); err != nil {
			b = fmt.Appendf(b[:from], `,"error":{"code":%d,"message":%q}`, err.Code, err.Message)
		}
		b = append(b, '}')
	}
	if batch {
		b = append(b, ']')
	}
	return b
}

// Answer appends the result of one call.
func (c *Chain) Answer(b []byte, call Call) ([]byte, *Error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	param := func(i int) (s string) {
		if i < len(call.Params) {
			_ = json.Unmarshal(call.Params[i], &s) // a parameter of another type counts as ""
		}
		return s
	}
	switch call.Method {
	case "eth_chainId":
		return appendQuantity(b, c.ID), nil
	case "eth_blockNumber":
		return appendQuantity(b, int64(len(c.blocks))-1), nil
	case "eth_getBlockByNumber":
		number, err := c.number(param(0))
		if err != nil {
			return b, err
		}
		whole := len(call.Params) > 1 && string(call.Params[1]) == "true"
		return appendBlock(b, c.at(number), whole), nil
	case "eth_getTransactionByHash":
		p, block := c.find(param(0))
		if block == nil {
			return append(b, "null"...), nil
		}
		return appendTx(b, block, p.index), nil
	case "eth_getTransactionReceipt":
		p, block := c.find(param(0))
		if block == nil {
			return append(b, "null"...), nil
		}
		return appendReceipt(b, block, p.index), nil
	case "eth_getLogs":
		if len(call.Params) != 1 {
			return b, &Error{-32602, "missing value for required argument 0"}
		}
		return c.logs(b, call.Params[0])
	}
	return b, &Error{-32601, "the method " + call.Method + " does not exist/is not available"}
}

func (c *Chain) number(tag string) (int64, *Error) {
	newest := int64(len(c.blocks)) - 1
	switch tag {
	case "latest", "pending":
		return newest, nil
	case "earliest":
		return 0, nil
	case "finalized", "safe":
		if c.Finality < 0 {
			return 0, &Error{-39001, tag + " block not found"}
		}
		return max(0, newest-c.Finality), nil
	}
	n, err := strconv.ParseInt(tag, 0, 64)
	if err != nil {
		return 0, &Error{-32602, fmt.Sprintf("invalid argument 0: %q is not a block", tag)}
	}
	return n, nil
}

func (c *Chain) find(text string) (position, *Block) {
	raw, err := hex.DecodeString(text[min(2, len(text)):])
	if err != nil || len(raw) != 32 {
		return position{}, nil
	}
	p, ok := c.positions[Hash(raw)]
	if !ok {
		return p, nil
	}
	return p, c.blocks[p.block]
}

// Filter is the parameter of eth_getLogs.
type Filter struct {
	FromBlock, ToBlock string
	BlockHash          string
	Address            oneOrMore
	Topics             []oneOrMore
}

// oneOrMore is a string, a list of strings, or null for any.
type oneOrMore []string

func (o *oneOrMore) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(o))
	}
	var one *string
	if err := json.Unmarshal(data, &one); err != nil || one == nil {
		return err
	}
	*o = oneOrMore{*one}
	return nil
}

func (c *Chain) logs(b []byte, raw json.RawMessage) ([]byte, *Error) {
	var f Filter
	if err := json.Unmarshal(raw, &f); err != nil {
		return b, &Error{-32602, err.Error()}
	}
	first, err := c.number(f.FromBlock)
	if err != nil {
		return b, err
	}
	last, err := c.number(f.ToBlock)
	if err != nil {
		return b, err
	}
	if last >= int64(len(c.blocks)) {
		return b, &Error{-32602, "block range extends beyond current head block"}
	}
	var contracts []Address
	for _, text := range f.Address {
		raw, _ := hex.DecodeString(text[min(2, len(text)):])
		if len(raw) != 20 {
			return b, &Error{-32602, "invalid address"}
		}
		contracts = append(contracts, Address(raw))
	}
	topics := make([][]Hash, len(f.Topics))
	for i, list := range f.Topics {
		for _, text := range list {
			raw, _ := hex.DecodeString(text[min(2, len(text)):])
			if len(raw) != 32 {
				return b, &Error{-32602, "invalid topic"}
			}
			topics[i] = append(topics[i], Hash(raw))
		}
	}
	b = append(b, '[')
	empty := len(b)
	for n := max(first, 0); n <= last; n++ {
		block, index := c.blocks[n], 0
		for t := range block.Txs {
			for l := range block.Txs[t].Logs {
				if matches(&block.Txs[t].Logs[l], contracts, topics) {
					if len(b) > empty {
						b = append(b, ',')
					}
					if block.json != nil {
						b = append(b, block.json.logs[index]...)
					} else {
						b = appendLog(b, block, t, l, index)
					}
				}
				index++
			}
		}
	}
	return append(b, ']'), nil
}

func matches(l *Log, contracts []Address, topics [][]Hash) bool {
	if len(contracts) > 0 && !slices.Contains(contracts, l.Contract) || len(topics) > len(l.Topics) {
		return false
	}
	for i, any := range topics {
		if len(any) > 0 && !slices.Contains(any, l.Topics[i]) {
			return false
		}
	}
	return true
}

// Constants that clients expect in a block, a transaction and a receipt, but that no reader here uses.
const (
	zero32     = `"0x0000000000000000000000000000000000000000000000000000000000000000"`
	emptyRoot  = `"0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"`
	emptyUncle = `"0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"`
	blockRest  = `,"nonce":"0x0000000000000000","sha3Uncles":` + emptyUncle + `,"transactionsRoot":` + emptyRoot +
		`,"stateRoot":` + emptyRoot + `,"receiptsRoot":` + emptyRoot +
		`,"miner":"0x4200000000000000000000000000000000000011","difficulty":"0x0","totalDifficulty":"0x0",` +
		`"extraData":"0x","size":"0x1000","gasLimit":"0x11e1a300","gasUsed":"0x5208",` +
		`"baseFeePerGas":"0x7","mixHash":` + zero32 + `,"uncles":[]`
	txRest = `,"type":"0x2","value":"0x0","gas":"0x186a0","gasPrice":"0xf4240","maxFeePerGas":"0xf4240",` +
		`"maxPriorityFeePerGas":"0xf4240","accessList":[],` +
		`"v":"0x1","r":` + zero32 + `,"s":` + zero32 + `,"yParity":"0x1"}`
)
