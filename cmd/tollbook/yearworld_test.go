//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tollbook/crawl/chain/chaintest"
)

// merchant is a service of a simulated year. Its price and its failures follow from its number and the time alone.
type merchant struct {
	n         int
	name      string
	slug      string
	host      string
	recipient string
	attack    attack // nil for an honest seller
	removed   bool   // by the operator

	year *year
	mu   sync.Mutex
	seen bool // the endpoint was requested since the last look
}

// attack answers a request to a hostile seller.
type attack func(s *merchant, w http.ResponseWriter, r *http.Request)

// thief is the recipient that hostile sellers, lists and nodes want payments to go to.
const thief = "0xdEADBEeF00000000000000000000000000000001"

// attacks are what hostile sellers do.
var attacks = []attack{
	func(s *merchant, w http.ResponseWriter, _ *http.Request) { // other terms at each visit
		s.year.mu.Lock()
		n := s.year.rand.Uint64()
		s.year.mu.Unlock()
		list := make([]string, 20)
		for i := range list {
			list[i] = demand(s.host, fmt.Sprint(n%1e9+uint64(i)), fmt.Sprintf("0x%040x", n+uint64(i)), "d")
		}
		ask(w, strings.Join(list, ","))
	},
	func(_ *merchant, w http.ResponseWriter, r *http.Request) { // a body without an end
		w.WriteHeader(http.StatusPaymentRequired)
		for text := []byte(strings.Repeat(" ", 64<<10)); r.Context().Err() == nil; {
			if _, err := w.Write(text); err != nil {
				return
			}
		}
	},
	func(s *merchant, w http.ResponseWriter, r *http.Request) { // no answer at all, on one day of thirty
		if s.year.day%30 == 7 {
			_, _ = io.Copy(io.Discard, r.Body) // the server detects a closed connection only after this
			<-r.Context().Done()
			return
		}
		ask(w, demand(s.host, "1000", s.recipient, "d"))
	},
	func(s *merchant, w http.ResponseWriter, _ *http.Request) { // headers of nearly a megabyte
		for i := range 110 {
			w.Header().Set(fmt.Sprint("X-Filler-", i), strings.Repeat("x", 8000))
		}
		ask(w, demand(s.host, "1000", s.recipient, "d"))
	},
	func(s *merchant, w http.ResponseWriter, _ *http.Request) { // texts for terminals and pages
		ask(w, demand(s.host, "1000", s.recipient, hostile+"<script>alert(1)</script>"+strings.Repeat("漢", 20_000)))
	},
	func(s *merchant, w http.ResponseWriter, r *http.Request) { // inside, or to another's endpoint
		to := "http://169.254.169.254/latest/meta-data/"
		if s.year.day%2 == 1 {
			to = "http://" + s.year.sellers[s.n-1].host + "/quote"
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	},
	func(s *merchant, w http.ResponseWriter, _ *http.Request) { // ten thousand options
		one := demand(s.host, "1000", s.recipient, "d")
		ask(w, strings.Repeat(one+",", 9_999)+one)
	},
	func(s *merchant, w http.ResponseWriter, r *http.Request) { // documents that declare more than can be asked
		switch r.URL.Path {
		case "/openapi.json":
			fmt.Fprint(w, `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{"/quote":{"get":{}}`)
			for i := range 20_000 {
				fmt.Fprintf(w, `,"/p%d-%d":{"get":{"responses":{"402":{}}}}`, s.year.day, i)
			}
			fmt.Fprint(w, `}}`)
		case "/llms.txt":
			for range 10_000 {
				fmt.Fprintf(w, "- [%s](http://%s/quote): %s\n", strings.Repeat("t", 500), s.host, strings.Repeat("d", 500))
			}
		case "/quote":
			ask(w, demand(s.host, "1000", s.recipient, "d"))
		default:
			http.NotFound(w, r)
		}
	},
	func(s *merchant, w http.ResponseWriter, r *http.Request) { // another recipient for clients that pay
		if r.UserAgent() == "node" {
			ask(w, demand(s.host, "1000", thief, "d"))
			return
		}
		ask(w, demand(s.host, "1000", s.recipient, "d"))
	},
	func(_ *merchant, w http.ResponseWriter, _ *http.Request) { // a hundred megabytes in a hundred kilobytes
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusPaymentRequired)
		_, _ = w.Write(bomb())
	},
}

var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for part := make([]byte, 1<<20); b.Len() < 100<<10; {
		_, _ = z.Write(part)
	}
	_ = z.Close()
	return b.Bytes()
})

// demand is one entry of accepts: a price in atomic USDC on Base, and its recipient.
func demand(host, price, recipient, description string) string {
	text, err := json.Marshal(map[string]any{
		"scheme": "exact", "network": "base", "maxAmountRequired": price,
		"asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "payTo": recipient, "maxTimeoutSeconds": 60,
		"resource": "http://" + host + "/quote", "description": description, "mimeType": "application/json",
		"extra": map[string]string{"name": "USD Coin", "version": "2"},
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ask answers with a 402 that has these options.
func ask(w http.ResponseWriter, options string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusPaymentRequired)
	_, _ = io.WriteString(w, `{"x402Version":1,"error":"X-PAYMENT header is required","accepts":[`+options+`]}`)
}

// price returns what an honest seller asks on a day, in atomic units. It rises every one to three months.
func (s *merchant) price(day int) int64 {
	return int64(1000*(1+s.n%50) + 100*(day/(30+s.n%60)))
}

// isUp reports whether an honest seller answers at a visit. Each fails alone about once a month, and for a day or two
// twice a year.
func (s *merchant) isUp(day, visit int) bool {
	whole := rand.New(rand.NewPCG(uint64(s.n), uint64(day/2))).IntN(90) == 0
	return !whole && rand.New(rand.NewPCG(uint64(s.n)+1e6, uint64(day*yearVisits+visit))).IntN(60) != 0
}

// ServeHTTP implements http.Handler.
func (s *merchant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/quote" {
		s.mu.Lock()
		s.seen = true
		s.mu.Unlock()
	}
	switch {
	case s.attack != nil:
		s.attack(s, w, r)
	case r.URL.Path != "/quote":
		http.NotFound(w, r)
	case !s.isUp(s.year.day, s.year.visit):
		http.Error(w, "out of order", http.StatusServiceUnavailable)
	default:
		ask(w, demand(s.host, fmt.Sprint(s.price(s.year.day)), s.recipient, s.name))
	}
}

// wasSeen reports whether the endpoint was requested since the last call.
func (s *merchant) wasSeen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = false
	return seen
}

// newSeller starts the service with a number.
func newSeller(t *testing.T, y *year, n int) *merchant {
	t.Helper()
	s := &merchant{n: n, year: y, name: fmt.Sprintf("Seller %03d of %s", n, yearWord(n)),
		recipient: fmt.Sprintf("0x%040x", 0x5e11e70000000000+n+1)}
	s.slug = strings.ToLower(strings.ReplaceAll(s.name, " ", "-"))
	if n >= yearFirstHostile && n < yearFirstHostile+len(attacks) {
		s.attack = attacks[n-yearFirstHostile]
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections() // of attacks that wait
		server.Close()
	})
	s.host = strings.TrimPrefix(server.URL, "http://")
	return s
}

// yearWord is a word that belongs to one seller alone, so that its traces can be found.
func yearWord(n int) string { return fmt.Sprintf("Quaggafish%cq%03dq", 'a'+n%26, n) }

// yearList answers as a facilitator's catalogue. An honest one names the resources of honest sellers. A lying one names
// them with another price, recipient and name, with endpoints that do not exist, and names hundreds of services without
// a server, each time with other endpoints.
type yearList struct {
	year *year
	lies bool
}

// ServeHTTP implements http.Handler.
func (l *yearList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var items []map[string]any
	add := func(url, name, options string) {
		items = append(items, map[string]any{"resource": url, "type": "http", "x402Version": 1, "serviceName": name,
			"accepts": json.RawMessage("[" + options + "]"), "lastUpdated": l.year.now().Format(time.RFC3339)})
	}
	for _, s := range l.year.sellers {
		switch {
		case s.attack != nil:
		case !l.lies:
			add("http://"+s.host+"/quote", s.name, demand(s.host, fmt.Sprint(s.price(l.year.day)), s.recipient, "d"))
		default:
			add("http://"+s.host+"/quote", hostile, demand(s.host, "1", thief, hostile))
			add(fmt.Sprintf("http://%s/nothing-%d", s.host, l.year.day), hostile, demand(s.host, "1", thief, hostile))
		}
	}
	for i := range 200 {
		if l.lies { // ports without a server
			host := fmt.Sprintf("127.0.0.1:%d", 1+i)
			add(fmt.Sprintf("http://%s/x%d", host, l.year.day), "None", demand(host, "1", thief, hostile))
		}
	}
	var limit, offset int
	_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
	_, _ = fmt.Sscan(r.URL.Query().Get("offset"), &offset) // 0 if there is none
	total := len(items)
	items = items[min(offset, total):]
	if limit > 0 {
		items = items[:min(limit, len(items))]
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"x402Version": 1, "items": items,
		"pagination": map[string]int{"limit": limit, "offset": offset, "total": total}})
}

// pay adds the day's blocks to the chain, one an hour, with payments to honest sellers through the facilitator.
func (y *year) pay() {
	word := func(s string) (h chaintest.Hash) { return word32(strings.ToLower(strings.TrimPrefix(s, "0x"))) }
	address := func(s string) (a chaintest.Address) {
		h := word(s)
		copy(a[:], h[12:])
		return a
	}
	usdc, settler := "833589fcd6edb6e08f4c7c32d4f71b54bda02913", settlerOnBase
	for hour := range 22 {
		var txs []chaintest.Tx
		for range 1 + len(y.sellers)/20 {
			s := y.sellers[y.rand.IntN(len(y.sellers))]
			if s.attack != nil || s.removed {
				continue
			}
			amount := s.price(y.day)
			payer, payee := word(fmt.Sprintf("b%039x", y.rand.IntN(40))), word(s.recipient)
			y.nonce++
			txs = append(txs, chaintest.Tx{From: address(settler), To: address(usdc), Nonce: y.nonce, Logs: []chaintest.Log{
				{Contract: address(usdc), Topics: []chaintest.Hash{
					word("98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"), payer,
					word(fmt.Sprintf("%x", y.nonce))}},
				{Contract: address(usdc), Topics: []chaintest.Hash{
					word("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"), payer, payee},
					Data: big.NewInt(amount).FillBytes(make([]byte, 32))},
			}})
			y.paid[s.n] = append(y.paid[s.n], payment{y.day, amount})
		}
		y.chain.Add(y.start.AddDate(0, 0, y.day).Add(time.Duration(hour)*time.Hour), txs...)
	}
	y.chain.Add(y.start.AddDate(0, 0, y.day).Add(22 * time.Hour)) // after it, all payments are final
}

// lyingNode answers for the chain, but leaves out half of all events and names larger amounts in the others.
func lyingNode(c *chaintest.Chain) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		calls, batch, err := chaintest.Decode(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answers := make([]string, len(calls))
		for i, call := range calls {
			result, failed := c.Answer(nil, call)
			if failed != nil {
				answers[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, call.ID, failed.Code,
					failed.Message)
				continue
			}
			if call.Method == "eth_getLogs" {
				var logs, kept []json.RawMessage
				if json.Unmarshal(result, &logs) == nil {
					for i, l := range logs {
						if i%4 < 2 {
							kept = append(kept, bytes.ReplaceAll(l, []byte(`"data":"0x0000`), []byte(`"data":"0x0001`)))
						}
					}
					result, _ = json.Marshal(append([]json.RawMessage{}, kept...))
				}
			}
			answers[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, result)
		}
		text := strings.Join(answers, ",")
		if batch {
			text = "[" + text + "]"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	})
}
