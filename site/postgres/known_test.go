package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

// TestKnownTime records checks with gaps of all lengths and seals their hours in parts. The time in which the state of
// a service was known, and up, is in hours and days what checks.Spans computes of the checks, and a reader sees the
// same whatever is sealed.
func TestKnownTime(t *testing.T) {
	t.Parallel()
	db, dsn := openNamed(t)
	ctx := t.Context()
	if err := db.AddListings(ctx, []postgres.Listing{listing("acme"), listing("bolt"), listing("cask")}); err != nil {
		t.Fatal(err)
	}
	due, err := db.TakeServices(ctx, "", start, time.Minute, 3)
	if err != nil {
		t.Fatal(err)
	}
	const length = 9 * 24 * time.Hour
	r := rand.New(rand.NewPCG(9, 2))
	var visits []checks.Visit
	of := map[int64][]checks.Check{}
	for k, s := range due {
		failing := 0
		for at := start.Add(time.Duration(k) * time.Second); at.Before(start.Add(length)); {
			v := visit(s, at)
			v.Check.IntervalS = []int{0, 900, 3600, 24 * 3600}[r.IntN(4)]
			v.Check.Counted = r.IntN(5) > 0
			if v.Check.IsUp = r.IntN(3) > 0; v.Check.Counted && v.Check.IsUp {
				failing = 0
			} else if v.Check.Counted {
				failing++
			}
			v.Check.ConsecutiveFailures = failing
			visits, of[s.ID] = append(visits, v), append(of[s.ID], v.Check)
			at = at.Add(time.Duration(r.Int64N([]int64{int64(20 * time.Minute), int64(5 * time.Hour),
				int64(3 * 24 * time.Hour)}[r.IntN(3)])).Truncate(time.Microsecond))
		}
	}
	slices.SortFunc(visits, func(a, b checks.Visit) int { return a.Check.CheckedAt.Compare(b.Check.CheckedAt) })
	last := visits[len(visits)-1].Check.CheckedAt
	now := last.Add(50 * time.Minute)
	end := last.Truncate(time.Hour).Add(time.Hour) // no hour after the last check is sealed
	sums := func(length time.Duration) (want []string) {
		for id, list := range of {
			for at := start.Truncate(length); at.Before(end); at = at.Add(length) {
				sum := checks.Rollup{Start: at}
				for _, s := range checks.Spans(list, end) {
					sum.AddSpan(s, length)
				}
				if sum.KnownMS > 0 {
					want = append(want, fmt.Sprintf("(%d,%s,%d,%d)", id, at.Format("2006-01-02T15"), sum.KnownMS, sum.UpMS))
				}
			}
		}
		slices.Sort(want)
		return want
	}
	conn := postgrestest.Connect(t, dsn)
	for from := 0; from < len(visits); {
		n := min(len(visits)-from, 1+r.IntN(60))
		if err := db.RecordVisits(ctx, visits[from:from+n]); err != nil {
			t.Fatal(err)
		}
		if from += n; from == len(visits) {
			break
		}
		if err := db.SealLogs(ctx, visits[from].Check.CheckedAt, 0); err != nil {
			t.Fatal(err)
		}
	}
	read := func() (list []checks.Facts) {
		if err := db.Read(ctx, func(r *postgres.Reader) error {
			f, err := r.Facts(ctx, now, 0)
			for i := range f.Services {
				list = append(list, checks.Facts{Hours: f.Services[i].Hours, Days: f.Services[i].Days,
					DaySums: f.Services[i].DaySums, Runs: f.Services[i].Runs})
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	open := read()
	for range 2 { // the second time there is nothing to seal
		if err := db.SealLogs(ctx, now.Add(24*time.Hour), 0); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(open, read()); diff != "" {
			t.Errorf("what a reader sees, the last hours open and sealed (-want +got):\n%.2000s", diff)
		}
		for _, table := range []struct {
			name, start string
			length      time.Duration
		}{
			{"check_hours", "hour AT TIME ZONE 'UTC'", time.Hour}, {"check_days", "day::timestamp", 24 * time.Hour},
		} {
			got := texts(t, conn, `SELECT format('(%s,%s,%s,%s)', service_id, to_char(`+table.start+
				`, 'YYYY-MM-DD"T"HH24'), known_ms, up_ms) FROM `+table.name+` WHERE known_ms > 0`)
			slices.Sort(got)
			if diff := cmp.Diff(sums(table.length), got); diff != "" {
				t.Errorf("known time in %s (-want +got):\n%.2000s", table.name, diff)
			}
		}
	}
	for i, s := range due {
		if diff := cmp.Diff(runsOf(s.ID, visits), read()[i].Runs); diff != "" {
			t.Errorf("runs of failed checks (-want +got):\n%.2000s", diff)
		}
	}
}
