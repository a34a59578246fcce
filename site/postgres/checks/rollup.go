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
	KnownMS    int64   // milliseconds in which the state was known, up to the last full hour; see Spans
	UpMS       int64   // of these, in which the service was up
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
	r.KnownMS, r.UpMS = r.KnownMS+o.KnownMS, r.UpMS+o.UpMS
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

// sumChecks adds the checks of hours that are being sealed to check_hours and check_days, for listed services. since is
// where the open hours begin. No check is stored between since and from.
func sumChecks(ctx context.Context, tx pgx.Tx, since, from, to time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO check_hours (service_id, hour, `+sumColumns+`, known_ms, up_ms)
		SELECT service_id, hour, coalesce(checks, 0), coalesce(counted, 0), coalesce(up, 0), coalesce(timed, 0),
			coalesce(response_ms, 0), coalesce(known_ms, 0), coalesce(up_ms, 0)
		FROM (
			SELECT service_id, date_trunc('hour', checked_at, 'UTC'), `+checkSums+`
			FROM checks WHERE checked_at >= $1 AND checked_at < $2 AND service_id IN (SELECT id FROM services)
			GROUP BY 1, 2
		) AS sums (service_id, hour, `+sumColumns+`)
		FULL JOIN (`+KnownHours("$3", "$2", "known_until > $3")+`) AS known USING (service_id, hour)
		ON CONFLICT (hour, service_id) DO UPDATE SET checks = excluded.checks, counted = excluded.counted,
			up = excluded.up, timed = excluded.timed, response_ms = excluded.response_ms,
			known_ms = excluded.known_ms, up_ms = excluded.up_ms`, from, to, since)
	if err != nil {
		return fmt.Errorf("sum checks by hour: %w", err)
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO check_days AS old (service_id, day, `+sumColumns+`, histogram, known_ms, up_ms)
		SELECT service_id, day, `+sumColumns+`, `+histogramSum+`, known_ms, up_ms
		FROM (SELECT service_id, day, sum(checks), sum(counted), sum(up), sum(timed), sum(response_ms), sum(known_ms),
			sum(up_ms), coalesce(max(buckets), '{}')
		FROM (
			SELECT service_id, (hour AT TIME ZONE 'UTC')::date, `+sumColumns+`, known_ms, up_ms, NULL::integer[]
			FROM check_hours WHERE hour >= $4 AND hour < $3 AND service_id IN (SELECT id FROM services)
			UNION ALL SELECT service_id, (checked_at AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, 0, 0, `+histogramBuckets+`
			FROM checks WHERE checked_at >= $2 AND checked_at < $3 AND service_id IN (SELECT id FROM services)
			GROUP BY 1, 2
		) AS parts (service_id, day, `+sumColumns+`, known_ms, up_ms, buckets)
		GROUP BY service_id, day) AS sums (service_id, day, `+sumColumns+`, known_ms, up_ms, buckets)
		`+addToDay, histogramBounds(), from, to, since)
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
		histogram = histogram_add(old.histogram, excluded.histogram),
		known_ms = old.known_ms + excluded.known_ms, up_ms = old.up_ms + excluded.up_ms`
