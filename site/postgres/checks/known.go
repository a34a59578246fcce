package checks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// Span is a time in which the state of a service is known. Times are whole milliseconds.
type Span struct {
	From, To time.Time
	IsUp     bool
}

// KnownUntil returns until when the state that a counted check found is known, if no other check counts before.
func (c *Check) KnownUntil() time.Time {
	return c.CheckedAt.Truncate(time.Millisecond).Add(site.KnownFor(time.Duration(c.IntervalS) * time.Second))
}

// Spans returns when the state of a service is known up to a time, by its checks, which are sorted by time. The state
// that a counted check found lasts until the next counted check, but not beyond its KnownUntil. So nothing is known
// before the first counted check and late in a gap.
func Spans(list []Check, to time.Time) []Span {
	var spans []Span
	var last *Check
	end := func(at time.Time) {
		if last == nil {
			return
		}
		from := last.CheckedAt.Truncate(time.Millisecond)
		if until := earliest(at.Truncate(time.Millisecond), last.KnownUntil()); from.Before(until) {
			spans = append(spans, Span{from, until, last.IsUp})
		}
	}
	for i := range list {
		if c := &list[i]; c.Counted {
			end(earliest(c.CheckedAt, to))
			last = c
		}
	}
	end(to)
	return spans
}

// AddSpan adds the part of a span that is in a period, which begins at r.Start and has a length.
func (r *Rollup) AddSpan(s Span, length time.Duration) {
	from, to := latest(s.From, r.Start), earliest(s.To, r.Start.Add(length))
	ms := max(0, to.Sub(from).Milliseconds())
	r.KnownMS += ms
	if s.IsUp {
		r.UpMS += ms
	}
}

// knownUntil is KnownUntil of a row of checks, as an expression of SQL.
var knownUntil = fmt.Sprintf(`date_trunc('milliseconds', checked_at) + greatest(%d * interval_s, %d) * interval '1 second'`,
	site.KnownIntervals, site.LeastKnown/time.Second)

// countedStates selects the states that counted checks found from $from up to $to, and the state of the sealed hours
// before them, whose id is null: service_id, at, id, is_up, known_until.
var countedStates = `
	SELECT service_id, date_trunc('milliseconds', checked_at) AS at, id, is_up, ` + knownUntil + ` AS known_until
	FROM checks WHERE counted AND checked_at >= $from AND checked_at < $to AND service_id IN (SELECT id FROM services)
	UNION ALL SELECT service_id, date_trunc('milliseconds', checked_at), NULL, is_up, known_until FROM sealed_states`

// knownHours selects service_id, hour, known_ms and up_ms of the hours from $from, where the open hours begin, up to
// $to, as Spans does.
var knownHours = `
	SELECT service_id, hour, sum(ms)::bigint AS known_ms, coalesce(sum(ms) FILTER (WHERE is_up), 0)::bigint AS up_ms
	FROM (
		SELECT service_id, is_up, hour,
			extract(epoch FROM least(until, hour + interval '1 hour') - greatest(since, hour)) * 1000 AS ms
		FROM (
			SELECT service_id, is_up, greatest(at, $from) AS since, least(known_until, $to,
				lead(at) OVER (PARTITION BY service_id ORDER BY at, id NULLS FIRST)) AS until
			FROM (` + countedStates + `) AS states WHERE $services
		) AS spans, generate_series(date_trunc('hour', since, 'UTC'), until - interval '1 millisecond',
			interval '1 hour') AS hour
		WHERE since < until
	) AS parts GROUP BY service_id, hour`

// KnownHours returns a query for service_id, hour, known_ms and up_ms of the open hours, which begin at from, up to to:
// for how many milliseconds the state of a service was known, and up. Both are expressions of SQL, and whole hours. of
// is a condition on service_id.
func KnownHours(from, to, of string) string {
	return strings.NewReplacer("$from", from, "$to", to, "$services", of).Replace(knownHours)
}

// sealStates stores the states after the last counted checks of hours that are being sealed, for listed services.
func sealStates(ctx context.Context, tx pgx.Tx, from, to time.Time) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO sealed_states (service_id, checked_at, is_up, known_until)
		SELECT DISTINCT ON (service_id) service_id, checked_at, is_up, `+knownUntil+`
		FROM checks WHERE counted AND checked_at >= $1 AND checked_at < $2 AND service_id IN (SELECT id FROM services)
		ORDER BY service_id, checked_at DESC, id DESC
		ON CONFLICT (service_id) DO UPDATE SET checked_at = excluded.checked_at, is_up = excluded.is_up,
			known_until = excluded.known_until`, from, to)
	if err != nil {
		return fmt.Errorf("store the states after sealed hours: %w", err)
	}
	return nil
}
