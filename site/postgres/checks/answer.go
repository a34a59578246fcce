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

// Response is a response of an endpoint without an envelope, after its newest envelope: the last conclusive one, or the
// last inconclusive one after that.
type Response struct {
	EndpointID  uuid.UUID   `db:"endpoint_id,uuid"`
	Conclusive  bool        `db:"conclusive,boolean"`
	ReceivedAt  time.Time   `db:"received_at,timestamptz"` // or when the request was abandoned
	Method      string      `db:"method,text"`
	URL         string      `db:"url,text"`
	StatusCode  *int        `db:"status_code,integer"` // nil without a response
	Header      http.Header `db:"header,jsonb"`        // only headers that may be published
	Body        []byte      `db:"body,bytea"`          // its first 16 KiB
	Truncated   bool        `db:"truncated,boolean"`
	TLSVerified bool        `db:"tls_verified,boolean"`
	Exchange    Exchange    `db:"exchange,jsonb"`
	SHA256      []byte      `db:"sha256,bytea"` // of status, header and body
}

// Exchange describes how a response was obtained and how it was classified.
type Exchange struct {
	Class          string      `json:"class,omitempty"`
	Reason         string      `json:"reason,omitempty"`
	Method         string      `json:"method,omitempty"` // of the last request; "" when nothing was sent
	RequestHeader  http.Header `json:"request_header,omitempty"`
	RequestBody    []byte      `json:"request_body,omitempty"`
	Redirects      []string    `json:"redirects,omitempty"`
	MovedHost      string      `json:"moved_host,omitempty"`   // host that the URL moved to for good; see package moves
	InputSchema    string      `json:"input_schema,omitempty"` // JSON schema of an MCP tool's input, as text
	ResponseTimeMS *int        `json:"response_time_ms,omitempty"`
	Phases         *Phases     `json:"phases,omitempty"` // nil when nothing was sent
}

// Phases contains the duration of each step of a request in milliseconds. A step that a reused connection skips takes
// 0.
type Phases struct {
	DNS       float64 `json:"dns"`
	Connect   float64 `json:"connect"`
	TLS       float64 `json:"tls"`
	FirstByte float64 `json:"first_byte"`
}

// queueResponse stores a response without an envelope. A response equal to the stored one only updates its time and its
// exchange. A conclusive response deletes the inconclusive one before it.
func queueResponse(b *pgx.Batch, a Response) {
	if a.Conclusive {
		b.Queue(`DELETE FROM responses WHERE endpoint_id = $1 AND NOT conclusive`, a.EndpointID)
	}
	b.Queue(`
		INSERT INTO responses AS old (endpoint_id, conclusive, received_at, method, url, status_code, header, body,
			truncated, tls_verified, exchange, sha256)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (endpoint_id, conclusive) DO UPDATE SET received_at = excluded.received_at,
			method = excluded.method,
			url = excluded.url, status_code = excluded.status_code, tls_verified = excluded.tls_verified,
			header = CASE WHEN old.sha256 = excluded.sha256 THEN old.header ELSE excluded.header END,
			body = CASE WHEN old.sha256 = excluded.sha256 THEN old.body ELSE excluded.body END,
			truncated = excluded.truncated, exchange = excluded.exchange, sha256 = excluded.sha256`,
		a.EndpointID, a.Conclusive, a.ReceivedAt, a.Method, a.URL, a.StatusCode, a.Header, a.Body, a.Truncated,
		a.TLSVerified, a.Exchange, a.SHA256)
}

// EndpointResponses contains the newest responses of an endpoint.
type EndpointResponses struct {
	Envelope     *Envelope // the newest response with an envelope; nil without one
	Conclusive   *Response // the newest conclusive one, if it is newer than Envelope
	Inconclusive *Response // the newest response, if it is inconclusive
}

// ReadResponses reads the newest responses of endpoints. Ids are bytes, because pgx would write a uuid.UUID as text.
func (r *LogReader) ReadResponses(ctx context.Context, endpoints [][16]byte) (map[uuid.UUID]EndpointResponses, error) {
	stored, err := envelopes(ctx, r.tx, `SELECT `+envelopeColumns+` FROM envelopes WHERE endpoint_id = ANY($1)`,
		endpoints)
	if err != nil {
		return nil, err
	}
	by := make(map[uuid.UUID]EndpointResponses, len(endpoints))
	for _, e := range stored {
		by[e.EndpointID] = EndpointResponses{Envelope: e}
	}
	found, err := r.tx.Query(ctx, `SELECT `+rows.Columns[Response]()+` FROM responses WHERE endpoint_id = ANY($1)`,
		endpoints)
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	responses, err := pgx.CollectRows(found, pgx.RowToAddrOfStructByName[Response])
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	for _, a := range responses {
		of := by[a.EndpointID]
		if a.Conclusive {
			of.Conclusive = a
		} else {
			of.Inconclusive = a
		}
		by[a.EndpointID] = of
	}
	return by, nil
}
