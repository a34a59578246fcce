package postgres

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// compareChecks orders checks by service and time, as their index and their roll-ups are.
func compareChecks(a, b Check) int {
	return cmp.Or(cmp.Compare(a.ServiceID, b.ServiceID), a.CheckedAt.Compare(b.CheckedAt))
}

// add adds a check to the last of sums, or begins another: sums are of checks that are sorted by compareChecks.
func (t rollupTable) add(sums []Rollup, c Check) []Rollup {
	n := len(sums)
	if n == 0 || sums[n-1].ServiceID != c.ServiceID || c.CheckedAt.Sub(sums[n-1].Start) >= t.period {
		sums = append(sums, Rollup{ServiceID: c.ServiceID, Start: c.CheckedAt.UTC().Truncate(t.period)})
		if n++; t.histogram {
			sums[n-1].Histogram = make([]int64, site.HistogramBuckets)
		}
	}
	sums[n-1].add(c)
	return sums
}

func (r *Rollup) add(c Check) {
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

// plus adds what other checks of the same period add up to.
func (r *Rollup) plus(o Rollup) {
	r.Checks, r.Counted, r.Up, r.Timed, r.ResponseMS = r.Checks+o.Checks, r.Counted+o.Counted, r.Up+o.Up, r.Timed+o.Timed, r.ResponseMS+o.ResponseMS
	for i, n := range o.Histogram {
		r.Histogram[i] += n
	}
}

// rollupTable is one of the two tables of roll-ups, with the column that says when a row's period starts. Of hours nobody wants
// to know how response times spread.
type rollupTable struct {
	name, start string
	period      time.Duration
	histogram   bool
}

var (
	hourRollups = rollupTable{"check_hours", "hour", time.Hour, false}
	dayRollups  = rollupTable{"check_days", "day", 24 * time.Hour, true}
)

// openSums reads checks of open hours, and answers what they add up to by hour and day. Days are those of services that are
// still listed.
func openSums(ctx context.Context, tx pgx.Tx, from, to time.Time) (hours, days []Rollup, err error) {
	var c Check
	var listed bool
	err = (&Reader{tx: tx}).each(ctx, `
		SELECT c.service_id, c.checked_at, c.counted, c.is_up, c.response_time_ms, s.id IS NOT NULL
		FROM checks c LEFT JOIN services s ON s.id = c.service_id
		WHERE c.checked_at >= $1 AND c.checked_at < $2 ORDER BY c.service_id, c.checked_at`,
		[]any{&c.ServiceID, &c.CheckedAt, &c.Counted, &c.IsUp, &c.ResponseTimeMS, &listed},
		func() {
			hours = hourRollups.add(hours, c)
			if listed {
				days = dayRollups.add(days, c)
			}
		}, from, to)
	return hours, days, err
}

// rollUpOpen sums the checks of hours that are about to be sealed. Whoever seals keeps everybody from these hours, and from erasing.
func rollUpOpen(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	hours, days, err := openSums(ctx, tx, from, to)
	if err != nil {
		return fmt.Errorf("sum checks: %w", err)
	}
	if err := hourRollups.copy(ctx, tx, len(hours), func(i int) *Rollup { return &hours[i] }); err != nil {
		return err
	}
	return sumDays(ctx, tx, days)
}

// sumDays adds sums by day to those that are kept, and keeps those that are new. Nobody else does between: whoever sums holds the
// seal of the logs.
func sumDays(ctx context.Context, tx pgx.Tx, sums []Rollup) error {
	b := &pgx.Batch{}
	there := make([]bool, len(sums))
	queueDays(b, sums, there)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("add to days: %w", err)
	}
	fresh := make([]*Rollup, 0, len(sums))
	for n := range sums {
		if !there[n] {
			fresh = append(fresh, &sums[n])
		}
	}
	return dayRollups.copy(ctx, tx, len(fresh), func(i int) *Rollup { return fresh[i] })
}

// copy keeps so many sums of which there was nothing.
func (t rollupTable) copy(ctx context.Context, tx pgx.Tx, n int, of func(i int) *Rollup) error {
	columns := "service_id, " + t.start + ", checks, counted, up, timed, response_ms"
	if t.histogram {
		columns += ", histogram"
	}
	return copyBinary(ctx, tx, t.name, columns, n, func(w *binaryRow, i int) {
		s := of(i)
		w.bigint(s.ServiceID)
		if t.period < 24*time.Hour {
			w.timestamptz(s.Start)
		} else {
			w.date(s.Start)
		}
		w.integer(s.Checks)
		w.integer(s.Counted)
		w.integer(s.Up)
		w.integer(s.Timed)
		w.bigint(s.ResponseMS)
		if t.histogram {
			w.integers(s.Histogram)
		}
	})
}

// queueDays adds to the sums that are there, and marks those.
func queueDays(b *pgx.Batch, sums []Rollup, there []bool) {
	n := len(sums)
	services, days := make([]int64, n), make([]time.Time, n)
	checks, counted, up, timed, response := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n), make([]int64, n)
	histograms := make([]int32, 0, n*site.HistogramBuckets) // one after another
	for i := range sums {
		s := &sums[i]
		services[i], days[i] = s.ServiceID, s.Start
		checks[i], counted[i], up[i], timed[i], response[i] = int32(s.Checks), int32(s.Counted), int32(s.Up), int32(s.Timed), s.ResponseMS
		for _, n := range s.Histogram {
			histograms = append(histograms, int32(n))
		}
	}
	b.Queue(`
		UPDATE check_days o SET checks = o.checks + n.c, counted = o.counted + n.n, up = o.up + n.u, timed = o.timed + n.m, response_ms = o.response_ms + n.r,
			histogram = histogram_add(o.histogram, n.h)
		FROM (
			SELECT i, s, t, c, n, u, m, r, ($8::int[])[(i - 1) * $9::int + 1 : i * $9::int] AS h
			FROM unnest($1::bigint[], $2::date[], $3::int[], $4::int[], $5::int[], $6::int[], $7::bigint[]) WITH ORDINALITY AS n (s, t, c, n, u, m, r, i)
			OFFSET 0 -- else a histogram is cut out anew for each of its buckets
		) n
		WHERE o.service_id = n.s AND o.day = n.t RETURNING n.i`,
		services, days, checks, counted, up, timed, response, histograms, site.HistogramBuckets).Query(func(rows pgx.Rows) error {
		var i int64
		_, err := pgx.ForEachRow(rows, []any{&i}, func() error {
			there[i-1] = true
			return nil
		})
		return err
	})
}
