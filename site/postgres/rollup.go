package postgres

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// compareChecks orders checks by service and time, as their packs and their roll-ups are.
func compareChecks(a, b *Check) int {
	return cmp.Or(cmp.Compare(a.ServiceID, b.ServiceID), a.CheckedAt.Compare(b.CheckedAt))
}

// of is the last of sums where a time of a service is in its period, else another: sums are asked for in the order of compareChecks.
func (p rollupPeriod) of(sums []Rollup, service int64, at time.Time) []Rollup {
	n := len(sums)
	if n == 0 || sums[n-1].ServiceID != service || at.Sub(sums[n-1].Start) >= p.length {
		sums = append(sums, Rollup{ServiceID: service, Start: at.UTC().Truncate(p.length)})
		if p.histogram {
			sums[n].Histogram = make([]int64, site.HistogramBuckets)
		}
	}
	return sums
}

// add adds a check to sums: it comes after those that are in, by compareChecks.
func (p rollupPeriod) add(sums []Rollup, c Check) []Rollup {
	sums = p.of(sums, c.ServiceID, c.CheckedAt)
	sums[len(sums)-1].add(c)
	return sums
}

// addPack adds the checks of a service's pack.
func (p rollupPeriod) addPack(sums []Rollup, pack *checkPack) []Rollup {
	sums = p.of(sums, pack.service, pack.hour)
	r := &sums[len(sums)-1]
	for i := range pack.len() {
		c := pack.at(i)
		r.count(c.has(flagCounted), c.has(flagUp), c.has(flagTimed), c.integer(packedResponse))
	}
	return sums
}

func (r *Rollup) add(c Check) {
	ms := 0
	if c.ResponseTimeMS != nil {
		ms = *c.ResponseTimeMS
	}
	r.count(c.Counted, c.IsUp, c.ResponseTimeMS != nil, ms)
}

// count counts a check, with the milliseconds that it took where it was timed.
func (r *Rollup) count(counted, up, timed bool, ms int) {
	r.Checks++
	if !counted {
		return
	}
	r.Counted++
	if up {
		r.Up++
	}
	if timed {
		r.Timed++
		r.ResponseMS += int64(ms)
		if r.Histogram != nil {
			r.Histogram[site.HistogramBucket(ms)]++
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

// rollupPeriod is what checks are summed over. Of hours nobody wants to know how response times spread.
type rollupPeriod struct {
	length    time.Duration
	histogram bool
}

var (
	hourRollups = rollupPeriod{time.Hour, false}
	dayRollups  = rollupPeriod{24 * time.Hour, true}
)

// closeDays sums the sealed hours of the days that are over, of services that are still listed. Whoever seals keeps everybody from
// these hours, and from erasing.
func closeDays(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	var days []Rollup
	err := servicePacks(ctx, tx, `
		SELECT service_id, hour, checks, NULL::text[] FROM check_packs
		WHERE hour >= $1 AND hour < $2 AND service_id IN (SELECT id FROM services) ORDER BY service_id, hour`,
		func(p *checkPack) error {
			days = dayRollups.addPack(days, p)
			return nil
		}, from, to)
	if err != nil {
		return fmt.Errorf("sum checks: %w", err)
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
	return copyDays(ctx, tx, len(fresh), func(i int) *Rollup { return fresh[i] })
}

// copyDays keeps so many sums of which there was nothing.
func copyDays(ctx context.Context, tx pgx.Tx, n int, of func(i int) *Rollup) error {
	return copyBinary(ctx, tx, "check_days", "service_id, day, checks, counted, up, timed, response_ms, histogram", n, func(w *binaryRow, i int) {
		s := of(i)
		w.bigint(s.ServiceID)
		w.date(s.Start)
		w.integer(s.Checks)
		w.integer(s.Counted)
		w.integer(s.Up)
		w.integer(s.Timed)
		w.bigint(s.ResponseMS)
		w.integers(s.Histogram)
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
