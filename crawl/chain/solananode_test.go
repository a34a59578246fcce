package chain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"golang.org/x/tools/txtar"

	"tollbook/crawl/chain"
)

const (
	solanaID      = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	solanaGenesis = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKQ1WnZVmgqaC" // CAIP-2 has room for 32 characters of it
	usdcMint      = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
	ausdMint      = "AUSD1jCcCyPLybk1YnvPWsHQSrZ46dxwoMniN4N2UEB9"
)

// solanaNode replays answers of getTransaction, and answers about them as a Solana node does: in particular, one that does
// not know the signature to go on from answers an empty page, and one that does not know where to end goes on to the end
// of what it has. Tests spoil single answers.
type solanaNode struct {
	*httptest.Server
	mu      sync.Mutex
	entries []solanaEntry // newest first
	byName  map[string]int
	pruned  int // of the oldest entries, how many the node has forgotten
	calls   []solanaCall
	spoil   func(c *solanaCall) // changes an answer before it is sent
	before  http.HandlerFunc    // answers a whole request in the node's place, when it writes anything
}

// solanaEntry is a transaction and the accounts that it names.
type solanaEntry struct {
	signature string
	slot      int64
	time      int64
	err       json.RawMessage
	accounts  []string
	result    json.RawMessage
}

// solanaCall is one request and its answer.
type solanaCall struct {
	Method string
	Params []json.RawMessage
	ID     json.RawMessage
	result any
	fault  any // the error member
	drop   bool
}

// options are the parameters that a call names.
func (c *solanaCall) options() (o struct {
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

// newSolanaNode starts a node that has entries, given oldest first.
func newSolanaNode(t *testing.T, entries []solanaEntry) *solanaNode {
	t.Helper()
	n := &solanaNode{byName: map[string]int{}}
	n.entries = slices.Clone(entries)
	slices.Reverse(n.entries)
	n.Server = httptest.NewServer(http.HandlerFunc(n.serve))
	t.Cleanup(n.Close)
	return n
}

func (n *solanaNode) serve(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.before != nil {
		told := &tellingWriter{ResponseWriter: w}
		if n.before(told, r); told.written {
			return
		}
	}
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var calls []solanaCall
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
		n.answer(c)
		n.calls = append(n.calls, *c)
		if n.spoil != nil {
			n.spoil(c)
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": c.ID, "result": c.result}
		if c.fault != nil {
			answer["error"] = c.fault
			delete(answer, "result")
		}
		if !c.drop {
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

type tellingWriter struct {
	http.ResponseWriter
	written bool
}

func (w *tellingWriter) WriteHeader(status int) {
	w.written = true
	w.ResponseWriter.WriteHeader(status)
}
func (w *tellingWriter) Write(b []byte) (int, error) {
	w.written = true
	return w.ResponseWriter.Write(b)
}

func (n *solanaNode) answer(c *solanaCall) {
	has := n.entries[:len(n.entries)-n.pruned]
	find := func(signature string) int {
		return slices.IndexFunc(has, func(e solanaEntry) bool { return e.signature == signature })
	}
	var text string
	if len(c.Params) > 0 {
		_ = json.Unmarshal(c.Params[0], &text)
	}
	switch c.Method {
	case "getGenesisHash":
		c.result = solanaGenesis
	case "getSlot":
		c.result = n.head()
	case "getBlockTime":
		c.result = solanaStart.Unix() + 1_000_000
	case "getTransaction":
		if o := c.options(); o.Encoding != "jsonParsed" || o.Commitment != "finalized" {
			c.fault = map[string]any{"code": -32602, "message": "asked in another form"}
		} else if i := find(text); i >= 0 {
			c.result = has[i].result
		}
	case "getSignatureStatuses":
		var list []string
		_ = json.Unmarshal(c.Params[0], &list)
		values := make([]any, len(list))
		for i, s := range list {
			if at := find(s); at >= 0 && c.options().SearchTransactionHistory {
				values[i] = map[string]any{"slot": has[at].slot, "confirmations": nil, "err": has[at].err, "status": map[string]any{"Ok": nil}, "confirmationStatus": "finalized"}
			}
		}
		c.result = map[string]any{"context": map[string]any{"slot": n.head(), "apiVersion": "2.1.9"}, "value": values}
	case "getSignaturesForAddress":
		o := c.options()
		if o.MinContextSlot > n.head() {
			c.fault = map[string]any{"code": -32016, "message": "Minimum context slot has not been reached", "data": map[string]any{"contextSlot": n.head()}}
			return
		}
		from := 0
		if o.Before != "" {
			from = find(o.Before) + 1
			if from == 0 {
				c.result = []any{}
				return
			}
		}
		page := []any{}
		for _, e := range has[from:] {
			if e.signature == o.Until || len(page) == o.Limit {
				break
			}
			if slices.Contains(e.accounts, text) {
				page = append(page, map[string]any{"signature": e.signature, "slot": e.slot, "blockTime": e.time, "err": e.err, "memo": nil, "confirmationStatus": "finalized"})
			}
		}
		c.result = page
	default:
		c.fault = map[string]any{"code": -32601, "message": "Method not found"}
	}
}

func (n *solanaNode) head() int64 {
	if len(n.entries) == 0 {
		return 1
	}
	return n.entries[0].slot + 32
}

// count is the number of calls of a method so far.
func (n *solanaNode) count(method string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.calls {
		if c.Method == method {
			count++
		}
	}
	return count
}

// set changes the node while nobody asks.
func (n *solanaNode) set(f func(*solanaNode)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n)
}

var solanaStart = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// recordedSolana are the transactions of testdata/solana.txtar, oldest first, the names of files by signature, and of
// accounts by address.
func recordedSolana(t *testing.T) (entries []solanaEntry, files map[string]string, names map[string]string) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/solana.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files, names = map[string]string{}, map[string]string{}
	for _, f := range archive.Files {
		if f.Name == "names.json" {
			byName := map[string]string{}
			if err := json.Unmarshal(f.Data, &byName); err != nil {
				t.Fatal(err)
			}
			for name, address := range byName {
				names[address] = name
			}
			continue
		}
		e := solanaEntryOf(t, f.Data)
		entries, files[e.signature] = append(entries, e), f.Name[:len(f.Name)-len(".json")]
	}
	return entries, files, names
}

func solanaEntryOf(t *testing.T, result []byte) solanaEntry {
	t.Helper()
	var v struct {
		Slot, BlockTime int64
		Meta            struct{ Err json.RawMessage }
		Transaction     struct {
			Signatures []string
			Message    struct{ AccountKeys []struct{ Pubkey string } }
		}
	}
	if err := json.Unmarshal(result, &v); err != nil {
		t.Fatal(err)
	}
	e := solanaEntry{signature: v.Transaction.Signatures[0], slot: v.Slot, time: v.BlockTime, err: v.Meta.Err, result: result}
	for _, k := range v.Transaction.Message.AccountKeys {
		e.accounts = append(e.accounts, k.Pubkey)
	}
	return e
}

// solanaHistory is n transactions of one settler, oldest first, each of one transfer whose amount is its number. Every
// fifth has failed; two follow each other in a slot.
func solanaHistory(n int) (entries []solanaEntry, settler string) {
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
		e := solanaEntry{signature: base58.Encode(b), slot: 400_000_000 + int64(i/2), time: solanaStart.Unix() + int64(i*60), err: json.RawMessage("null"), accounts: []string{settler}}
		if i%5 == 0 {
			e.err = json.RawMessage(`{"InstructionError":[0,{"Custom":1}]}`)
		}
		e.result = json.RawMessage(fmt.Sprintf(`{"blockTime":%d,"slot":%d,"version":0,"meta":{"err":%s,"innerInstructions":[],
			"preTokenBalances":[{"accountIndex":2,"mint":%[4]q,"owner":%[5]q}],"postTokenBalances":[{"accountIndex":3,"mint":%[4]q,"owner":%[6]q}]},
			"transaction":{"signatures":[%[7]q],"message":{"accountKeys":[{"pubkey":%[8]q,"signer":true},{"pubkey":%[5]q,"signer":true},{"pubkey":%[9]q},{"pubkey":%[10]q}],
			"instructions":[{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","parsed":{"type":"transferChecked","info":
			{"authority":%[5]q,"source":%[9]q,"destination":%[10]q,"mint":%[4]q,"tokenAmount":{"amount":"%[11]d"}}}}]}}}`,
			e.time, e.slot, e.err, usdcMint, payer, payee, e.signature, settler, from, to, i))
		entries = append(entries, e)
	}
	return entries, settler
}

// walkStore keeps walks and settlements as a Store promises: a commit is refused unless the walk is as it was, and a
// settlement is kept once.
type walkStore struct {
	chain.Store
	mu          sync.Mutex
	walks       map[string]chain.Walk
	settlements map[string]chain.Settlement
	commits     []chain.Walk
	head        chain.Head
	refuse      func(is chain.Walk) error // before a commit
}

func newWalkStore(settlers ...chain.ScanSettler) *walkStore {
	s := &walkStore{walks: map[string]chain.Walk{}, settlements: map[string]chain.Settlement{}}
	for _, settler := range settlers {
		s.walks[settler.Address] = chain.Walk{Settler: settler}
	}
	return s
}

func (s *walkStore) LockIndex(context.Context, string) (func(), bool, error) {
	return func() {}, true, nil
}

func (s *walkStore) SetHead(_ context.Context, h chain.Head) error { s.head = h; return nil }

func (s *walkStore) Walks(context.Context, string) (list []chain.Walk, err error) {
	for _, address := range slices.Sorted(maps.Keys(s.walks)) {
		list = append(list, s.walks[address])
	}
	return list, nil
}

func (s *walkStore) CommitWalk(ctx context.Context, _ string, was, is chain.Walk, list []chain.Settlement) (fresh int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.refuse != nil {
		if err := s.refuse(is); err != nil {
			return 0, err
		}
	}
	if !reflect.DeepEqual(s.walks[was.Settler.Address], was) {
		return 0, chain.ErrMoved
	}
	for _, x := range list {
		key := fmt.Sprintf("%s/%05d", x.Transaction, x.LogIndex)
		if _, kept := s.settlements[key]; !kept {
			s.settlements[key] = x
			fresh++
		}
	}
	s.walks[is.Settler.Address] = is
	s.commits = append(s.commits, is)
	return fresh, nil
}

// amounts are the amounts of what is kept, ascending as numbers: solanaHistory numbers them.
func (s *walkStore) amounts() (list []int) {
	for _, x := range s.settlements {
		var n int
		_, _ = fmt.Sscan(x.Amount, &n)
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}
