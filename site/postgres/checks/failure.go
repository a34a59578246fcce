package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// FailureRun is a run of failed checks of a service. Checks that do not count are left out.
type FailureRun struct {
	ServiceID  int64
	FirstAt    time.Time // first failed check
	LastAt     time.Time // last failed check
	Checks     int       // that failed
	LongestGap int64     // most milliseconds between two checks of the run, the success after it included
	EndedAt    *time.Time
	ByDay      bool // of whole UTC days before the oldest stored check; FirstAt is the beginning of a day
	FailedDays int  // UTC days since FirstAt on which checks counted and all failed; set by ReadFailedDays
}

const runColumns = `service_id, first_at, last_at, checks, longest_gap, ended_at, by_day`

// newRuns selects the runs of the checks from $1 up to $2, in the order of runColumns. The first run of a service
// continues the one that failure_runs left open.
const newRuns = `
	SELECT service_id, CASE WHEN successes = 0 THEN coalesce(open_first, first) ELSE first END,
		coalesce(last, open_last), failed + CASE WHEN successes = 0 THEN coalesce(open_checks, 0) ELSE 0 END,
		greatest(gap, CASE WHEN successes = 0 THEN open_gap END, 0)::bigint, ended,
		successes = 0 AND coalesce(open_by_day, false)
	FROM (
		SELECT service_id, successes, min(checked_at) FILTER (WHERE NOT is_up) AS first,
			max(checked_at) FILTER (WHERE NOT is_up) AS last, count(*) FILTER (WHERE NOT is_up) AS failed,
			max(extract(epoch FROM date_trunc('milliseconds', checked_at) - date_trunc('milliseconds', before)) * 1000)
				FILTER (WHERE NOT was_up) AS gap, max(checked_at) FILTER (WHERE is_up) AS ended,
			min(open_first) AS open_first, min(open_last) AS open_last, min(open_checks) AS open_checks,
			min(open_gap) AS open_gap, bool_or(open_by_day) AS open_by_day
		FROM (
			SELECT c.service_id, c.checked_at, c.is_up, o.first_at AS open_first, o.last_at AS open_last,
				o.checks AS open_checks, o.longest_gap AS open_gap, o.by_day AS open_by_day,
				coalesce(lag(c.is_up) OVER w, o.service_id IS NULL) AS was_up,
				coalesce(lag(c.checked_at) OVER w, o.last_at) AS before,
				count(*) FILTER (WHERE c.is_up) OVER w - c.is_up::int AS successes
			FROM checks c LEFT JOIN failure_runs o ON o.service_id = c.service_id AND o.ended_at IS NULL
			WHERE c.counted AND c.checked_at >= $1 AND c.checked_at < $2 AND c.service_id IN (SELECT id FROM services)
			WINDOW w AS (PARTITION BY c.service_id ORDER BY c.checked_at, c.id)
		) AS list WHERE NOT (is_up AND was_up) GROUP BY service_id, successes
	) AS grouped`

// recordRuns adds the runs of hours that are being sealed, for listed services.
func recordRuns(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO failure_runs (`+runColumns+`) `+newRuns+`
		ORDER BY 1, 2 -- a run ends before the next one of its service begins
		ON CONFLICT (service_id, first_at) DO UPDATE SET last_at = excluded.last_at, checks = excluded.checks,
			longest_gap = excluded.longest_gap, ended_at = excluded.ended_at`, from, to)
	if err != nil {
		return fmt.Errorf("store runs of failed checks: %w", err)
	}
	return nil
}

// startRuns adds the runs of the UTC days that are stored as sums, before the first check is.
const startRuns = `
	INSERT INTO failure_runs (` + runColumns + `)
	SELECT service_id, min(day)::timestamp AT TIME ZONE 'UTC',
		(max(day) FILTER (WHERE up = 0) + 1)::timestamp AT TIME ZONE 'UTC', sum(counted) FILTER (WHERE up = 0), 0,
		max(day) FILTER (WHERE up > 0)::timestamp AT TIME ZONE 'UTC', true
	FROM (
		SELECT service_id, day, counted, up, lag(up) OVER w AS before,
			count(*) FILTER (WHERE up > 0) OVER w - (up > 0)::int AS successes
		FROM check_days WHERE counted > 0 AND service_id IN (SELECT id FROM services)
			AND day < (SELECT (retained_since AT TIME ZONE 'UTC')::date FROM log_seal)
		WINDOW w AS (PARTITION BY service_id ORDER BY day)
	) AS days WHERE up = 0 OR before = 0 GROUP BY service_id, successes`

// ReadRuns reads the runs of each service in the index that did not end before since, oldest first. all says that no
// other services exist.
func (r *LogReader) ReadRuns(ctx context.Context, since, now time.Time, services *Index, all bool) error {
	sealed, _, err := r.seal(ctx)
	if err != nil {
		return fmt.Errorf("read runs of failed checks: %w", err)
	}
	ids := services.ids
	if all {
		ids = nil
	}
	var x FailureRun
	scan := []any{&x.ServiceID, &x.FirstAt, &x.LastAt, &x.Checks, &x.LongestGap, &x.EndedAt, &x.ByDay}
	add := func() {
		if s := services.services[x.ServiceID]; s != nil {
			s.addRun(x)
		}
		x.EndedAt = nil
	}
	err = r.each(ctx, `SELECT `+runColumns+` FROM failure_runs
		WHERE (ended_at IS NULL OR ended_at >= $1) AND ($2::bigint[] IS NULL OR service_id = ANY($2))
		ORDER BY service_id, first_at`, scan, add, since, ids)
	if err == nil && !sealed.IsZero() {
		err = r.each(ctx, `SELECT * FROM (`+newRuns+`) AS runs (`+runColumns+`)
			WHERE $3::bigint[] IS NULL OR service_id = ANY($3) ORDER BY service_id, first_at`, scan, add,
			sealed, now.Add(time.Microsecond), ids)
	}
	if err != nil {
		return fmt.Errorf("read runs of failed checks: %w", err)
	}
	return nil
}

// ReadFailedDays sets FailedDays of the runs that go on and began before a time. ReadRuns must have read the runs of all
// services in the index. all says that no other services exist.
func (r *LogReader) ReadFailedDays(ctx context.Context, before time.Time, services *Index, all bool) error {
	ids := services.ids
	if all {
		ids = nil
	}
	var id int64
	var first time.Time
	var days int
	err := r.each(ctx, `
		SELECT r.service_id, r.first_at, count(*) FROM failure_runs r
		JOIN check_days d ON d.service_id = r.service_id AND d.day >= (r.first_at AT TIME ZONE 'UTC')::date
		WHERE r.ended_at IS NULL AND r.first_at < $1 AND ($2::bigint[] IS NULL OR r.service_id = ANY($2))
			AND d.counted > 0 AND d.up = 0
		GROUP BY r.service_id, r.first_at`, []any{&id, &first, &days}, func() {
		s := services.services[id]
		if s == nil || len(s.Runs) == 0 {
			return
		}
		if last := &s.Runs[len(s.Runs)-1]; last.FirstAt.Equal(first) {
			last.FailedDays = days
		}
	}, before, ids)
	if err != nil {
		return fmt.Errorf("read days of failed checks: %w", err)
	}
	return nil
}

// addRun adds a run after all others, or replaces the last one, which it continues.
func (s *Facts) addRun(x FailureRun) {
	x.FirstAt, x.LastAt = x.FirstAt.UTC(), x.LastAt.UTC()
	if n := len(s.Runs); n > 0 && s.Runs[n-1].FirstAt.Equal(x.FirstAt) {
		s.Runs = s.Runs[:n-1]
	}
	s.Runs = append(s.Runs, x)
}
