package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// dayPack is days of a service that are over, which never change.
type dayPack struct {
	service int64
	through int32 // all days up to here are in; noDay for none
	days    []byte
	instead []byte // of a damaged one, in whose place this comes
}

var errDamagedDayPack = errors.New("packed days of checks are damaged")

// packRollups writes days, oldest first, in a few bytes each: the first day whose histogram is there, then of each day how long
// it is after the one before, its counts, and of its histogram the buckets that hold something.
func packRollups(days []Rollup, histograms int32) []byte {
	b := binary.AppendVarint(make([]byte, 0, 10*len(days)+100), int64(histograms))
	before := int32(0)
	for i := range days {
		d := &days[i]
		day := dayNumber(d.Start)
		b = binary.AppendVarint(b, int64(day-before))
		for _, n := range [...]int64{int64(d.Checks), int64(d.Counted), int64(d.Up), int64(d.Timed), d.ResponseMS} {
			b = binary.AppendUvarint(b, uint64(n))
		}
		if day >= histograms {
			b = appendHistogram(b, d.Histogram)
		}
		before = day
	}
	return b
}

// appendHistogram writes how many buckets hold something, and each by how many it is after the one before.
func appendHistogram(b []byte, counts []int64) []byte {
	held := 0
	for _, n := range counts {
		if n != 0 {
			held++
		}
	}
	b = binary.AppendUvarint(b, uint64(held))
	before := 0
	for bucket, n := range counts {
		if n != 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(bucket-before)), uint64(n))
			before = bucket
		}
	}
	return b
}

// packReader takes numbers off a pack. Behind its end they are zero, and it is bad.
type packReader struct {
	b   []byte
	bad bool
}

func (r *packReader) unsigned() int64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return int64(n)
}

func (r *packReader) signed() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *packReader) histogram() []int64 {
	counts := make([]int64, site.HistogramBuckets)
	bucket := int64(0)
	for held := r.unsigned(); held > 0 && !r.bad; held-- {
		bucket += r.unsigned()
		if bucket < 0 || bucket >= site.HistogramBuckets {
			r.bad = true
			break
		}
		counts[bucket] = r.unsigned()
	}
	return counts
}

// unpackRollups takes each of a service's packed days, oldest first, with the histograms from a day on. whole is false, and
// nothing taken, where the pack has not got them all: its reader is of an earlier day than its maker was.
func unpackRollups(service int64, b []byte, histograms int32, take func(Rollup)) (whole bool, err error) {
	r := packReader{b: b}
	first := r.signed()
	if !r.bad && first > int64(histograms) {
		return false, nil
	}
	day := int64(0)
	for len(r.b) > 0 {
		day += r.signed()
		d := Rollup{ServiceID: service, Start: dayTime(int32(day))}
		d.Checks, d.Counted, d.Up, d.Timed, d.ResponseMS = int(r.unsigned()), int(r.unsigned()), int(r.unsigned()), int(r.unsigned()), r.unsigned()
		if day >= first {
			if day >= int64(histograms) {
				d.Histogram = r.histogram()
			} else {
				r.skipHistogram()
			}
		}
		if r.bad || day != int64(int32(day)) {
			return false, errDamagedDayPack
		}
		take(d)
	}
	if r.bad {
		return false, errDamagedDayPack
	}
	return true, nil
}

func (r *packReader) skipHistogram() {
	for numbers := 2 * r.unsigned(); numbers > 0 && !r.bad; numbers-- {
		r.unsigned()
	}
}

// readDayPacks takes the packed days of each service, with the histograms from a day on, and answers the packs in the order of the
// services. One without a pack, with one that has not got these histograms, or with a damaged one, has one that ends before all
// days, for these lie as rows too.
func (r *Reader) readDayPacks(ctx context.Context, at *places, histograms int32, take func([]Rollup)) ([]dayPack, error) {
	found := make(map[int64]dayPack, len(at.ids))
	var p dayPack
	err := r.each(ctx, `SELECT service_id, through - date '1970-01-01', days FROM day_packs WHERE service_id = ANY($1)`,
		[]any{&p.service, &p.through, &p.days}, func() { found[p.service] = p }, at.ids)
	if err != nil {
		return nil, err
	}
	var days []Rollup
	packs := make([]dayPack, len(at.ids))
	for i, id := range at.ids {
		packs[i] = dayPack{service: id, through: noDay}
		p, packed := found[id]
		if !packed {
			continue
		}
		days = days[:0] // nothing is taken of what turns out to be damaged behind it
		whole, err := unpackRollups(id, p.days, histograms, func(d Rollup) { days = append(days, d) })
		switch n := len(days); {
		case err != nil || whole && (n == 0 || dayNumber(days[n-1].Start) > p.through):
			packs[i].instead = p.days
		case whole:
			packs[i] = p
			take(days)
		}
	}
	return packs, nil
}

// packDays adds loose days, which are over, to the packs of their services, and keeps some packs at a time.
func (r *Reader) packDays(ctx context.Context, packs []dayPack, loose map[int64][]Rollup, over, histograms int32) error {
	for _, p := range packs {
		fresh := loose[p.service]
		if len(fresh) == 0 {
			continue
		}
		var days []Rollup
		if p.through != noDay {
			if _, err := unpackRollups(p.service, p.days, histograms, func(d Rollup) { days = append(days, d) }); err != nil {
				return err // taken before
			}
		}
		r.packed = append(r.packed, dayPack{p.service, over, packRollups(append(days, fresh...), histograms), p.instead})
	}
	if len(r.packed) < packAtOnce {
		return nil
	}
	err := r.db.keepDayPacks(ctx, r.packed)
	r.packed = nil
	return err
}

// keepDayPacks keeps what was packed of services that are still there, so that the next reader finds it. What a reader of an
// earlier moment packed does not replace what is there, but for what is damaged. Killed before, days lie as rows alone and are
// packed later.
func (db *DB) keepDayPacks(ctx context.Context, packs []dayPack) error {
	slices.SortFunc(packs, func(a, b dayPack) int { return int(a.service - b.service) })
	ids, through, days := make([]int64, len(packs)), make([]time.Time, len(packs)), make([][]byte, len(packs))
	var damaged []int64
	var as [][]byte
	for i, p := range packs {
		ids[i], through[i], days[i] = p.service, dayTime(p.through), p.days
		if p.instead != nil {
			damaged, as = append(damaged, p.service), append(as, p.instead)
		}
	}
	err := db.transact(ctx, func(tx pgx.Tx) error {
		if len(damaged) > 0 {
			if _, err := tx.Exec(ctx, `
				DELETE FROM day_packs p USING unnest($1::bigint[], $2::bytea[]) u (service, days) WHERE p.service_id = u.service AND p.days = u.days`, damaged, as); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `
			INSERT INTO day_packs AS old (service_id, through, days)
			SELECT s.id, u.through, u.days FROM unnest($1::bigint[], $2::date[], $3::bytea[]) u (service, through, days) JOIN services s ON s.id = u.service
			ORDER BY s.id FOR KEY SHARE OF s
			ON CONFLICT (service_id) DO UPDATE SET through = excluded.through, days = excluded.days WHERE old.through < excluded.through`, ids, through, days)
		return err
	})
	if err != nil {
		return fmt.Errorf("keep packed days of %d services: %w", len(packs), err)
	}
	return nil
}
