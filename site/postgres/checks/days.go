package checks

import (
	"context"
	"fmt"
	"time"

	"tollbook/site"
)

// DaySum sums the counted checks and the known time of a service on a UTC day.
type DaySum struct {
	Day        time.Time
	Counted    int
	Up         int
	Timed      int
	ResponseMS int64
	KnownMS    int64 // as Rollup.KnownMS
	UpMS       int64
}

// readHours reads the sums of 24 closed hours and of the open one. They are the sums of a service's log up to now. The
// open hour has no known time.
func (r *LogReader) readHours(ctx context.Context, now, sealed time.Time, at *Index, all bool) error {
	first := now.UTC().Truncate(time.Hour).Add(-24 * time.Hour)
	ids := at.ids
	if all {
		ids = nil
	}
	var h Rollup
	err := r.each(ctx, `
		SELECT service_id, hour, `+sumColumns+`, known_ms, up_ms FROM check_hours
		WHERE hour >= $1 AND ($4::bigint[] IS NULL OR service_id = ANY($4))
		UNION ALL SELECT service_id, date_trunc('hour', checked_at, 'UTC'), `+checkSums+`, 0, 0 FROM checks
		WHERE checked_at >= $2 AND checked_at <= $3 AND ($4::bigint[] IS NULL OR service_id = ANY($4)) GROUP BY 1, 2
		UNION ALL SELECT service_id, hour, 0, 0, 0, 0, 0, known_ms, up_ms FROM (`+
		KnownHours("$5", "$6", "$4::bigint[] IS NULL OR service_id = ANY($4)")+`) AS known WHERE hour >= $1
		ORDER BY 1, 2`,
		[]any{&h.ServiceID, &h.Start, &h.Checks, &h.Counted, &h.Up, &h.Timed, &h.ResponseMS, &h.KnownMS, &h.UpMS},
		func() {
			if s := at.services[h.ServiceID]; s != nil {
				h.Start = h.Start.UTC()
				s.addHour(h)
			}
		}, first, latest(first, sealed), now, ids, openSince(sealed), hourOf(now))
	if err != nil {
		return fmt.Errorf("read hours: %w", err)
	}
	return nil
}

// openSince returns when the open hours begin, for queries: a time that Postgres has, also before the first check.
func openSince(sealed time.Time) time.Time { return latest(sealed, time.Unix(0, 0).UTC()) }

// addHour adds an hour after all others, or adds its sums to the last hour.
func (s *Facts) addHour(h Rollup) {
	if n := len(s.Hours); n > 0 && s.Hours[n-1].Start.Equal(h.Start) {
		s.Hours[n-1].plus(h)
	} else {
		s.Hours = append(s.Hours, h)
	}
}

// readDays reads the sums of all days, which give the windows, the series of all days, the number of checks, and the
// number of checks that are deleted. It adds the checks of open hours up to now.
func (r *LogReader) readDays(ctx context.Context, now, sealed, keptSince time.Time, at *Index) error {
	windows := windowsOf(now)
	var d Rollup
	err := r.each(ctx, `
		SELECT service_id, day, `+sumColumns+`, known_ms, up_ms, CASE WHEN day >= $4 THEN histogram END
		FROM check_days WHERE service_id = ANY($2)
		UNION ALL SELECT service_id, day, `+sumColumns+`, 0, 0, CASE WHEN day >= $4 THEN `+histogramSum+` END FROM (
			SELECT service_id, (checked_at AT TIME ZONE 'UTC')::date, `+checkSums+`, `+histogramBuckets+`
			FROM checks WHERE service_id = ANY($2) AND checked_at >= $3 AND checked_at <= $5 GROUP BY 1, 2
		) AS open (service_id, day, `+sumColumns+`, buckets)
		UNION ALL SELECT service_id, (hour AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, sum(known_ms)::bigint,
			sum(up_ms)::bigint, CASE WHEN (hour AT TIME ZONE 'UTC')::date >= $4
				THEN array_fill(0, ARRAY[cardinality($1::integer[])]) END
		FROM (`+KnownHours("$6", "$7", "service_id = ANY($2)")+`) AS known GROUP BY 1, 2, 10
		ORDER BY 1, 2`,
		[]any{&d.ServiceID, &d.Start, &d.Checks, &d.Counted, &d.Up, &d.Timed, &d.ResponseMS, &d.KnownMS, &d.UpMS,
			&d.Histogram}, func() {
			s := at.services[d.ServiceID]
			if n := len(d.Histogram); n != 0 && n != site.HistogramBuckets {
				panic(fmt.Sprintf("check_days: a histogram has %d buckets, want %d", n, site.HistogramBuckets))
			}
			if d.Start.Before(keptSince) {
				s.Log.First += int64(d.Checks)
			}
			s.addDay(windows, d)
			d.Histogram = nil
		}, histogramBounds(), at.ids, sealed, windows.histograms, now, openSince(sealed), hourOf(now))
	if err != nil {
		return fmt.Errorf("read days: %w", err)
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// dayWindows contains the first days of two windows that end today: the window of Facts.Days, and the window of their
// histograms.
type dayWindows struct{ days, histograms time.Time }

func windowsOf(now time.Time) dayWindows {
	tomorrow := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	return dayWindows{FirstDay(now), tomorrow.AddDate(0, 0, -site.WindowDays["7d"])}
}

// FirstDay returns the first of the 90 UTC days that end today.
func FirstDay(now time.Time) time.Time {
	return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-site.WindowDays["90d"])
}

// addDay adds a day after all others, or adds the sums of the open hours to the last day.
func (s *Facts) addDay(w dayWindows, d Rollup) {
	s.TotalChecks += int64(d.Checks)
	if d.Counted > 0 || d.KnownMS > 0 {
		if n := len(s.DaySums); n > 0 && s.DaySums[n-1].Day.Equal(d.Start) {
			l := &s.DaySums[n-1]
			*l = DaySum{l.Day, l.Counted + d.Counted, l.Up + d.Up, l.Timed + d.Timed, l.ResponseMS + d.ResponseMS,
				l.KnownMS + d.KnownMS, l.UpMS + d.UpMS}
		} else {
			s.DaySums = append(s.DaySums, DaySum{d.Start, d.Counted, d.Up, d.Timed, d.ResponseMS, d.KnownMS,
				d.UpMS})
		}
	}
	if d.Start.Before(w.days) {
		return
	}
	if n := len(s.Days); n > 0 && s.Days[n-1].Start.Equal(d.Start) {
		s.Days[n-1].plus(d)
	} else {
		s.Days = append(s.Days, d)
	}
}
