package checks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// Void is a time whose checks count in no judgment, because the directory itself was at fault.
type Void struct {
	ID       int64      `json:"id"`
	ChangeID int64      `json:"-"` // grows with each void and each one lifted, as RemovedService.ID does
	From     time.Time  `json:"from"`
	To       time.Time  `json:"to"` // excluded
	VoidedAt time.Time  `json:"voided_at"`
	Actor    string     `json:"actor"`
	Reason   string     `json:"reason"`
	Checks   int        `json:"checks"` // that counted before
	Services int        `json:"services"`
	LiftedAt *time.Time `json:"lifted_at,omitempty"` // when the checks counted again; nil if they do not
	LiftedBy string     `json:"lifted_by,omitempty"`
}

const voidColumns = `id, change_id, starts_at, ends_at, voided_at, actor, reason, checks, services, lifted_at,
	coalesce(lifted_by, '')`

// ReadVoids reads all voids, oldest first, the lifted ones too.
func ReadVoids(ctx context.Context, q rows.Querier) ([]Void, error) {
	result, err := q.Query(ctx, `SELECT `+voidColumns+` FROM voids ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read voids: %w", err)
	}
	list, err := pgx.CollectRows(result, pgx.RowToStructByPos[Void])
	if err != nil {
		return nil, fmt.Errorf("read voids: %w", err)
	}
	return list, nil
}

// Voids reads all voids, oldest first, the lifted ones too.
func (st *Store) Voids(ctx context.Context) ([]Void, error) { return ReadVoids(ctx, st.pool) }

// Void takes the checks from v.From up to v.To out of all judgments. Each check stays stored and keeps its numbers, but
// does not count. The sums, the runs of failed checks and the states of services become what they would be if these
// checks had never counted. Visits wait meanwhile. It returns the void as it is stored.
func (st *Store) Void(ctx context.Context, v Void) (Void, error) {
	err := st.transact(ctx, func(tx pgx.Tx) error {
		return recount(ctx, tx, v.From, func() ([]int64, error) {
			if v.To.After(v.VoidedAt) {
				return nil, fmt.Errorf("the time ends at %s, which is in the future", v.To.Format(time.RFC3339))
			}
			of, err := rows.Column[int64](ctx, tx, `
				UPDATE checks SET counted = false, uncounted_reason = $3
				WHERE counted AND checked_at >= $1 AND checked_at < $2 RETURNING service_id`, v.From, v.To,
				site.VoidCheck)
			if err != nil {
				return nil, err
			}
			if v.Checks = len(of); v.Checks == 0 {
				return nil, errors.New("no check of that time counts")
			}
			slices.Sort(of)
			of = slices.Compact(of)
			v.Services = len(of)
			return of, tx.QueryRow(ctx, `
				INSERT INTO voids (change_id, starts_at, ends_at, voided_at, actor, reason, checks, services)
				VALUES (`+nextChange+`, $1, $2, $3, $4, $5, $6, $7) RETURNING id, change_id`, v.From, v.To, v.VoidedAt,
				v.Actor, v.Reason, v.Checks, v.Services).Scan(&v.ID, &v.ChangeID)
		})
	})
	if err != nil {
		return v, fmt.Errorf("void the checks from %s to %s: %w", v.From.Format(time.RFC3339), v.To.Format(time.RFC3339),
			err)
	}
	return v, nil
}

// nextChange is an expression of SQL for the next Void.ChangeID.
const nextChange = `nextval(pg_get_serial_sequence('removed_services', 'id'))`

// LiftVoid makes the checks of a void count again, unless another void covers them. It returns site.ErrNotFound if there
// is no such void, or somebody lifted it before.
func (st *Store) LiftVoid(ctx context.Context, id int64, actor string, now time.Time) (v Void, err error) {
	err = st.transact(ctx, func(tx pgx.Tx) error {
		result, err := tx.Query(ctx, `
			UPDATE voids SET lifted_at = $2, lifted_by = $3, change_id = `+nextChange+`
			WHERE id = $1 AND lifted_at IS NULL RETURNING `+voidColumns, id, now, actor)
		if err != nil {
			return err
		}
		v, err = pgx.CollectExactlyOneRow(result, pgx.RowToStructByPos[Void])
		if errors.Is(err, pgx.ErrNoRows) {
			return site.ErrNotFound
		}
		if err != nil {
			return err
		}
		return recount(ctx, tx, v.From, func() ([]int64, error) {
			of, err := rows.Column[int64](ctx, tx, `
				UPDATE checks SET counted = true, uncounted_reason = NULL
				WHERE uncounted_reason = $3 AND checked_at >= $1 AND checked_at < $2 AND NOT EXISTS (
					SELECT FROM voids WHERE lifted_at IS NULL AND checked_at >= starts_at AND checked_at < ends_at
				)
				RETURNING service_id`, v.From, v.To, site.VoidCheck)
			slices.Sort(of)
			return slices.Compact(of), err
		})
	})
	if err != nil {
		return v, fmt.Errorf("lift the void %d: %w", id, err)
	}
	return v, nil
}

// queueVoids queues a query for the voids that end after a time. voided reports whether one of them covers a check.
func queueVoids(b *pgx.Batch, after time.Time) (voided func(c *Check) bool) {
	type span struct{ From, To time.Time }
	var spans []span
	b.Queue(`SELECT starts_at, ends_at FROM voids WHERE lifted_at IS NULL AND ends_at > $1`,
		after).Query(func(rows pgx.Rows) (err error) {
		spans, err = pgx.CollectRows(rows, pgx.RowToStructByPos[span])
		return err
	})
	return func(c *Check) bool {
		return slices.ContainsFunc(spans, func(s span) bool {
			return !c.CheckedAt.Before(s.From) && c.CheckedAt.Before(s.To)
		})
	}
}

// recount lets change say which stored checks since a time count, and then computes again what follows from them:
// check_hours, check_days, failure_runs, sealed_states and the states of the services that change returns.
func recount(ctx context.Context, tx pgx.Tx, since time.Time, change func() (services []int64, err error)) error {
	var through, retained time.Time
	err := tx.QueryRow(ctx, `SELECT through, retained_since FROM log_seal FOR UPDATE`).Scan(&through, &retained)
	if errors.Is(err, pgx.ErrNoRows) {
		return errors.New("no check is stored")
	}
	if err != nil {
		return err
	}
	from := since.UTC().Truncate(24 * time.Hour)
	if from.Before(retained) {
		return fmt.Errorf("checks are stored since %s; sums of earlier days cannot be computed again",
			retained.UTC().Format(time.RFC3339))
	}
	if err := reopen(ctx, tx, from, retained); err != nil {
		return fmt.Errorf("delete sums and runs: %w", err)
	}
	services, err := change()
	if err != nil {
		return err
	}
	if err := sealStates(ctx, tx, retained, from); err != nil {
		return err
	}
	for from.Before(through) {
		to := earliest(from.Add(sealHours*time.Hour), through)
		if err := sumChecks(ctx, tx, from, from, to); err != nil {
			return err
		}
		if err := recordRuns(ctx, tx, from, to); err != nil {
			return err
		}
		if err := sealStates(ctx, tx, from, to); err != nil {
			return err
		}
		from = to
	}
	return restoreStates(ctx, tx, services, through)
}

// reopen deletes what sealed hours since from, the beginning of a UTC day, added to sums, runs and states. The states
// of services that were checked before are computed again by sealStates. A day that was stored as sums only stays.
func reopen(ctx context.Context, tx pgx.Tx, from, retained time.Time) error {
	for _, statement := range []string{
		`DELETE FROM check_hours WHERE hour >= $1 AND $2::timestamptz IS NOT NULL`,
		`DELETE FROM check_days d WHERE day >= ($1::timestamptz AT TIME ZONE 'UTC')::date AND $2::timestamptz IS NOT NULL
			AND (checks = 0 OR EXISTS (
				SELECT FROM checks c WHERE c.service_id = d.service_id AND checked_at >= day::timestamp AT TIME ZONE 'UTC'
					AND checked_at < (day + 1)::timestamp AT TIME ZONE 'UTC'))`,
		`DELETE FROM sealed_states WHERE checked_at >= $1 AND $2::timestamptz IS NOT NULL`,
		`DELETE FROM failure_runs WHERE first_at >= $1 AND $2::timestamptz IS NOT NULL`,
		// Runs that were open at from get the end that they had then.
		`UPDATE failure_runs r SET checks = r.checks - was.later, last_at = coalesce(was.last_at, least(r.last_at, $1)),
			ended_at = NULL, ends_in_gap = false,
			longest_gap = CASE WHEN r.first_at < $2 THEN r.longest_gap ELSE was.gap END,
			last_code = was.code, last_message = was.message
		FROM (
			SELECT service_id, first_at, count(*) FILTER (WHERE checked_at >= $1) AS later,
				max(checked_at) FILTER (WHERE checked_at < $1) AS last_at,
				coalesce(max(gap) FILTER (WHERE checked_at < $1), 0) AS gap,
				(array_agg(status_code ORDER BY checked_at DESC, id DESC) FILTER (WHERE checked_at < $1))[1] AS code,
				(array_agg(error_message ORDER BY checked_at DESC, id DESC) FILTER (WHERE checked_at < $1))[1] AS message
			FROM (
				SELECT r.service_id, r.first_at, c.checked_at, c.id, c.status_code, c.error_message,
					(extract(epoch FROM date_trunc('milliseconds', c.checked_at) - lag(date_trunc('milliseconds', c.checked_at))
						OVER (PARTITION BY r.service_id, r.first_at ORDER BY c.checked_at, c.id)) * 1000)::bigint AS gap
				FROM failure_runs r LEFT JOIN checks c ON c.service_id = r.service_id AND c.counted AND NOT c.is_up
					AND c.checked_at >= greatest(r.first_at, $2) AND c.checked_at <= r.last_at
				WHERE r.ended_at IS NULL OR r.ended_at >= $1 OR r.ends_in_gap AND NOT EXISTS (
					SELECT FROM checks n WHERE n.service_id = r.service_id AND n.counted AND n.checked_at > r.last_at
						AND n.checked_at >= $2 AND n.checked_at < $1
				)
			) AS failed GROUP BY service_id, first_at
		) AS was WHERE was.service_id = r.service_id AND was.first_at = r.first_at`,
	} {
		if _, err := tx.Exec(ctx, statement, from, retained); err != nil {
			return err
		}
	}
	return nil
}

// restoreStates sets the status of services to that of their last check that counts, and their failures to those of the
// run that goes on.
func restoreStates(ctx context.Context, tx pgx.Tx, services []int64, through time.Time) error {
	_, err := tx.Exec(ctx, `
		UPDATE service_states s SET last_status = (
				SELECT status FROM checks c WHERE c.service_id = s.service_id AND counted
				ORDER BY checked_at DESC, id DESC LIMIT 1
			), consecutive_failures = coalesce(o.checks, 0),
			failing_since = CASE WHEN o.by_day THEN coalesce(s.failing_since, o.first_at) ELSE o.first_at END
		FROM unnest($3::bigint[]) AS id LEFT JOIN (
			SELECT * FROM (
				SELECT DISTINCT ON (service_id) service_id, first_at, checks, by_day, ended_at FROM (
					SELECT `+runColumns+`, 0 AS part FROM failure_runs
					UNION ALL SELECT *, 1 FROM (`+newRuns+`) AS fresh (`+runColumns+`)
				) AS parts ORDER BY service_id, first_at DESC, part DESC
			) AS last WHERE ended_at IS NULL
		) AS o ON o.service_id = id
		WHERE s.service_id = id`, through, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), services)
	if err != nil {
		return fmt.Errorf("restore the states of services: %w", err)
	}
	return nil
}
