package evm_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tollbook/cmd/nodetest"
	"tollbook/crawl/chain"
	"tollbook/site/testgate"
)

// contracts returns the compiled contracts of testdata/contracts.
func contracts(t *testing.T) (list map[string]struct{ Creation, Runtime string }) {
	t.Helper()
	raw, err := os.ReadFile("testdata/contracts/contracts.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestContractsAreTheirSource compiles the contracts again and compares the code.
func TestContractsAreTheirSource(t *testing.T) {
	t.Parallel()
	modules := nodetest.Install(t, "testdata/node")
	program, err := filepath.Abs("testdata/contracts/compile.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", program)
	cmd.Dir = filepath.Dir(modules)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	got, err := cmd.Output()
	if err != nil {
		t.Fatalf("compile: %v\n%s", err, &stderr)
	}
	want, err := os.ReadFile("testdata/contracts/contracts.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("contracts.json is not what Contracts.sol compiles to: in testdata/contracts, with solc below " +
			"node_modules, run node compile.mjs >contracts.json")
	}
}

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }

type receipt struct {
	TransactionHash, Status, BlockNumber, BlockHash, ContractAddress string
	Logs                                                             []struct{ LogIndex string }
}

// TestAnvil compares the index of a live chain with what was sent to it, through reorganisations and kills.
func TestAnvil(t *testing.T) {
	t.Parallel()
	n := startAnvil(t)
	m := newMarket(t, n, func() { n.call(nil, "evm_mine") })
	l := newLedger(m.listed()...)
	round := func(trades int) {
		t.Helper()
		for range trades {
			m.trade()
			m.tradeContracts()
			m.mine()
		}
		m.mine()
	}
	round(3)
	m.check("from empty", l)

	// Return to a snapshot and continue with other blocks, to the same height and beyond it.
	for i, depth := range []int{1, 4, 9} {
		var snapshot string
		n.call(&snapshot, "evm_snapshot")
		nonces := map[[20]byte]int64{}
		for who, nonce := range m.nonces {
			nonces[who] = nonce
		}
		round(depth)
		m.check("before a reorganisation", l)
		n.call(nil, "evm_revert", snapshot)
		m.nonces = nonces
		round(depth + i)
		m.check(fmt.Sprintf("after a reorganisation of %d rounds", depth), l)
	}
	head := n.head()
	n.call(nil, "anvil_reorg", 3, []any{}) // its blocks come back empty, at the same height
	if n.head() != head {
		t.Errorf("head %d after anvil_reorg, want %d", n.head(), head)
	}
	removed := len(l.rows)
	m.check("after a reorganisation to the same height", l)
	if removed -= len(l.rows); removed <= 0 {
		t.Errorf("%d settlements left the index, want some", removed)
	}
	if len(l.rollBacks) < 4 {
		t.Errorf("rolled back %d times, want at least 4", len(l.rollBacks))
	}

	killed := newLedger(m.listed()...)
	for kills := 0; ; kills++ {
		ctx, kill := context.WithCancel(t.Context())
		killed.onCommit = func(int) error {
			if m.r.IntN(2) == 0 {
				kill()
			}
			return nil
		}
		_, err := m.indexer(killed, chain.Options{}).Once(ctx)
		kill()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || kills > 200 {
			t.Fatalf("after %d kills: %v", kills, err)
		}
	}
	if diff := cmp.Diff(l.settled(), killed.settled()); diff != "" {
		t.Errorf("after kills (-want +got):\n%s", diff)
	}
}

// TestGeth does the same with another node, which reorganises in another way.
func TestGeth(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	n := startGeth(t)
	m := newMarket(t, n, nil)
	l := newLedger(m.listed()...)
	for range 3 {
		m.trade()
		m.mine()
	}
	m.check("from empty", l)
	for _, depth := range []int64{2, 9} {
		was, target := n.head(), l.end()+1-depth // geth mines in its own time: its head may be beyond
		n.call(nil, "debug_setHead", fmt.Sprintf("0x%x", target))
		if n.head() != target {
			t.Fatalf("head %d after debug_setHead, want %d", n.head(), target)
		}
		m.forget()
		// geth may use as few blocks as it likes; the reader waits while the chain is shorter than before.
		for done := 0; done < 2 || n.head() <= was; done++ {
			m.trade()
			m.trade()
			m.mine()
		}
		m.check(fmt.Sprintf("after a reorganisation of %d blocks", depth), l)
	}
	if len(l.rollBacks) != 2 {
		t.Errorf("rolled back %d times, want 2", len(l.rollBacks))
	}
}

// TestFeeTokens checks on a live chain that of a token which takes a fee in a transfer of its own, before or after each
// payment, the payment counts and the fee does not: alone, for a payer that is a contract, and for several payers and
// one payer twice in a transaction.
func TestFeeTokens(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	for name, first := range map[string]byte{"before": 1, "after": 0} {
		var m *market
		if first == 1 {
			m = newMarketOf(t, startGeth(t), nil, "FeeToken", []byte{1})
		} else {
			n := startAnvil(t)
			m = newMarketOf(t, n, func() { n.call(nil, "evm_mine") }, "FeeToken", []byte{0})
		}
		settler, seller := m.settlers[0], seededKey('r', 1).address
		at := func(payment int) int { return 3*payment + 1 + int(first) } // after the authorisation and perhaps the fee
		for range 2 {
			a := m.authorize(m.buyers[1].address, seller, 3) // as much as the fee
			m.send(settler, m.token[:], a.input(m.chainID, m.token, m.buyers[1]),
				[]livePayment{{at(0), "eip3009", settler.address, a.from, a.to, a.value}})
			a = m.authorize(m.wallet, seller, 70)
			m.send(settler, m.token[:], a.bytesInput(m.chainID, m.token, m.buyers[0]),
				[]livePayment{{at(0), "eip3009", settler.address, m.wallet, a.to, a.value}})
			var inputs [][]byte
			var paid []livePayment
			for i, payer := range []int{1, 2, 2, 3} {
				a := m.authorize(m.buyers[payer].address, seller, int64(100+i))
				inputs = append(inputs, a.input(m.chainID, m.token, m.buyers[payer]))
				paid = append(paid, livePayment{at(i), "eip3009", settler.address, a.from, a.to, a.value})
			}
			m.send(settler, m.batch[:], aggregate(m.token, inputs...), paid)
			m.mine()
		}
		m.give(m.stranger.address) // a block more, because the index stays one behind
		m.mine()
		m.check("a fee "+name+" the payment", newLedger(m.listed()...))
	}
}
