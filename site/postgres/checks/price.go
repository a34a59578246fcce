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

// Price is one way to pay an endpoint, with the time in which it was asked for.
type Price struct {
	EndpointID        uuid.UUID
	Since             time.Time
	Position          int // index in accepts
	Until             *time.Time
	Scheme            string
	Network           string // as received
	NetworkCAIP2      *string
	Asset             string
	PayTo             string
	Amount            string // atomic units; for issued currencies of the XRP Ledger the value
	MaxTimeoutSeconds *int
	Extra             *string // JSON text as received; nil when absent
	X402Version       int
	Signed            bool // whether the request that found it was signed
}

// queuePrices inserts the prices that are not stored yet, with the claims of their recipients.
func queuePrices(b *pgx.Batch, list []Price) {
	n := len(list)
	if n == 0 {
		return
	}
	// pgx would write a uuid.UUID as text
	ids, since, positions, until := make([][16]byte, n), make([]time.Time, n), make([]int, n), make([]*time.Time, n)
	schemes, networks, names, assets := make([]string, n), make([]string, n), make([]*string, n), make([]string, n)
	payees, amounts, timeouts, extras, versions := make([]string, n), make([]string, n), make([]*int, n),
		make([]*string, n), make([]int, n)
	signed := make([]bool, n)
	var claims claimList
	for i, p := range list {
		if p.NetworkCAIP2 != nil {
			claims.add(p.EndpointID, *p.NetworkCAIP2, p.PayTo, p.Since)
		}
		ids[i], since[i], positions[i], until[i], schemes[i], networks[i], names[i] = p.EndpointID, p.Since, p.Position,
			p.Until, p.Scheme, p.Network, p.NetworkCAIP2
		assets[i], payees[i], amounts[i], timeouts[i], extras[i], versions[i], signed[i] = p.Asset, p.PayTo, p.Amount,
			p.MaxTimeoutSeconds, p.Extra, p.X402Version, p.Signed
	}
	b.Queue(`
		INSERT INTO prices (endpoint_id, since, position, until, scheme, network, network_caip2, asset, pay_to, amount,
			max_timeout_seconds, extra, x402_version, signed)
		SELECT id, since, position, until, scheme, network, caip2, asset, payee, amount::numeric, timeout, extra,
			version, signed
		FROM unnest($1::uuid[], $2::timestamptz[], $3::integer[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
			$8::text[], $9::text[], $10::text[],
			$11::integer[], $12::text[], $13::integer[], $14::boolean[]) AS v (id, since, position, until, scheme,
			network, caip2, asset, payee, amount, timeout, extra, version, signed)
		ON CONFLICT (endpoint_id, since, position) DO NOTHING`,
		ids, since, positions, until, schemes, networks, names, assets, payees, amounts, timeouts, extras, versions,
		signed)
	claims.queue(b)
}

// priceColumns are the columns of prices in the order of Price's fields.
const priceColumns = `endpoint_id, since, position, until, scheme, network, network_caip2, asset, pay_to, amount::text,
	max_timeout_seconds, extra, x402_version, prices.signed`

func prices(ctx context.Context, q rows.Querier, sql string, args ...any) ([]Price, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	p, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Price])
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	return p, nil
}

// CurrentPrices reads the current prices of a service's endpoints, by endpoint and position.
func (st *Store) CurrentPrices(ctx context.Context, serviceID int64) ([]Price, error) {
	return prices(ctx, st.pool, `
		SELECT `+priceColumns+` FROM prices JOIN endpoints ON endpoints.id = endpoint_id
		WHERE service_id = $1 AND until IS NULL
		ORDER BY endpoint_id, position`, serviceID)
}

// PricesAt reads the prices of a service's endpoints at a time, by endpoint and position. For an endpoint that was
// listed with its service and first asked for payment later, it returns the first prices, because the first prices are
// no change.
func (st *Store) PricesAt(ctx context.Context, serviceID int64, at time.Time) ([]Price, error) {
	return prices(ctx, st.pool, `
		SELECT `+priceColumns+` FROM prices JOIN endpoints ON endpoints.id = endpoint_id
			JOIN services ON services.id = service_id
		WHERE service_id = $1 AND (since <= $2 AND (until IS NULL OR until > $2)
			OR since > $2 AND first_seen_at <= services.created_at
				AND since = (SELECT min(since) FROM prices p WHERE p.endpoint_id = endpoints.id))
		ORDER BY endpoint_id, position`, serviceID, at)
}

// ReadPrices reads the prices of endpoints in the last 90 days; those of an endpoint are sorted by since and position.
// Ids are bytes, because pgx would write a uuid.UUID as text.
func (r *LogReader) ReadPrices(ctx context.Context, now time.Time, endpoints [][16]byte) (map[uuid.UUID][]Price,
	error) {
	prices, texts := make(map[uuid.UUID][]Price, len(endpoints)), rows.Intern{}
	var p Price
	var of []Price // of one endpoint
	keep := func() {
		if len(of) > 0 {
			prices[of[0].EndpointID] = slices.Clone(of)
			of = of[:0]
		}
	}
	err := r.each(ctx, `
		SELECT `+priceColumns+` FROM prices WHERE endpoint_id = ANY($2) AND (until IS NULL OR until >= $1)
		ORDER BY endpoint_id, since, position`,
		[]any{(*[16]byte)(&p.EndpointID), &p.Since, &p.Position, &p.Until, &p.Scheme, &p.Network, &p.NetworkCAIP2,
			&p.Asset, &p.PayTo, &p.Amount,
			&p.MaxTimeoutSeconds, &p.Extra, &p.X402Version, &p.Signed},
		func() {
			if len(of) > 0 && of[0].EndpointID != p.EndpointID {
				keep()
			}
			p.Scheme, p.Network, p.Asset, p.PayTo, p.Amount = texts.String(p.Scheme), texts.String(p.Network),
				texts.String(p.Asset), texts.String(p.PayTo), texts.String(p.Amount)
			p.NetworkCAIP2, p.Extra = texts.Pointer(p.NetworkCAIP2), texts.Pointer(p.Extra)
			of = append(of, p)
		}, oldestPrice(now), endpoints)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	keep()
	return prices, nil
}

// oldestPrice returns the time since which prices are read with their endpoint.
func oldestPrice(now time.Time) time.Time { return now.AddDate(0, 0, -90) }
