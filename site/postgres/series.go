package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// PriceSpan is what an endpoint asked in an asset over a stretch of time. What lasted over a midnight is one row of
// prices; what came and went within a UTC day is one span a day.
type PriceSpan struct {
	EndpointID   uuid.UUID
	NetworkCAIP2 *string
	Asset        string
	Since        time.Time
	Until        *time.Time // nil while it holds
	Lowest       string     // atomic units
	Highest      string
}

// PriceDay is a UTC day on which a service asked amounts that it had not asked just before.
type PriceDay struct {
	Day   time.Time
	Moved int // sets of prices that asked other amounts for the same than the endpoint's set before; its first is none
}

// DaySum is a UTC day of a service with a counted check.
type DaySum struct {
	Day        time.Time
	Counted    int
	Up         int
	Timed      int
	ResponseMS int64
}

// readSeries reads what the series of prices are made of, all of their time.
func (r *Reader) readSeries(ctx context.Context, at *places) error {
	var id int64
	var p PriceSpan
	err := r.each(ctx, `
		SELECT service_id, endpoint_id, network_caip2, asset, min(since), CASE WHEN bool_and(until IS NOT NULL) THEN max(until) END,
			min(amount)::text, max(amount)::text
		FROM prices JOIN endpoints ON endpoints.id = endpoint_id WHERE service_id = ANY($1)
		GROUP BY service_id, endpoint_id, network_caip2, asset, since::date, CASE WHEN until::date = since::date THEN NULL ELSE since END
		ORDER BY service_id, endpoint_id, min(since), max(until), network_caip2, asset`,
		[]any{&id, &p.EndpointID, &p.NetworkCAIP2, &p.Asset, &p.Since, &p.Until, &p.Lowest, &p.Highest},
		func() { at.services[id].PriceSpans = append(at.services[id].PriceSpans, p) }, at.ids)
	if err != nil {
		return fmt.Errorf("read price spans: %w", err)
	}
	var d PriceDay
	err = r.each(ctx, `
		SELECT service_id, since::date::timestamptz, count(DISTINCT (endpoint_id, since)) FILTER (WHERE before IS NOT NULL)
		FROM (
			SELECT endpoint_id, since, amounts, CASE WHEN lag(nth) OVER way = nth - 1 THEN lag(amounts) OVER way END AS before
			FROM (
				SELECT endpoint_id, since, scheme, network, asset, array_agg(amount ORDER BY amount) AS amounts,
					dense_rank() OVER (PARTITION BY endpoint_id ORDER BY since) AS nth
				FROM prices WHERE endpoint_id IN (SELECT id FROM endpoints WHERE service_id = ANY($1))
				GROUP BY endpoint_id, since, scheme, network, asset
			) ways
			WINDOW way AS (PARTITION BY endpoint_id, scheme, network, asset ORDER BY since)
		) moves JOIN endpoints ON endpoints.id = endpoint_id
		WHERE amounts IS DISTINCT FROM before
		GROUP BY service_id, since::date
		ORDER BY service_id, since::date`,
		[]any{&id, &d.Day, &d.Moved},
		func() { at.services[id].PriceDays = append(at.services[id].PriceDays, d) }, at.ids)
	if err != nil {
		return fmt.Errorf("read price days: %w", err)
	}
	return nil
}

// each scans every row of a query and does what is to be done with it.
func (r *Reader) each(ctx context.Context, sql string, scan []any, do func(), args ...any) error {
	rows, err := r.tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, scan, func() error { do(); return nil })
	return err
}
