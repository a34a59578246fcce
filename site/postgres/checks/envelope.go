package checks

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// Envelope is the newest response of an endpoint with an envelope, as received.
type Envelope struct {
	EndpointID  uuid.UUID   `db:"endpoint_id,uuid"`
	ReceivedAt  time.Time   `db:"received_at,timestamptz"`
	Method      string      `db:"method,text"`
	URL         string      `db:"url,text"`
	StatusCode  int         `db:"status_code,integer"`
	Header      http.Header `db:"header,jsonb"` // without cookies
	Body        []byte      `db:"body,bytea"`
	Truncated   bool        `db:"truncated,boolean"`
	TLSVerified bool        `db:"tls_verified,boolean"`
	SHA256      []byte      `db:"sha256,bytea"` // of status, payment headers and body
	Exchange    Exchange    `db:"exchange,jsonb"`
}

// renewal is what an envelope that equals the stored one changes.
type renewal struct {
	EndpointID  uuid.UUID `db:"endpoint_id,uuid"`
	ReceivedAt  time.Time `db:"received_at,timestamptz"`
	Method      string    `db:"method,text"`
	URL         string    `db:"url,text"`
	StatusCode  int       `db:"status_code,integer"`
	Truncated   bool      `db:"truncated,boolean"`
	TLSVerified bool      `db:"tls_verified,boolean"`
	SHA256      []byte    `db:"sha256,bytea"`
	Exchange    Exchange  `db:"exchange,jsonb"`
}

// envelopeChunk is how many bytes of bodies one statement sends at most, because strangers choose the size of a body.
const envelopeChunk = 4 << 20

// recordEnvelopes stores responses with envelopes. A response equal to the stored one only updates its time and its
// exchange, and its header and body are not sent. Earlier responses without an envelope are deleted, because they no
// longer explain a verdict.
func recordEnvelopes(ctx context.Context, tx pgx.Tx, endpoints []EndpointVisit) error {
	var all []Envelope
	var renewals []renewal
	for _, v := range endpoints {
		if e := v.Envelope; e != nil {
			all = append(all, *e)
			renewals = append(renewals, renewal{e.EndpointID, e.ReceivedAt, e.Method, e.URL, e.StatusCode, e.Truncated,
				e.TLSVerified, e.SHA256, e.Exchange})
		}
	}
	if len(all) == 0 {
		return nil
	}
	from, args := rows.Unnest(renewals)
	same, err := rows.Column[uuid.UUID](ctx, tx, `
		WITH v AS MATERIALIZED (SELECT * FROM `+from+`),
			older AS (DELETE FROM responses WHERE endpoint_id IN (SELECT endpoint_id FROM v))
		UPDATE envelopes e SET received_at = v.received_at, method = v.method, url = v.url, status_code = v.status_code,
			truncated = v.truncated, tls_verified = v.tls_verified, exchange = v.exchange
		FROM v WHERE e.endpoint_id = v.endpoint_id AND e.sha256 = v.sha256 RETURNING e.endpoint_id`, args...)
	if err != nil {
		return fmt.Errorf("renew envelopes: %w", err)
	}
	renewed := make(map[uuid.UUID]bool, len(same))
	for _, id := range same {
		renewed[id] = true
	}
	var fresh []Envelope
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
func replaceEnvelopes(ctx context.Context, tx pgx.Tx, list []Envelope) error {
	from, args := rows.Unnest(list)
	_, err := tx.Exec(ctx, `
		INSERT INTO envelopes (`+rows.Columns[Envelope]()+`) SELECT * FROM `+from+`
		ON CONFLICT (endpoint_id) DO UPDATE SET received_at = excluded.received_at, method = excluded.method,
			url = excluded.url,
			status_code = excluded.status_code, truncated = excluded.truncated, tls_verified = excluded.tls_verified,
			sha256 = excluded.sha256, exchange = excluded.exchange, header = excluded.header, body = excluded.body`,
		args...)
	if err != nil {
		return fmt.Errorf("keep envelopes: %w", err)
	}
	return nil
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

// envelopeColumns are the columns of envelopes in the order of Envelope's fields. Endpoints have a method, too.
var envelopeColumns = strings.Replace(rows.Columns[Envelope](), "method", "envelopes.method", 1)

func envelopes(ctx context.Context, q rows.Querier, sql string, args ...any) ([]*Envelope, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read envelopes: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Envelope])
	if err != nil {
		return nil, fmt.Errorf("read envelopes: %w", err)
	}
	return list, nil
}
