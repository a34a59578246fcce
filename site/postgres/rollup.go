package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// compareChecks orders checks by service and time, as their index and their roll-ups are.
func compareChecks(a, b Check) int {
	return cmp.Or(cmp.Compare(a.ServiceID, b.ServiceID), a.CheckedAt.Compare(b.CheckedAt))
}

// rollUp sums checks, which are sorted by compareChecks, by service and period, in this order.
func (t rollupTable) rollUp(checks []Check) []Rollup {
	var sums []Rollup
	var end time.Time // of the last sum's period
	for _, c := range checks {
		if n := len(sums); n == 0 || sums[n-1].ServiceID != c.ServiceID || !c.CheckedAt.Before(end) {
			start := c.CheckedAt.UTC().Truncate(t.period)
			end = start.Add(t.period)
			sums = append(sums, Rollup{ServiceID: c.ServiceID, Start: start})
			if t.histogram {
				sums[n].Histogram = make([]int64, site.HistogramBuckets)
			}
		}
		sums[len(sums)-1].add(c)
	}
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

// bucket is the bucket that holds all timed checks, where one does.
func (r *Rollup) bucket() (int, bool) {
	if r.Timed == 0 {
		return 0, true
	}
	i := slices.IndexFunc(r.Histogram, func(n int64) bool { return n != 0 })
	return i, i >= 0 && r.Histogram[i] == int64(r.Timed)
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

// rollups are sums for a table.
type rollups struct {
	rollupTable
	sums []Rollup
}

// addRollups adds sums to those that are kept, and keeps those that are new. Whoever keeps them holds the rows of their
// services, so that nobody else does between.
func addRollups(ctx context.Context, tx pgx.Tx, tables ...rollups) error {
	b := &pgx.Batch{}
	there := make([][]bool, len(tables))
	for i, t := range tables {
		there[i] = make([]bool, len(t.sums))
		for _, add := range t.additions(t.sums) {
			if len(add.of) > 0 {
				add.queue(b, t, there[i])
			}
		}
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("add to roll-ups: %w", err)
	}
	for i, t := range tables {
		fresh := make([]*Rollup, 0, len(t.sums))
		for n := range t.sums {
			if !there[i][n] {
				fresh = append(fresh, &t.sums[n])
			}
		}
		if err := t.copy(ctx, tx, len(fresh), func(i int) *Rollup { return fresh[i] }); err != nil {
			return err
		}
	}
	return nil
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

// addition is a statement that adds sums to a table.
type addition struct {
	of         []int32 // indexes of the sums
	set        string  // the histogram, of old row o and new n
	histograms any     // what it takes of each
	arrayOf    string  // type of those
	value      string  // what n.h is made of one
}

// additions are the statements that add sums: one for those of which a single bucket grows, which are most, and one for those
// of which many do.
func (t rollupTable) additions(sums []Rollup) []addition {
	if !t.histogram {
		return []addition{{of: indexes(len(sums))}}
	}
	var one, many addition
	var buckets []int32
	var histograms []string
	for i := range sums {
		if bucket, single := sums[i].bucket(); single {
			one.of, buckets = append(one.of, int32(i)), append(buckets, int32(bucket+1))
		} else {
			many.of, histograms = append(many.of, int32(i)), append(histograms, arrayText(sums[i].Histogram))
		}
	}
	one.set, one.histograms, one.arrayOf, one.value = `, histogram[n.h] = o.histogram[n.h] + n.m`, buckets, "int[]", ", h"
	many.set, many.histograms, many.arrayOf, many.value = `, histogram = histogram_add(o.histogram, n.h)`, histograms, "text[]", ", h::int[] AS h"
	return []addition{one, many}
}

func indexes(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// queue adds to the sums that are there, and marks those.
func (a addition) queue(b *pgx.Batch, t rollups, there []bool) {
	n := len(a.of)
	services, starts := make([]int64, n), make([]time.Time, n)
	checks, counted, up, timed, response := make([]int32, n), make([]int32, n), make([]int32, n), make([]int32, n), make([]int64, n)
	for i, at := range a.of {
		s := &t.sums[at]
		services[i], starts[i] = s.ServiceID, s.Start
		checks[i], counted[i], up[i], timed[i], response[i] = int32(s.Checks), int32(s.Counted), int32(s.Up), int32(s.Timed), s.ResponseMS
	}
	args := []any{a.of, services, starts, checks, counted, up, timed, response}
	param, name := "", ""
	if t.histogram {
		args = append(args, a.histograms)
		param, name = ", $9::"+a.arrayOf, ", h"
	}
	kind := "timestamptz"
	if t.period >= 24*time.Hour {
		kind = "date"
	}
	b.Queue(fmt.Sprintf(`
		UPDATE %[1]s o SET checks = o.checks + n.c, counted = o.counted + n.n, up = o.up + n.u, timed = o.timed + n.m, response_ms = o.response_ms + n.r%[3]s
		FROM (
			SELECT i, s, t, c, n, u, m, r%[7]s
			FROM unnest($1::int[], $2::bigint[], $3::%[4]s[], $4::int[], $5::int[], $6::int[], $7::int[], $8::bigint[]%[5]s) AS n (i, s, t, c, n, u, m, r%[6]s)
			OFFSET 0 -- else each of the buckets is read out of the text anew
		) n
		WHERE o.service_id = n.s AND o.%[2]s = n.t RETURNING n.i`, t.name, t.start, a.set, kind, param, name, a.value), args...).Query(func(rows pgx.Rows) error {
		var i int32
		_, err := pgx.ForEachRow(rows, []any{&i}, func() error {
			there[i] = true
			return nil
		})
		return err
	})
}

// arrayText writes counts as Postgres reads an array: unnest would flatten an array of arrays.
func arrayText(counts []int64) string {
	b := []byte{'{'}
	for i, n := range counts {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, '}'))
}
