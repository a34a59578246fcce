package postgres_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/postgrestest"
)

// TestRecordSettlementsInParallel checks that concurrent writers of the same rows wait for each other: no settlement is
// lost or counted twice, and nothing deadlocks.
func TestRecordSettlementsInParallel(t *testing.T) {
	t.Parallel()
	db := open(t)
	if _, err := db.ImportFacilitators(t.Context(),
		[]ledger.Facilitator{facilitator("acme"), facilitator("bolt")}); err != nil {
		t.Fatal(err)
	}
	list := someSettlements(rand.New(rand.NewPCG(3, 4)), 600, start)
	type result struct {
		n   int64
		err error
	}
	results := make(chan result)
	for i := range 4 {
		go func() {
			mine := slices.Clone(list)
			rand.New(rand.NewPCG(5, uint64(i))).Shuffle(len(mine), func(a, b int) {
				mine[a], mine[b] = mine[b], mine[a]
			})
			var sum result
			for part := range slices.Chunk(mine, 100) {
				n, err := db.RecordSettlements(t.Context(), part)
				sum.n += n
				sum.err = errors.Join(sum.err, err)
			}
			results <- sum
		}()
	}
	var total int64
	for range 4 {
		r := <-results
		if r.err != nil {
			t.Error(r.err)
		}
		total += r.n
	}
	if total != int64(len(list)) {
		t.Errorf("%d recorded by all, want %d", total, len(list))
	}
}

// rowsSince leaves out the rows of hours or days before; none when the time is zero.
func rowsSince(t *testing.T, lines []string, since time.Time) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		var row struct {
			Hour time.Time
			Day  string
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		if day, err := time.Parse(time.DateOnly, row.Day); err == nil {
			row.Hour = day
		}
		return !since.IsZero() && row.Hour.Before(since)
	})
}

// TestRetainSettlementSums checks how long sums are stored: hours as long as those of checks, amounts and senders for
// 90 days, other days for ever. A roll-back below deleted sums gives the result of a new index. A clock that is a year
// ahead deletes at most a day more.
func TestRetainSettlementSums(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	m := newIndexModel(t.Context(), t, dsn, &chainModel{seed: 3})
	defer m.db.Close()
	m.chain.grow(8 * 120)
	m.list(t.Context(), t, "acme", ledger.Settler{Network: base, Address: "0xs0", Tokens: []string{"usdc"}}, true)
	m.finish(t.Context(), t, 1)
	before := dump(t.Context(), t, dsn)
	now := blockTime(8*120 - 1)
	if err := m.db.Retain(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	after := dump(t.Context(), t, dsn)
	midnight := now.Truncate(24 * time.Hour)
	since := map[string]time.Time{"token_hours": now.Add(-ledger.HourRetention),
		"amount_days": midnight.AddDate(0, 0, -90), "sender_days": midnight.AddDate(0, 0, -90)}
	for table, lines := range before {
		want := rowsSince(t, lines, since[table])
		if diff := gocmp.Diff(want, after[table]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", table, diff)
		}
		if _, drops := since[table]; drops != (len(want) < len(lines)) || len(want) == 0 {
			t.Errorf("%s: %d of %d rows stay", table, len(want), len(lines))
		}
	}
	if err := m.db.Retain(t.Context(), now.AddDate(1, 0, 0)); err != nil {
		t.Fatal(err)
	}
	changed := dump(t.Context(), t, dsn)
	for table, lines := range after {
		var least time.Time
		if from, drops := since[table]; drops {
			least = from.AddDate(0, 0, 1)
		}
		if diff := gocmp.Diff(rowsSince(t, lines, least), rowsSince(t, changed[table], least)); diff != "" {
			t.Errorf("%s under a clock that is a year ahead (-want +got):\n%s", table, diff)
		}
	}
	m.chain.reorganise(8*120-1, 40)
	m.finish(t.Context(), t, 1)
	fresh := template.Database(t)
	f := newIndexModel(t.Context(), t, fresh, m.chain)
	defer f.db.Close()
	f.list(t.Context(), t, "acme", ledger.Settler{Network: base, Address: "0xs0", Tokens: []string{"usdc"}}, true)
	f.finish(t.Context(), t, 1)
	if diff := gocmp.Diff(dump(t.Context(), t, fresh), dump(t.Context(), t, dsn)); diff != "" {
		t.Errorf("after a roll-back below what was dropped (-fresh +got):\n%s", diff)
	}
}

// TestAmountsAreExact checks that every amount that a chain can have is stored exactly.
func TestAmountsAreExact(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{facilitator("acme")}); err != nil {
		t.Fatal(err)
	}
	want := []string{"0", "1", "9999", "10000", "10001", "99999999", "100000000", "120000000", "9223372036854775807",
		"9223372036854775808", "18446744073709551616",
		"115792089237316195423570985008687907853269984665640564039457584007913129639935", "1" + strings.Repeat("0", 99),
		strings.Repeat("9", 100)}
	var list []ledger.Settlement
	for i, amount := range want {
		list = append(list, ledger.Settlement{Network: base, Block: int64(i), Time: start, Transaction: "0x1",
			Facilitator: "acme", Settler: "s", Token: "usdc", Payer: "p", Payee: "q", Amount: amount})
	}
	if n, err := db.RecordSettlements(t.Context(), list); err != nil || n != int64(len(list)) {
		t.Fatalf("%d new, error %v", n, err)
	}
	conn := postgrestest.Connect(t, dsn)
	rows, err := conn.Query(t.Context(), `SELECT amount::text FROM settlements ORDER BY block`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	for i := range list { // what was new is there now
		list[i].Block += 100
	}
	if n, err := db.RecordSettlements(t.Context(), list); err != nil || n != int64(len(list)) {
		t.Fatalf("again: %d new, error %v", n, err)
	}
	for _, roll := range []struct{ table, sum, of string }{
		{"amount_days", `SELECT string_agg(amount || ' x ' || settlements, ', ' ORDER BY amount) FROM amount_days`,
			`SELECT string_agg(amount || ' x ' || n, ', ' ORDER BY amount)
				FROM (SELECT amount, count(*) AS n FROM settlements GROUP BY amount) s`},
		{"payer_days", `SELECT settlements || ' of ' || amount FROM payer_days`,
			`SELECT count(*) || ' of ' || sum(amount) FROM settlements`},
	} {
		var want, got string
		if err := conn.QueryRow(t.Context(), `SELECT (`+roll.of+`), (`+roll.sum+`)`).Scan(&want, &got); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", roll.table, diff)
		}
	}
}
