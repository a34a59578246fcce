// Package polls stores what facilitators answer when they are asked what they settle: outcomes and latencies by day,
// kinds of payment, and the accounts that they announce.
//
// It owns the tables facilitator_polls, facilitator_poll_days, facilitator_kinds and facilitator_signers, and reads
// those of facilitators, settlers and senders. It must never judge an announcement.
package polls

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tollbook/site/x402"
)

// Documents that a facilitator is asked for.
const (
	DocumentSupported = "supported"
	DocumentHealth    = "health"
)

// Outcomes of a request.
const (
	Answered    = "answered"    // /supported was read; /health answered 2xx
	Unreadable  = "unreadable"  // 200, but not the documented shape, or too large
	Status      = "status"      // another status
	Redirected  = "redirected"  // to a URL that is not followed
	Unreachable = "unreachable" // no response in time
	Refused     = "refused"     // by our own guard; says nothing about the facilitator
	Absent      = "absent"      // /health alone: there is no such document
)

// Retention is how long rows are stored after they were last true.
const Retention = 90 * 24 * time.Hour

// maxRemembered is the most kinds, and the most signers, of a facilitator that are stored, current and former ones.
// A facilitator that announces others each time loses the oldest.
const maxRemembered = 4000

// Tables are the tables of polls in a migrated database.
type Tables struct{ pool *pgxpool.Pool }

// New returns the tables of the database that a pool is connected to.
func New(pool *pgxpool.Pool) *Tables { return &Tables{pool} }

// DuePoll is a facilitator to ask.
type DuePoll struct {
	FacilitatorID, URL string
	Failures           int // polls in a row that had no answer
}

// DuePolls returns the facilitators with a URL that are due, by id. A facilitator whose URL changed is due at once.
func (t *Tables) DuePolls(ctx context.Context, now time.Time) ([]DuePoll, error) {
	rows, err := t.pool.Query(ctx, `
		SELECT f.id, f.facilitator_url, CASE WHEN p.url = f.facilitator_url THEN p.failures ELSE 0 END
		FROM facilitators f LEFT JOIN facilitator_polls p ON p.facilitator_id = f.id
		WHERE f.facilitator_url <> '' AND (p.url IS DISTINCT FROM f.facilitator_url OR p.next_at <= $1)
		ORDER BY f.id COLLATE "C"`, now)
	if err != nil {
		return nil, fmt.Errorf("read facilitators to ask: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[DuePoll])
	if err != nil {
		return nil, fmt.Errorf("read facilitators to ask: %w", err)
	}
	return due, nil
}

// Poll is the result of asking a facilitator once.
type Poll struct {
	FacilitatorID, URL string
	At, NextAt         time.Time
	Supported          Response
	Health             *Response // nil if it was not asked
	Detail             string    // why the answer to /supported was not read; "" if it was

	// The answer, if Supported.Outcome is Answered.
	Extensions []string
	Kinds      []Kind
	Signers    []Signer
}

// Response is the outcome of a request.
type Response struct {
	Outcome string
	Code    *int           // status code; nil without a response
	Latency *time.Duration // from the request to the whole body; nil without a response
}

// Kind is a kind of payment that a facilitator announces.
type Kind struct {
	Version                int
	Scheme, Network, Asset string
	First, Last            time.Time // set by readers
}

// Signer is an account that a facilitator announces as its own.
type Signer struct {
	Networks, Address, Origin string
	First, Last               time.Time // set by readers
}

// Announce sets what the answer to /supported announces.
func (p *Poll) Announce(a x402.Supported) {
	p.Extensions = a.Extensions
	for _, k := range a.Kinds {
		p.Kinds = append(p.Kinds, Kind{Version: k.Version, Scheme: k.Scheme, Network: k.Network, Asset: k.Asset})
	}
	for _, s := range a.Signers {
		p.Signers = append(p.Signers, Signer{Networks: s.Networks, Address: s.Address, Origin: s.Origin})
	}
}

// RecordPoll stores a poll in one transaction. A poll of another URL than before forgets what the former URL announced.
// It stores nothing if the facilitator is gone or has another URL by now.
func (t *Tables) RecordPoll(ctx context.Context, p Poll) error {
	err := pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		var url *string
		err := tx.QueryRow(ctx, `SELECT facilitator_url FROM facilitators WHERE id = $1 FOR NO KEY UPDATE`,
			p.FacilitatorID).Scan(&url)
		if err == pgx.ErrNoRows || err == nil && (url == nil || *url != p.URL) {
			return nil
		}
		if err != nil {
			return err
		}
		b := &pgx.Batch{}
		queuePoll(b, p)
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("store a poll of facilitator %s: %w", p.FacilitatorID, err)
	}
	return nil
}

func queuePoll(b *pgx.Batch, p Poll) {
	for _, table := range []string{"facilitator_kinds", "facilitator_signers", "facilitator_poll_days"} {
		b.Queue(`DELETE FROM `+table+` WHERE facilitator_id = $1 AND EXISTS (
			SELECT FROM facilitator_polls WHERE facilitator_id = $1 AND url <> $2)`, p.FacilitatorID, p.URL)
	}
	b.Queue(`DELETE FROM facilitator_polls WHERE facilitator_id = $1 AND url <> $2`, p.FacilitatorID, p.URL)
	isAnswered := p.Supported.Outcome == Answered
	b.Queue(`
		INSERT INTO facilitator_polls (facilitator_id, url, asked_at, next_at, failures, outcome, status_code, detail,
			answered_at, extensions)
		VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN 0 ELSE 1 END, $6, $7, $8, CASE WHEN $5 THEN $3::timestamptz END, $9)
		ON CONFLICT (facilitator_id) DO UPDATE SET asked_at = excluded.asked_at, next_at = excluded.next_at,
			failures = CASE WHEN $5 THEN 0 ELSE facilitator_polls.failures + 1 END, outcome = excluded.outcome,
			status_code = excluded.status_code, detail = excluded.detail,
			answered_at = coalesce(excluded.answered_at, facilitator_polls.answered_at),
			extensions = CASE WHEN $5 THEN excluded.extensions ELSE facilitator_polls.extensions END`,
		p.FacilitatorID, p.URL, p.At, p.NextAt, isAnswered, p.Supported.Outcome, p.Supported.Code, p.Detail,
		append([]string{}, p.Extensions...))
	queueDay(b, p, DocumentSupported, p.Supported)
	if p.Health != nil {
		queueDay(b, p, DocumentHealth, *p.Health)
	}
	if isAnswered {
		queueAnswer(b, p)
	}
	oldest := p.At.Add(-Retention)
	b.Queue(`DELETE FROM facilitator_poll_days WHERE facilitator_id = $1 AND day < $2::timestamptz::date`,
		p.FacilitatorID, oldest)
	for _, table := range []string{"facilitator_kinds", "facilitator_signers"} {
		b.Queue(`DELETE FROM `+table+` WHERE facilitator_id = $1 AND (last_seen < $2 OR ctid = ANY(ARRAY(
			SELECT ctid FROM `+table+` WHERE facilitator_id = $1 ORDER BY last_seen DESC, first_seen
			OFFSET $3)))`, p.FacilitatorID, oldest, maxRemembered)
	}
}

// queueDay adds a response to the sums of its day.
func queueDay(b *pgx.Batch, p Poll, document string, r Response) {
	latencies := []int32{}
	if r.Latency != nil {
		latencies = []int32{int32(r.Latency.Milliseconds())}
	}
	b.Queue(`
		INSERT INTO facilitator_poll_days (facilitator_id, day, document, outcome, polls, seconds, latencies)
		VALUES ($1, $2::timestamptz::date, $3, $4, 1, $5, $6)
		ON CONFLICT (facilitator_id, day, document, outcome) DO UPDATE SET polls = facilitator_poll_days.polls + 1,
			seconds = facilitator_poll_days.seconds + excluded.seconds,
			latencies = (facilitator_poll_days.latencies || excluded.latencies)[1:1440]`,
		p.FacilitatorID, p.At, document, r.Outcome, max(1, int64(p.NextAt.Sub(p.At)/time.Second)), latencies)
}

// queueAnswer stores what an answer announces. A row that it no longer announces keeps its last_seen.
func queueAnswer(b *pgx.Batch, p Poll) {
	n := len(p.Kinds)
	versions, schemes, networks, assets := make([]int16, n), make([]string, n), make([]string, n), make([]string, n)
	for i, k := range p.Kinds {
		versions[i], schemes[i], networks[i], assets[i] = int16(k.Version), k.Scheme, k.Network, k.Asset
	}
	b.Queue(`
		INSERT INTO facilitator_kinds (facilitator_id, version, scheme, network, asset, first_seen, last_seen)
		SELECT $1, k.*, $6, $6 FROM unnest($2::smallint[], $3::text[], $4::text[], $5::text[]) k
		ON CONFLICT (facilitator_id, version, scheme, network, asset) DO UPDATE SET last_seen = excluded.last_seen`,
		p.FacilitatorID, versions, schemes, networks, assets, p.At)
	n = len(p.Signers)
	on, addresses, origins := make([]string, n), make([]string, n), make([]string, n)
	for i, s := range p.Signers {
		on[i], addresses[i], origins[i] = s.Networks, s.Address, s.Origin
	}
	b.Queue(`
		INSERT INTO facilitator_signers (facilitator_id, networks, address, origin, first_seen, last_seen)
		SELECT $1, s.*, $5, $5 FROM unnest($2::text[], $3::text[], $4::text[]) s
		ON CONFLICT (facilitator_id, networks, address, origin) DO UPDATE SET last_seen = excluded.last_seen`,
		p.FacilitatorID, on, addresses, origins, p.At)
}
