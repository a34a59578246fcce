package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// FacilitatorFacts is a facilitator with the tokens that it settled.
type FacilitatorFacts struct {
	Facilitator
	Tokens []TokenFacts            // by network, then token
	LastAt map[[2]string]time.Time // of the last settlement of each of Settlers, by network and address
}

// TokenFacts is what one facilitator settled of one token on one network.
type TokenFacts struct {
	Network string          // CAIP-2
	Token   string          // in normal form
	Hours   []SettlementSum // the last 24 closed UTC hours and the open one, oldest first
	Days    []SettlementSum // the last site.SeriesDays UTC days, today included, oldest first
	Older   []SettlementSum // the UTC days before them, oldest first
	All     SettlementSum   // all settlements, independent of now; Start is the first day

	Buyers7d, Buyers30d, BuyersAll int64 // distinct payers in windows of UTC days including today

	Configured *Token // the token in the operator's configuration; nil if it is not configured
}

// SettlementSum sums the settlements of a token over an hour, a UTC day, or all time. Periods without settlements are
// omitted.
type SettlementSum struct {
	Start       time.Time
	Settlements int64
	Amount      string    // atomic units
	LastAt      time.Time // zero for hours
}

// readFacilitators reads every facilitator with its tokens, up to now. It reads only sums, whose number grows with days
// and not with settlements.
func (r *Reader) readFacilitators(ctx context.Context, now time.Time) ([]FacilitatorFacts, error) {
	list, err := facilitators(ctx, r.tx)
	if err != nil {
		return nil, err
	}
	facts := make([]FacilitatorFacts, len(list))
	at := make(map[string]*FacilitatorFacts, len(list))
	for i, f := range list {
		facts[i].Facilitator = f
		at[f.ID] = &facts[i]
	}
	place, err := r.readFacilitatorTokens(ctx, at)
	if err != nil {
		return nil, err
	}
	now = now.UTC()
	today := now.Truncate(24 * time.Hour)
	if err := r.readLast(ctx, at, today); err != nil {
		return nil, fmt.Errorf("read the last settlements of settlers: %w", err)
	}
	if err := r.countPayers(ctx, place, today); err != nil {
		return nil, fmt.Errorf("count payers: %w", err)
	}
	for _, part := range []struct {
		sql  string
		args []any
		add  func(f *TokenFacts, s SettlementSum)
	}{
		{
			`SELECT token_id, hour, settlements, amount::text, hour FROM token_hours WHERE hour >= $1 AND hour <= $2
				ORDER BY token_id, hour`,
			[]any{now.Truncate(time.Hour).Add(-24 * time.Hour), now},
			func(f *TokenFacts, s SettlementSum) { s.LastAt = time.Time{}; f.Hours = append(f.Hours, s) },
		},
		{
			`SELECT token_id, day::timestamptz, settlements, amount::text, last_at FROM token_days
				WHERE day <= $1 ORDER BY token_id, day`,
			[]any{today},
			func(f *TokenFacts, s SettlementSum) {
				if s.Start.Before(today.AddDate(0, 0, 1-site.SeriesDays)) {
					f.Older = append(f.Older, s)
				} else {
					f.Days = append(f.Days, s)
				}
			},
		},
		{
			`SELECT token_id, first_day::timestamptz, settlements, amount::text, last_at FROM token_totals`,
			nil,
			func(f *TokenFacts, s SettlementSum) { f.All = s },
		},
	} {
		if err := r.readSums(ctx, place, part.add, part.sql, part.args...); err != nil {
			return nil, fmt.Errorf("read settled sums: %w", err)
		}
	}
	return facts, nil
}

// readLast reads when each settler settled last, up to the end of today.
func (r *Reader) readLast(ctx context.Context, at map[string]*FacilitatorFacts, today time.Time) error {
	rows, err := r.tx.Query(ctx, `
		SELECT s.facilitator_id, s.network, s.address, d.last_at
		FROM settlers s JOIN chains c USING (network) JOIN accounts a USING (address), LATERAL (
			SELECT last_at FROM settler_days WHERE chain_id = c.id AND settler_id = a.id AND day <= $1
			ORDER BY day DESC LIMIT 1
		) d`, today)
	if err != nil {
		return err
	}
	var id string
	var account [2]string
	var last time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &account[0], &account[1], &last}, func() error {
		if at[id].LastAt == nil {
			at[id].LastAt = map[[2]string]time.Time{}
		}
		at[id].LastAt[account] = last
		return nil
	})
	return err
}

// tokenIndex finds a token's facts by its number.
type tokenIndex map[int32]struct {
	of *FacilitatorFacts
	n  int
}

func (r *Reader) readFacilitatorTokens(ctx context.Context, at map[string]*FacilitatorFacts) (tokenIndex, error) {
	rows, err := r.tx.Query(ctx, `
		SELECT f.id, f.facilitator_id, c.network, f.token FROM facilitator_tokens f JOIN chains c ON c.id = f.chain_id
			JOIN token_totals t ON t.token_id = f.id
		ORDER BY c.network COLLATE "C", f.token COLLATE "C"`)
	if err != nil {
		return nil, fmt.Errorf("read tokens of facilitators: %w", err)
	}
	place := tokenIndex{}
	var id int32
	var facilitator, network, token string
	_, err = pgx.ForEachRow(rows, []any{&id, &facilitator, &network, &token}, func() error {
		p := place[id]
		p.of = at[facilitator]
		p.n = len(p.of.Tokens)
		place[id] = p
		p.of.Tokens = append(p.of.Tokens, TokenFacts{Network: network, Token: token})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tokens of facilitators: %w", err)
	}
	return place, nil
}

func (r *Reader) readSums(ctx context.Context, place tokenIndex, add func(*TokenFacts, SettlementSum), sql string,
	args ...any) error {
	rows, err := r.tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	var id int32
	var s SettlementSum
	_, err = pgx.ForEachRow(rows, []any{&id, &s.Start, &s.Settlements, &s.Amount, &s.LastAt}, func() error {
		p, ok := place[id]
		if !ok {
			return fmt.Errorf("token_hours, token_days and token_totals: no facilitator_tokens and totals for token %d",
				id)
		}
		add(&p.of.Tokens[p.n], s)
		return nil
	})
	return err
}

// countPayers counts the distinct payers of each token. The payers of a window are those whose last day is in it, which
// an index finds.
func (r *Reader) countPayers(ctx context.Context, place tokenIndex, today time.Time) error {
	rows, err := r.tx.Query(ctx, `
		SELECT t.token_id, p.week, p.month, t.payers FROM token_totals t, LATERAL (
			SELECT count(*) FILTER (WHERE p.last_day >= $1) AS week, count(*) AS month FROM token_payers p
				WHERE p.token_id = t.token_id AND p.last_day >= $2
		) p`, today.AddDate(0, 0, 1-site.WindowDays["7d"]), today.AddDate(0, 0, 1-site.WindowDays["30d"]))
	if err != nil {
		return err
	}
	var id int32
	var week, month, all int64
	_, err = pgx.ForEachRow(rows, []any{&id, &week, &month, &all}, func() error {
		p, ok := place[id]
		if !ok {
			return fmt.Errorf("token_totals: no row of facilitator_tokens for token %d", id)
		}
		f := &p.of.Tokens[p.n]
		f.Buyers7d, f.Buyers30d, f.BuyersAll = week, month, all
		return nil
	})
	return err
}
