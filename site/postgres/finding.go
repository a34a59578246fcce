package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// What visits found is kept a statement a table, not a row: a statement costs more than its row. Whoever keeps it holds
// the rows of the services, without which nobody writes what belongs to them, so the order of rows within a statement
// is free.

// recordFindings keeps what visits found beside their checks and states. Of two visits to one service the later one in
// the list counts.
func recordFindings(ctx context.Context, tx pgx.Tx, kept []*Visit) error {
	visits := found(kept)
	for len(visits) > 0 {
		var wave, later []Visit // of one statement's rows no two may be one service's
		seen := make(map[int64]bool, len(visits))
		for _, v := range visits {
			if seen[v.Check.ServiceID] {
				later = append(later, v)
				continue
			}
			seen[v.Check.ServiceID] = true
			wave = append(wave, v)
		}
		if err := recordWave(ctx, tx, wave); err != nil {
			return err
		}
		visits = later
	}
	return nil
}

// found are the visits that found more than a state of their service.
func found(visits []*Visit) (list []Visit) {
	for _, v := range visits {
		if len(v.Endpoints)+len(v.Changes)+len(v.Told) > 0 || v.Untold != nil {
			list = append(list, *v)
		}
	}
	return list
}

// recordWave keeps the findings of visits to different services.
func recordWave(ctx context.Context, tx pgx.Tx, visits []Visit) error {
	var found []EndpointVisit
	for _, v := range visits {
		found = append(found, v.Endpoints...)
	}
	if err := recordEnvelopes(ctx, tx, found); err != nil {
		return err
	}
	b := &pgx.Batch{}
	queueFound(b, found)
	queueRepriced(b, found)
	for _, e := range found {
		if e.Method != "" {
			queueMethod(b, e)
		}
		if e.Answer != nil {
			queueAnswer(b, *e.Answer)
		}
	}
	for _, v := range visits {
		for _, c := range v.Changes {
			queueChange(b, v.Check.ServiceID, c)
		}
		queueMarks(b, v)
	}
	if b.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("keep what endpoints answered: %w", err)
	}
	return nil
}

// queueFound keeps what endpoints answered, all but their methods.
func queueFound(b *pgx.Batch, found []EndpointVisit) {
	n := len(found)
	if n == 0 {
		return
	}
	ids, probed := make([]uuid.UUID, n), make([]time.Time, n)
	verdicts, descriptions, types, fingerprints := make([]*string, n), make([]*string, n), make([]*string, n), make([]*string, n)
	classes, reasons, times := make([]string, n), make([]string, n), make([]*int, n)
	paid, headAt, headFree := make([]bool, n), make([]*time.Time, n), make([]*bool, n)
	for i, e := range found {
		ids[i], probed[i], verdicts[i], classes[i], reasons[i], times[i], paid[i] = e.ID, e.ProbedAt, e.Verdict, e.Class, e.Reason, e.ResponseTimeMS, e.Paid
		descriptions[i], types[i], fingerprints[i], headAt[i], headFree[i] = e.Description, e.MimeType, e.Fingerprint, e.HeadAt, e.HeadFree
	}
	b.Queue(`
		UPDATE endpoints e SET last_probed_at = v.at, verdict = coalesce(v.verdict, e.verdict),
			verdict_at = CASE WHEN v.verdict IS NULL THEN e.verdict_at ELSE v.at END, class = v.class, reason = v.reason, response_time_ms = v.ms,
			last_paid_at = CASE WHEN v.paid THEN v.at ELSE e.last_paid_at END,
			description = coalesce(v.description, e.description), mime_type = coalesce(v.mime_type, e.mime_type),
			fingerprint = coalesce(v.fingerprint, e.fingerprint), head_at = coalesce(v.head_at, e.head_at), head_free = coalesce(v.head_free, e.head_free)
		FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::boolean[], $8::text[], $9::text[],
			$10::text[], $11::timestamptz[], $12::boolean[])
			AS v (id, at, verdict, class, reason, ms, paid, description, mime_type, fingerprint, head_at, head_free)
		WHERE e.id = v.id`,
		ids, probed, verdicts, classes, reasons, times, paid, descriptions, types, fingerprints, headAt, headFree)
}

// queueMethod keeps the method that answered, unless another endpoint of the path has it. Each is a statement of its
// own, for it must see what the one before did.
func queueMethod(b *pgx.Batch, e EndpointVisit) {
	b.Queue(`
		UPDATE endpoints e SET method = $2
		WHERE id = $1 AND method <> $2 AND NOT EXISTS (SELECT FROM endpoints o WHERE o.service_id = e.service_id AND o.path = e.path AND o.method = $2)`,
		e.ID, e.Method)
}

// queueRepriced ends the prices of endpoints that ask others now, and begins those.
func queueRepriced(b *pgx.Batch, found []EndpointVisit) {
	var ids []uuid.UUID
	var ended []time.Time
	var begun []Price
	for _, e := range found {
		if e.Repriced {
			ids, ended, begun = append(ids, e.ID), append(ended, e.ProbedAt), append(begun, e.Prices...)
		}
	}
	if len(ids) == 0 {
		return
	}
	b.Queue(`
		UPDATE prices p SET until = v.at FROM unnest($1::uuid[], $2::timestamptz[]) AS v (id, at)
		WHERE p.endpoint_id = v.id AND p.until IS NULL`, ids, ended)
	queuePrices(b, begun)
}

// envelopeChunk is how many bytes of bodies one statement takes: strangers say how long they are.
const envelopeChunk = 4 << 20

// recordEnvelopes keeps answers with envelopes. One that says the same as the kept one only renews its time and its
// exchange: its header and body are not even sent. What was answered before it without an envelope stands behind no
// verdict any more.
func recordEnvelopes(ctx context.Context, tx pgx.Tx, found []EndpointVisit) error {
	var all []*Envelope
	for _, e := range found {
		if e.Envelope != nil {
			all = append(all, e.Envelope)
		}
	}
	if len(all) == 0 {
		return nil
	}
	c := envelopeRows(all)
	same, err := column[uuid.UUID](ctx, tx, `
		WITH v AS MATERIALIZED (
			SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::integer[], $6::boolean[], $7::boolean[], $8::bytea[], $9::jsonb[])
				AS v (id, at, method, url, status, truncated, verified, sha256, exchange)
		), older AS (DELETE FROM answers WHERE endpoint_id = ANY($1))
		UPDATE envelopes e SET received_at = v.at, method = v.method, url = v.url, status_code = v.status, truncated = v.truncated, tls_verified = v.verified,
			exchange = v.exchange
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

func replaceEnvelopes(ctx context.Context, tx pgx.Tx, list []*Envelope) error {
	c := envelopeRows(list)
	for _, e := range list {
		c.headers, c.bodies = append(c.headers, e.Header), append(c.bodies, e.Body)
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO envelopes (endpoint_id, received_at, method, url, status_code, truncated, tls_verified, sha256, exchange, header, body)
		SELECT * FROM unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::text[], $5::integer[], $6::boolean[], $7::boolean[], $8::bytea[], $9::jsonb[],
			$10::jsonb[], $11::bytea[])
		ON CONFLICT (endpoint_id) DO UPDATE SET received_at = excluded.received_at, method = excluded.method, url = excluded.url,
			status_code = excluded.status_code, truncated = excluded.truncated, tls_verified = excluded.tls_verified, sha256 = excluded.sha256,
			exchange = excluded.exchange, header = excluded.header, body = excluded.body`,
		c.ids, c.at, c.methods, c.urls, c.statuses, c.truncated, c.verified, c.sums, c.exchanges, c.headers, c.bodies)
	if err != nil {
		return fmt.Errorf("keep envelopes: %w", err)
	}
	return nil
}

// envelopeArrays are what a statement about envelopes unnests.
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

func envelopeRows(list []*Envelope) (c envelopeArrays) {
	for _, e := range list {
		c.ids, c.at, c.methods, c.urls = append(c.ids, e.EndpointID), append(c.at, e.ReceivedAt), append(c.methods, e.Method), append(c.urls, e.URL)
		c.statuses, c.truncated, c.verified = append(c.statuses, e.StatusCode), append(c.truncated, e.Truncated), append(c.verified, e.TLSVerified)
		c.sums, c.exchanges = append(c.sums, e.SHA256), append(c.exchanges, e.Exchange)
	}
	return c
}
