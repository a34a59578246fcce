package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// Claim says when a service was first seen to name a recipient.
type Claim struct {
	NetworkCAIP2, PayTo string // PayTo as received
	FirstSeenAt         time.Time
}

// claimDays is the number of days after which a claim is forgotten that no price and no offer names any more. Builds
// read as many days of prices.
const claimDays = 90

// maxRecipient is the maximum length in bytes of a recipient and of a network in a claim. A longer text is no address.
const maxRecipient = 1024

// claimList collects claims.
type claimList []claimRow

type claimRow struct {
	Endpoint uuid.UUID `db:"endpoint,uuid"`
	Network  string    `db:"network,text"`
	Payee    string    `db:"payee,text"`
	Since    time.Time `db:"since,timestamptz"`
}

func (l *claimList) add(endpoint uuid.UUID, network, payTo string, since time.Time) {
	if network != "" && payTo != "" && len(network) <= maxRecipient && len(payTo) <= maxRecipient {
		*l = append(*l, claimRow{endpoint, network, payTo, since})
	}
}

// queue inserts the claims that are not stored yet. A stored claim keeps its beginning, unless the new one is earlier.
func (l claimList) queue(b *pgx.Batch) {
	if len(l) == 0 {
		return
	}
	from, args := rows.Unnest(l)
	b.Queue(`
		INSERT INTO recipient_claims AS c (service_id, network_caip2, pay_to, first_seen_at)
		SELECT e.service_id, v.network, v.payee, min(v.since) FROM `+from+` JOIN endpoints e ON e.id = v.endpoint
		GROUP BY 1, 2, 3
		ON CONFLICT (service_id, network_caip2, pay_to) DO UPDATE SET first_seen_at = excluded.first_seen_at
			WHERE excluded.first_seen_at < c.first_seen_at`, args...)
}

// QueueClaims inserts the claims of all stored prices, for a database that was loaded.
func QueueClaims(b *pgx.Batch) {
	b.Queue(`
		INSERT INTO recipient_claims (service_id, network_caip2, pay_to, first_seen_at)
		SELECT e.service_id, p.network_caip2, p.pay_to, min(p.since) FROM prices p JOIN endpoints e ON e.id = p.endpoint_id
		WHERE p.network_caip2 <> '' AND p.pay_to <> '' AND octet_length(p.network_caip2) <= $1
			AND octet_length(p.pay_to) <= $1
		GROUP BY 1, 2, 3 ON CONFLICT DO NOTHING`, maxRecipient)
}

// ReadClaims reads the claims of services, by service.
func (r *LogReader) ReadClaims(ctx context.Context, services []int64) (map[int64][]Claim, error) {
	claims := map[int64][]Claim{}
	var id int64
	var c Claim
	err := r.each(ctx, `
		SELECT service_id, network_caip2, pay_to, first_seen_at FROM recipient_claims WHERE service_id = ANY($1)
		ORDER BY service_id, network_caip2, pay_to`,
		[]any{&id, &c.NetworkCAIP2, &c.PayTo, &c.FirstSeenAt}, func() { claims[id] = append(claims[id], c) }, services)
	if err != nil {
		return nil, fmt.Errorf("read recipient_claims: %w", err)
	}
	return claims, nil
}

// RetainClaims deletes the claims that no price and no offer of the last claimDays days names. Who names such a
// recipient again has a new claim. The days end at the newest check, so that a clock that is ahead deletes nothing.
func RetainClaims(ctx context.Context, tx pgx.Tx, now time.Time) error {
	_, err := tx.Exec(ctx, `
		WITH since AS MATERIALIZED (
			SELECT least($1::timestamptz, max(newest_check_at)) - make_interval(days => $2) AS at FROM service_states
		), named AS MATERIALIZED (
			SELECT DISTINCT e.service_id, p.network_caip2, p.pay_to FROM prices p JOIN endpoints e ON e.id = p.endpoint_id
			WHERE p.network_caip2 IS NOT NULL AND (p.until IS NULL OR p.until >= (SELECT at FROM since))
			UNION
			SELECT e.service_id, o->>'network_caip2', o->>'pay_to' FROM offer_sets s JOIN endpoints e ON e.id = s.endpoint_id,
				jsonb_array_elements(CASE jsonb_typeof(s.offers) WHEN 'array' THEN s.offers ELSE '[]' END) AS o
			WHERE s.until IS NULL OR s.until >= (SELECT at FROM since)
		)
		DELETE FROM recipient_claims c WHERE first_seen_at < (SELECT at FROM since) AND NOT EXISTS (
			SELECT FROM named n WHERE n.service_id = c.service_id AND n.network_caip2 = c.network_caip2
				AND n.pay_to = c.pay_to)`, now, claimDays)
	if err != nil {
		return fmt.Errorf("delete from recipient_claims: %w", err)
	}
	return nil
}
