package evm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"tollbook/crawl/chain/chaintest"
)

// exchange is one request to a hostile server.
type exchange struct {
	w     http.ResponseWriter
	calls []chaintest.Call
	batch bool
	chain *chaintest.Chain
	nth   int64           // number of the server's spoilt exchanges before
	gone  <-chan struct{} // closed when the reader gives up waiting
}

// send answers with text.
func (e *exchange) send(status int, kind, text string) {
	e.w.Header().Set("Content-Type", kind)
	e.w.WriteHeader(status)
	_, _ = io.WriteString(e.w, text)
}

// refuse answers every call with an error.
func (e *exchange) refuse(status, code int, message string) {
	var b []byte
	for i, c := range e.calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, c.ID, code, message)
	}
	if e.batch {
		b = []byte("[" + string(b) + "]")
	}
	e.send(status, "application/json", string(b))
}

func (e *exchange) honest() string { return string(e.chain.AppendAnswers(nil, e.calls, e.batch)) }

// each changes the results of one method and answers the other calls honestly.
func (e *exchange) each(method string, change func(result []byte) []byte) {
	e.rewrite(func(m string, result []byte) []byte {
		if m != method {
			return result
		}
		return change(result)
	})
}

// rewrite changes the results of some methods and answers the other calls honestly.
func (e *exchange) rewrite(change func(method string, result []byte) []byte) {
	parts := make([]string, len(e.calls))
	for i, c := range e.calls {
		result, refused := e.chain.Answer(nil, c)
		if refused != nil {
			parts[i] = string(e.chain.AppendAnswers(nil, e.calls[i:i+1], false))
			continue
		}
		parts[i] = `{"jsonrpc":"2.0","id":` + string(c.ID) + `,"result":` + string(change(c.Method, result)) + `}`
	}
	body := strings.Join(parts, ",")
	if e.batch {
		body = "[" + body + "]"
	}
	e.send(200, "application/json", body)
}

// logs changes lists of logs that are not empty and answers the other calls honestly.
func (e *exchange) logs(change func(logs []json.RawMessage) []json.RawMessage) {
	e.each("eth_getLogs", func(result []byte) []byte {
		var list []json.RawMessage
		if err := json.Unmarshal(result, &list); err != nil {
			panic(err)
		}
		if len(list) > 0 {
			list = change(list)
		}
		out, err := json.Marshal(append([]json.RawMessage{}, list...))
		if err != nil {
			panic(err)
		}
		return out
	})
}

// member changes a member of the first log.
func member(name, value string) func(*exchange) {
	return func(e *exchange) {
		e.logs(func(list []json.RawMessage) []json.RawMessage {
			var l map[string]json.RawMessage
			if err := json.Unmarshal(list[0], &l); err != nil {
				panic(err)
			}
			if value == "" {
				delete(l, name)
			} else {
				l[name] = json.RawMessage(value)
			}
			list[0], _ = json.Marshal(l) // of raw messages
			return list
		})
	}
}

var timestamp = regexp.MustCompile(`"timestamp":"0x[0-9a-f]+"`)

// redate changes the times of blocks and answers the other calls honestly.
func redate(e *exchange, change func(seconds int64) int64) {
	e.each("eth_getBlockByNumber", func(b []byte) []byte {
		return timestamp.ReplaceAllFunc(b, func(was []byte) []byte {
			at, err := strconv.ParseInt(string(was[len(`"timestamp":"0x`):len(was)-1]), 16, 64)
			if err != nil {
				panic(err)
			}
			return fmt.Appendf(nil, `"timestamp":"0x%x"`, change(at))
		})
	})
}

// date gives all blocks one time.
func date(seconds int64) func(*exchange) {
	return func(e *exchange) { redate(e, func(int64) int64 { return seconds }) }
}

// width is the range that a call asks for, 0 for another call.
func width(c chaintest.Call) int64 {
	if c.Method != "eth_getLogs" {
		return 0
	}
	var f chaintest.Filter
	if err := json.Unmarshal(c.Params[0], &f); err != nil {
		panic(err)
	}
	first, _ := strconv.ParseInt(f.FromBlock, 0, 64)
	last, _ := strconv.ParseInt(f.ToBlock, 0, 64)
	return last - first + 1
}

// transactions changes the transactions of blocks and answers the other calls honestly.
func (e *exchange) transactions(change func(list []json.RawMessage)) {
	e.each("eth_getBlockByNumber", func(b []byte) []byte {
		from := bytes.Index(b, []byte(`"transactions":[`)) + len(`"transactions":`)
		var list []json.RawMessage
		if err := json.Unmarshal(b[from:len(b)-1], &list); err != nil || len(list) == 0 {
			return b
		}
		change(list)
		out, _ := json.Marshal(list) // of raw messages
		return append(append(b[:from:from], out...), '}')
	})
}

// belowMiddle keeps the logs of the lower half of the requested range.
func belowMiddle(e *exchange, list []json.RawMessage) []json.RawMessage {
	var widest int64
	for _, c := range e.calls {
		widest = max(widest, width(c))
	}
	if widest < 2 {
		return list
	}
	var f chaintest.Filter
	for _, c := range e.calls {
		if width(c) == widest {
			_ = json.Unmarshal(c.Params[0], &f) // width could
		}
	}
	first, _ := strconv.ParseInt(f.FromBlock, 0, 64)
	return slices.DeleteFunc(list, func(raw json.RawMessage) bool {
		var l struct{ BlockNumber string }
		if err := json.Unmarshal(raw, &l); err != nil {
			panic(err)
		}
		n, _ := strconv.ParseInt(l.BlockNumber, 0, 64)
		return n >= first+widest/2
	})
}

// hostility is a way in which a node misleads its readers.
type hostility struct {
	name   string
	always bool // in every answer; else in some
	do     func(e *exchange)
}

var hostilities = []hostility{
	{"a page of HTML", false, func(e *exchange) { e.send(200, "text/html", "<html><h1>Welcome</h1></html>") }},
	{"a bad gateway", false, func(e *exchange) { e.send(502, "text/html", "<html>502 Bad Gateway</html>") }},
	{"no body", false, func(e *exchange) { e.send(200, "application/json", "") }},
	{"a null", false, func(e *exchange) { e.send(200, "application/json", "null") }},
	{"something else", false, func(e *exchange) { e.send(200, "application/json", `{"result":"0x1"}`) }},
	{"half a body", false, func(e *exchange) {
		body := e.honest()
		e.send(200, "application/json",
			body[:len(body)/2])
	}},
	{"a body that ends early", false, func(e *exchange) {
		body := e.honest()
		e.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(e.w, body[:len(body)/2])
	}},
	{"a connection that breaks", false, func(e *exchange) { panic(http.ErrAbortHandler) }},
	{"a body without end", false, func(e *exchange) {
		if e.nth > 1 {
			e.send(500, "text/plain", "no")
			return
		}
		spaces := bytes.Repeat([]byte(" "), 1<<20)
		for range 40 {
			if _, err := e.w.Write(spaces); err != nil {
				return
			}
		}
	}},
	{"a slow body", false, func(e *exchange) {
		_, _ = io.WriteString(e.w, "[")
		_ = http.NewResponseController(e.w).Flush()
		<-e.gone
	}},
	{"nesting without end", false, func(e *exchange) { e.send(200, "application/json", strings.Repeat(`[`, 1<<20)) }},
	{"too many requests", false, func(e *exchange) {
		e.w.Header().Set("Retry-After", "0")
		e.send(429, "text/plain",
			"slow down")
	}},
	{"too many requests, in JSON", false,
		func(e *exchange) { e.refuse(429, -32005, "daily request count exceeded, request rate limited") }},
	{"an internal error", false, func(e *exchange) { e.refuse(200, -32603, "internal error") }},
	{"an error for a batch as one", false, func(e *exchange) {
		e.send(200, "application/json",
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"backend unavailable"}}`)
	}},
	{"a header not found", false, func(e *exchange) { e.refuse(200, -32000, "header not found") }},
	{"null blocks", false, func(e *exchange) {
		e.each("eth_getBlockByNumber", func([]byte) []byte { return []byte("null") })
	}},
	{"null transactions", false, func(e *exchange) {
		e.each("eth_getTransactionByHash", func([]byte) []byte { return []byte("null") })
	}},
	{"null receipts", false, func(e *exchange) {
		e.each("eth_getTransactionReceipt", func([]byte) []byte { return []byte("null") })
	}},
	{"null logs", false, func(e *exchange) { e.each("eth_getLogs", func([]byte) []byte { return []byte("null") }) }},
	{"a block of another fork", false, func(e *exchange) {
		e.each("eth_getBlockByNumber", func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"hash":"0x`), []byte(`"hash":"0x00`), 1)[:len(b)+2]
		})
	}},
	{"another hash for every block", false, func(e *exchange) {
		e.each("eth_getBlockByNumber", func(b []byte) []byte {
			i := bytes.Index(b, []byte(`"hash":"0x`)) + len(`"hash":"0x`)
			b[i] = "10"[min(int(b[i]-'0'), 1)&1]
			return b
		})
	}},
	{"another block than requested", false, func(e *exchange) {
		e.each("eth_getBlockByNumber",
			func(b []byte) []byte { return bytes.Replace(b, []byte(`"number":"0x`), []byte(`"number":"0x1`), 1) })
	}},
	{"a block without its time", false, func(e *exchange) {
		e.each("eth_getBlockByNumber",
			func(b []byte) []byte { return bytes.Replace(b, []byte(`"timestamp"`), []byte(`"timestmap"`), 1) })
	}},
	{"blocks of the year 10000", false, date(253402300800)},
	{"blocks of the year 30000", false, date(884541340800)},
	{"blocks of the year 290000", false, date(9089328067200)},
	{"blocks of the largest time", false, date(math.MaxInt64)},
	{"blocks of 1970", false, date(1)},
	{"blocks of 2014", false, date(1400000000)},
	{"blocks with events of the next year", false, func(e *exchange) {
		if !slices.ContainsFunc(e.calls, func(c chaintest.Call) bool { return c.Method == "eth_getLogs" }) {
			redate(e, func(at int64) int64 { return at + 365*24*3600 })
			return
		}
		e.send(200, "application/json", e.honest())
	}},
	{"numbers as decimals", false, func(e *exchange) {
		e.each("eth_getBlockByNumber",
			func(b []byte) []byte { return bytes.Replace(b, []byte(`"number":"0x`), []byte(`"number":"`), 1) })
	}},
	{"numbers as numbers", false, member("logIndex", "7")},
	{"numbers that are no numbers", false, member("blockNumber", `"0x-1"`)},
	{"a number beyond all bounds", false, member("blockNumber", `"0xffffffffffffffffffff"`)},
	{"a log of another contract", false, member("address", `"0x0000000000000000000000000000000000000bad"`)},
	{"a log of another event", false, member("topics", `["0x`+strings.Repeat("ab", 32)+`"]`)},
	{"a log with five topics", false,
		member("topics", `["0x`+strings.Repeat(strings.Repeat("ab", 32)+`","0x`, 4)+strings.Repeat("ab", 32)+`"]`)},
	{"a log of another range", false, member("blockNumber", `"0xfffff"`)},
	{"a log of another fork", false, member("blockHash", `"0x`+strings.Repeat("ab", 32)+`"`)},
	{"a log of another transaction", false, member("transactionHash", `"0x`+strings.Repeat("ab", 32)+`"`)},
	{"a removed log", false, member("removed", "true")},
	{"a log without a place", false, member("logIndex", "")},
	{"a log twice", false, func(e *exchange) {
		e.logs(func(list []json.RawMessage) []json.RawMessage { return append(list, list[len(list)-1]) })
	}},
	{"answers that are missing", false, func(e *exchange) {
		var list []json.RawMessage
		if body := e.honest(); e.batch && json.Unmarshal([]byte(body), &list) == nil {
			out, _ := json.Marshal(list[1:]) // of raw messages
			e.send(200, "application/json", string(out))
		} else {
			e.send(200, "application/json", "[]")
		}
	}},
	{"answers to others", false, func(e *exchange) {
		e.send(200, "application/json", strings.ReplaceAll(e.honest(), `"id":1,`, `"id":77,`))
	}},
	{"answers twice", false, func(e *exchange) {
		e.send(200, "application/json", strings.ReplaceAll(e.honest(), `"id":2,`, `"id":1,`))
	}},
	{"senders that are no addresses", false, func(e *exchange) {
		e.each("eth_getTransactionByHash",
			func(b []byte) []byte { return bytes.Replace(b, []byte(`"from":"0x`), []byte(`"from":"0`), 1) })
	}},
	{"blocks without their transactions", false, func(e *exchange) {
		e.each("eth_getBlockByNumber", func(b []byte) []byte {
			return append(b[:bytes.Index(b, []byte(`"transactions":[`))], `"transactions":[]}`...)
		})
	}},
	{"blocks with one transaction many times", false, func(e *exchange) {
		e.transactions(func(list []json.RawMessage) {
			for i := range list {
				list[i] = list[0]
			}
		})
	}},
	{"transactions in another order", true, func(e *exchange) { e.transactions(slices.Reverse[[]json.RawMessage]) }},
	{"receipts without logs", false, func(e *exchange) {
		e.each("eth_getTransactionReceipt",
			func(b []byte) []byte { return append(b[:bytes.Index(b, []byte(`"logs":[`))], `"logs":[]}`...) })
	}},
	{"the lower half of a range", false, func(e *exchange) {
		e.logs(func(list []json.RawMessage) []json.RawMessage { return belowMiddle(e, list) })
	}},
	{"the lower half of a range, always", true, func(e *exchange) {
		e.logs(func(list []json.RawMessage) []json.RawMessage { return belowMiddle(e, list) })
	}},
	{"a limit of 7 blocks", true, func(e *exchange) {
		if slices.ContainsFunc(e.calls, func(c chaintest.Call) bool { return width(c) > 7 }) {
			e.refuse(413, -32614, "eth_getLogs is limited to a 7 range")
			return
		}
		e.send(200, "application/json", e.honest())
	}},
	{"a limit of 40 logs", true, func(e *exchange) {
		if body := e.honest(); strings.Count(body, `"logIndex"`) > 40 &&
			slices.ContainsFunc(e.calls, func(c chaintest.Call) bool { return width(c) > 1 }) {
			e.refuse(200, -32005, "query returned more than 40 results")
			return
		}
		e.send(200, "application/json", e.honest())
	}},
	{"a silent limit of 500 logs", true, func(e *exchange) {
		e.logs(func(list []json.RawMessage) []json.RawMessage { return list[:min(len(list), 500)] })
	}},
	{"a limit of 20 kB", true, func(e *exchange) {
		if body := e.honest(); len(body) > 20_000 && len(e.calls) > 6 {
			e.refuse(200, -32003, "response too large")
			return
		}
		e.send(200, "application/json", e.honest())
	}},
	{"a time limit", true, func(e *exchange) {
		if slices.ContainsFunc(e.calls, func(c chaintest.Call) bool { return width(c) > 30 }) {
			e.refuse(200, -32000, "query timeout exceeded")
			return
		}
		e.send(200, "application/json", e.honest())
	}},
	{"no batches", true, func(e *exchange) {
		if e.batch {
			e.send(400, "application/json",
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch requests are not supported"}}`)
			return
		}
		e.send(200, "application/json", e.honest())
	}},
	{"batches of three", true, func(e *exchange) {
		if len(e.calls) > 3 {
			e.send(200, "application/json",
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batch too large, the limit is 3"}}`)
			return
		}
		e.send(200, "application/json", e.honest())
	}},
	{"batches in another order", true, func(e *exchange) {
		var list []json.RawMessage
		if body := e.honest(); !e.batch {
			e.send(200, "application/json", body)
		} else if err := json.Unmarshal([]byte(body), &list); err == nil {
			slices.Reverse(list)
			out, _ := json.MarshalIndent(list, " ", "\t") // of raw messages
			e.send(200, "application/json", string(out))
		}
	}},
	{"no receipts of blocks, no finalized tag, nulls in logs", true, func(e *exchange) {
		e.send(200, "application/json",
			strings.ReplaceAll(e.honest(), `"removed":false`,
				`"removed":null,"blockTimestamp":null,"extra":{"a":[1,{"b":"}]\""}]}`))
	}},
}

// handler returns a server that spoils one of so many requests, by chance, since a reader in step with every nth
// request might always get a spoilt answer. It spoils no more than two in a row, so that a reader that repeats a
// request often enough is answered.
func (h hostility) handler(c *chaintest.Chain, every int64) http.Handler {
	var spoilt, row atomic.Int64
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
		e := &exchange{w: w, calls: calls, batch: batch, chain: c, gone: r.Context().Done()}
		if every == 1 || rand.Int64N(every) == 0 && row.Add(1) <= 2 {
			e.nth = spoilt.Add(1)
			h.do(e)
			return
		}
		row.Store(0)
		e.send(200, "application/json", e.honest())
	})
}
