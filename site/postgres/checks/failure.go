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
	FirstAt    time.Time  // first failed check
	LastAt     time.Time  // last failed check
	Checks     int        // that failed
	LongestGap int64      // most milliseconds between two checks of the run, the success after it included
	EndedAt    *time.Time // the success after it, or when the state was not known any more; nil before
	ByDay      bool       // of whole UTC days before the oldest stored check; FirstAt is the beginning of a day
	BeganAt    time.Time  // first failed check after the last success: FirstAt, unless an earlier run ended with a gap
	EndsInGap  bool       // EndedAt is when the state was not known any more; the next counted check came later
	First      Failure    // what went wrong at FirstAt; empty if that check was not stored
	Last       Failure    // what went wrong at LastAt
	FailedDays int        // sealed UTC days since BeganAt on which checks counted and all failed; set by ReadFailedDays
}

// Failure is what went wrong in a failed check.
type Failure struct {
	StatusCode *int
	Message    *string
}

const runColumns = `service_id, first_at, last_at, checks, longest_gap, ended_at, by_day, began_at, ends_in_gap,
	first_code, first_message, last_code, last_message`

// newRuns selects the runs of the checks from $1, where the open hours begin or later, up to $2, in the order of
// runColumns. The first run of a service continues the one that failure_runs left open. A run ends with a success, or
// when the state is not known any more (see Spans): what happened in a gap is nobody's failure.
var newRuns = `
	SELECT service_id, coalesce(min(open_first), min(first)), max(last), sum(failed)::integer,
		greatest(max(open_gap), max(extract(epoch FROM next_at - at) * 1000) FILTER (WHERE next_at <= known_until), 0)::bigint,
		max(CASE WHEN next_at > known_until THEN known_until WHEN next_is_up THEN next_checked_at END),
		coalesce(bool_or(open_by_day), false), min(began),
		coalesce(bool_or(next_at > known_until), false),
		(array_agg(first_code ORDER BY at, id NULLS FIRST))[1], (array_agg(first_message ORDER BY at, id NULLS FIRST))[1],
		(array_agg(last_code ORDER BY at DESC, id DESC NULLS LAST))[1],
		(array_agg(last_message ORDER BY at DESC, id DESC NULLS LAST))[1]
	FROM (
		SELECT *, count(*) FILTER (WHERE begins) OVER w AS run,
			max(coalesce(open_began, first)) FILTER (WHERE NOT is_up AND NOT coalesce(NOT was_up, false)) OVER w AS began
		FROM (
			SELECT *, NOT is_up AND NOT coalesce(NOT was_up AND before_until >= at, false) AS begins
			FROM (
				SELECT *, lag(is_up) OVER w AS was_up, lag(known_until) OVER w AS before_until, lead(at) OVER w AS next_at,
					lead(checked_at) OVER w AS next_checked_at, lead(is_up) OVER w AS next_is_up
				FROM (
					SELECT service_id, date_trunc('milliseconds', checked_at) AS at, id, is_up, ` + knownUntil + ` AS known_until,
						checked_at, checked_at AS first, checked_at AS last, 1 AS failed, NULL::timestamptz AS open_first,
						NULL::bigint AS open_gap, NULL::boolean AS open_by_day, NULL::timestamptz AS open_began,
						status_code AS first_code, error_message AS first_message,
						status_code AS last_code, error_message AS last_message
					FROM checks
					WHERE counted AND checked_at >= $1 AND checked_at < $2 AND service_id IN (SELECT id FROM services)
					UNION ALL
					SELECT service_id, date_trunc('milliseconds', r.last_at), NULL, false, coalesce(s.known_until, 'infinity'),
						r.last_at, r.first_at, r.last_at, r.checks, r.first_at, r.longest_gap, r.by_day, r.began_at,
						r.first_code, r.first_message, r.last_code, r.last_message
					FROM failure_runs r LEFT JOIN sealed_states s USING (service_id) WHERE r.ended_at IS NULL
				) AS states WINDOW w AS (PARTITION BY service_id ORDER BY at, id NULLS FIRST)
			) AS neighbours
		) AS beginnings WINDOW w AS (PARTITION BY service_id ORDER BY at, id NULLS FIRST)
	) AS list WHERE NOT is_up GROUP BY service_id, run
	HAVING count(id) > 0 OR max(next_at) IS NOT NULL`

// recordRuns adds the runs of hours that are being sealed, for listed services.
func recordRuns(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO failure_runs (`+runColumns+`) `+newRuns+`
		ORDER BY 1, 2 -- a run ends before the next one of its service begins
		ON CONFLICT (service_id, first_at) DO UPDATE SET last_at = excluded.last_at, checks = excluded.checks,
			longest_gap = excluded.longest_gap, ended_at = excluded.ended_at, ends_in_gap = excluded.ends_in_gap,
			last_code = excluded.last_code, last_message = excluded.last_message`, from, to)
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
		max(day) FILTER (WHERE up > 0)::timestamp AT TIME ZONE 'UTC', true, min(day)::timestamp AT TIME ZONE 'UTC', false,
		NULL, NULL, NULL, NULL
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
	scan := []any{&x.ServiceID, &x.FirstAt, &x.LastAt, &x.Checks, &x.LongestGap, &x.EndedAt, &x.ByDay, &x.BeganAt, &x.EndsInGap,
		&x.First.StatusCode, &x.First.Message, &x.Last.StatusCode, &x.Last.Message}
	add := func() {
		if s := services.services[x.ServiceID]; s != nil {
			s.addRun(x)
		}
		x.EndedAt, x.First, x.Last = nil, Failure{}, Failure{}
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
// services in the index.
func (r *LogReader) ReadFailedDays(ctx context.Context, before time.Time, services *Index) error {
	var ids []int64
	var began []time.Time
	for id, s := range services.services {
		if n := len(s.Runs); n > 0 && s.Runs[n-1].EndedAt == nil && s.Runs[n-1].BeganAt.Before(before) {
			ids, began = append(ids, id), append(began, s.Runs[n-1].BeganAt)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var id int64
	var days int
	err := r.each(ctx, `
		SELECT r.id, count(*) FROM unnest($1::bigint[], $2::timestamptz[]) AS r (id, began_at)
		JOIN check_days d ON d.service_id = r.id AND d.day >= (r.began_at AT TIME ZONE 'UTC')::date
		WHERE d.counted > 0 AND d.up = 0
		GROUP BY r.id`, []any{&id, &days}, func() {
		runs := services.services[id].Runs
		runs[len(runs)-1].FailedDays = days
	}, ids, began)
	if err != nil {
		return fmt.Errorf("read days of failed checks: %w", err)
	}
	return nil
}

// addRun adds a run after all others, or replaces the last one, which it continues.
func (s *Facts) addRun(x FailureRun) {
	x.FirstAt, x.LastAt, x.BeganAt = x.FirstAt.UTC(), x.LastAt.UTC(), x.BeganAt.UTC()
	if n := len(s.Runs); n > 0 && s.Runs[n-1].FirstAt.Equal(x.FirstAt) {
		s.Runs = s.Runs[:n-1]
	}
	s.Runs = append(s.Runs, x)
}
