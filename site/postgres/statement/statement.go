// Package statement reads the settlements of recipients as rows: their sums by day, by payer and by amount.
//
// It reads the sums that package ledger writes. It must never know a service, nor judge what counts.
package statement

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
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/rows"
)

// Recipient is an account on a network.
type Recipient struct {
	Network, Address string
	Since            time.Time // first UTC day whose settlements are read; zero for all
}

// Statement contains the settlements to a recipient in the tokens that count, from its first day on.
type Statement struct {
	Recipient
	FirstAt  time.Time // zero without settlements
	RowsFrom time.Time // first day whose rows are complete; zero if all are
	Tokens   []Token   // by facilitator, then token
}

// Token contains what one facilitator settled to the recipient in one token.
type Token struct {
	Facilitator, Token string
	Days               []Day    // all days with a settlement, oldest first
	Payers             []Payer  // of the last site.SettledPayerDays, by day, then payer
	Amounts            []Amount // of the last site.SettledAmountDays, by day, then amount
}

// Day sums the settlements of a UTC day.
type Day struct {
	Day             time.Time
	Settlements     int64
	Amount          string // in atomic units, as in Payer and Amount
	FirstAt, LastAt time.Time
}

// Payer sums the settlements of one payer on a UTC day.
type Payer struct {
	Day         time.Time
	Payer       string // by HashPayer
	Settlements int64
	Amount      string
}

// Amount counts the settlements of one amount on a UTC day.
type Amount struct {
	Day         time.Time
	Amount      string
	Settlements int64
}

// HashPayer returns the published name of a payer: the first 16 digits of the SHA-256 of its address in normal form. It
// is short, and the same on every network.
func HashPayer(address string) string {
	sum := sha256.Sum256([]byte(address))
	return hex.EncodeToString(sum[:8])
}

// Reader reads statements in a transaction.
type Reader struct {
	tx     pgx.Tx
	today  time.Time
	tokens map[int32]ledger.CountedToken
}

// NewReader returns a reader of what counts as of now.
func NewReader(ctx context.Context, tx pgx.Tx, now time.Time, counted []ledger.CountedToken) (*Reader, error) {
	r := &Reader{tx: tx, today: now.UTC().Truncate(24 * time.Hour), tokens: map[int32]ledger.CountedToken{}}
	type key struct{ facilitator, network, token string }
	counts := make(map[key]ledger.CountedToken, len(counted))
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
func (r *Reader) Read(ctx context.Context, recipients []Recipient) ([]Statement, error) {
	b := batch{Reader: r, list: make([]Statement, len(recipients)), places: map[payeeNetwork]int{},
		hashes: map[int64]string{}, days: map[int64][]payeeDay{}}
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
	slices.SortFunc(s.Tokens, func(a, b Token) int {
		return cmp.Or(cmp.Compare(a.Facilitator, b.Facilitator), cmp.Compare(a.Token, b.Token))
	})
	for _, t := range s.Tokens {
		slices.SortFunc(t.Payers, func(a, b Payer) int {
			return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Payer, b.Payer))
		})
		slices.SortFunc(t.Amounts, func(a, b Amount) int {
			return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(len(a.Amount), len(b.Amount)),
				cmp.Compare(a.Amount, b.Amount))
		})
	}
}

// firstDay returns the first of a number of UTC days that end today.
func (r *Reader) firstDay(days int) time.Time { return r.today.AddDate(0, 0, 1-days) }

// maxRows is the maximum number of rows by payer and by amount of a payee.
const maxRows = site.SettledRows
