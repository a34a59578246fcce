package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres"
)

// Days that are over are packed by whoever reads them first; packed, at any moment, they are what they were as rows, and a pack that
// is damaged is made anew from those.
func TestDaysArePacked(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	ctx := t.Context()
	if err := db.AddListings(ctx, []postgres.Listing{listing("acme"), listing("bolt"), listing("late")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.Due(ctx, start, time.Minute, 3)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	tell := func(service int, at time.Time) {
		t.Helper()
		v := visit(due[service], at)
		v.Check.ResponseTimeMS = new(told * 37 % 2000)
		v.Check.Counted = told%7 != 0
		told++
		if err := db.RecordVisits(ctx, []postgres.Visit{v}); err != nil {
			t.Fatal(err)
		}
	}
	read := func(now time.Time) []postgres.ServiceFacts {
		t.Helper()
		var facts *postgres.Facts
		if err := db.Read(ctx, func(r *postgres.Reader) (err error) {
			facts, err = r.Facts(ctx, now, time.Minute)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return facts.Services
	}
	packs := func() []int64 {
		t.Helper()
		return numbers(t, dsn, `SELECT (through - date '2026-11-01')::bigint FROM day_packs ORDER BY service_id`)
	}
	midnight := start.Truncate(24 * time.Hour)
	for day := range 10 {
		now := midnight.AddDate(0, 0, day)
		for hour := range 4 {
			tell(0, now.Add(time.Duration(6*hour+5)*time.Hour))
			if day%3 == 0 && day > 0 {
				tell(1, now.Add(time.Duration(6*hour+5)*time.Hour))
			}
		}
		if day == 9 {
			tell(2, now.Add(23*time.Hour))
		}
		for _, at := range []time.Duration{13 * time.Hour, 24*time.Hour + 5*time.Minute} {
			now := now.Add(at)
			if err := db.SealLogs(ctx, now, time.Minute); err != nil {
				t.Fatal(err)
			}
			fresh := read(now)
			for _, back := range []int{0, 3, 8} { // a clock that went back reads histograms that no pack holds
				at := now.AddDate(0, 0, -back)
				packed := read(at)
				exec(t, dsn, `ALTER TABLE day_packs RENAME TO kept; CREATE TABLE day_packs (LIKE kept INCLUDING ALL)`)
				loose := read(at)
				exec(t, dsn, `DROP TABLE day_packs; ALTER TABLE kept RENAME TO day_packs`)
				if diff := cmp.Diff(loose, packed); diff != "" {
					t.Fatalf("day %d as of %s (-loose +packed):\n%s", day, at, diff)
				}
				if diff := cmp.Diff(loose, fresh); back == 0 && diff != "" {
					t.Fatalf("day %d as of %s (-loose +read first):\n%s", day, at, diff)
				}
			}
		}
	}
	if diff := cmp.Diff([]int64{9, 9, 9}, packs()); diff != "" {
		t.Errorf("days of November up to which days are packed (-want +got):\n%s", diff)
	}
	now := midnight.AddDate(0, 0, 9).Add(24*time.Hour + 5*time.Minute)
	want := read(now)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	whole := texts(t, conn, `SELECT encode(days, 'hex') FROM day_packs ORDER BY service_id`)
	for _, days := range []string{`substring(days FOR length(days) - 1)`, `days || '\xff'`, `'\x01'`, `'\x01ffffffffffffffffff'`, `''`, `'\x00feff0300000000000000'`} {
		exec(t, dsn, `UPDATE day_packs SET days = `+days)
		if diff := cmp.Diff(want, read(now)); diff != "" {
			t.Errorf("from packs damaged to %s (-want +got):\n%s", days, diff)
		}
		if diff := cmp.Diff(whole, texts(t, conn, `SELECT encode(days, 'hex') FROM day_packs ORDER BY service_id`)); diff != "" {
			t.Errorf("packs damaged to %s are made anew (-want +got):\n%s", days, diff)
		}
	}
	if err := db.EraseService(ctx, "bolt", start); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{9, 9}, packs()); diff != "" {
		t.Errorf("after an erasure (-want +got):\n%s", diff)
	}
}
