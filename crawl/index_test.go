package crawl

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/crawl/chain"
	"tollbook/crawl/chain/chaintest"
	"tollbook/site/postgres/ledger"
)

const (
	baseNetwork = "eip155:8453"
	baseUSDC    = "833589fcd6edb6e08f4c7c32d4f71b54bda02913"
)

// chainBytes decodes hex digits into an address or hash, padded with zeros on the left.
func chainBytes[T chaintest.Address | chaintest.Hash](digits string) (out T) {
	b, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	for i := range b {
		out[len(out)-len(b)+i] = b[i]
	}
	return out
}

func account(kind, n int) string { return fmt.Sprintf("%02x%038x", kind, n) }

// growChain adds n blocks. Each has an authorised payment sent by settler and one sent by a stranger.
func growChain(c *chaintest.Chain, settler string, n int) {
	authorization := chainBytes[chaintest.Hash]("98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5")
	transfer := chainBytes[chaintest.Hash]("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	usdc := chainBytes[chaintest.Address](baseUSDC)
	for range n {
		number := int(c.Head().Number) + 1
		var txs []chaintest.Tx
		for i, sender := range []string{settler, account(0x99, 1)} {
			payer, payee := chainBytes[chaintest.Hash](account(0xb0, number%7)),
				chainBytes[chaintest.Hash](account(0xc0, number%3))
			txs = append(txs, chaintest.Tx{From: chainBytes[chaintest.Address](sender), To: usdc,
				Nonce: uint64(2*number + i), Logs: []chaintest.Log{
					{Contract: usdc, Topics: []chaintest.Hash{authorization, payer,
						chainBytes[chaintest.Hash](fmt.Sprintf("%064x", number))}},
					{Contract: usdc, Topics: []chaintest.Hash{transfer, payer, payee},
						Data: big.NewInt(int64(1000 + number)).FillBytes(make([]byte, 32))},
				}})
		}
		c.Add(time.Date(2026, 7, 1, 0, number, 0, 0, time.UTC), txs...)
	}
}

// twoChains is a directory with a facilitator on two chains, and a node of each chain.
type twoChains struct {
	*memory
	base      *chaintest.Chain
	solana    *chaintest.Solana
	settlers  []string // on Base and Solana
	all       []chaintest.SolanaTransaction
	down      sync.Map // network -> true while its node is down
	addresses map[string]string
}

func newTwoChains(t *testing.T) *twoChains {
	t.Helper()
	w := &twoChains{base: chaintest.New(8453, time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)),
		addresses: map[string]string{}}
	w.base.Finality = 10
	all, onSolana := chaintest.SolanaHistory(300)
	w.all, w.settlers = all, []string{account(0xa0, 1), onSolana}
	w.solana = chaintest.NewSolana(all[:200])
	growChain(w.base, w.settlers[0], 120)
	for network, h := range map[string]http.Handler{baseNetwork: w.base, chaintest.SolanaID: w.solana} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if _, down := w.down.Load(network); down {
				rw.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(rw, r)
		}))
		t.Cleanup(server.Close)
		w.addresses[network] = server.URL
	}
	w.memory = w.directory(t)
	return w
}

// directory returns an empty directory with the facilitator.
func (w *twoChains) directory(t *testing.T) *memory {
	t.Helper()
	m := open(t)
	_, err := m.ImportFacilitators(t.Context(), []ledger.Facilitator{{
		ID: "acme", Name: "Acme", WebsiteURL: "https://acme.test", UpstreamStatus: "merged",
		Settlers: []ledger.Settler{
			{Network: baseNetwork, Address: "0x" + w.settlers[0], Tokens: []string{"0x" + baseUSDC}},
			{Network: chaintest.SolanaID, Address: w.settlers[1], Tokens: []string{chaintest.SolanaUSDC}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (w *twoChains) indexer(t *testing.T, m *memory, o chain.Options) *Indexer {
	t.Helper()
	o.Backoff = 100 * time.Microsecond
	x, err := NewIndexer(m.DB, []chain.Network{
		{ID: baseNetwork, RPC: []string{w.addresses[baseNetwork]}, Poll: 10 * time.Millisecond},
		{ID: chaintest.SolanaID, RPC: []string{w.addresses[chaintest.SolanaID]}, Poll: 10 * time.Millisecond},
	}, o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// indexed returns every row that indexing stores.
func (m *memory) indexed(t *testing.T) []string {
	t.Helper()
	return m.strings(t, `
		SELECT line FROM (
			SELECT 'settlement ' || concat_ws(' ', c.network, s.block, encode(s.block_hash, 'hex'),
				encode(s.transaction, 'hex'), s.log_index, s.method, f.facilitator_id,
				settler.address, payer.address, payee.address, f.token, s.amount, s.settled_at) AS line
			FROM settlements s JOIN facilitator_tokens f ON f.id = s.token_id JOIN chains c ON c.id = s.chain_id
			JOIN accounts settler ON settler.id = s.settler_id
			JOIN accounts payer ON payer.id = s.payer_id JOIN accounts payee ON payee.id = s.payee_id
			UNION ALL
			SELECT 'flow day ' || concat_ws(' ', c.network, d.day, d.settlements, d.amount, d.self_settlements,
				d.self_amount, d.last_at)
			FROM token_days d JOIN facilitator_tokens f ON f.id = d.token_id JOIN chains c ON c.id = f.chain_id
			UNION ALL
			SELECT 'flow hour ' || concat_ws(' ', c.network, d.hour, d.settlements, d.amount)
			FROM token_hours d JOIN facilitator_tokens f ON f.id = d.token_id JOIN chains c ON c.id = f.chain_id
			UNION ALL
			SELECT 'payer day ' || concat_ws(' ', c.network, d.day, payer.address, payee.address, d.settlements,
				d.amount)
			FROM payer_days d JOIN facilitator_tokens f ON f.id = d.token_id JOIN chains c ON c.id = f.chain_id
			JOIN accounts payer ON payer.id = d.payer_id JOIN accounts payee ON payee.id = d.payee_id
			UNION ALL
			SELECT 'seen day ' || concat_ws(' ', c.network, d.token, d.day, d.authorizations, d.attributed)
			FROM authorization_days d JOIN chains c ON c.id = d.chain_id
			UNION ALL
			SELECT 'walk ' || concat_ws(' ', address, until, newest, before) FROM walks
		) all_rows ORDER BY line COLLATE "C"`)
}

// count returns the number of stored settlements of a network.
func (m *memory) count(t *testing.T, network string) (n int) {
	t.Helper()
	err := m.conn.QueryRow(t.Context(),
		`SELECT count(*) FROM settlements s JOIN chains c ON c.id = s.chain_id WHERE c.network = $1`, network).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestIndexOnce indexes two chains from empty, then new blocks, then nothing. After a reorganisation its tables must
// equal those of an indexer that never read the dropped blocks.
func TestIndexOnce(t *testing.T) {
	t.Parallel()
	w := newTwoChains(t)
	x := w.indexer(t, w.memory, chain.Options{})
	for _, round := range []struct {
		name         string
		change       func()
		base, solana int64 // new settlements
	}{
		{"from empty", func() {}, 110, 160},
		{"again", func() {}, 0, 0},
		{"new blocks", func() { growChain(w.base, w.settlers[0], 30); w.solana.Grow(w.all[:300]) }, 30, 80},
		{"a reorganisation of forty blocks", func() { w.base.Cut(110); growChain(w.base, w.settlers[0], 60) }, 50, 0},
	} {
		round.change()
		reports, err := x.Once(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", round.name, err)
		}
		if reports[0].Network != baseNetwork || reports[0].Settlements != round.base ||
			reports[1].Network != chaintest.SolanaID || reports[1].Settlements != round.solana {
			t.Errorf("%s: %+v, want %d and %d settlements", round.name, reports, round.base, round.solana)
		}
	}
	fresh := w.directory(t)
	if _, err := w.indexer(t, fresh, chain.Options{}).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fresh.indexed(t), w.indexed(t)); diff != "" {
		t.Errorf("fresh and updated index (-fresh +updated):\n%s", diff)
	}
	if n := w.count(t, baseNetwork); n != 160 {
		t.Errorf("%d settlements on Base, want 160", n)
	}
}

// TestIndexOneNetworkDown checks that the error names a network that can't be read, and that the others are read.
func TestIndexOneNetworkDown(t *testing.T) {
	t.Parallel()
	for _, down := range []string{baseNetwork, chaintest.SolanaID} {
		w := newTwoChains(t)
		w.down.Store(down, true)
		_, err := w.indexer(t, w.memory, chain.Options{}).Once(t.Context())
		want := map[string]int{baseNetwork: 110, chaintest.SolanaID: 160}
		want[down] = 0
		if err == nil || !strings.Contains(err.Error(), "index "+down) || strings.Count(err.Error(), "index ") != 1 {
			t.Errorf("%s down: %v", down, err)
		}
		if diff := cmp.Diff(want, map[string]int{baseNetwork: w.count(t, baseNetwork),
			chaintest.SolanaID: w.count(t, chaintest.SolanaID)}); diff != "" {
			t.Errorf("%s down: settlements (-want +got):\n%s", down, diff)
		}
		w.down.Delete(down)
		if _, err := w.indexer(t, w.memory, chain.Options{}).Once(t.Context()); err != nil {
			t.Errorf("%s up again: %v", down, err)
		}
	}
}

// TestIndexStopped checks that an indexer that is stopped again and again ends with the same tables as one that was
// not.
func TestIndexStopped(t *testing.T) {
	t.Parallel()
	w := newTwoChains(t)
	stops := 0
	for done := false; !done; {
		ctx, stop := context.WithCancel(t.Context())
		_, err := w.indexer(t, w.memory, chain.Options{Concurrency: 1, Progress: func(p chain.Progress) {
			if p.Settlements > 0 {
				stop()
			}
		}}).Once(ctx)
		stop()
		if done = err == nil; !done {
			stops++
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if stops < 1 {
		t.Error("the indexer was never stopped")
	}
	fresh := w.directory(t)
	if _, err := w.indexer(t, fresh, chain.Options{}).Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fresh.indexed(t), w.indexed(t)); diff != "" {
		t.Errorf("never stopped and stopped %d times (-want +got):\n%s", stops, diff)
	}
}

// TestIndexBusy checks that a second indexer of the same network returns ErrBusy and that nothing is counted twice.
func TestIndexBusy(t *testing.T) {
	t.Parallel()
	w := newTwoChains(t)
	release, ok, err := w.LockIndex(t.Context(), baseNetwork)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := w.indexer(t, w.memory, chain.Options{}).Once(t.Context()); !errors.Is(err, chain.ErrBusy) ||
		!strings.Contains(err.Error(), baseNetwork) {
		t.Errorf("while another indexes Base: %v", err)
	}
	if n := w.count(t, chaintest.SolanaID); n != 160 {
		t.Errorf("%d settlements on Solana, want 160", n)
	}
	release()
	if _, err := w.indexer(t, w.memory, chain.Options{}).Once(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestIndexRun checks that Run reads new blocks, waits for a node that is down, and ends with its context.
func TestIndexRun(t *testing.T) {
	t.Parallel()
	w := newTwoChains(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	settled := make(chan chain.Progress, 1000)
	x := w.indexer(t, w.memory, chain.Options{Progress: func(p chain.Progress) { settled <- p }})
	ended := make(chan error)
	go func() { ended <- x.Run(ctx) }()
	until := func(network string, n int64) {
		t.Helper()
		for p := range settled {
			if p.Network == network && p.Settlements == n {
				return
			}
		}
	}
	until(baseNetwork, 110)
	w.down.Store(baseNetwork, true)
	growChain(w.base, w.settlers[0], 20)
	w.solana.Grow(w.all[:300])
	until(chaintest.SolanaID, 240)
	w.down.Delete(baseNetwork)
	until(baseNetwork, 130)
	stop()
	for {
		select {
		case <-settled:
			continue
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Run with an ended context: %v", err)
			}
		}
		break
	}
	if base, solana := w.count(t, baseNetwork), w.count(t, chaintest.SolanaID); base != 130 || solana != 240 {
		t.Errorf("%d and %d settlements, want 130 and 240", base, solana)
	}
}

func TestIndexerRefuses(t *testing.T) {
	t.Parallel()
	m := open(t)
	const key = "secret-key-in-path"
	for _, c := range []struct {
		networks []chain.Network
		want     string
	}{
		{[]chain.Network{{ID: baseNetwork, RPC: []string{"https://a.test"}},
			{ID: baseNetwork, RPC: []string{"https://b.test"}}}, "network eip155:8453 is configured twice"},
		{[]chain.Network{{ID: "hedera:mainnet", RPC: []string{"https://a.test"}}},
			"network hedera:mainnet: want an EVM chain"},
		{[]chain.Network{{ID: "eip155:31337", RPC: []string{"https://a.test"}}},
			"index eip155:31337: no token to measure"},
		{[]chain.Network{{ID: baseNetwork}}, "index eip155:8453: no RPC URL"},
		{[]chain.Network{{ID: baseNetwork, RPC: []string{"wss://a.test/" + key}}}, "RPC URL number 1"},
		{[]chain.Network{{ID: chaintest.SolanaID, RPC: []string{"https://a.test/%zz" + key}}}, "RPC URL number 1"},
	} {
		_, err := NewIndexer(m.DB, c.networks, chain.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), key) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
