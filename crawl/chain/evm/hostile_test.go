package evm_test

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tollbook/crawl/chain"
	"tollbook/site/testgate"
)

// TestHostileNodes checks that the index equals that from an honest node, whatever a hostile node answers.
func TestHostileNodes(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	w := newWorld(77)
	w.grow(160, 8)
	for _, h := range hostilities {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			o := chain.Options{Concurrency: 2}
			every := int64(3)
			switch {
			case h.always:
				every = 1
			case h.name == "a slow body":
				o.Timeout, every = time.Second, 15
			}
			run := func(what string, rpc ...string) {
				l := newLedger(worldSettlers(3)...)
				l.recipients = someRecipients(4)
				x := indexer(t, l, o, rpc...)
				var err error
				// A failed round is repeated at the next poll. Polls follow at once, but pauses of nodes end by the
				// clock.
				for began := time.Now(); time.Since(began) < patience; {
					if _, err = x.Once(t.Context()); err == nil {
						break
					}
				}
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				w.compare(t, what, l)
			}
			run("its only node", serve(t, h.handler(w.Chain, every)))
			run("the first of two, all the time", serve(t, h.handler(w.Chain, 1)), serve(t, w))
		})
	}
}

// TestHistoryIsNotForgottenInAMoment checks that a node that lacks old blocks for a moment does not cut the history.
func TestHistoryIsNotForgottenInAMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(78)
	w.grow(160, 8)
	var old atomic.Int64
	h := hostility{"no old block, four times", true, func(e *exchange) {
		var block string
		if len(e.calls) == 1 && e.calls[0].Method == "eth_getBlockByNumber" {
			block = strings.Trim(string(e.calls[0].Params[0]), `"`)
		}
		if n, err := strconv.ParseInt(strings.TrimPrefix(block, "0x"), 16, 64); err == nil && n < 100 &&
			old.Add(1) <= 4 {
			e.refuse(200, -32000, "header not found")
			return
		}
		e.send(200, "application/json", e.honest())
	}}
	l := newLedger(worldSettlers(3)...)
	l.recipients = someRecipients(4)
	if _, err := indexer(t, l, chain.Options{}, serve(t, h.handler(w.Chain, 1))).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if old.Load() < 5 {
		t.Fatalf("%d requests for old blocks: the test proves nothing", old.Load())
	}
	w.compare(t, h.name, l)
}
