package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/suggestions"
)

// Notification is a set of new submissions and suggestions that the operator is to hear of.
type Notification struct {
	Submissions []ReviewedSubmission     // that wait for review, oldest first
	Waiting     int                      // all submissions that wait for review
	Suggestions []suggestions.Suggestion // that are open, oldest first
	Open        int                      // all suggestions that are open
	Failures    int                      // runs of the command that failed since the last success

	leasedUntil time.Time
}

// NotificationRules say what a notification contains.
type NotificationRules struct {
	Lease time.Duration // longer than the operator's command may run
	Probe time.Duration // for which a submission may wait for its probe, which the notification then contains
	Most  int           // submissions, and suggestions, in one notification
}

// clockError is how far in the future no notification is due. A later time was written by a clock that ran ahead.
const clockError = 24 * time.Hour

// TakeNotification leases what is new, or returns nil if that is nothing, a process is notifying already, or the pause
// after the last notification has not ended. If the process dies, the same is due again when the lease ends.
func (db *DB) TakeNotification(ctx context.Context, r NotificationRules, now time.Time) (*Notification, error) {
	var n *Notification
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		taken := Notification{leasedUntil: now.Add(r.Lease).Truncate(time.Microsecond)} // as Postgres stores it
		err := tx.QueryRow(ctx, `
			SELECT failures FROM submission_notifier WHERE (due_at <= $1 OR due_at > $2) AND (EXISTS (
				SELECT FROM submissions WHERE state = 'pending' AND notified_at IS NULL) OR `+suggestions.HasNew+`)
			FOR UPDATE SKIP LOCKED`, now, now.Add(clockError)).Scan(&taken.Failures)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		list, err := tx.Query(ctx, `SELECT `+reviewColumns+`
			WHERE state = 'pending' AND notified_at IS NULL AND (probe_result IS NOT NULL OR received_at <= $1)
			ORDER BY received_at, submissions.id LIMIT $2`, now.Add(-r.Probe), r.Most)
		if err == nil {
			taken.Submissions, err = pgx.CollectRows(list, scanReviewed)
		}
		if err == nil {
			taken.Suggestions, taken.Open, err = suggestions.ReadNew(ctx, tx, r.Most)
		}
		if err != nil || len(taken.Submissions)+len(taken.Suggestions) == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE submission_notifier SET due_at = $1`, taken.leasedUntil); err != nil {
			return err
		}
		n = &taken
		return tx.QueryRow(ctx, `SELECT count(*) FROM submissions WHERE state = 'pending'`).Scan(&n.Waiting)
	})
	if err != nil {
		return nil, fmt.Errorf("take new submissions and suggestions: %w", err)
	}
	return n, nil
}

// FinishNotification stores the result of a notification, and when the next one may follow. If the lease expired and
// another process notifies now, it does not end that process's lease.
func (db *DB) FinishNotification(ctx context.Context, n *Notification, succeeded bool, now, next time.Time) error {
	err := db.Transact(ctx, func(tx pgx.Tx) error {
		failures := n.Failures + 1
		if succeeded {
			failures = 0
			ids := make([]uuid.UUID, len(n.Submissions))
			for i := range n.Submissions {
				ids[i] = n.Submissions[i].ID
			}
			if _, err := tx.Exec(ctx, `UPDATE submissions SET notified_at = $2 WHERE id = ANY ($1)`, ids,
				now); err != nil {
				return err
			}
			if err := suggestions.MarkNotified(ctx, tx, n.Suggestions, now); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `UPDATE submission_notifier SET due_at = $1, failures = $2 WHERE due_at = $3`, next,
			failures, n.leasedUntil)
		return err
	})
	if err != nil {
		return fmt.Errorf("store that the operator was notified: %w", err)
	}
	return nil
}

// SubmissionFigures counts the submissions of a directory.
type SubmissionFigures struct {
	ByState map[string]int // every state
	Oldest  *time.Time     // when the one that has waited longest was received; nil if none waits
}

// SubmissionFigures counts the submissions.
func (db *DB) SubmissionFigures(ctx context.Context) (SubmissionFigures, error) {
	f := SubmissionFigures{ByState: map[string]int{
		site.SubmissionPending: 0, site.SubmissionApproved: 0, site.SubmissionRejected: 0,
	}}
	rows, err := db.pool.Query(ctx,
		`SELECT state, count(*), min(received_at) FILTER (WHERE state = 'pending') FROM submissions GROUP BY state`)
	if err != nil {
		return f, fmt.Errorf("count submissions: %w", err)
	}
	var state string
	var count int
	var oldest *time.Time
	_, err = pgx.ForEachRow(rows, []any{&state, &count, &oldest}, func() error {
		f.ByState[state] = count
		if oldest != nil {
			f.Oldest = new(*oldest)
		}
		return nil
	})
	if err != nil {
		return f, fmt.Errorf("count submissions: %w", err)
	}
	return f, nil
}
