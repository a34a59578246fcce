package chaintest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mr-tron/base58"
)

// Constants of the Solana node.
const (
	SolanaID      = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	SolanaGenesis = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKQ1WnZVmgqaC" // a CAIP-2 id has its first 32 characters
	SolanaUSDC    = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

// SolanaStart is a minute before the first transaction of SolanaHistory.
var SolanaStart = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// Solana replays recorded answers of getTransaction and derives the other answers from them, as a node does. In
// particular, if it does not know the signature to continue from, it answers with an empty page. If it does not know
// the signature to end at, it continues to its oldest transaction. Tests can change single answers.
type Solana struct {
	Pruned int                 // number of oldest transactions that the node no longer has
	Lag    int64               // newest slots that it does not have yet
	Spoil  func(c *SolanaCall) // changes an answer before it is sent
	// Accounts are the answers of getMultipleAccounts by address: an object as nodes write it.
	Accounts map[string]any
	Before   http.HandlerFunc // answers a whole request instead of the node, if it writes anything

	mu     sync.Mutex // guards all fields
	newest []SolanaTransaction
	calls  []SolanaCall
}

// SolanaTransaction is a transaction with the accounts in it.
type SolanaTransaction struct {
	Signature string
	Slot      int64
	Time      int64 // seconds since 1970
	Err       json.RawMessage
	Accounts  []string
	Result    json.RawMessage // of getTransaction
}

// SolanaCall is one request and its answer.
type SolanaCall struct {
	Method string
	Params []json.RawMessage
	ID     json.RawMessage
	Result any
	Fault  any  // the error member
	Drop   bool // whether to send no answer
}

// options decodes the options of a call.
func (c *SolanaCall) options() (o struct {
	Before, Until            string
	Limit                    int
	MinContextSlot           int64
	Commitment               string
	Encoding                 string
	SearchTransactionHistory bool
}) {
	if len(c.Params) > 1 {
		_ = json.Unmarshal(c.Params[1], &o)
	}
	return o
}

// NewSolana returns a node with transactions, oldest first.
func NewSolana(transactions []SolanaTransaction) *Solana {
	n := &Solana{}
	n.Grow(transactions)
	return n
}

// Grow replaces the node's transactions, oldest first, and clears the list of calls.
func (n *Solana) Grow(transactions []SolanaTransaction) {
	newest := slices.Clone(transactions)
	slices.Reverse(newest)
	n.Set(func(n *Solana) { n.newest, n.calls = newest, nil })
}

// ServeHTTP answers a request or a batch.
func (n *Solana) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.Before != nil {
		recorder := &recordingWriter{ResponseWriter: w}
		if n.Before(recorder, r); recorder.written {
			return
		}
	}
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var calls []SolanaCall
	batch := body[0] == '['
	if !batch {
		body = append(append([]byte{'['}, body...), ']')
	}
	if err := json.Unmarshal(body, &calls); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answers := []any{}
	for i := range calls {
		c := &calls[i]
		n.Answer(c)
		n.calls = append(n.calls, *c)
		if n.Spoil != nil {
			n.Spoil(c)
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": c.Result}
		if c.Fault != nil {
			answer["error"] = c.Fault
			delete(answer, "result")
		}
		if !c.Drop {
			answers = append(answers, answer)
		}
	}
	slices.Reverse(answers) // a batch may be answered in any order
	if !batch && len(answers) == 1 {
		_ = json.NewEncoder(w).Encode(answers[0])
		return
	}
	_ = json.NewEncoder(w).Encode(answers)
}

type recordingWriter struct {
	http.ResponseWriter
	written bool
}

func (w *recordingWriter) WriteHeader(status int) {
	w.written = true
	w.ResponseWriter.WriteHeader(status)
}
func (w *recordingWriter) Write(b []byte) (int, error) {
	w.written = true
	return w.ResponseWriter.Write(b)
}

// Answer sets the answer to a call. It is for Spoil; the node must not be in use.
func (n *Solana) Answer(c *SolanaCall) {
	has := n.newest[:len(n.newest)-n.Pruned]
	for len(has) > 0 && has[0].Slot > n.head() {
		has = has[1:]
	}
	find := func(signature string) int {
		return slices.IndexFunc(has, func(e SolanaTransaction) bool { return e.Signature == signature })
	}
	var text string
	if len(c.Params) > 0 {
		_ = json.Unmarshal(c.Params[0], &text)
	}
	switch c.Method {
	case "getGenesisHash":
		c.Result = SolanaGenesis
	case "getMultipleAccounts":
		var list []string
		_ = json.Unmarshal(c.Params[0], &list)
		values := make([]any, len(list))
		for i, address := range list {
			values[i] = n.Accounts[address]
		}
		c.Result = map[string]any{"context": map[string]any{"slot": n.head()}, "value": values}
	case "getSlot":
		c.Result = n.head()
	case "getFirstAvailableBlock":
		c.Result = int64(0)
		if n.Pruned > 0 {
			c.Result = has[len(has)-1].Slot
		}
	case "getBlockTime":
		var slot int64
		_ = json.Unmarshal(c.Params[0], &slot)
		if i := slices.IndexFunc(has, func(e SolanaTransaction) bool { return e.Slot == slot }); i >= 0 {
			c.Result = has[i].Time
		} else if slot <= n.head() && len(has) > 0 && slot > has[0].Slot {
			c.Result = has[0].Time + slot - has[0].Slot
		} else if slot == n.head() {
			c.Result = SolanaStart.Unix() + 1_000_000
		}
	case "getTransaction":
		if o := c.options(); o.Encoding != "jsonParsed" || o.Commitment != "finalized" {
			c.Fault = map[string]any{"code": -32602, "message": "unexpected encoding or commitment"}
		} else if i := find(text); i >= 0 {
			c.Result = has[i].Result
		}
	case "getSignatureStatuses":
		var list []string
		_ = json.Unmarshal(c.Params[0], &list)
		values := make([]any, len(list))
		for i, s := range list {
			if at := find(s); at >= 0 && c.options().SearchTransactionHistory {
				values[i] = map[string]any{"slot": has[at].Slot, "confirmations": nil, "err": has[at].Err,
					"status": map[string]any{"Ok": nil}, "confirmationStatus": "finalized"}
			}
		}
		c.Result = map[string]any{"context": map[string]any{"slot": n.head(), "apiVersion": "2.1.9"}, "value": values}
	case "getSignaturesForAddress":
		o := c.options()
		if o.MinContextSlot > n.head() {
			c.Fault = map[string]any{"code": -32016, "message": "Minimum context slot has not been reached",
				"data": map[string]any{"contextSlot": n.head()}}
			return
		}
		from := 0
		if o.Before != "" {
			from = find(o.Before) + 1
			if from == 0 {
				c.Result = []any{}
				return
			}
		}
		page := []any{}
		for _, e := range has[from:] {
			if e.Signature == o.Until || len(page) == o.Limit {
				break
			}
			if slices.Contains(e.Accounts, text) {
				page = append(page, map[string]any{"signature": e.Signature, "slot": e.Slot, "blockTime": e.Time,
					"err": e.Err, "memo": nil, "confirmationStatus": "finalized"})
			}
		}
		c.Result = page
	default:
		c.Fault = map[string]any{"code": -32601, "message": "Method not found"}
	}
}

func (n *Solana) head() int64 {
	if len(n.newest) == 0 {
		return 1
	}
	return n.newest[0].Slot + 32 - n.Lag
}

// Count returns the number of calls of a method so far.
func (n *Solana) Count(method string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if c.Method == method {
			count++
		}
	}
	return count
}

// Set changes the node while it answers no request.
func (n *Solana) Set(f func(*Solana)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n)
}

// ReadSolana reads a recorded answer of getTransaction.
func ReadSolana(result []byte) (SolanaTransaction, error) {
	var v struct {
		Slot, BlockTime int64
		Meta            struct{ Err json.RawMessage }
		Transaction     struct {
			Signatures []string
			Message    struct{ AccountKeys []struct{ Pubkey string } }
		}
	}
	if err := json.Unmarshal(result, &v); err != nil {
		return SolanaTransaction{}, fmt.Errorf("read a recorded transaction: %w", err)
	}
	e := SolanaTransaction{Signature: v.Transaction.Signatures[0], Slot: v.Slot, Time: v.BlockTime, Err: v.Meta.Err,
		Result: result}
	for _, k := range v.Transaction.Message.AccountKeys {
		e.Accounts = append(e.Accounts, k.Pubkey)
	}
	return e, nil
}

// SolanaHistory returns n transactions, oldest first, whose fees one account pays. Each has one transfer; the amount is
// the transaction's number. Every fifth has failed, and two are in each slot.
func SolanaHistory(n int) (list []SolanaTransaction, settler string) {
	address := func(kind, number int) string {
		b := make([]byte, 32)
		b[0], b[1], b[30], b[31] = byte(kind), 1, byte(number>>8), byte(number)
		return base58.Encode(b)
	}
	settler = address(1, 0)
	payer, payee, from, to := address(2, 0), address(3, 0), address(4, 0), address(5, 0)
	for i := 1; i <= n; i++ {
		b := make([]byte, 64)
		b[0], b[61], b[62], b[63] = 7, byte(i>>16), byte(i>>8), byte(i)
		e := SolanaTransaction{Signature: base58.Encode(b), Slot: 400_000_000 + int64(i/2),
			Time: SolanaStart.Unix() + int64(i*60), Err: json.RawMessage("null"), Accounts: []string{settler}}
		if i%5 == 0 {
			e.Err = json.RawMessage(`{"InstructionError":[0,{"Custom":1}]}`)
		}
		e.Result = json.RawMessage(
			fmt.Sprintf(`{"blockTime":%d,"slot":%d,"version":0,"meta":{"err":%s,"innerInstructions":[],
			"preTokenBalances":[{"accountIndex":2,"mint":%[4]q,"owner":%[5]q}],
			"postTokenBalances":[{"accountIndex":3,"mint":%[4]q,"owner":%[6]q}]},
			"transaction":{"signatures":[%[7]q],"message":{"accountKeys":[{"pubkey":%[8]q,"signer":true},
			{"pubkey":%[5]q,"signer":true},{"pubkey":%[9]q},{"pubkey":%[10]q}],
			"instructions":[{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
			"parsed":{"type":"transferChecked","info":{"authority":%[5]q,"source":%[9]q,"destination":%[10]q,
			"mint":%[4]q,"tokenAmount":{"amount":"%[11]d"}}}}]}}}`,
				e.Time, e.Slot, e.Err, SolanaUSDC, payer, payee, e.Signature, settler, from, to, i))
		list = append(list, e)
	}
	return list, settler
}
