package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/testgate"
)

// indexModel drives a database as an indexer does.
type indexModel struct {
	db           *postgres.DB
	chain        *chainModel
	facilitators map[string]ledger.Facilitator
}

func newIndexModel(ctx context.Context, t fataler, dsn string, chain *chainModel) *indexModel {
	empty(ctx, t, dsn)
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	return &indexModel{db, chain, map[string]ledger.Facilitator{"acme": facilitator("acme"),
		"bolt": facilitator("bolt")}}
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// empty takes out what an index fills; few rows leave faster one by one.
func empty(ctx context.Context, t fataler, dsn string) {
	t.Helper()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	for _, table := range []string{"settlers", "facilitator_tokens", "facilitators", "range_authorizations",
		"range_senders", "ranges",
		"scan_settlers", "scans", "walks", "chains", "accounts", "authorization_days", "sender_days",
		"settlements", "token_totals", "token_hours", "token_days", "token_payers", "settler_days", "payee_days",
		"payee_totals", "payer_days", "amount_days"} {
		if _, err := conn.Exec(ctx, `DELETE FROM `+table); err != nil {
			t.Fatal(err)
		}
	}
}

// list puts a settler on the list of a facilitator, or takes it off.
func (m *indexModel) list(ctx context.Context, t fataler, facilitator string, settler ledger.Settler, on bool) {
	t.Helper()
	f := m.facilitators[facilitator]
	f.Settlers = slices.DeleteFunc(slices.Clone(f.Settlers), func(s ledger.Settler) bool {
		return s.Address == settler.Address
	})
	if on {
		f.Settlers = append(f.Settlers, settler)
	}
	m.facilitators[facilitator] = f
	if _, err := m.db.ImportFacilitators(ctx, []ledger.Facilitator{m.facilitators["acme"],
		m.facilitators["bolt"]}); err != nil {
		t.Fatal(err)
	}
}

// open registers the settlers that are new.
func (m *indexModel) open(ctx context.Context, t fataler) {
	t.Helper()
	fresh, err := m.db.NewSettlers(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	if len(fresh) == 0 {
		return
	}
	first := m.chain.head()
	for _, s := range fresh {
		n := int64(0)
		for s.Since != nil && blockTime(n).Before(*s.Since) {
			n++
		}
		first = min(first, n)
	}
	for range 2 { // told twice
		if err := m.db.OpenScans(ctx, base, fresh, first, blockTime(first), m.chain.head()); err != nil {
			t.Fatal(err)
		}
	}
}

// compare looks for a reorganisation and rolls it back, as an indexer does before it goes on.
func (m *indexModel) compare(ctx context.Context, t fataler) bool {
	t.Helper()
	ends, err := m.db.RangeEnds(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	ancestor := int64(-1)
	for i, e := range ends {
		if e.Last <= m.chain.head() && m.chain.blocks[e.Last].hash == e.Hash {
			if i == 0 {
				return false
			}
			ancestor = e.Last
			break
		}
	}
	if len(ends) == 0 {
		return false
	}
	if _, err := m.db.RollBack(ctx, base, ancestor); err != nil {
		t.Fatal(err)
	}
	return true
}

// step commits a range of one of the open scans, or several in one; false when there is nothing to do.
func (m *indexModel) step(ctx context.Context, t fataler, pick, size int) bool {
	t.Helper()
	scans, err := m.db.Scans(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	scans = slices.DeleteFunc(scans, func(s ledger.Scan) bool { return s.Next > m.chain.head() })
	if len(scans) == 0 {
		return false
	}
	s := scans[pick%len(scans)]
	last := min(s.Next+int64(size), m.chain.head())
	if s.End != nil {
		last = min(last, *s.End-1)
	}
	var ranges []ledger.Range
	var stored int64
	for first := s.Next; first <= last; {
		to := min(first+int64(size/3), last)
		ranges = append(ranges, m.chain.read(s, first, to))
		stored += int64(len(ranges[len(ranges)-1].Settlements))
		first = to + 1
	}
	fresh, err := m.db.CommitRanges(ctx, ranges...)
	if errors.Is(err, ledger.ErrMoved) { // by another writer
		return true
	}
	if err != nil || fresh > stored {
		t.Fatalf("%d of %d new, error %v", fresh, stored, err)
	}
	if _, err := m.db.CommitRanges(ctx, ranges...); !errors.Is(err, ledger.ErrMoved) {
		t.Fatalf("the same again: error %v, want ErrMoved", err)
	}
	return true
}

// finish brings an index to the head, by several writers at once.
func (m *indexModel) finish(ctx context.Context, t fataler, writers int) {
	t.Helper()
	m.open(ctx, t)
	for m.compare(ctx, t) {
	}
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			r := rand.New(rand.NewPCG(m.chain.seed, uint64(i)))
			for m.step(ctx, t, r.IntN(10), r.IntN(12)) {
			}
		})
	}
	group.Wait()
}

const ofFlow = ` JOIN facilitator_tokens f ON f.id = token_id JOIN chains c ON c.id = f.chain_id`

// tables are all that an index fills, with names instead of numbers.
var tables = []struct{ name, sql string }{
	{"settlements",
		`SELECT s.settled_at, block, x.address, p.address, q.address, facilitator_id, network, token, log_index,
			encode(transaction, 'hex'), encode(block_hash, 'hex'), method, amount
		FROM settlements s` + ofFlow + ` JOIN accounts x ON x.id = settler_id
			JOIN accounts p ON p.id = payer_id JOIN accounts q ON q.id = payee_id`},
	{"token_totals",
		`SELECT facilitator_id, network, token, settlements, amount, payers, first_day, last_at FROM token_totals` +
			ofFlow},
	{"token_hours", `SELECT facilitator_id, network, token, hour, settlements, amount FROM token_hours` + ofFlow},
	{"token_days",
		`SELECT facilitator_id, network, token, day, settlements, amount, self_settlements, self_amount, last_at
			FROM token_days` + ofFlow},
	{"token_payers", `SELECT facilitator_id, network, token, address, last_day FROM token_payers` + ofFlow +
		` JOIN accounts p ON p.id = payer_id`},
	{"settler_days", `SELECT network, address, day, settlements, last_at FROM settler_days d
		JOIN chains c ON c.id = d.chain_id JOIN accounts a ON a.id = settler_id`},
	{"payee_days",
		`SELECT facilitator_id, network, token, address, day, settlements, amount, first_at, last_at FROM payee_days` +
			ofFlow + ` JOIN accounts p ON p.id = payee_id`},
	{"payee_totals",
		`SELECT facilitator_id, network, token, address, settlements, amount, first_at, last_at FROM payee_totals` +
			ofFlow + ` JOIN accounts p ON p.id = payee_id`},
	{"payer_days",
		`SELECT facilitator_id, network, token, p.address, q.address, day, settlements, amount FROM payer_days` +
			ofFlow + ` JOIN accounts p ON p.id = payer_id JOIN accounts q ON q.id = payee_id`},
	{"amount_days", `SELECT facilitator_id, network, token, address, day, amount, settlements FROM amount_days` +
		ofFlow + ` JOIN accounts p ON p.id = payee_id`},
	{"authorization_days", `SELECT token, day, authorizations, attributed FROM authorization_days`},
	{"sender_days", `SELECT day, sender, token, payments, amount, recipients FROM sender_days`},
}

// dump reads every table, row by row, in one order.
func dump(ctx context.Context, t fataler, dsn string) map[string][]string {
	t.Helper()
	conn, err := pgx.Connect(ctx, dsn+"&timezone=UTC")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	out := map[string][]string{}
	for _, table := range tables {
		rows, err := conn.Query(ctx, `SELECT row_to_json(r)::text FROM (`+table.sql+`) r`)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		out[table.name] = lines
	}
	return out
}

// readRevenue reads what every payee took, with all days, at a time at which so many days of the chain are before the
// window.
func (m *indexModel) readRevenue(ctx context.Context, t fataler, old int) []ledger.PayeeFacts {
	t.Helper()
	var recipients []ledger.Recipient
	for i := range 6 {
		recipients = append(recipients, ledger.Recipient{ServiceID: int64(i), Network: base,
			Address: fmt.Sprintf("0xa%d", i)})
	}
	var tokens []ledger.CountedToken
	for _, facilitator := range []string{"acme", "bolt"} {
		for _, token := range []string{"usdc", "eurc"} {
			tokens = append(tokens, ledger.CountedToken{Facilitator: facilitator, Network: base, Token: token,
				Unit: "0.000001"})
		}
	}
	var revenue *ledger.Revenue
	if err := m.db.Read(ctx, func(r *postgres.Reader) (err error) {
		revenue, err = r.ReadRevenue(ctx, blockTime(0).AddDate(0, 0, 89+old), recipients, tokens)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return unfolded(t, revenue)
}

// unfolded are payees with all their days.
func unfolded(t fataler, revenue *ledger.Revenue) []ledger.PayeeFacts {
	t.Helper()
	list := slices.Clone(revenue.Payees)
	for i := range list {
		past, err := list[i].Past()
		if err != nil {
			t.Fatal(err)
		}
		list[i].Days = append(past, list[i].Days...)
	}
	return list
}

// TestIndexEqualsFreshIndex changes a chain and the lists of settlers while one or two writers index it in random
// ranges. In the end every table equals that of a new index of the chain.
func TestIndexEqualsFreshIndex(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	ctx := t.Context()
	dsn, freshDSN := template.Database(t), template.Database(t)
	rapid.Check(t, func(t *rapid.T) {
		chain := &chainModel{seed: rapid.Uint64().Draw(t, "seed")}
		chain.grow(rapid.IntRange(1, 40).Draw(t, "blocks"))
		m := newIndexModel(ctx, t, dsn, chain)
		defer m.db.Close()
		settlers := map[string]ledger.Settler{}
		owner := func(address string) string { return []string{"acme", "bolt"}[int(address[3]-'0')%2] }
		for range rapid.IntRange(5, 40).Draw(t, "events") {
			switch rapid.SampledFrom([]string{"grow", "reorganise", "settler", "leaves", "pack", "commit", "commit",
				"commit", "commit", "commit"}).Draw(t, "event") {
			case "grow":
				chain.grow(rapid.IntRange(1, 20).Draw(t, "blocks"))
			case "reorganise":
				chain.reorganise(rapid.IntRange(1, 50).Draw(t, "depth"), rapid.IntRange(1, 50).Draw(t, "blocks"))
			case "settler":
				s := ledger.Settler{Network: base, Address: fmt.Sprintf("0xs%d",
					rapid.IntRange(0, 3).Draw(t, "settler")), Tokens: []string{"usdc"}}
				if other, ok := settlers[s.Address]; ok {
					s = other
				} else if day := rapid.IntRange(0, int(chain.head()/8)).Draw(t, "since"); day > 0 {
					since := blockTime(int64(day) * 8).Truncate(24 * time.Hour)
					s.Since = &since
				}
				settlers[s.Address] = s
				m.list(ctx, t, owner(s.Address), s, true)
			case "leaves":
				for address, s := range settlers {
					if address == fmt.Sprintf("0xs%d", rapid.IntRange(0, 3).Draw(t, "settler")) {
						m.list(ctx, t, owner(address), s, false)
					}
				}
			case "pack":
				m.readRevenue(ctx, t, rapid.IntRange(0, 100).Draw(t, "old"))
			case "commit":
				m.open(ctx, t)
				m.compare(ctx, t)
				m.step(ctx, t, rapid.IntRange(0, 5).Draw(t, "scan"), rapid.IntRange(0, 12).Draw(t, "size"))
			}
		}
		// from the first block on, which all are counted from then
		settlers["0xs5"] = ledger.Settler{Network: base, Address: "0xs5", Tokens: []string{"usdc"}}
		for address, s := range settlers {
			m.list(ctx, t, owner(address), s, true)
		}
		m.finish(ctx, t, 2)

		fresh := newIndexModel(ctx, t, freshDSN, chain)
		defer fresh.db.Close()
		for address, s := range settlers {
			fresh.list(ctx, t, owner(address), s, true)
		}
		fresh.finish(ctx, t, 1)
		got := dump(ctx, t, dsn)
		if diff := gocmp.Diff(dump(ctx, t, freshDSN), got); diff != "" {
			t.Fatalf("not as a fresh index (-fresh +got):\n%s", diff)
		}
		old := rapid.IntRange(0, 100).Draw(t, "old")
		want := fresh.readRevenue(ctx, t, old)
		for range 2 { // of what is packed already, and of all
			if diff := gocmp.Diff(want, m.readRevenue(ctx, t, old),
				cmpopts.IgnoreUnexported(ledger.PayeeFacts{})); diff != "" {
				t.Fatalf("not what is read from a fresh index (-fresh +got):\n%s", diff)
			}
		}
		count := 0
		for _, b := range chain.blocks {
			for _, x := range b.transfers {
				if s, listed := settlers[x.Settler]; listed && (s.Since == nil || !x.Time.Before(*s.Since)) {
					count++
				}
			}
		}
		if n := len(got["settlements"]); n != count {
			t.Fatalf("%d settlements, counted by hand %d", n, count)
		}
	})
}
