package evm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/crawl"
	"tollbook/crawl/chain"
	"tollbook/site/leaktest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/postgrestest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// directory is a database with a market's settlers.
type directory struct {
	*postgres.DB
	conn *pgx.Conn
}

func newDirectory(t *testing.T, settlers []ledger.ScanSettler, network string) *directory {
	t.Helper()
	dsn := postgrestest.NewDatabase(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var list []ledger.Facilitator
	for _, s := range settlers {
		list = append(list, ledger.Facilitator{
			ID: s.Facilitator, Name: s.Facilitator, WebsiteURL: "https://" + s.Facilitator + ".test",
			UpstreamStatus: "merged",
			Settlers:       []ledger.Settler{{Network: network, Address: s.Address, Tokens: s.Tokens}},
		})
	}
	if _, err := db.ImportFacilitators(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &directory{db, conn}
}

// settled returns the stored settlements.
func (d *directory) settled(t *testing.T) []ledger.Settlement {
	t.Helper()
	rows, err := d.conn.Query(t.Context(), `
		SELECT c.network, s.block, '0x' || encode(s.block_hash, 'hex'), s.settled_at,
			'0x' || encode(s.transaction, 'hex'), s.log_index, s.method,
			f.facilitator_id, settler.address, f.token, payer.address, payee.address, s.amount::text
		FROM settlements s JOIN facilitator_tokens f ON f.id = s.token_id JOIN chains c ON c.id = s.chain_id
		JOIN accounts settler ON settler.id = s.settler_id
		JOIN accounts payer ON payer.id = s.payer_id JOIN accounts payee ON payee.id = s.payee_id
		ORDER BY s.block, s.log_index`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (s ledger.Settlement, err error) {
		err = row.Scan(&s.Network, &s.Block, &s.BlockHash, &s.Time, &s.Transaction, &s.LogIndex, &s.Method,
			&s.Facilitator, &s.Settler, &s.Token, &s.Payer, &s.Payee, &s.Amount)
		s.Time = s.Time.UTC()
		return s, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// summed returns the sums by facilitator of settlements and of roll-ups, which must be equal.
func (d *directory) summed(t *testing.T) (list []string) {
	t.Helper()
	rows, err := d.conn.Query(t.Context(), `
		SELECT format('%s %s: %s settlements, %s', f.facilitator_id, f.token, sum(d.settlements), sum(d.amount))
		FROM token_days d JOIN facilitator_tokens f ON f.id = d.token_id GROUP BY f.facilitator_id, f.token ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	if list, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	return list
}

// sums returns the same sums, from rows.
func sums(t *testing.T, d *directory) (list []string) {
	t.Helper()
	rows, err := d.conn.Query(t.Context(), `
		SELECT format('%s %s: %s settlements, %s', f.facilitator_id, f.token, count(*), sum(s.amount))
		FROM settlements s JOIN facilitator_tokens f ON f.id = s.token_id
		GROUP BY f.facilitator_id, f.token ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	if list, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	return list
}

// killer ends a context during a request.
type killer struct {
	left atomic.Int64
	kill func()
}

func (k *killer) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.left.Add(-1) == 0 {
		k.kill()
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestAnvilIntoPostgres indexes a live chain into the real store, through reorganisations and kills.
func TestAnvilIntoPostgres(t *testing.T) {
	t.Parallel()
	n := startAnvil(t)
	m := newMarket(t, n, func() { n.call(nil, "evm_mine") })
	settlers := m.listed()
	for i := range settlers {
		settlers[i].Tokens = []string{hexOf(m.token[:])}
	}
	network := chain.Network{
		ID: fmt.Sprintf("eip155:%d", n.chainID), RPC: []string{n.url}, Confirmations: 1,
		Tokens: []chain.Token{{Address: hexOf(m.token[:]), Symbol: "USDC", Decimals: 6}},
	}
	index := func(ctx context.Context, d *directory, o chain.Options) error {
		x, err := crawl.NewIndexer(d.DB, []chain.Network{network}, o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = x.Once(ctx)
		return err
	}
	d := newDirectory(t, settlers, network.ID)
	check := func(what string) {
		t.Helper()
		m.mine()
		for kills := 0; ; kills++ { // at any request, until one indexer finishes
			ctx, kill := context.WithCancel(t.Context())
			k := &killer{kill: kill}
			k.left.Store(m.r.Int64N(12) + 1)
			if kills == 3 {
				k.left.Store(1 << 40)
			}
			err := index(ctx, d, chain.Options{HTTP: &http.Client{Transport: k}})
			kill()
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(m.settled(n.head()-1), d.settled(t)); diff != "" {
			t.Fatalf("%s: settlements (-want +got):\n%s", what, diff)
		}
		if diff := cmp.Diff(sums(t, d), d.summed(t)); diff != "" {
			t.Fatalf("%s: roll-ups (-rows +rolled up):\n%s", what, diff)
		}
	}
	for range 3 {
		m.trade()
		m.tradeContracts()
		m.mine()
	}
	check("from empty")
	for _, depth := range []int{2, 6} {
		var snapshot string
		n.call(&snapshot, "evm_snapshot")
		nonces := map[[20]byte]int64{}
		for who, nonce := range m.nonces {
			nonces[who] = nonce
		}
		for range depth {
			m.trade()
			m.mine()
		}
		check("before a reorganisation")
		n.call(nil, "evm_revert", snapshot)
		m.nonces = nonces
		for range depth + 1 {
			m.trade()
			m.tradeContracts()
			m.mine()
		}
		check(fmt.Sprintf("after a reorganisation of %d rounds", depth))
	}
	n.call(nil, "anvil_reorg", 4, []any{})
	check("after a reorganisation to the same height")

	fresh := newDirectory(t, settlers, network.ID)
	if err := index(t.Context(), fresh, chain.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fresh.settled(t), d.settled(t)); diff != "" {
		t.Errorf("a fresh index (-fresh +got):\n%s", diff)
	}
	if diff := cmp.Diff(fresh.summed(t), d.summed(t)); diff != "" {
		t.Errorf("a fresh index's roll-ups (-fresh +got):\n%s", diff)
	}
}
