package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/rows"
)

// Price is one way to pay an endpoint, with the time in which it was asked for.
type Price struct {
	EndpointID        uuid.UUID  `db:"endpoint_id,uuid"`
	Since             time.Time  `db:"since,timestamptz"`
	Position          int        `db:"position,integer"` // index in accepts
	Until             *time.Time `db:"until,timestamptz"`
	Scheme            string     `db:"scheme,text"`
	Network           string     `db:"network,text"` // as received
	NetworkCAIP2      *string    `db:"network_caip2,text"`
	Asset             string     `db:"asset,text"`
	PayTo             string     `db:"pay_to,text"`
	Amount            string     `db:"amount,text[]::numeric"` // atomic units; for issued currencies of the XRP Ledger the value
	MaxTimeoutSeconds *int       `db:"max_timeout_seconds,integer"`
	Extra             *string    `db:"extra,text"` // JSON text as received; nil when absent
	X402Version       int        `db:"x402_version,integer"`
	Signed            bool       `db:"signed,boolean"` // whether the request that found it was signed
}

// queuePrices inserts the prices that are not stored yet, with the claims of their recipients.
func queuePrices(b *pgx.Batch, list []Price) {
	if len(list) == 0 {
		return
	}
	var claims claimList
	for _, p := range list {
		if p.NetworkCAIP2 != nil {
			claims.add(p.EndpointID, *p.NetworkCAIP2, p.PayTo, p.Since)
		}
	}
	from, args := rows.Unnest(list)
	b.Queue(`INSERT INTO prices (`+rows.Columns[Price]()+`) SELECT * FROM `+from+`
		ON CONFLICT (endpoint_id, since, position) DO NOTHING`, args...)
	claims.queue(b)
}

// priceColumns are the columns of prices in the order of Price's fields.
var priceColumns = strings.NewReplacer("amount", "amount::text", "signed", "prices.signed").
	Replace(rows.Columns[Price]())

func prices(ctx context.Context, q rows.Querier, sql string, args ...any) ([]Price, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	p, err := pgx.CollectRows(rows, pgx.RowToStructByName[Price])
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
