package checks

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// Rollup sums the checks of a service over an hour or a UTC day.
type Rollup struct {
	ServiceID  int64
	Start      time.Time
	Checks     int // all visits
	Counted    int
	Up         int // of the counted
	Timed      int // counted ones with a response time
	ResponseMS int64
	Histogram  []int64 // site.HistogramBuckets long; nil where it was not read
}

// Add counts a check, as checkSums does.
func (r *Rollup) Add(c Check) {
	r.Checks++
	if !c.Counted {
		return
	}
	r.Counted++
	if c.IsUp {
		r.Up++
	}
	if c.ResponseTimeMS != nil {
		r.Timed++
		r.ResponseMS += int64(*c.ResponseTimeMS)
		if r.Histogram != nil {
			r.Histogram[site.HistogramBucket(*c.ResponseTimeMS)]++
		}
	}
}

// plus adds the sums of other checks of the same period.
func (r *Rollup) plus(o Rollup) {
	r.Checks, r.Counted, r.Up, r.Timed, r.ResponseMS = r.Checks+o.Checks, r.Counted+o.Counted, r.Up+o.Up,
		r.Timed+o.Timed, r.ResponseMS+o.ResponseMS
	for i, n := range o.Histogram {
		r.Histogram[i] += n
	}
}

// checkSums are the aggregates over checks that make a roll-up, in the order of sumColumns.
const checkSums = `count(*), count(*) FILTER (WHERE counted), count(*) FILTER (WHERE counted AND is_up),
	count(response_time_ms) FILTER (WHERE counted), coalesce(sum(response_time_ms) FILTER (WHERE counted), 0)`

const sumColumns = `checks, counted, up, timed, response_ms`

// histogramSum is the histogram of a roll-up over checks. $1 is histogramBounds.
const histogramSum = `(SELECT array_agg(cardinality(array_positions(buckets, bucket)) ORDER BY bucket)
	FROM generate_series(1, cardinality($1::integer[])) AS bucket)`

// histogramBuckets lists the buckets of timed checks for histogramSum.
const histogramBuckets = `coalesce(array_agg(width_bucket(response_time_ms, $1::integer[])) FILTER (WHERE counted
	AND response_time_ms IS NOT NULL), '{}')`

// histogramBounds returns the lowest response time, in milliseconds, of each of site.HistogramBuckets buckets.
var histogramBounds = sync.OnceValue(func() []int32 {
	bounds := []int32{math.MinInt32}
	for ms := int32(1); len(bounds) < site.HistogramBuckets; ms++ {
		for len(bounds) <= site.HistogramBucket(int(ms)) {
			bounds = append(bounds, ms)
		}
	}
	return bounds
})

// sumChecks adds the checks of hours that are being sealed to check_hours and check_days, for listed services.
func sumChecks(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO check_hours (service_id, hour, `+sumColumns+`)
		SELECT service_id, date_trunc('hour', checked_at, 'UTC'), `+checkSums+`
		FROM checks WHERE checked_at >= $1 AND checked_at < $2 AND service_id IN (SELECT id FROM services)
		GROUP BY 1, 2
		ON CONFLICT (hour, service_id) DO UPDATE SET checks = excluded.checks, counted = excluded.counted,
			up = excluded.up, timed = excluded.timed, response_ms = excluded.response_ms`, from, to)
	if err != nil {
		return fmt.Errorf("sum checks by hour: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO check_days AS old (service_id, day, `+sumColumns+`, histogram)
		SELECT service_id, day, `+sumColumns+`, `+histogramSum+`
		FROM (
			SELECT service_id, (checked_at AT TIME ZONE 'UTC')::date, `+checkSums+`, `+histogramBuckets+`
			FROM checks WHERE checked_at >= $2 AND checked_at < $3 AND service_id IN (SELECT id FROM services)
			GROUP BY 1, 2
		) AS sums (service_id, day, `+sumColumns+`, buckets)
		`+addToDay, histogramBounds(), from, to)
	if err != nil {
		return fmt.Errorf("sum checks by day: %w", err)
	}
	return nil
}

// addToDay ends an INSERT INTO check_days AS old: it adds the sums to those that a day already has.
const addToDay = `
	ON CONFLICT (service_id, day) DO UPDATE SET checks = old.checks + excluded.checks,
		counted = old.counted + excluded.counted, up = old.up + excluded.up,
		timed = old.timed + excluded.timed, response_ms = old.response_ms + excluded.response_ms,
		histogram = histogram_add(old.histogram, excluded.histogram)`
