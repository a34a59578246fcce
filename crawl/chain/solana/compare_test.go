package solana_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
	"tollbook/site/testgate"
)

const lieLength = 60

// earlyEnd needs no comparison: whether the history ends is asked of all nodes.
const earlyEnd = "a history that ends early"

// lies are histories that fit together, so that nothing in them shows that they are wrong. The newest transactions
// stay, so that the head does.
func lies() map[string]func(list []chaintest.SolanaTransaction) []chaintest.SolanaTransaction {
	type transaction = chaintest.SolanaTransaction
	replace := func(e *transaction, old, new string) {
		e.Result = json.RawMessage(strings.ReplaceAll(string(e.Result), old, new))
	}
	each := func(change func(i int, e *transaction)) func([]transaction) []transaction {
		return func(list []transaction) []transaction {
			for i := range list[:len(list)-2] {
				change(i, &list[i])
			}
			return list
		}
	}
	return map[string]func([]transaction) []transaction{
		"no transactions": func(list []transaction) []transaction {
			for i := range list {
				list[i].Accounts = nil
			}
			return list
		},
		earlyEnd:                   each(func(_ int, e *transaction) { e.Accounts = nil }),
		"a transaction left out":   func(list []transaction) []transaction { return slices.Delete(list, 30, 31) },
		"half of the transactions": func(list []transaction) []transaction { return slices.Delete(list, 5, 35) },
		"a transaction added": func(list []transaction) []transaction {
			other := list[30]
			other.Signature = strings.Repeat("2", 88)
			replace(&other, list[30].Signature, other.Signature)
			return slices.Insert(list, 31, other)
		},
		"amounts changed": each(func(i int, e *transaction) { replace(e, `"amount":"`, `"amount":"7`) }),
		"another recipient": each(func(i int, e *transaction) {
			replace(e, `"owner":"`+ownerOf(e.Result, "postTokenBalances"), `"owner":"`+ownerOf(e.Result, "preTokenBalances"))
		}),
		"failures as successes": each(func(_ int, e *transaction) {
			replace(e, `"err":`+string(e.Err), `"err":null`)
			e.Err = json.RawMessage("null")
		}),
		"successes as failures": each(func(i int, e *transaction) {
			if i%3 == 0 {
				e.Err = json.RawMessage(`{"InstructionError":[0,{"Custom":1}]}`)
			}
		}),
		"times of a month before": each(func(_ int, e *transaction) {
			replace(e, fmt.Sprintf(`"blockTime":%d`, e.Time), fmt.Sprintf(`"blockTime":%d`, e.Time-30*24*3600))
			e.Time -= 30 * 24 * 3600
		}),
		"slots moved": each(func(_ int, e *transaction) {
			replace(e, fmt.Sprintf(`"slot":%d`, e.Slot), fmt.Sprintf(`"slot":%d`, e.Slot-500))
			e.Slot -= 500
		}),
	}
}

// ownerOf returns the owner in a list of balances.
func ownerOf(result json.RawMessage, list string) string {
	var r struct {
		Meta map[string]json.RawMessage
	}
	var balances []struct{ Owner string }
	if err := json.Unmarshal(result, &r); err != nil {
		panic(err)
	}
	if err := json.Unmarshal(r.Meta[list], &balances); err != nil {
		panic(err)
	}
	return balances[0].Owner
}

// TestLyingNode checks that the lies of one node are found by asking others: with three the index is the true one,
// wherever the liar stands; with two nothing wrong is stored, and an error names both until a third one decides.
func TestLyingNode(t *testing.T) {
	t.Parallel()
	testgate.NotRaced(t)
	all, settler := chaintest.SolanaHistory(lieLength)
	acme := ledger.ScanSettler{Address: settler, Facilitator: "acme"}
	truth := newWalkStore(acme)
	if _, err := solanaIndexer(t, truth, nil, newSolanaNode(t, all)).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := func(s *walkStore, log *bytes.Buffer, nodes ...*solanaNode) (err error) {
		x := solanaIndexer(t, s, log, nodes...)
		for range 20 {
			if _, err = x.Once(t.Context()); err == nil {
				break
			}
		}
		return err
	}
	for name, lie := range lies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, _ := chaintest.SolanaHistory(lieLength)
			liar, honest := newSolanaNode(t, lie(list)), []*solanaNode{newSolanaNode(t, all), newSolanaNode(t, all)}
			for _, nodes := range [][]*solanaNode{{liar, honest[0], honest[1]}, {honest[0], liar, honest[1]},
				{honest[0], honest[1], liar}} {
				s, log := newWalkStore(acme), &bytes.Buffer{}
				if err := read(s, log, nodes...); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(truth.settlements, s.settlements); diff != "" {
					t.Errorf("three nodes (-want +got):\n%s", diff)
				}
				if nodes[0] == liar && name != earlyEnd && !strings.Contains(log.String(), "is set aside") {
					t.Errorf("the log does not say what the liar said:\n%s", log)
				}
			}
			s, log := newWalkStore(acme), &bytes.Buffer{}
			err := read(s, log, liar, honest[0])
			if name != earlyEnd && (err == nil || !strings.Contains(err.Error(), "no third node says which is right")) {
				t.Errorf("two nodes that differ: %v", err)
			}
			for key, got := range s.settlements {
				if diff := cmp.Diff(truth.settlements[key], got); diff != "" {
					t.Errorf("two nodes that differ (-want +got):\n%s", diff)
				}
			}
			if err := read(s, log, liar, honest[0], honest[1]); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(truth.settlements, s.settlements); diff != "" {
				t.Errorf("a third node decides (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLyingHead checks that nothing is taken for read up to a slot that one node alone claims to have.
func TestLyingHead(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(lieLength)
	liar, honest := newSolanaNode(t, all), newSolanaNode(t, all)
	liar.Spoil = func(c *chaintest.SolanaCall) {
		switch c.Method {
		case "getSlot":
			c.Result = 900_000_000
		case "getBlockTime":
			if string(c.Params[0]) == "900000000" {
				c.Result = all[len(all)-1].Time + 60
			}
		}
	}
	s := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"})
	if _, err := solanaIndexer(t, s, nil, liar, honest).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(successes(0, lieLength), s.amounts()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if s.head.Block > 400_001_000 || s.walks[settler].NewestSlot != s.head.Block {
		t.Errorf("head %d, read up to %d", s.head.Block, s.walks[settler].NewestSlot)
	}
}

// TestNodesBehind checks that a node that lacks the newest slots is not taken for a liar, and that what two nodes have
// is read.
func TestNodesBehind(t *testing.T) {
	t.Parallel()
	all, settler := chaintest.SolanaHistory(300)
	for _, lag := range []int64{10, 40} {
		for _, behindFirst := range []bool{true, false} {
			behind, honest := newSolanaNode(t, all), newSolanaNode(t, all)
			behind.Lag = lag
			nodes := []*solanaNode{honest, behind}
			if behindFirst {
				slices.Reverse(nodes)
			}
			s, log := newWalkStore(ledger.ScanSettler{Address: settler, Facilitator: "acme"}), &bytes.Buffer{}
			x := solanaIndexer(t, s, log, nodes...)
			if _, err := x.Once(t.Context()); err != nil {
				t.Fatalf("%d slots behind: %v", lag, err)
			}
			if diff := cmp.Diff(successes(0, 301-2*int(lag)), s.amounts()); diff != "" {
				t.Errorf("%d slots behind (-want +got):\n%s", lag, diff)
			}
			behind.Set(func(n *chaintest.Solana) { n.Lag = 0 })
			if _, err := x.Once(t.Context()); err != nil {
				t.Fatalf("%d slots behind, later: %v", lag, err)
			}
			if diff := cmp.Diff(successes(0, 300), s.amounts()); diff != "" {
				t.Errorf("%d slots behind, later (-want +got):\n%s", lag, diff)
			}
			if strings.Contains(log.String(), "set aside") {
				t.Errorf("%d slots behind: %s", lag, log)
			}
		}
	}
}
