package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// Offer is a way to pay an endpoint over another protocol than x402, as package rail reads it.
type Offer struct {
	Protocol          string `json:"protocol"`
	Scheme            string `json:"scheme"`
	Network           string `json:"network"`
	NetworkCAIP2      string `json:"network_caip2,omitempty"` // "" if the network has none
	Asset             string `json:"asset"`
	Amount            string `json:"amount"`
	PayTo             string `json:"pay_to,omitempty"` // "" if the offer names nobody
	MaxTimeoutSeconds *int   `json:"max_timeout_seconds,omitempty"`
	Variable          bool   `json:"variable,omitempty"` // the amount is not that of a call
}

// OfferSet is the offers that an endpoint made from since to until.
type OfferSet struct {
	EndpointID uuid.UUID
	Since      time.Time
	Until      *time.Time // nil for the current ones
	Offers     []Offer
	Signed     bool // whether the request that found them was signed
}

// queueOfferChanges ends the current sets of offers that visits found replaced, and begins the new ones.
func queueOfferChanges(b *pgx.Batch, endpoints []EndpointVisit) {
	var ids []uuid.UUID
	var ended []time.Time
	var begun []OfferSet
	for _, e := range endpoints {
		if e.OffersChanged {
			ids, ended = append(ids, e.ID), append(ended, e.ProbedAt)
			begun = append(begun, OfferSet{EndpointID: e.ID, Since: e.ProbedAt, Offers: e.Offers, Signed: e.Signed})
		}
	}
	if len(ids) == 0 {
		return
	}
	b.Queue(`
		UPDATE offer_sets o SET until = v.at FROM unnest($1::uuid[], $2::timestamptz[]) AS v (id, at)
		WHERE o.endpoint_id = v.id AND o.until IS NULL`, ids, ended)
	queueOfferSets(b, begun)
}

// queueOfferSets inserts the sets that have offers and are not stored yet, with the claims of their recipients.
func queueOfferSets(b *pgx.Batch, sets []OfferSet) {
	var claims claimList
	for _, s := range sets {
		for _, o := range s.Offers {
			claims.add(s.EndpointID, o.NetworkCAIP2, o.PayTo, s.Since)
		}
		if len(s.Offers) > 0 {
			b.Queue(`
				INSERT INTO offer_sets (endpoint_id, since, until, offers, signed) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT DO NOTHING`, s.EndpointID, s.Since, s.Until, s.Offers, s.Signed)
		}
	}
	claims.queue(b)
}

// OffersAt reads the sets of offers of a service's endpoints at a time, by endpoint. For an endpoint that was listed
// with its service and had never asked for payment by then, it returns the first set, as PricesAt does.
func (st *Store) OffersAt(ctx context.Context, serviceID int64, at time.Time) ([]OfferSet, error) {
	rows, err := st.pool.Query(ctx, `
		SELECT endpoint_id, since, until, o.offers, o.signed FROM offer_sets o JOIN endpoints e ON e.id = endpoint_id
			JOIN services ON services.id = service_id
		WHERE service_id = $1 AND (since <= $2 AND (until IS NULL OR until > $2)
			OR since > $2 AND first_seen_at <= services.created_at
				AND since = (SELECT min(since) FROM offer_sets WHERE endpoint_id = e.id)
				AND NOT EXISTS (SELECT FROM prices WHERE endpoint_id = e.id AND since <= $2))
		ORDER BY endpoint_id`, serviceID, at)
	if err != nil {
		return nil, fmt.Errorf("read offers: %w", err)
	}
	sets, err := pgx.CollectRows(rows, pgx.RowToStructByPos[OfferSet])
	if err != nil {
		return nil, fmt.Errorf("read offers: %w", err)
	}
	return sets, nil
}

// FormerRecipient is a recipient that offers of an endpoint named until a time, and the token that they asked for.
type FormerRecipient struct {
	NetworkCAIP2, PayTo, Asset string
	Until                      time.Time // when a visit found the last of these offers replaced
}

// ReadFormerRecipients reads the recipients of offers that have ended, by endpoint. Like ReadPrices, it leaves out
// those that ended before the oldest figures. An endpoint whose amounts change at each visit has one row.
func (r *LogReader) ReadFormerRecipients(ctx context.Context, now time.Time,
	endpoints [][16]byte) (map[uuid.UUID][]FormerRecipient, error) {
	former := map[uuid.UUID][]FormerRecipient{}
	var id uuid.UUID
	var p FormerRecipient
	err := r.each(ctx, `
		SELECT endpoint_id, o->>'network_caip2', o->>'pay_to', coalesce(o->>'asset', ''), max(until)
		FROM offer_sets, jsonb_array_elements(CASE jsonb_typeof(offers) WHEN 'array' THEN offers ELSE '[]' END) AS o
		WHERE endpoint_id = ANY($2) AND until >= $1 AND o->>'network_caip2' <> '' AND o->>'pay_to' <> ''
		GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`,
		[]any{(*[16]byte)(&id), &p.NetworkCAIP2, &p.PayTo, &p.Asset, &p.Until},
		func() { former[id] = append(former[id], p) }, oldestPrice(now), endpoints)
	if err != nil {
		return nil, fmt.Errorf("read former recipients: %w", err)
	}
	return former, nil
}

// readPriceRows reads all sets of offers of endpoints, by endpoint and since, one row for each offer.
func (r *LogReader) readPriceRows(ctx context.Context, endpoints [][16]byte) (map[uuid.UUID][]priceRow, error) {
	sets, texts := map[uuid.UUID][]priceRow{}, rows.Intern{}
	var s OfferSet
	err := r.each(ctx, `
		SELECT endpoint_id, since, until, offers, signed FROM offer_sets WHERE endpoint_id = ANY($1)
		ORDER BY endpoint_id, since`,
		[]any{(*[16]byte)(&s.EndpointID), &s.Since, &s.Until, &s.Offers, &s.Signed}, func() {
			for _, o := range s.Offers {
				row := priceRow{endpoint: s.EndpointID, since: s.Since, until: s.Until,
					protocol: texts.String(o.Protocol), scheme: texts.String(o.Scheme), asset: texts.String(o.Asset),
					amount: o.Amount, signed: s.Signed}
				if o.NetworkCAIP2 != "" {
					row.caip2 = new(texts.String(o.NetworkCAIP2))
				}
				sets[s.EndpointID] = append(sets[s.EndpointID], row)
			}
			s = OfferSet{}
		}, endpoints)
	if err != nil {
		return nil, fmt.Errorf("read offers: %w", err)
	}
	return sets, nil
}
