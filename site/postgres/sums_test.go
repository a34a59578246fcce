package postgres_test

import (
	"testing"
	"time"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
)

// TestSumsEqualTheLog checks that sums contain exactly the rows of a service's log, the newest visit included.
func TestSumsEqualTheLog(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), template.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	due := acme(t, db)
	now := start.Add(3 * time.Hour)
	for i, ago := range []time.Duration{150 * time.Minute, 10 * time.Minute, 2*time.Minute + 1, 2 * time.Minute, 0} {
		v := visit(due[0], now.Add(-ago))
		if i == 1 {
			v.Check.Counted, v.Check.UncountedReason = false, new("auth")
		}
		if err := db.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
			t.Fatal(err)
		}
		due[0].NextCheckAt = v.NextCheckAt
	}
	if err := db.SealLogs(t.Context(), now, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	type figures struct {
		rows, total, reason       int64
		checks, counted, perHours int
	}
	var got figures
	if err := db.Read(t.Context(), func(r *postgres.Reader) error {
		f, err := r.Facts(t.Context(), now, 2*time.Minute)
		if err != nil {
			return err
		}
		s := f.Services[0]
		got.rows, got.total = s.Log.Next, s.TotalChecks
		for _, c := range s.Log.Tail {
			if c.UncountedReason != nil && *c.UncountedReason == "auth" {
				got.reason++
			}
		}
		for _, d := range s.Days {
			got.checks, got.counted = got.checks+d.Checks, got.counted+d.Counted
		}
		for _, h := range s.Hours {
			got.perHours += h.Counted
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := (figures{rows: 5, total: 5, reason: 1, checks: 5, counted: 4, perHours: 4}); got != want {
		t.Errorf("facts = %+v, want %+v", got, want)
	}
}

// TestFailedDays checks that the days of a run that goes on are those on which checks counted and all failed. That holds
// for visits so far apart that each is a run by itself, too. A day counts once its first failure is sealed.
func TestFailedDays(t *testing.T) {
	t.Parallel()
	t.Run("daily", func(t *testing.T) { testFailedDays(t, 24*time.Hour, 2*time.Hour, 1, 60) })
	t.Run("a day between two runs", func(t *testing.T) { testFailedDays(t, time.Minute, time.Minute, 60, 59) })
}

func testFailedDays(t *testing.T, interval, later time.Duration, runs, days int) {
	t.Helper()
	t.Parallel()
	db, err := postgres.Open(t.Context(), template.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	due := acme(t, db)
	day, failures := start, 0
	record := func(up, counted bool) {
		t.Helper()
		v := visit(due[0], day)
		v.Check.IsUp, v.Check.Counted, v.Check.IntervalS = up && counted, counted, int(interval.Seconds())
		if !counted {
			v.Check.UncountedReason = new("auth")
		} else if v.Check.ConsecutiveFailures = 0; !up {
			failures++
			v.Check.Status, v.Check.ConsecutiveFailures = new(site.StatusOffline), failures
		}
		if err := db.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
			t.Fatal(err)
		}
		due[0].NextCheckAt = v.NextCheckAt
	}
	read := func() (list []checks.FailureRun) {
		t.Helper()
		if err := db.SealLogs(t.Context(), day.Add(later), 0); err != nil {
			t.Fatal(err)
		}
		if err := db.Read(t.Context(), func(r *postgres.Reader) error {
			f, err := r.Facts(t.Context(), day.Add(later), 0)
			if err == nil {
				list = f.Services[0].Runs
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	record(true, true)
	for i := range 66 {
		day = day.Add(24 * time.Hour)
		record(false, i%11 != 3) // six days without a check that counts
	}
	list := read()
	if n := len(list); n != runs || list[n-1].EndedAt != nil || list[n-1].FailedDays != days {
		t.Errorf("%d runs, the last %+v, want %d and %d days that go on", n, list[max(n, 1)-1:], runs,
			days)
	}
	day = day.Add(24 * time.Hour)
	record(true, true)
	if list = read(); len(list) != runs || list[runs-1].EndedAt == nil {
		t.Errorf("%d runs, want %d that have ended", len(list), runs)
	}
}
