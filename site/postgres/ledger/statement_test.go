package ledger_test

import (
	"context"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/postgrestest"
)

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

const base = "eip155:8453"

var now = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// read stores sums by SQL and reads a statement of the recipient "shop" on Base.
func read(t *testing.T, rows string) ledger.Statement {
	t.Helper()
	return readSince(t, time.Time{}, rows)
}

// readSince is read from a day on.
func readSince(t *testing.T, since time.Time, rows string) ledger.Statement {
	t.Helper()
	conn := postgrestest.Connect(t, template.Database(t))
	_, err := conn.Exec(t.Context(), `
		SET time zone 'UTC';
		INSERT INTO facilitators (id, name, website_url, upstream_status) VALUES ('f', 'F', 'https://f.test', 'merged');
		INSERT INTO chains (network) VALUES ('eip155:8453'), ('eip155:137');
		INSERT INTO accounts (address) VALUES ('shop'), ('ann'), ('bob');
		INSERT INTO facilitator_tokens (facilitator_id, chain_id, token)
			VALUES ('f', 1, 'usdc'), ('f', 2, 'usdc'), ('f', 1, 'eurc');`+rows)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	r, err := ledger.NewStatementReader(t.Context(), tx, now, []ledger.CountedToken{
		{Facilitator: "f", Network: base, Token: "usdc", Unit: "0.000001"},
		{Facilitator: "f", Network: "eip155:137", Token: "usdc", Unit: "0.000001"}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Read(t.Context(), []ledger.StatementRecipient{{Network: "eip155:1", Address: "nobody"},
		{Network: "eip155:137", Address: "shop"}, {Network: base, Address: "shop", Since: since}})
	if err != nil {
		t.Fatal(err)
	}
	return list[2]
}

// TestStatementBegins checks that a statement has no row of a day before its first, though another statement of the
// same account on another network has the day.
func TestStatementBegins(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)
	got := readSince(t, since, `
		INSERT INTO payee_days SELECT 1, token, day, 1, 30, day + time '08:00', day + time '09:00'
			FROM unnest(array[1, 2]) token, unnest(array[date '2026-11-09', '2026-11-10', '2026-11-11']) day;
		INSERT INTO payer_days (day, token_id, payee_id, payer_id, settlements, amount)
			SELECT day, token, 1, 2, 1, 30
			FROM unnest(array[1, 2]) token, unnest(array[date '2026-11-09', '2026-11-10', '2026-11-11']) day;
		INSERT INTO amount_days (day, token_id, payee_id, amount, settlements) SELECT day, token, 1, 30, 1
			FROM unnest(array[1, 2]) token, unnest(array[date '2026-11-09', '2026-11-10', '2026-11-11']) day`)
	var days []string
	for _, of := range got.Tokens {
		for _, d := range of.Days {
			days = append(days, "day "+d.Day.Format(time.DateOnly))
		}
		for _, p := range of.Payers {
			days = append(days, "payer "+p.Day.Format(time.DateOnly))
		}
		for _, a := range of.Amounts {
			days = append(days, "amount "+a.Day.Format(time.DateOnly))
		}
	}
	want := []string{"day 2026-11-10", "day 2026-11-11", "payer 2026-11-10", "payer 2026-11-11", "amount 2026-11-10",
		"amount 2026-11-11"}
	if diff := cmp.Diff(want, days); diff != "" || !got.FirstAt.Equal(since.Add(8*time.Hour)) {
		t.Errorf("rows since %s, first at %s (-want +got):\n%s", since.Format(time.DateOnly), got.FirstAt, diff)
	}
}

// TestStatementHasCountedRows checks that a statement has the rows of its recipient's own network in counted tokens, up
// to today, and that rows by payer and by amount are of their windows.
func TestStatementHasCountedRows(t *testing.T) {
	t.Parallel()
	day := func(text string) time.Time {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	got := read(t, `
		INSERT INTO payee_days SELECT 1, token, day, 2, 30, day + time '08:00', day + time '09:00'
			FROM unnest(array[1, 2, 3]) token, unnest(array[date '2026-01-01', '2026-08-23', '2026-10-21', '2026-11-20',
				'2026-11-21']) day;
		INSERT INTO payer_days SELECT day, token_id, 1, payer, 1, 15 FROM payee_days, unnest(array[2, 3]) payer;
		INSERT INTO amount_days SELECT day, token_id, 1, price, 1 FROM payee_days, unnest(array[20, 10]) price;`)
	var want ledger.Statement
	want.StatementRecipient = ledger.StatementRecipient{Network: base, Address: "shop"}
	want.FirstAt = day("2026-01-01").Add(8 * time.Hour)
	usdc := ledger.StatementToken{Facilitator: "f", Token: "usdc"}
	for _, d := range []time.Time{day("2026-01-01"), day("2026-08-23"), day("2026-10-21"), day("2026-11-20")} {
		usdc.Days = append(usdc.Days, ledger.StatementDay{Day: d, Settlements: 2, Amount: "30",
			FirstAt: d.Add(8 * time.Hour), LastAt: d.Add(9 * time.Hour)})
		if days := int(now.Sub(d).Hours() / 24); days < 90 {
			// the payers are the first digits of the SHA-256 of "ann" and "bob"
			usdc.Payers = append(usdc.Payers, ledger.StatementPayer{Day: d, Payer: "49915e0d7d4b402e", Settlements: 1,
				Amount: "15"}, ledger.StatementPayer{Day: d, Payer: "81b637d8fcd2c6da", Settlements: 1,
				Amount: "15"})
			if days < 30 {
				usdc.Amounts = append(usdc.Amounts, ledger.StatementAmount{Day: d, Amount: "10", Settlements: 1},
					ledger.StatementAmount{Day: d, Amount: "20", Settlements: 1})
			}
		}
	}
	want.Tokens = []ledger.StatementToken{usdc}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statement (-want +got):\n%s", diff)
	}
}

// TestStatementLeavesOutOldRows checks that a recipient with more rows than the limit has those of its newest days, all
// of each day, and all sums by day.
func TestStatementLeavesOutOldRows(t *testing.T) {
	t.Parallel()
	const daily = site.SettledRows / 4
	got := read(t, fmt.Sprintf(`
		INSERT INTO payee_days SELECT 1, 1, day, %[1]d, %[1]d, day, day
			FROM generate_series(date '2026-10-01', '2026-11-20', interval '1 day') day;
		INSERT INTO accounts (address) SELECT 'payer ' || i FROM generate_series(1, %[1]d) i;
		INSERT INTO payer_days SELECT day, 1, 1, 3 + i, 1, 1 FROM payee_days, generate_series(1, %[1]d) i;
		INSERT INTO amount_days SELECT day, 1, 1, 1, %[1]d FROM payee_days;`, daily))
	token := got.Tokens[0]
	from := time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC)
	if len(token.Days) != 51 || !got.RowsFrom.Equal(from) || len(token.Payers) != 3*daily || len(token.Amounts) != 3 ||
		!token.Payers[0].Day.Equal(from) || !token.Amounts[0].Day.Equal(from) {
		t.Errorf("%d days, rows from %v: %d by payer, %d by amount; want 51 days, %d and 3 rows from %v",
			len(token.Days), got.RowsFrom, len(token.Payers), len(token.Amounts), 3*daily, from)
	}
}

// TestStatementOfLargestAmounts checks that sums of many of the largest amounts that a chain has are exact.
func TestStatementOfLargestAmounts(t *testing.T) {
	t.Parallel()
	const largest = `trunc(2::numeric ^ 256 - 1)`
	got := read(t, `
		INSERT INTO payee_days SELECT 1, 1, day, 1000, 1000 * `+largest+`, day + time '08:00', day + time '09:00'
			FROM unnest(array[date '2026-11-19', '2026-11-20']) day;
		INSERT INTO payer_days SELECT day, token_id, 1, 2, 1000, amount FROM payee_days;
		INSERT INTO amount_days SELECT day, token_id, 1, `+largest+`, 1000 FROM payee_days;`)
	one := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	sum := new(big.Int).Mul(one, big.NewInt(1000)).String()
	for _, of := range got.Tokens {
		for i := range of.Days {
			if of.Days[i].Amount != sum || of.Payers[i].Amount != sum || of.Amounts[i].Amount != one.String() {
				t.Errorf("day %d: sums %s and %s of %s", i, of.Days[i].Amount, of.Payers[i].Amount, of.Amounts[i].Amount)
			}
		}
	}
	if len(got.Tokens) != 1 || len(got.Tokens[0].Days) != 2 {
		t.Errorf("%+v", got)
	}
}
