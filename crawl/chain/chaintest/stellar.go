package chaintest

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Constants of the Horizon server.
const (
	StellarID         = "stellar:pubnet"
	StellarUSDC       = "CCW67TSZV3SSS2HXMBQ5JFGCKJNXKZM7UQUWUZPUTHXSTZLEO7SJMI75" // the contract
	StellarPassphrase = "Public Global Stellar Network ; September 2015"
)

// StellarStart is the time of the ledger before the first one of StellarHistory.
var StellarStart = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

const stellarFirst = 61_000_000 // ledger of StellarStart

// Stellar answers as a Horizon server does, from rows of transactions: its root, ledgers, and the transactions of an
// account in ascending order. Tests can change single answers.
type Stellar struct {
	Elder int64 // first ledger that the server has
	Lag   int64 // newest ledgers that it does not have yet
	// Spoil changes an answer before it is sent; it returns the status.
	Spoil func(path string, query url.Values, answer map[string]any) (status int)

	// Accounts are the answers about accounts by address: an object as Horizon writes it.
	Accounts map[string]map[string]any

	mu    sync.Mutex // guards all fields
	rows  []map[string]any
	calls []string
}

// NewStellar returns a server with rows of transactions, oldest first.
func NewStellar(rows []map[string]any) *Stellar {
	n := &Stellar{Elder: 1}
	n.Grow(rows)
	return n
}

// Grow replaces the server's transactions, oldest first, and clears the list of calls.
func (n *Stellar) Grow(rows []map[string]any) {
	n.Set(func(n *Stellar) { n.rows, n.calls = slices.Clone(rows), nil })
}

// Set changes the server while it answers no request.
func (n *Stellar) Set(f func(*Stellar)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f(n)
}

// Count returns the number of requests so far whose path contains text.
func (n *Stellar) Count(text string) (count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, path := range n.calls {
		if strings.Contains(path, text) {
			count++
		}
	}
	return count
}

// ServeHTTP answers a GET. The path of the server itself may have any number of segments before Horizon's.
func (n *Stellar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, r.URL.Path)
	answer, status := n.answer(r.URL.Path, r.URL.Query()), http.StatusOK
	if r.Method != http.MethodGet {
		http.Error(w, "", http.StatusMethodNotAllowed)
		return
	}
	if answer == nil {
		answer, status = map[string]any{"type": "https://stellar.org/horizon-errors/not_found",
			"title": "Resource Missing", "status": http.StatusNotFound}, http.StatusNotFound
	}
	if n.Spoil != nil {
		if changed := n.Spoil(r.URL.Path, r.URL.Query(), answer); changed != 0 {
			status = changed
		}
	}
	w.Header().Set("Content-Type", "application/hal+json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// latest returns the newest ledger, which closed ten ledgers after the newest transaction.
func (n *Stellar) latest() int64 {
	newest := int64(stellarFirst)
	if len(n.rows) > 0 {
		newest = ledgerNumber(n.rows[len(n.rows)-1])
	}
	return newest + 10 - n.Lag
}

func ledgerNumber(row map[string]any) int64 {
	switch number := row["ledger"].(type) {
	case float64:
		return int64(number)
	case int64:
		return number
	}
	panic(fmt.Sprintf("a row without ledger: %v", row))
}

// closedAt returns the time of a ledger: one every 5 seconds.
func closedAt(ledger int64) string {
	return StellarStart.Add(time.Duration(ledger-stellarFirst) * 5 * time.Second).Format(time.RFC3339)
}

func (n *Stellar) answer(path string, query url.Values) map[string]any {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 2 && parts[len(parts)-2] == "ledgers":
		number, err := strconv.ParseInt(parts[len(parts)-1], 10, 64)
		if err != nil || number < n.Elder || number > n.latest() {
			return nil
		}
		return map[string]any{"sequence": number, "closed_at": closedAt(number)}
	case len(parts) >= 3 && parts[len(parts)-1] == "transactions" && parts[len(parts)-3] == "accounts":
		return n.transactions(parts[len(parts)-2], query)
	case len(parts) >= 2 && parts[len(parts)-2] == "accounts":
		return n.Accounts[parts[len(parts)-1]]
	case strings.HasSuffix(path, "/"):
		return map[string]any{"horizon_version": "27.0.0", "history_latest_ledger": n.latest(),
			"history_latest_ledger_closed_at": closedAt(n.latest()), "history_elder_ledger": n.Elder,
			"network_passphrase": StellarPassphrase}
	}
	return nil
}

func (n *Stellar) transactions(account string, query url.Values) map[string]any {
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil || limit < 1 || limit > 200 || query.Get("order") != "asc" {
		panic("want order=asc and a limit of at most 200: " + query.Encode())
	}
	after, _ := strconv.ParseInt(query.Get("cursor"), 10, 64)
	ok, page := false, []any{}
	for _, row := range n.rows {
		if row["source_account"] != account && row["fee_account"] != account || ledgerNumber(row) > n.latest() ||
			ledgerNumber(row) < n.Elder {
			continue
		}
		ok = true
		token, _ := strconv.ParseInt(row["paging_token"].(string), 10, 64)
		if token > after && len(page) < limit && (row["successful"] == true || query.Get("include_failed") == "true") {
			page = append(page, row)
		}
	}
	if !ok {
		return nil
	}
	return map[string]any{"_links": map[string]any{}, "_embedded": map[string]any{"records": page}}
}

// StellarHistory returns n transactions, oldest first, whose fees one account pays. Each is a transfer of USDC; the
// amount is the transaction's number. Every fifth has failed, and two are in each ledger.
func StellarHistory(n int) (rows []map[string]any, settler string) {
	for i := 1; i <= n; i++ {
		rows = append(rows, StellarTransfer(i, i))
	}
	return rows, stellarSettler
}

const stellarSettler = "GBUHM5QKUU7N7BESYDTERGIBU7G4YFHYJ634RA3DAAAA6Z722EZSB7HB"

// StellarTransfer returns transaction i of StellarHistory with an amount.
func StellarTransfer(i, amount int) map[string]any {
	key := func(address string) []byte {
		b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(address)
		if err != nil {
			panic(err)
		}
		return b[1:33]
	}
	words := func(list ...uint32) (b []byte) {
		for _, word := range list {
			b = binary.BigEndian.AppendUint32(b, word)
		}
		return b
	}
	payer := key("GCFC3THNWEGV5NWUPKH7XWQRMRUSRYEXF2NUX3FR5BTEP4GOGSP5LU5Z")
	payee := key("GCNHYYBV4VEBCS2Y2KXXHF7RWZTOVJRKLSFAAQU7Y77KNOBJAKCZDBOB")
	network := sha256.Sum256([]byte(StellarPassphrase))
	signed := slices.Concat(words(2, 0), key(stellarSettler),
		words(100, 0, uint32(i), 0, 0, 1, 0, 24, 0, 1), // fee, sequence, no limits, no memo, one call of a contract
		key(StellarUSDC), words(8), []byte("transfer"), words(3, 18, 0, 0), payer, words(18, 0, 0), payee,
		words(10, 0, 0, 0, uint32(amount), 0, 0))
	sum := sha256.Sum256(append(network[:], signed...))
	envelope := slices.Concat(signed, words(1, 0, 64), make([]byte, 64))
	ledger := stellarFirst + 1 + int64(i/2)
	return map[string]any{"paging_token": fmt.Sprint(ledger<<32 + int64(i)<<12),
		"hash": hex.EncodeToString(sum[:]), "successful": i%5 != 0, "ledger": ledger,
		"created_at":     closedAt(ledger),
		"source_account": stellarSettler, "fee_account": stellarSettler,
		"envelope_xdr": base64.StdEncoding.EncodeToString(envelope)}
}
