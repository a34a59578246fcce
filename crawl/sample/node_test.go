package sample

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres/ledger"
)

// chainAt starts a world with a chain. The test moves its clock; ask calls its node.
func chainAt(t *testing.T, now time.Time) (clock *atomic.Int64, ask func(method, params string, result any) string) {
	t.Helper()
	clock = &atomic.Int64{}
	clock.Store(now.UnixNano())
	w, err := Start(t.Context(), Options{Now: func() time.Time {
		return time.Unix(0, clock.Load()).UTC()
	}, Start: start, Pace: 1e-6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return clock, func(method, params string, result any) string {
		t.Helper()
		body := post(t, w.RPC(), fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params))
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  *struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal(body, &answer); err != nil || answer.ID != 7 {
			t.Fatalf("%s%s answers %.500s: %v", method, params, body, err)
		}
		if answer.Error != nil {
			return fmt.Sprintf("%d %s", answer.Error.Code, answer.Error.Message)
		}
		if err := json.Unmarshal(answer.Result, result); err != nil {
			t.Fatalf("%s%s answers %.500s: %v", method, params, body, err)
		}
		return ""
	}
}

func post(t *testing.T, url, body string) []byte {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: %d %.500s: %v", body, resp.StatusCode, got, err)
	}
	return got
}

func hexNumber(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNodeIsConsistent reads a part of the chain by every method and compares the answers.
func TestNodeIsConsistent(t *testing.T) {
	t.Parallel()
	now := start.Add(time.Hour)
	_, ask := chainAt(t, now)
	var id, text string
	ask("eth_chainId", "[]", &id)
	if id != "0x2105" {
		t.Errorf("eth_chainId %s, want that of Base", id)
	}
	ask("eth_blockNumber", "[]", &text)
	head := hexNumber(t, text)
	var newest blockJSON
	ask("eth_getBlockByNumber", `["latest",false]`, &newest)
	if age := now.Unix() - hexNumber(t, newest.Timestamp); hexNumber(t, newest.Number) != head || age < 0 || age > 2 {
		t.Errorf("latest is %s, %d s old; want %d, of now", newest.Number, age, head)
	}
	const span = 500
	parent, transactions := "", 0
	var want []*logJSON
	for n := head - span + 1; n <= head; n++ {
		var b struct {
			blockJSON
			Transactions []transactionJSON `json:"transactions"`
		}
		ask("eth_getBlockByNumber", fmt.Sprintf(`["%#x",true]`, n), &b)
		if parent != "" && b.ParentHash != parent || hexNumber(t, b.Number) != n {
			t.Fatalf("block %d: number %s, parent %s, want %s", n, b.Number, b.ParentHash, parent)
		}
		parent = b.Hash
		var events []event
		index := 0
		for _, x := range b.Transactions {
			var again transactionJSON
			var receipt receiptJSON
			ask("eth_getTransactionByHash", `["`+x.Hash+`"]`, &again)
			ask("eth_getTransactionReceipt", `["`+x.Hash+`"]`, &receipt)
			if diff := cmp.Diff(x, again); diff != "" {
				t.Errorf("transaction by hash (-want +got):\n%s", diff)
			}
			if x.BlockHash != b.Hash || receipt.BlockHash != b.Hash || receipt.TransactionHash != x.Hash ||
				len(receipt.Logs) < 2 {
				t.Errorf("block %d: transaction %+v, receipt %+v", n, x, receipt)
			}
			for _, l := range receipt.Logs {
				if hexNumber(t, l.LogIndex) != int64(index) || l.BlockHash != b.Hash ||
					l.BlockTimestamp != b.Timestamp {
					t.Errorf("block %d: log %d is %+v", n, index, l)
				}
				index++
				events = append(events, event{l.Address, l.Topics, l.Data})
				want = append(want, l)
			}
			transactions++
		}
		if b.LogsBloom != bloom(events) {
			t.Errorf("block %d: the bloom filter is not that of its logs", n)
		}
	}
	if transactions < 15 {
		t.Errorf("%d transactions in %d blocks of the demo's pace, want more", transactions, span)
	}
	var got []*logJSON
	ask("eth_getLogs", fmt.Sprintf(`[{"fromBlock":"%#x","toBlock":"latest"}]`, head-span+1), &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("eth_getLogs against the blocks' receipts (-want +got):\n%s", diff)
	}
	if len(want) == 0 {
		t.Fatal("no logs")
	}
	one := want[slices.IndexFunc(want, func(l *logJSON) bool { return l.Topics[0] == transferTopic })]
	var some []*logJSON
	for _, l := range want {
		if l.Topics[0] == transferTopic && l.Topics[2] == one.Topics[2] {
			some = append(some, l)
		}
	}
	got = nil
	ask("eth_getLogs", fmt.Sprintf(`[{"fromBlock":"%#x","toBlock":"%#x","address":[%q],"topics":[[%q],null,[%q,%q]]}]`,
		head-span+1, head, one.Address[2:], transferTopic, one.Topics[2], word(escrow)), &got)
	if len(got) != 0 {
		t.Errorf("%d logs of an address without 0x", len(got))
	}
	ask("eth_getLogs",
		fmt.Sprintf(`[{"fromBlock":"%#x","toBlock":"%#x","address":[%q,%q],"topics":[[%q],null,[%q,%q]]}]`,
			head-span+1, head, escrow, one.Address, transferTopic, one.Topics[2], word(escrow)), &got)
	if diff := cmp.Diff(some, got); diff != "" || len(some) == 0 {
		t.Errorf("logs of one recipient (-want +got):\n%s", diff)
	}
}

func TestNodeErrors(t *testing.T) {
	t.Parallel()
	_, ask := chainAt(t, start.Add(time.Minute))
	var text string
	ask("eth_blockNumber", "[]", &text)
	beyond := hexNumber(t, text) + 1
	for _, tt := range []struct{ name, method, params, want string }{
		{"a block to come", "eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, beyond), "null"},
		{"no such transaction", "eth_getTransactionByHash", `["` + topic("x") + `"]`, "null"},
		{"a number in decimal", "eth_getBlockByNumber", `["12",false]`, "-32602 invalid block number or tag"},
		{"a number", "eth_getBlockByNumber", `[12,false]`, "-32602 invalid block number or tag"},
		{"nothing", "eth_getBlockByNumber", `[]`, "-32602 missing value for required argument 0"},
		{"logs to come", "eth_getLogs", fmt.Sprintf(`[{"fromBlock":"0x0","toBlock":"%#x"}]`, beyond),
			"-32000 block range extends beyond current head block"},
		{"backwards", "eth_getLogs", `[{"fromBlock":"0x5","toBlock":"0x4"}]`, "-32602 invalid block range params"},
		{"as wide as allowed", "eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x270f","address":"` + escrow + `"}]`,
			"[]"},
		{"too wide", "eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0x2710"}]`,
			"-32614 eth_getLogs is limited to a 10,000 range"},
		{"no such method", "eth_sendRawTransaction", `["0x"]`, "-32601 method not found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got json.RawMessage
			if fault := ask(tt.method, tt.params, &got); fault != "" {
				got = json.RawMessage(fault)
			}
			if string(got) != tt.want {
				t.Errorf("%s%s: %s, want %s", tt.method, tt.params, got, tt.want)
			}
		})
	}
}

// TestNodeReorganises checks that a reorganisation replaces the newest blocks at the same height, with the same
// payments except two.
func TestNodeReorganises(t *testing.T) {
	t.Parallel()
	strikes := start.Truncate(time.Second).Add(3 * reorganised)
	clock, ask := chainAt(t, strikes)
	read := func() (head int64, hashes []string, transactions map[string]bool) {
		var text string
		ask("eth_blockNumber", "[]", &text)
		head = hexNumber(t, text)
		transactions = map[string]bool{}
		for n := head - depth - 2; n <= head; n++ {
			var b blockJSON
			ask("eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, n), &b)
			if len(hashes) > 0 && b.ParentHash != hashes[len(hashes)-1] {
				t.Errorf("block %d has the parent %s, want %s", n, b.ParentHash, hashes[len(hashes)-1])
			}
			hashes = append(hashes, b.Hash)
			for _, x := range b.Transactions {
				transactions[x.(string)] = true
			}
		}
		return head, hashes, transactions
	}
	head, hashes, transactions := read()
	clock.Store(strikes.Add(time.Second).UnixNano())
	head2, hashes2, transactions2 := read()
	if head2 != head {
		t.Fatalf("head %d, before %d: want one that is as high", head2, head)
	}
	for i := range hashes {
		if replaced := i >= len(hashes)-depth; (hashes[i] != hashes2[i]) != replaced {
			t.Errorf("block %d: %s, then %s", head-int64(len(hashes)-1-i), hashes[i], hashes2[i])
		}
	}
	var lost, added []string
	for x := range transactions {
		if !transactions2[x] {
			lost = append(lost, x)
		}
	}
	for x := range transactions2 {
		if !transactions[x] {
			added = append(added, x)
		}
	}
	if len(lost) != 1 || len(added) != 1 {
		t.Fatalf("lost %v, found %v; want one each", lost, added)
	}
	var gone json.RawMessage
	if ask("eth_getTransactionReceipt", `["`+lost[0]+`"]`, &gone); string(gone) != "null" {
		t.Errorf("a dropped transaction is still served: %s", gone)
	}
	clock.Store(strikes.Add(time.Hour).UnixNano()) // later blocks are on the new branch
	for i, want := range hashes2 {
		var b blockJSON
		ask("eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, head-int64(len(hashes2)-1-i)), &b)
		if b.Hash != want {
			t.Errorf("an hour later block %s is %s, want %s", b.Number, b.Hash, want)
		}
	}
}

// TestNodeRestarts checks that a restarted node of the same world has the same chain.
func TestNodeRestarts(t *testing.T) {
	t.Parallel()
	now := start.Add(3 * day)
	const batch = `[{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",true]},{"jsonrpc":"2.0","id":2,"method":"eth_getLogs","params":[{"fromBlock":"0x1e8480","toBlock":"0x1e9c00"}]}]`
	var answers [][]byte
	for range 2 {
		w, err := Start(t.Context(), Options{Now: func() time.Time { return now }, Start: start})
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, post(t, w.RPC(), batch))
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if !bytes.Equal(answers[0], answers[1]) || len(answers[0]) < 5000 {
		t.Errorf("two nodes answer\n%.2000s\n%.2000s", answers[0], answers[1])
	}
}

// TestPastAgreesWithNode reads the last days before the start from the node, pairs each authorisation with its
// transfer, and compares the settlements with those of Past.
func TestPastAgreesWithNode(t *testing.T) {
	t.Parallel()
	_, ask := chainAt(t, start)
	var past ledger.Range
	for _, r := range NewLedger(start).Past() {
		if r.Network == Network {
			past = ledger.Range{Last: r.Last, Hash: r.Hash, Time: r.Time,
				Settlements: append(past.Settlements, r.Settlements...)}
		}
	}
	var newest blockJSON
	ask("eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, past.Last), &newest)
	if newest.Hash != past.Hash || hexNumber(t, newest.Timestamp) != past.Time.Unix() {
		t.Errorf("the past ends with block %s of %v, the node has %s of %s", past.Hash, past.Time, newest.Hash,
			newest.Timestamp)
	}
	owner := map[string]string{}
	for _, f := range Facilitators(start) {
		for _, s := range f.Settlers {
			owner[s.Address] = f.ID
		}
	}
	first := past.Last - 100_000
	var got, want []ledger.Settlement
	for _, s := range past.Settlements {
		if s.Block >= first {
			want = append(want, s)
		}
	}
	foreign := 0
	for from := first; from <= past.Last; from += maxRange {
		var logs []*logJSON
		ask("eth_getLogs", fmt.Sprintf(`[{"fromBlock":"%#x","toBlock":"%#x"}]`, from, min(from+maxRange-1, past.Last)),
			&logs)
		for i, l := range logs {
			if l.Topics[0] != transferTopic {
				continue
			}
			s := ledger.Settlement{
				Network: Network, Block: hexNumber(t, l.BlockNumber), BlockHash: l.BlockHash,
				Time:        time.Unix(hexNumber(t, l.BlockTimestamp), 0).UTC(),
				Transaction: l.TransactionHash, LogIndex: int(hexNumber(t, l.LogIndex)), Method: "permit2",
				Token: l.Address,
				Payer: "0x" + l.Topics[1][26:], Payee: "0x" + l.Topics[2][26:],
				Amount: strconv.FormatInt(hexNumber(t, strings.TrimLeft(l.Data[2:], "0")), 10),
			}
			if i > 0 && logs[i-1].Topics[0] == authorizationTopic && logs[i-1].TransactionHash == l.TransactionHash {
				s.Method = "eip3009"
			}
			if i+1 < len(logs) && logs[i+1].Topics[0] == redeemedTopic {
				s.Method = "batch"
			}
			var x transactionJSON
			ask("eth_getTransactionByHash", `["`+l.TransactionHash+`"]`, &x)
			s.Settler, s.Facilitator = x.From, owner[x.From]
			if s.Facilitator == "" {
				foreign++
				continue
			}
			got = append(got, s)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 300 {
		t.Errorf("%d settlements; the past against the node (-want +got):\n%.3000s", len(want), diff)
	}
	if foreign < 20 {
		t.Errorf("%d settlements by an unlisted account, want some", foreign)
	}
}
