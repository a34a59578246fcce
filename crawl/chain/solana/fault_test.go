package solana_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
)

// spoilt changes a node's answers to a method, the first times times.
func spoilt(method string, times int, wrong func(c *chaintest.SolanaCall)) func(*chaintest.SolanaCall) {
	return func(c *chaintest.SolanaCall) {
		if c.Method == method && times > 0 {
			times--
			wrong(c)
		}
	}
}

const forever = 1 << 30

// asJSON edits the JSON of an answer's result.
func asJSON(edit func(text string) string) func(c *chaintest.SolanaCall) {
	return func(c *chaintest.SolanaCall) {
		text, err := json.Marshal(c.Result)
		if err != nil {
			panic(err)
		}
		c.Result = json.RawMessage(edit(string(text)))
	}
}

// solanaFaults are the ways in which a node may answer badly.
func solanaFaults() map[string]func(times int) (spoil func(*chaintest.SolanaCall), before http.HandlerFunc) {
	call := func(method string, wrong func(c *chaintest.SolanaCall)) func(int) (func(*chaintest.SolanaCall),
		http.HandlerFunc) {
		return func(times int) (func(*chaintest.SolanaCall), http.HandlerFunc) {
			return spoilt(method, times, wrong), nil
		}
	}
	whole := func(answer http.HandlerFunc) func(int) (func(*chaintest.SolanaCall), http.HandlerFunc) {
		return func(times int) (func(*chaintest.SolanaCall), http.HandlerFunc) {
			return nil, func(w http.ResponseWriter, r *http.Request) {
				if times > 0 {
					times--
					answer(w, r)
				}
			}
		}
	}
	replace := func(old, new string) func(c *chaintest.SolanaCall) {
		return asJSON(func(text string) string { return strings.ReplaceAll(text, old, new) })
	}
	blockTime := regexp.MustCompile(`"blockTime":[0-9]+`)
	date := func(seconds string) func(c *chaintest.SolanaCall) {
		return asJSON(func(text string) string { return blockTime.ReplaceAllString(text, `"blockTime":`+seconds) })
	}
	return map[string]func(int) (func(*chaintest.SolanaCall), http.HandlerFunc){
		"transactions of the year 10000":  call("getTransaction", date("253402300800")),
		"transactions of the year 290000": call("getTransaction", date("9089328067200")),
		"transactions of 1970":            call("getTransaction", date("1")),
		"transactions before 1970":        call("getTransaction", date("-1")),
		"signatures of the year 10000":    call("getSignaturesForAddress", date("253402300800")),
		"signatures of 1970":              call("getSignaturesForAddress", date("1")),
		"a head of the year 10000": call("getBlockTime",
			func(c *chaintest.SolanaCall) { c.Result = 253402300800 }),
		"a head of 1970":         call("getBlockTime", func(c *chaintest.SolanaCall) { c.Result = 1 }),
		"null for a transaction": call("getTransaction", func(c *chaintest.SolanaCall) { c.Result = nil }),
		"another transaction":    call("getTransaction", replace(`"slot":4`, `"slot":5`)),
		"a transaction cut short": call("getTransaction",
			replace(`"innerInstructions":[]`, `"innerInstructions":null`)),
		"a slot as a string": call("getTransaction",
			asJSON(func(s string) string { return strings.Replace(s, `"slot":400`, `"slot":"400`, 1) })),
		"an amount as a number": call("getTransaction", asJSON(func(s string) string {
			return strings.ReplaceAll(strings.ReplaceAll(s, `"amount":"`, `"amount":1`), `"}}}}]`, `}}}}]`)
		})),
		"an amount that is none": call("getTransaction", replace(`"amount":"`, `"amount":"-`)),
		"no success told":        call("getTransaction", replace(`"err":null`, `"er":null`)),
		"another form":           call("getTransaction", replace(`{"pubkey":`, `{"pubkeys":`)),
		"an error in a batch": call("getTransaction",
			func(c *chaintest.SolanaCall) { c.Fault = map[string]any{"code": -32603, "message": "Internal error"} }),
		"an answer dropped": call("getTransaction", func(c *chaintest.SolanaCall) { c.Drop = true }),
		"only confirmed":    call("getSignaturesForAddress", replace("finalized", "confirmed")),
		"a page out of order": call("getSignaturesForAddress",
			func(c *chaintest.SolanaCall) { list, _ := c.Result.([]any); c.Result = reversed(list) }),
		"a page twice over": call("getSignaturesForAddress",
			func(c *chaintest.SolanaCall) { list, _ := c.Result.([]any); c.Result = slices.Concat(list, list) }),
		"no signature": call("getSignaturesForAddress", replace(`"signature":"`, `"signature":"0`)),
		"a node that is behind": call("getSignaturesForAddress", func(c *chaintest.SolanaCall) {
			c.Fault = map[string]any{"code": -32005, "message": "Node is behind by 150 slots"}
		}),
		"another chain": call("getGenesisHash",
			func(c *chaintest.SolanaCall) { c.Result = "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG" }),
		"no time of the head": call("getBlockTime", func(c *chaintest.SolanaCall) { c.Result = nil }),
		"a slot that is text": call("getSlot", func(c *chaintest.SolanaCall) { c.Result = "0x17d7" }),
		"a page of HTML": whole(func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprint(w, "<html><title>Just a moment…</title>")
		}),
		"too many requests": whole(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		}),
		"a broken gateway": whole(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
		}),
		"half an answer": whole(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `[{"jsonrpc":"2.0","id":1,`)
		}),
		"an empty answer": whole(func(w http.ResponseWriter,
			_ *http.Request) {
			w.WriteHeader(http.StatusOK)
		}),
		"a connection that is shut": whole(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	}
}

func reversed(list []any) []any {
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

// TestSolanaFaults tests each fault three ways: once at the only node, always at one of two nodes, and always at the
// only node. In the last case nothing may be lost or invented, the boundary must stay, and everything must be read once
// the node works again.
func TestSolanaFaults(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(130)
	want := successes(0, 130)
	for name, fault := range solanaFaults() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once := newSolanaNode(t, all)
			once.Spoil, once.Before = fault(1)
			s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
			report, err := solanaIndexer(t, s, nil, once).Once(t.Context())
			if name == "another chain" { // the node is paused for minutes
				if err == nil || !strings.Contains(err.Error(), "serves solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1") ||
					len(s.commits) > 0 {
					t.Errorf("a node of another chain: %v", err)
				}
			} else if diff := cmp.Diff(want, s.amounts()); diff != "" || err != nil || report.Errors == 0 {
				t.Errorf("once: %v, %d errors (-want +got):\n%s", err, report.Errors, diff)
			}

			bad, good := newSolanaNode(t, all), newSolanaNode(t, all)
			bad.Spoil, bad.Before = fault(forever)
			s = newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
			x := solanaIndexer(t, s, nil, bad, good)
			_, err = x.Once(t.Context())
			if diff := cmp.Diff(want, s.amounts()); diff != "" {
				t.Errorf("one of two: %v (-want +got):\n%s", err, diff)
			}
			if err != nil && !strings.Contains(err.Error(), "1 of 2 nodes did not answer whether the history goes on") {
				t.Errorf("one of two: %v", err)
			}

			s = newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
			x = solanaIndexer(t, s, nil, bad)
			if _, err = x.Once(t.Context()); err == nil || len(s.commits) > 0 || len(s.settlements) > 0 {
				t.Errorf("the only one: %v, %d settlements, walk %+v", err, len(s.settlements), s.walks[settler])
			}
			bad.Set(func(n *chaintest.Solana) { n.Spoil, n.Before = nil, nil })
			if _, err := solanaIndexer(t, s, nil, bad).Once(t.Context()); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, s.amounts()); diff != "" {
				t.Errorf("well again (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSolanaChaos uses two nodes that each answer a third of all requests badly, in all ways at once. One of them lags
// and has half the history. The indexer is stopped at random. In the end the stored settlements must equal the history.
func TestSolanaChaos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			source := rand.New(rand.NewPCG(seed, 5))
			random := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return source.IntN(n)
			}
			all, settler := chaintest.SolanaHistory(1600)
			faults := solanaFaults()
			delete(faults, "another chain") // would pause the node for minutes
			names := slices.Sorted(maps.Keys(faults))
			nodes := []*solanaNode{newSolanaNode(t, nil), newSolanaNode(t, nil)}
			for _, n := range nodes {
				n.Before = func(w http.ResponseWriter, req *http.Request) {
					n.Spoil = nil
					if random(3) > 0 {
						return
					}
					spoil, before := faults[names[random(len(names))]](1)
					n.Spoil = spoil
					if before != nil {
						before(w, req)
					}
				}
			}
			s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
			s.refuse = func(ledger.Walk) error {
				if random(3) == 0 {
					return errors.New("killed")
				}
				return nil
			}
			for have := 0; have < len(all); {
				have = min(have+1100, len(all))
				for rounds := 0; s.walks[settler].Until != all[have-1].Signature; rounds++ {
					for i, n := range nodes {
						lag := 0
						if i == 1 && rounds < 5 { // it lags, and catches up
							lag = 20
						}
						n.Grow(all[:have-lag])
						n.Set(func(n *chaintest.Solana) { n.Pruned = i * have / 2 })
					}
					if rounds == 200 {
						t.Fatalf("the walk does not end: %+v", s.walks[settler])
					}
					_, _ = solanaIndexer(t, s, nil, nodes...).Once(t.Context()) // fails more often than not
				}
			}
			if diff := cmp.Diff(successes(0, len(all)), s.amounts()); diff != "" {
				t.Errorf("amounts (-want +got):\n%s", diff)
			}
		})
	}
}
