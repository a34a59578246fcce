// This part of the package reads the settlements of recipients as rows: their sums by day, by payer and by amount.
//
// It reads the sums that package ledger writes. It must never know a service, nor judge what counts.

package ledger

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// StatementRecipient is an account on a network.
type StatementRecipient struct {
	Network, Address string
	Since            time.Time // first UTC day whose settlements are read; zero for all
}

// Statement contains the settlements to a recipient in the tokens that count, from its first day on.
type Statement struct {
	StatementRecipient
	FirstAt  time.Time        // zero without settlements
	RowsFrom time.Time        // first day whose rows are complete; zero if all are
	Tokens   []StatementToken // by facilitator, then token
}

// StatementToken contains what one facilitator settled to the recipient in one token.
type StatementToken struct {
	Facilitator, Token string
	Days               []StatementDay    // all days with a settlement, oldest first
	Payers             []StatementPayer  // of the last site.SettledPayerDays, by day, then payer
	Amounts            []StatementAmount // of the last site.SettledAmountDays, by day, then amount
}

// StatementDay sums the settlements of a UTC day.
type StatementDay struct {
	Day             time.Time
	Settlements     int64
	Amount          string // in atomic units, as in Payer and Amount
	FirstAt, LastAt time.Time
}

// StatementPayer sums the settlements of one payer on a UTC day.
type StatementPayer struct {
	Day         time.Time
	Payer       string // by HashPayer
	Settlements int64
	Amount      string
}

// StatementAmount counts the settlements of one amount on a UTC day.
type StatementAmount struct {
	Day         time.Time
	Amount      string
	Settlements int64
}

// hashPayer returns the published name of a payer: the first 16 digits of the SHA-256 of its address in normal form. It
// is short, and the same on every network.
func hashPayer(address string) string {
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:8])
}

// StatementReader reads statements in a transaction.
type StatementReader struct {
	tx     pgx.Tx
	today  time.Time
	tokens map[int32]CountedToken
}

// NewStatementReader returns a reader of what counts as of now.
func NewStatementReader(ctx context.Context, tx pgx.Tx, now time.Time, counted []CountedToken) (*StatementReader, error) {
	r := &StatementReader{tx: tx, today: now.UTC().Truncate(24 * time.Hour), tokens: map[int32]CountedToken{}}
	type key struct{ facilitator, network, token string }
	counts := make(map[key]CountedToken, len(counted))
	for _, c := range counted {
		counts[key{c.Facilitator, c.Network, c.Token}] = c
	}
	var id int32
	var k key
	err := rows.Each(ctx, tx, `
		SELECT f.id, f.facilitator_id, c.network, f.token FROM facilitator_tokens f JOIN chains c ON c.id = f.chain_id`,
		[]any{&id, &k.facilitator, &k.network, &k.token}, func() {
			if c, ok := counts[k]; ok {
				r.tokens[id] = c
			}
		})
	if err != nil {
		return nil, fmt.Errorf("read tokens of statements: %w", err)
	}
	return r, nil
}

// Read returns the statements of distinct recipients, in their order.
func (r *StatementReader) Read(ctx context.Context, recipients []StatementRecipient) ([]Statement, error) {
	b := batch{StatementReader: r, list: make([]Statement, len(recipients)), places: map[payeeNetwork]int{},
		hashes: map[int64]string{}, days: map[int64][]statementPayeeDay{}}
	for _, part := range []struct {
		what string
		read func(context.Context) error
	}{
		{"accounts and payee_totals", func(ctx context.Context) error { return b.readPayees(ctx, recipients) }},
		{"payee_days", b.readDays},
		{"numbers of rows", b.limitRows},
		{"payer_days", b.readPayers},
		{"accounts of payers", b.hashPayers},
		{"amount_days", b.readAmounts},
	} {
		if err := part.read(ctx); err != nil {
			return nil, fmt.Errorf("read statements: read %s: %w", part.what, err)
		}
	}
	return b.list, nil
}

// sortTokens sorts the tokens of a statement and their rows. Those of days are sorted already.
func (s *Statement) sortTokens() {
	slices.SortFunc(s.Tokens, func(a, b StatementToken) int {
		return cmp.Or(cmp.Compare(a.Facilitator, b.Facilitator), cmp.Compare(a.Token, b.Token))
	})
	for _, t := range s.Tokens {
		slices.SortFunc(t.Payers, func(a, b StatementPayer) int {
			return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Payer, b.Payer))
		})
		slices.SortFunc(t.Amounts, func(a, b StatementAmount) int {
			return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(len(a.Amount), len(b.Amount)),
				cmp.Compare(a.Amount, b.Amount))
		})
	}
}

// firstDay returns the first of a number of UTC days that end today.
func (r *StatementReader) firstDay(days int) time.Time { return r.today.AddDate(0, 0, 1-days) }

// maxRows is the maximum number of rows by payer and by amount of a payee.
const maxRows = site.SettledRows
