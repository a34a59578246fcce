// Package bulk reads whole tables for the data files that a directory gives away, one row after another in a total
// order, so that no table is ever in memory.
//
// A row with a time or an amount that no program writes is left out, and so are rows of hidden services: every other
// row is read. It must never judge, nor know a file.
package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Reader reads tables in a transaction.
type Reader struct{ tx pgx.Tx }

// NewReader returns a reader in a transaction.
func NewReader(tx pgx.Tx) *Reader { return &Reader{tx} }

// listed joins the services that are published to the rows of a table t with a service_id.
const listed = ` JOIN services s ON s.id = t.service_id AND s.listing_state <> 'hidden' `

// each scans the rows of a query into the pointers of scan and calls do after each, until do returns an error.
func (r *Reader) each(ctx context.Context, what, sql string, scan []any, do func() error, args ...any) error {
	rows, err := r.tx.Query(ctx, sql, args...)
	if err == nil {
		_, err = pgx.ForEachRow(rows, scan, do)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

// Price is a way to pay an endpoint, with the time from since to until.
type Price struct {
	EndpointID        string
	Slug              string
	Since             time.Time
	Until             *time.Time // nil while it is current
	Protocol          string
	Position          int // index in accepts; over other protocols than x402 among all of them
	Scheme            string
	Network           string // as received
	NetworkCAIP2      *string
	Asset             string
	PayTo             string // "" if nobody is named
	Amount            string // atomic units; "" if there is none
	Variable          bool   // over other protocols than x402: the amount is not that of a call
	MaxTimeoutSeconds *int
	Extra             *string // only where it names the issuer of the asset
	X402Version       *int    // nil over other protocols
}

// Prices reads every price that endpoints of services ever asked, by slug, endpoint, since, protocol and position.
func (r *Reader) Prices(ctx context.Context, do func(*Price) error) error {
	var p Price
	return r.each(ctx, "prices", `
		WITH all_prices AS (
			SELECT endpoint_id, since, until, 'x402' AS protocol, position::bigint, scheme, network, network_caip2,
				asset, pay_to, amount::text, false AS variable, max_timeout_seconds,
				CASE WHEN network_caip2 LIKE 'xrpl:%' THEN extra END AS extra, x402_version
			FROM prices WHERE amount < 'Infinity'
			UNION ALL SELECT endpoint_id, since, until, o->>'protocol', n - 1, coalesce(o->>'scheme', ''),
				coalesce(o->>'network', ''), o->>'network_caip2', coalesce(o->>'asset', ''),
				coalesce(o->>'pay_to', ''), coalesce(o->>'amount', ''), o->'variable' IS NOT DISTINCT FROM 'true',
				CASE WHEN o->>'max_timeout_seconds' ~ '^[0-9]{1,9}$' THEN (o->>'max_timeout_seconds')::int END,
				NULL, NULL
			FROM offer_sets, jsonb_array_elements(CASE jsonb_typeof(offers) WHEN 'array' THEN offers ELSE '[]' END)
				WITH ORDINALITY AS list (o, n)
			WHERE o->>'protocol' <> 'x402'
		)
		SELECT t.id::text, s.slug, p.since, p.until, p.protocol, p.position, p.scheme, p.network, p.network_caip2,
			p.asset, p.pay_to, p.amount, p.variable, p.max_timeout_seconds, p.extra, p.x402_version
		FROM all_prices p JOIN endpoints t ON t.id = p.endpoint_id`+listed+`
		WHERE p.since BETWEEN '1970-01-01' AND '9999-12-31' AND coalesce(p.until, p.since) BETWEEN '1970-01-01'
			AND '9999-12-31'
		ORDER BY s.slug COLLATE "C", t.id, p.since, p.protocol COLLATE "C", p.position`,
		[]any{&p.EndpointID, &p.Slug, &p.Since, &p.Until, &p.Protocol, &p.Position, &p.Scheme, &p.Network,
			&p.NetworkCAIP2, &p.Asset, &p.PayTo, &p.Amount, &p.Variable, &p.MaxTimeoutSeconds, &p.Extra,
			&p.X402Version},
		func() error { return do(&p) })
}

// Envelope is what is stored of the newest response of an endpoint with terms of payment.
type Envelope struct {
	EndpointID  string
	Slug        string
	ReceivedAt  time.Time
	Method, URL string
	StatusCode  int
	BodyBytes   int64 // that are stored
	Truncated   bool
	TLSVerified bool
	SHA256      []byte // of status, payment headers and body
}

// Envelopes reads the newest response with terms of each endpoint, by slug and endpoint.
func (r *Reader) Envelopes(ctx context.Context, do func(*Envelope) error) error {
	var e Envelope
	return r.each(ctx, "envelopes", `
		SELECT t.id::text, s.slug, e.received_at, e.method, e.url, e.status_code, octet_length(e.body), e.truncated,
			e.tls_verified, e.sha256
		FROM envelopes e JOIN endpoints t ON t.id = e.endpoint_id`+listed+`
		WHERE e.received_at BETWEEN '1970-01-01' AND '9999-12-31'
		ORDER BY s.slug COLLATE "C", t.id`,
		[]any{&e.EndpointID, &e.Slug, &e.ReceivedAt, &e.Method, &e.URL, &e.StatusCode, &e.BodyBytes, &e.Truncated,
			&e.TLSVerified, &e.SHA256},
		func() error { return do(&e) })
}

// Sealed returns the time before which visits and changes never change, and the first day whose visits are stored one
// by one. Both are zero before the first visit.
func (r *Reader) Sealed(ctx context.Context) (sealed, checks time.Time, err error) {
	err = r.tx.QueryRow(ctx, `SELECT through, retained_since FROM log_seal`).Scan(&sealed, &checks)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, time.Time{}, nil
	}
	if err != nil {
		return sealed, checks, fmt.Errorf("read log_seal: %w", err)
	}
	return sealed.UTC(), checks.UTC(), nil
}
