package polls

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// Facts is what is known from polls of all facilitators.
type Facts struct {
	Facilitators []FacilitatorFacts // those that were asked at their present URL, by id
	Payments     []Payments         // by signers that no list names, by network, sender and token
}

// FacilitatorFacts is what a facilitator answered.
type FacilitatorFacts struct {
	FacilitatorID, URL string
	AskedAt            time.Time
	Outcome            string // of the newest poll
	Code               *int
	Detail             string
	AnsweredAt         *time.Time // of the newest answer that was read; nil for none
	Extensions         []string
	Days               []Day    `db:"-"` // of the last 30 UTC days, by day, document and outcome
	Kinds              []Kind   `db:"-"` // current and former ones, by network, scheme, asset and version
	Signers            []Signer `db:"-"` // current and former ones, by networks, address and origin
}

// Day is the number of polls of a document with one outcome on a UTC day.
type Day struct {
	Day               time.Time
	Document, Outcome string
	Polls             int
	Seconds           int64   // for which the polls count
	Latencies         []int32 // milliseconds, of those with a response
}

// Payments is what an announced signer, which no list names, paid to known recipients in the last 30 UTC days.
type Payments struct {
	Network, Sender, Token string
	Payments               int64
	Amount                 string // atomic units
	Recipients             int64  // lower bound
	FirstDay, LastDay      time.Time
}

// Querier is what a pool and a transaction share.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Polled reads all facts of polls as of now.
func (t *Tables) Polled(ctx context.Context, now time.Time) (f Facts, err error) {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, t.pool, options, func(tx pgx.Tx) error {
		f, err = Read(ctx, tx, now)
		return err
	})
	return f, err
}

// Read reads all facts of polls as of now.
func Read(ctx context.Context, q Querier, now time.Time) (Facts, error) {
	f, err := read(ctx, q, now)
	if err != nil {
		return Facts{}, fmt.Errorf("read polls of facilitators: %w", err)
	}
	return f, nil
}

func read(ctx context.Context, q Querier, now time.Time) (f Facts, err error) {
	if f.Facilitators, err = collect[FacilitatorFacts](ctx, q, `
		SELECT p.facilitator_id, p.url, p.asked_at, p.outcome, p.status_code, p.detail, p.answered_at, p.extensions
		FROM facilitator_polls p JOIN facilitators f ON f.id = p.facilitator_id AND f.facilitator_url = p.url
		ORDER BY p.facilitator_id COLLATE "C"`); err != nil || len(f.Facilitators) == 0 {
		return f, err
	}
	at := make(map[string]*FacilitatorFacts, len(f.Facilitators))
	for i := range f.Facilitators {
		at[f.Facilitators[i].FacilitatorID] = &f.Facilitators[i]
	}
	today := now.UTC().Truncate(24 * time.Hour)
	since := today.AddDate(0, 0, 1-site.WindowDays["30d"])
	if err := each(ctx, q, func(id string, d Day) {
		if of := at[id]; of != nil {
			of.Days = append(of.Days, d)
		}
	}, func(d *Day) []any {
		return []any{&d.Day, &d.Document, &d.Outcome, &d.Polls, &d.Seconds, &d.Latencies}
	}, `SELECT facilitator_id, day::timestamptz, document, outcome, polls, seconds, latencies
		FROM facilitator_poll_days WHERE day >= $1 AND day <= $2 ORDER BY day, document, outcome`,
		since, today); err != nil {
		return f, err
	}
	if err := each(ctx, q, func(id string, k Kind) {
		if of := at[id]; of != nil {
			of.Kinds = append(of.Kinds, k)
		}
	}, func(k *Kind) []any {
		return []any{&k.Version, &k.Scheme, &k.Network, &k.Asset, &k.First, &k.Last}
	}, `SELECT facilitator_id, version, scheme, network, asset, first_seen, last_seen FROM facilitator_kinds
		ORDER BY network COLLATE "C", scheme COLLATE "C", asset COLLATE "C", version`); err != nil {
		return f, err
	}
	if err := each(ctx, q, func(id string, s Signer) {
		if of := at[id]; of != nil {
			of.Signers = append(of.Signers, s)
		}
	}, func(s *Signer) []any {
		return []any{&s.Networks, &s.Address, &s.Origin, &s.First, &s.Last}
	}, `SELECT facilitator_id, networks, address, origin, first_seen, last_seen FROM facilitator_signers
		ORDER BY networks COLLATE "C", address COLLATE "C", origin COLLATE "C"`); err != nil {
		return f, err
	}
	f.Payments, err = collect[Payments](ctx, q, `
		SELECT c.network, d.sender, d.token, sum(d.payments)::bigint, sum(d.amount)::text, max(d.recipients),
			min(d.day)::timestamptz, max(d.day)::timestamptz
		FROM sender_days d JOIN chains c ON c.id = d.chain_id
		WHERE d.day >= $1 AND d.day <= $2 AND d.sender IN (SELECT address FROM facilitator_signers)
			AND NOT EXISTS (SELECT FROM settlers s WHERE s.network = c.network AND s.address = d.sender)
		GROUP BY c.network, d.sender, d.token
		ORDER BY c.network COLLATE "C", d.sender COLLATE "C", d.token COLLATE "C"`, since, today)
	return f, err
}

func collect[T any](ctx context.Context, q Querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// each calls do with the facilitator's id, the first column, and the value of every row.
func each[T any](ctx context.Context, q Querier, do func(id string, v T), columns func(*T) []any, sql string,
	args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var v T
		if err := rows.Scan(append([]any{&id}, columns(&v)...)...); err != nil {
			return err
		}
		do(id, v)
	}
	return rows.Err()
}
