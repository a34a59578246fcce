package evm_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/evm"
	"tollbook/site/testgate"
)

var (
	amountData  = regexp.MustCompile(`"data":"0x[0-9a-f]{64}"`)
	senderField = regexp.MustCompile(`"from":"0x[0-9a-f]{40}"`)
)

// keep keeps the logs of some transactions.
func keep(result []byte, isKept func(transaction string) bool) []byte {
	var list, kept []json.RawMessage
	if err := json.Unmarshal(result, &list); err != nil {
		panic(err)
	}
	for _, raw := range list {
		var l struct{ TransactionHash string }
		if err := json.Unmarshal(raw, &l); err != nil {
			panic(err)
		}
		if isKept(l.TransactionHash) {
			kept = append(kept, raw)
		}
	}
	out, err := json.Marshal(append([]json.RawMessage{}, kept...))
	if err != nil {
		panic(err)
	}
	return out
}

// lies are answers that fit together, so that nothing in them shows that they are wrong.
var lies = []hostility{
	{"half of the transactions", true, func(e *exchange) {
		e.rewrite(func(method string, result []byte) []byte {
			if method != "eth_getLogs" {
				return result
			}
			return keep(result, func(hash string) bool { return hash[len(hash)-1] < '8' })
		})
	}},
	{"no transaction, and honest Bloom filters", true, func(e *exchange) {
		e.rewrite(func(method string, result []byte) []byte {
			if method != "eth_getLogs" {
				return result
			}
			return []byte("[]")
		})
	}},
	{"amounts of one", true, func(e *exchange) { amounts(e, strings.Repeat("0", 63)+"1") }},
	{"the largest amounts", true, func(e *exchange) { amounts(e, strings.Repeat("f", 64)) }},
	{"blocks of a month before", true, func(e *exchange) {
		redate(e, func(at int64) int64 { return at - 30*24*3600 })
	}},
	{"one sender for all", true, func(e *exchange) {
		e.rewrite(func(method string, result []byte) []byte {
			if method != "eth_getTransactionByHash" && method != "eth_getBlockByNumber" {
				return result
			}
			return senderField.ReplaceAll(result, []byte(`"from":"`+text(person('s', 0))+`"`))
		})
	}},
}

func amounts(e *exchange, digits string) {
	e.rewrite(func(method string, result []byte) []byte {
		if method != "eth_getLogs" && method != "eth_getTransactionReceipt" {
			return result
		}
		return amountData.ReplaceAll(result, []byte(`"data":"0x`+digits+`"`))
	})
}

// TestLyingNode checks that the lies of one node are found by asking others: with three nodes the index is the true
// one, wherever the liar stands; with two nothing wrong is stored, and an error names both until a third one decides.
func TestLyingNode(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	w := newWorld(79)
	w.grow(160, 8)
	for _, lie := range lies {
		t.Run(lie.name, func(t *testing.T) {
			t.Parallel()
			liar, honest := serve(t, lie.handler(w.Chain, 1)), []string{serve(t, w), serve(t, w)}
			read := func(l *memory, log *bytes.Buffer, patience time.Duration, rpc ...string) (err error) {
				o := chain.Options{Concurrency: 2, Logger: slog.New(slog.NewTextHandler(log, nil))}
				x := indexer(t, l, o, rpc...)
				for began := time.Now(); time.Since(began) < patience; { // pauses of nodes end by the clock
					if _, err = x.Once(t.Context()); err == nil {
						return nil
					}
				}
				return err
			}
			for _, rpc := range [][]string{{liar, honest[0], honest[1]}, {honest[0], liar, honest[1]},
				{honest[0], honest[1], liar}} {
				l := newLedger(worldSettlers(3)...)
				l.recipients = someRecipients(4)
				var log bytes.Buffer
				if err := read(l, &log, patience, rpc...); err != nil {
					t.Fatal(err)
				}
				w.compare(t, "three nodes", l)
				if l.head.ComparedNodes != 3 {
					t.Errorf("the network says that %d nodes are compared, want 3", l.head.ComparedNodes)
				}
				if rpc[0] == liar && !strings.Contains(log.String(), "node="+liar+" evidence=") {
					t.Errorf("the log does not say what the liar said:\n%s", log.String())
				}
			}

			l := newLedger(worldSettlers(3)...)
			l.recipients = someRecipients(4)
			var log bytes.Buffer
			err := read(l, &log, 2*time.Second, liar, honest[0])
			if err == nil || !strings.Contains(err.Error(), liar) && !strings.Contains(err.Error(), honest[0]) {
				t.Errorf("two nodes that differ: %v", err)
			}
			if err := read(l, &log, patience, liar, honest[0], honest[1]); err != nil {
				t.Fatal(err)
			}
			w.compare(t, "a third node decides", l) // also of what was stored before
		})
	}
}

// TestNodeChangesChain checks that a node that begins to serve another chain is refused, alone and beside an honest
// one, and that nothing is rolled back or stored.
func TestNodeChangesChain(t *testing.T) {
	t.Parallel()
	w, other := newWorld(5), newWorld(6)
	w.grow(60, 4)
	other.ID = 1
	other.grow(90, 4)
	for _, alone := range []bool{true, false} {
		var changed atomic.Bool
		rpc := []string{serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if changed.Load() {
				other.ServeHTTP(rw, r)
			} else {
				w.ServeHTTP(rw, r)
			}
		}))}
		if !alone {
			rpc = append(rpc, serve(t, w))
		}
		l := newLedger(worldSettlers(3)...)
		x := indexer(t, l, chain.Options{}, rpc...)
		once(t, x)
		w.compare(t, "before the change", l)
		changed.Store(true)
		for round := range 3 {
			_, err := x.Once(t.Context())
			if alone && (err == nil || round == 0 && !strings.Contains(err.Error(), "serves eip155:1, not eip155:8453")) {
				t.Errorf("a node that changed its chain: %v", err)
			}
			if !alone && round > 0 && err != nil {
				t.Errorf("round %d beside an honest node: %v", round, err)
			}
			w.compare(t, "after the change", l)
			if len(l.rollBacks) > 0 {
				t.Error("settlements were rolled back")
			}
		}
	}
}

// TestLyingFirstBlock checks that a node cannot hide the first blocks of a day by dating them to the day before.
func TestLyingFirstBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(4)
	w.grow(3700, 1)
	midnight := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	from := midnight.Unix()
	liar := serve(t, hostility{"", true, func(e *exchange) {
		redate(e, func(at int64) int64 {
			if at >= from && at < from+180 {
				return from - 1
			}
			return at
		})
	}}.handler(w.Chain, 1))
	settlers := worldSettlers(3)
	for i := range settlers {
		settlers[i].Since = &midnight
	}
	for _, rpc := range [][]string{{liar, serve(t, w), serve(t, w)}, {serve(t, w), liar, serve(t, w)}} {
		l := newLedger(worldSettlers(3)...)
		x, err := evm.New(chain.Network{ID: network, RPC: rpc, Confirmations: 2, Start: midnight}, l,
			chain.Options{Backoff: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err = x.Once(t.Context()); err == nil {
				break
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.settled(w.Head().Number-2, settlers), l.settled()); diff != "" {
			t.Errorf("settlements (-want +got):\n%s", diff)
		}
		if first := w.Block(l.counted); first.Time.Before(midnight) || !w.Block(l.counted-1).Time.Before(midnight) {
			t.Errorf("began at block %d of %v", l.counted, first.Time)
		}
	}
}
