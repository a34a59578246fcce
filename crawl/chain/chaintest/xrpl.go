package chaintest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Constants of the node of the XRP Ledger.
const (
	XRPLID    = "xrpl:0"
	XRPLTag   = 804681468
	XRPLRLUSD = "524C555344000000000000000000000000000000.rMxCKbEDwqr76QuheSUMdEGf4B9xJ8m5De"
)

// XRPLRecipients are the two accounts that XRPLHistory pays.
var XRPLRecipients = []string{"rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh", "rPT1Sjq2YGrBMTttX4GZHjKu9dyfzbpAYe"}

// XRPLStart is the time of the ledger before the first one of XRPLHistory.
var XRPLStart = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

const xrplFirst = 100_000_000 // ledger of XRPLStart

// XRPL answers as a node of the XRP Ledger does, from rows in the form of account_tx: server_info, ledger, account_tx.
// Tests can change single results.
type XRPL struct {
	First int64 // first ledger that the node has
	Lag   int64 // newest ledgers that it does not have yet
	// Spoil changes a result before it is sent; it returns the status of HTTP, 0 for 200.
	Spoil func(method string, params, result map[string]any) (status int)

	// Flags and Lines are what account_info and account_lines answer about the accounts that exist.
	Flags map[string]int64
	Lines map[string][]any

	mu    sync.Mutex // guards all fields
	rows  []map[string]any
	calls []string
}

// NewXRPL returns a node with rows of transactions, oldest first.
func NewXRPL(rows []map[string]any) *XRPL {
	n := &XRPL{First: 32_570}
	n.Grow(rows)
	return n
}

// Grow replaces the node's transactions, oldest first, and clears the list of calls.
func (n *XRPL) Grow(rows []map[string]any) {
	n.Set(func(n *XRPL) { n.rows, n.calls = slices.Clone(rows), nil })
}

// Set changes the node while it answers no request.
func (n *XRPL) Set(f func(*XRPL)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n)
}

// Calls returns the requests so far: each method, with the account and ledgers of account_tx.
func (n *XRPL) Calls() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.calls)
}

// ServeHTTP answers a POST. Like real nodes it repeats no id.
func (n *XRPL) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var call struct {
		Method string
		Params []map[string]any
	}
	err := json.NewDecoder(r.Body).Decode(&call)
	if err != nil || len(call.Params) != 1 || r.Method != http.MethodPost {
		http.Error(w, "want one call with one object of parameters", http.StatusBadRequest)
		return
	}
	params := call.Params[0]
	if params["api_version"] != 2.0 {
		panic(fmt.Sprintf("want version 2 of the API: %v", params))
	}
	name := call.Method
	if account, ok := params["account"]; ok && params["ledger_index_min"] != nil {
		name += fmt.Sprintf(" %s %.0f %.0f", account, params["ledger_index_min"], params["ledger_index_max"])
	}
	n.calls = append(n.calls, name)
	result := n.answer(call.Method, params)
	if result["error"] == nil {
		result["status"] = "success"
	} else {
		result["status"] = "error"
	}
	status := http.StatusOK
	if n.Spoil != nil {
		if changed := n.Spoil(call.Method, params, result); changed != 0 {
			status = changed
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"result": result})
}

// latest returns the newest ledger: that of the newest transaction, if the node has all.
func (n *XRPL) latest() int64 {
	newest := int64(xrplFirst)
	if len(n.rows) > 0 {
		newest = n.rows[len(n.rows)-1]["ledger_index"].(int64)
	}
	return newest - n.Lag
}

// xrplTime returns the time of a ledger: one every 4 seconds.
func xrplTime(ledger int64) time.Time {
	return XRPLStart.Add(time.Duration(ledger-xrplFirst) * 4 * time.Second)
}

func (n *XRPL) answer(method string, params map[string]any) map[string]any {
	switch method {
	case "server_info":
		return map[string]any{"info": map[string]any{"network_id": 0,
			"complete_ledgers": fmt.Sprintf("%d-%d", n.First, n.latest())}}
	case "ledger":
		number := n.latest()
		if index, ok := params["ledger_index"].(float64); ok {
			number = int64(index)
		}
		if number < n.First || number > n.latest() {
			return map[string]any{"error": "lgrNotFound"}
		}
		closed := xrplTime(number).Unix() - time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		return map[string]any{"ledger_index": number, "validated": true, "ledger": map[string]any{"close_time": closed}}
	case "account_info", "account_lines":
		account := params["account"].(string)
		flags, ok := n.Flags[account]
		if !ok {
			return map[string]any{"error": "actNotFound"}
		}
		if method == "account_info" {
			return map[string]any{"account_data": map[string]any{"Account": account, "Flags": flags},
				"ledger_index": n.latest(), "validated": true}
		}
		return map[string]any{"account": account, "lines": append([]any{}, n.Lines[account]...), "validated": true}
	case "account_tx":
		return n.transactions(params)
	}
	return map[string]any{"error": "unknownCmd"}
}

func (n *XRPL) transactions(params map[string]any) map[string]any {
	account := params["account"]
	first := max(int64(params["ledger_index_min"].(float64)), n.First)
	last := min(int64(params["ledger_index_max"].(float64)), n.latest())
	limit := int(params["limit"].(float64))
	after := int64(-1)
	if marker, ok := params["marker"].(map[string]any); ok {
		after = int64(marker["seq"].(float64))
	}
	exists, page := false, []any{}
	var marker any
	for i, row := range n.rows {
		fields := row["tx_json"].(map[string]any)
		if fields["Account"] != account && fields["Destination"] != account {
			continue
		}
		exists = true
		if number := row["ledger_index"].(int64); number < first || number > last || int64(i) <= after {
			continue
		}
		if len(page) == limit {
			marker = map[string]any{"ledger": page[limit-1].(map[string]any)["ledger_index"], "seq": i - 1}
			break
		}
		page = append(page, row)
	}
	if !exists {
		return map[string]any{"error": "actNotFound"}
	}
	answer := map[string]any{"account": account, "ledger_index_min": first, "ledger_index_max": last, "validated": true,
		"limit": limit, "transactions": page}
	if marker != nil {
		answer["marker"] = marker
	}
	return answer
}

// XRPLPayment returns a row of account_tx: a payment of RLUSD with the tag.
func XRPLPayment(number int, payer, payee, value string) map[string]any {
	currency, issuer, _ := strings.Cut(XRPLRLUSD, ".")
	amount := map[string]any{"currency": currency, "issuer": issuer, "value": value}
	ledger := int64(xrplFirst + 1 + number/2)
	return map[string]any{
		"hash": fmt.Sprintf("%X", sha256.Sum256(fmt.Appendf(nil, "payment %d", number))), "ledger_index": ledger,
		"close_time_iso": xrplTime(ledger).Format(time.RFC3339), "validated": true,
		"tx_json": map[string]any{"TransactionType": "Payment", "Account": payer, "Destination": payee,
			"SourceTag": XRPLTag, "DeliverMax": amount, "Fee": "12", "Sequence": number},
		"meta": map[string]any{"TransactionResult": "tesSUCCESS", "TransactionIndex": number % 2,
			"delivered_amount": amount},
	}
}

// XRPLHistory returns n payments, oldest first, to both recipients in turn. The amount is the payment's number in
// thousandths of RLUSD. Every fifth has failed, and two are in each ledger.
func XRPLHistory(n int) (rows []map[string]any) {
	for i := 1; i <= n; i++ {
		row := XRPLPayment(i, "r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59", XRPLRecipients[i%2],
			fmt.Sprintf("%d.%03d", i/1000, i%1000))
		if i%5 == 0 {
			row["meta"].(map[string]any)["TransactionResult"] = "tecPATH_DRY"
		}
		rows = append(rows, row)
	}
	return rows
}
