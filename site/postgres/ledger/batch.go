package ledger

import (
	"context"
	"slices"
	"time"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// batch reads some statements together.
type batch struct {
	*StatementReader
	list   []Statement
	payees []int64
	places map[payeeNetwork]int          // in list
	days   map[int64][]statementPayeeDay // of each payee, oldest first; days of SettledPayerDays alone
	hashes map[int64]string              // of payers
	payers []payerRow
}

type payeeNetwork struct {
	payee   int64
	network string
}

// statementPayeeDay is a day of a payee with at most so many settlements.
type statementPayeeDay struct {
	day         time.Time
	settlements int64
}

// payerRow is a row of a payer whose hash is not known yet.
type payerRow struct {
	payee, payer int64
	token        int32
	StatementPayer
}

func (b *batch) readPayees(ctx context.Context, recipients []StatementRecipient) error {
	addresses := make([]string, len(recipients))
	at := make(map[string][]int, len(recipients))
	for i, r := range recipients {
		b.list[i].StatementRecipient = r
		addresses[i] = r.Address
		at[r.Address] = append(at[r.Address], i)
	}
	slices.Sort(addresses)
	var id int64
	var address string
	return rows.Each(ctx, b.tx, `
		SELECT id, address FROM (SELECT u AS address, (SELECT a.id FROM accounts a WHERE a.address = u) AS id
			FROM unnest($1::text[]) u) found WHERE id IS NOT NULL ORDER BY id`, []any{&id, &address}, func() {
		b.payees = append(b.payees, id)
		for _, i := range at[address] {
			b.places[payeeNetwork{id, b.list[i].Network}] = i
		}
	}, slices.Compact(addresses))
}

// token returns the token of a payee's row of a day in its statement; nil if the token does not count, the statement is
// not read, or the day is before its first.
func (b *batch) token(payee int64, id int32, day time.Time) *StatementToken {
	counted, ok := b.tokens[id]
	if !ok {
		return nil
	}
	i, ok := b.places[payeeNetwork{payee, counted.Network}]
	if !ok {
		return nil
	}
	s := &b.list[i]
	if day.Before(s.Since) {
		return nil
	}
	for k := range s.Tokens {
		if t := &s.Tokens[k]; t.Facilitator == counted.Facilitator && t.Token == counted.Token {
			return t
		}
	}
	s.Tokens = append(s.Tokens, StatementToken{Facilitator: counted.Facilitator, Token: counted.Token})
	return &s.Tokens[len(s.Tokens)-1]
}

func (b *batch) readDays(ctx context.Context) error {
	var payee int64
	var token int32
	var d StatementDay
	first := b.firstDay(site.SettledPayerDays)
	err := rows.Each(ctx, b.tx, `
		SELECT payee_id, token_id, day::timestamptz, settlements, amount::text, first_at, last_at FROM payee_days
			WHERE payee_id = ANY($1) AND day <= $2 ORDER BY payee_id, day, token_id`,
		[]any{&payee, &token, &d.Day, &d.Settlements, &d.Amount, &d.FirstAt, &d.LastAt}, func() {
			t := b.token(payee, token, d.Day)
			if t == nil {
				return
			}
			d.Day = d.Day.UTC()
			t.Days = append(t.Days, d)
			s := &b.list[b.places[payeeNetwork{payee, b.tokens[token].Network}]]
			if s.FirstAt.IsZero() || d.FirstAt.Before(s.FirstAt) {
				s.FirstAt = d.FirstAt
			}
			if d.Day.Before(first) {
				return
			}
			if of := b.days[payee]; len(of) > 0 && of[len(of)-1].day.Equal(d.Day) {
				of[len(of)-1].settlements += d.Settlements
			} else {
				b.days[payee] = append(of, statementPayeeDay{d.Day, d.Settlements})
			}
		}, b.payees, b.today)
	return err
}

// limitRows drops the oldest days of each payee with more than maxRows rows by payer and by amount, and says so in its
// statements. Rows are counted only if there are that many settlements.
func (b *batch) limitRows(ctx context.Context) error {
	for _, payee := range b.payees {
		of := b.days[payee]
		var most int64
		for _, d := range of {
			most += 2 * d.settlements
		}
		if most <= maxRows {
			continue
		}
		counts, err := b.countRows(ctx, payee, of)
		if err != nil {
			return err
		}
		n, keep := int64(0), len(of)
		for keep > 0 && n+counts[keep-1] <= maxRows {
			keep--
			n += counts[keep]
		}
		if keep == 0 {
			continue
		}
		from := of[keep-1].day.AddDate(0, 0, 1)
		b.days[payee] = of[keep:]
		for at, i := range b.places {
			if at.payee == payee && len(b.list[i].Tokens) > 0 {
				b.list[i].RowsFrom = from
			}
		}
	}
	return nil
}

// countRows counts the rows of days.
func (b *batch) countRows(ctx context.Context, payee int64, of []statementPayeeDay) ([]int64, error) {
	days := make([]time.Time, len(of))
	for i, d := range of {
		days[i] = d.day
	}
	var counts []int64
	var n int64
	err := rows.Each(ctx, b.tx, `
		SELECT (SELECT count(*) FROM payer_days p WHERE p.day = u.day AND p.payee_id = $1)
			+ (SELECT count(*) FROM amount_days a WHERE a.day = u.day AND a.payee_id = $1 AND a.day >= $3)
		FROM unnest($2::date[]) WITH ORDINALITY u (day, place) ORDER BY place`,
		[]any{&n}, func() { counts = append(counts, n) }, payee, days, b.firstDay(site.SettledAmountDays))
	return counts, err
}

// pairs returns the payees and days with rows of a number of days that end today, as arguments of a query.
func (b *batch) pairs(last int) (payees []int64, days []time.Time) {
	first := b.firstDay(last)
	for _, payee := range b.payees {
		for _, d := range b.days[payee] {
			if !d.day.Before(first) {
				payees, days = append(payees, payee), append(days, d.day)
			}
		}
	}
	return payees, days
}

func (b *batch) readPayers(ctx context.Context) error {
	payees, days := b.pairs(site.SettledPayerDays)
	var r payerRow
	// OFFSET 0 forces one index look-up for each day of a payee, whatever the planner estimates.
	return rows.Each(ctx, b.tx, `
		SELECT u.payee, u.day::timestamptz, p.* FROM unnest($1::bigint[], $2::date[]) u (payee, day)
			CROSS JOIN LATERAL (SELECT token_id, payer_id, settlements, amount::text FROM payer_days
				WHERE day = u.day AND payee_id = u.payee OFFSET 0) p`,
		[]any{&r.payee, &r.Day, &r.token, &r.payer, &r.Settlements, &r.Amount}, func() {
			if b.token(r.payee, r.token, r.Day) != nil {
				r.Day = r.Day.UTC()
				b.payers = append(b.payers, r)
				b.hashes[r.payer] = ""
			}
		}, payees, days)
}

// hashPayers adds the rows of payers to their tokens.
func (b *batch) hashPayers(ctx context.Context) error {
	ids := make([]int64, 0, len(b.hashes))
	for id := range b.hashes {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for part := range slices.Chunk(ids, 20_000) {
		var id int64
		var address string
		err := rows.Each(ctx, b.tx, `SELECT id, address FROM accounts WHERE id = ANY($1)`, []any{&id, &address},
			func() { b.hashes[id] = hashPayer(address) }, part)
		if err != nil {
			return err
		}
	}
	for i := range b.payers {
		r := &b.payers[i]
		r.StatementPayer.Payer = b.hashes[r.payer]
		t := b.token(r.payee, r.token, r.Day)
		t.Payers = append(t.Payers, r.StatementPayer)
	}
	return nil
}

func (b *batch) readAmounts(ctx context.Context) error {
	payees, days := b.pairs(site.SettledAmountDays)
	var payee int64
	var token int32
	var a StatementAmount
	err := rows.Each(ctx, b.tx, `
		SELECT u.payee, u.day::timestamptz, a.* FROM unnest($1::bigint[], $2::date[]) u (payee, day)
			CROSS JOIN LATERAL (SELECT token_id, amount::text, settlements FROM amount_days
				WHERE day = u.day AND payee_id = u.payee OFFSET 0) a`,
		[]any{&payee, &a.Day, &token, &a.Amount, &a.Settlements}, func() {
			if t := b.token(payee, token, a.Day); t != nil {
				a.Day = a.Day.UTC()
				t.Amounts = append(t.Amounts, a)
			}
		}, payees, days)
	for i := range b.list {
		b.list[i].sortTokens()
	}
	return err
}
