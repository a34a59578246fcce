package checks

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// Envelope is the newest response of an endpoint with an envelope, as received.
type Envelope struct {
	EndpointID  uuid.UUID
	ReceivedAt  time.Time
	Method      string
	URL         string
	StatusCode  int
	Header      http.Header // without cookies
	Body        []byte
	Truncated   bool
	TLSVerified bool
	SHA256      []byte // of status, payment headers and body
	Exchange    Exchange
}

// envelopeChunk is how many bytes of bodies one statement sends at most, because strangers choose the size of a body.
const envelopeChunk = 4 << 20

// recordEnvelopes stores responses with envelopes. A response equal to the stored one only updates its time and its
// exchange, and its header and body are not sent. Earlier responses without an envelope are deleted, because they no
// longer explain a verdict.
func recordEnvelopes(ctx context.Context, tx pgx.Tx, endpoints []EndpointVisit) error {
	var all []*Envelope
	for _, e := range endpoints {
		if e.Envelope != nil {
			all = append(all, e.Envelope)
		}
	}
	if len(all) == 0 {
		return nil
	}
	c := envelopeRows(all)
	same, err := rows.Column[uuid.UUID](ctx, tx, `
		WITH v AS MATERIALIZED (
			SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::integer[], $6::boolean[],
				$7::boolean[], $8::bytea[], $9::jsonb[])
				AS v (id, at, method, url, status, truncated, verified, sha256, exchange)
		), older AS (DELETE FROM responses WHERE endpoint_id = ANY($1))
		UPDATE envelopes e SET received_at = v.at, method = v.method, url = v.url, status_code = v.status,
			truncated = v.truncated, tls_verified = v.verified, exchange = v.exchange
		FROM v WHERE e.endpoint_id = v.id AND e.sha256 = v.sha256 RETURNING e.endpoint_id`,
		c.ids, c.at, c.methods, c.urls, c.statuses, c.truncated, c.verified, c.sums, c.exchanges)
	if err != nil {
		return fmt.Errorf("renew envelopes: %w", err)
	}
	renewed := make(map[uuid.UUID]bool, len(same))
	for _, id := range same {
		renewed[id] = true
	}
	var fresh []*Envelope
	bytes := 0
	for i, e := range all {
		if !renewed[e.EndpointID] {
			fresh, bytes = append(fresh, e), bytes+len(e.Body)
		}
		if len(fresh) > 0 && (bytes >= envelopeChunk || i == len(all)-1) {
			if err := replaceEnvelopes(ctx, tx, fresh); err != nil {
				return err
			}
			fresh, bytes = nil, 0
		}
	}
	return nil
}

// replaceEnvelopes writes envelopes in place of the stored ones.
func replaceEnvelopes(ctx context.Context, tx pgx.Tx, list []*Envelope) error {
	c := envelopeRows(list)
	for _, e := range list {
		c.headers, c.bodies = append(c.headers, e.Header), append(c.bodies, e.Body)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO envelopes (endpoint_id, received_at, method, url, status_code, truncated, tls_verified, sha256,
			exchange, header, body)
		SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::integer[], $6::boolean[],
			$7::boolean[], $8::bytea[], $9::jsonb[], $10::jsonb[], $11::bytea[])
		ON CONFLICT (endpoint_id) DO UPDATE SET received_at = excluded.received_at, method = excluded.method,
			url = excluded.url,
			status_code = excluded.status_code, truncated = excluded.truncated, tls_verified = excluded.tls_verified,
			sha256 = excluded.sha256, exchange = excluded.exchange, header = excluded.header, body = excluded.body`,
		c.ids, c.at, c.methods, c.urls, c.statuses, c.truncated, c.verified, c.sums, c.exchanges, c.headers, c.bodies)
	if err != nil {
		return fmt.Errorf("keep envelopes: %w", err)
	}
	return nil
}

// envelopeArrays contains the columns of envelopes as arrays for unnest.
type envelopeArrays struct {
	ids                 []uuid.UUID
	at                  []time.Time
	methods, urls       []string
	statuses            []int
	truncated, verified []bool
	sums, bodies        [][]byte
	exchanges           []Exchange
	headers             []map[string][]string
}

// envelopeRows returns the columns that every statement about envelopes needs.
func envelopeRows(list []*Envelope) (c envelopeArrays) {
	for _, e := range list {
		c.ids, c.at, c.methods, c.urls = append(c.ids, e.EndpointID), append(c.at, e.ReceivedAt),
			append(c.methods, e.Method), append(c.urls, e.URL)
		c.statuses, c.truncated, c.verified = append(c.statuses, e.StatusCode), append(c.truncated, e.Truncated),
			append(c.verified, e.TLSVerified)
		c.sums, c.exchanges = append(c.sums, e.SHA256), append(c.exchanges, e.Exchange)
	}
	return c
}

// Envelopes reads the newest envelopes of a service's endpoints, by endpoint.
func (st *Store) Envelopes(ctx context.Context, serviceID int64) (map[uuid.UUID]*Envelope, error) {
	return ServiceEnvelopes(ctx, st.pool, []int64{serviceID})
}

// ServiceEnvelopes reads the newest envelopes of the endpoints of services, by endpoint.
func ServiceEnvelopes(ctx context.Context, q rows.Querier, services []int64) (map[uuid.UUID]*Envelope, error) {
	stored, err := envelopes(ctx, q, `
		SELECT `+envelopeColumns+` FROM envelopes JOIN endpoints ON endpoints.id = endpoint_id
		WHERE service_id = ANY($1)`, services)
	by := make(map[uuid.UUID]*Envelope, len(stored))
	for _, e := range stored {
		by[e.EndpointID] = e
	}
	return by, err
}

// envelopeColumns are the columns of envelopes in the order of Envelope's fields.
const envelopeColumns = `endpoint_id, received_at, envelopes.method, url, status_code, header, body, truncated,
	tls_verified, sha256, exchange`

func envelopes(ctx context.Context, q rows.Querier, sql string, args ...any) (list []*Envelope, err error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read envelopes: %w", err)
	}
	var e Envelope
	_, err = pgx.ForEachRow(rows, []any{(*[16]byte)(&e.EndpointID), &e.ReceivedAt, &e.Method, &e.URL, &e.StatusCode,
		&e.Header, &e.Body, &e.Truncated, &e.TLSVerified, &e.SHA256, &e.Exchange},
		func() error {
			stored := e
			list = append(list, &stored)
			e = Envelope{} // the next row must not share maps or slices
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read envelopes: %w", err)
	}
	return list, nil
}
