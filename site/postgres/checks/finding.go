package checks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// recordFindings stores what visits found beside checks and states, one statement for each table, because a statement
// costs more than its row. The transaction has locked the rows of the services, which every writer locks first, so rows
// may be written in any order. Of two visits to one service the later one in the list is stored last.
func recordFindings(ctx context.Context, tx pgx.Tx, visits []*Visit) error {
	rest := withFindings(visits)
	for len(rest) > 0 {
		var batch, later []Visit // a statement must not change a row twice
		seen := make(map[int64]bool, len(rest))
		for _, v := range rest {
			if seen[v.Check.ServiceID] {
				later = append(later, v)
				continue
			}
			seen[v.Check.ServiceID] = true
			batch = append(batch, v)
		}
		if err := recordBatch(ctx, tx, batch); err != nil {
			return err
		}
		rest = later
	}
	return nil
}

// withFindings returns the visits that found more than the state of their service.
func withFindings(visits []*Visit) (list []Visit) {
	for _, v := range visits {
		if len(v.Endpoints)+len(v.Changes)+len(v.ClearedTypes) > 0 || v.BaselineAt != nil || v.Finding != nil ||
			v.Question != nil {
			list = append(list, *v)
		}
	}
	return list
}

// recordBatch stores the findings of visits to different services.
func recordBatch(ctx context.Context, tx pgx.Tx, visits []Visit) error {
	var endpoints []EndpointVisit
	for _, v := range visits {
		endpoints = append(endpoints, v.Endpoints...)
	}
	if err := recordEnvelopes(ctx, tx, endpoints); err != nil {
		return err
	}
	b := &pgx.Batch{}
	queueEndpointStates(b, endpoints)
	queuePriceChanges(b, endpoints)
	queueOfferChanges(b, endpoints)
	for _, e := range endpoints {
		if e.Method != "" {
			queueMethod(b, e)
		}
		if e.Response != nil {
			queueResponse(b, *e.Response)
		}
	}
	for _, v := range visits {
		for _, c := range v.Changes {
			queueChange(b, v.Check.ServiceID, c)
		}
		queueBaselines(b, v)
		queuePlaces(b, v)
	}
	if b.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("keep what endpoints answered: %w", err)
	}
	return nil
}

// queueEndpointStates updates endpoints from their responses, except for the method.
func queueEndpointStates(b *pgx.Batch, endpoints []EndpointVisit) {
	if len(endpoints) == 0 {
		return
	}
	list := slices.Clone(endpoints)
	for i := range list {
		list[i].Offers = append([]Offer{}, list[i].Offers...) // an empty list is no null
		list[i].Readers = append([]Reader{}, list[i].Readers...)
	}
	from, args := rows.Unnest(list)
	b.Queue(`
		UPDATE endpoints e SET last_probed_at = v.at, verdict = coalesce(v.verdict, e.verdict),
			verdict_at = CASE WHEN v.verdict IS NULL THEN e.verdict_at ELSE v.at END, class = v.class,
			reason = v.reason, response_time_ms = v.ms,
			last_paid_at = CASE WHEN v.paid THEN v.at ELSE e.last_paid_at END,
			description = coalesce(v.description, e.description), mime_type = coalesce(v.mime_type, e.mime_type),
			fingerprint = coalesce(v.fingerprint, e.fingerprint), head_at = coalesce(v.head_at, e.head_at),
			head_free = coalesce(v.head_free, e.head_free), head_url = coalesce(v.head_url, e.head_url),
			head_status = coalesce(v.head_status, e.head_status),
			offers = CASE WHEN v.asks AND (e.offers IS NOT NULL OR v.offers <> '[]') THEN v.offers ELSE e.offers END,
			looked_at = coalesce(v.looked_at, e.looked_at),
			readers = CASE WHEN v.looked_at IS NULL THEN e.readers ELSE v.readers END,
			signed = CASE WHEN v.verdict IS NULL THEN e.signed ELSE v.signed END
		FROM `+from+` WHERE e.id = v.id`, args...)
}

// queueMethod stores the method that responded, unless another endpoint of the path has it. Each endpoint needs its own
// statement, because it must see the result of the previous one.
func queueMethod(b *pgx.Batch, e EndpointVisit) {
	b.Queue(`
		UPDATE endpoints e SET method = $2
		WHERE id = $1 AND method <> $2 AND NOT EXISTS (SELECT FROM endpoints o WHERE o.service_id = e.service_id
			AND o.path = e.path AND o.method = $2)`,
		e.ID, e.Method)
}

// queuePriceChanges ends the prices of endpoints that ask for others now, and inserts the new ones.
func queuePriceChanges(b *pgx.Batch, endpoints []EndpointVisit) {
	var ids []uuid.UUID
	var ended []time.Time
	var begun []Price
	for _, e := range endpoints {
		if e.PricesChanged {
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
