package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Notification is a set of new submissions and suggestions that the operator is to hear of.
type Notification struct {
	Submissions []Submission // that wait for review, oldest first
	Waiting     int          // all submissions that wait for review
	Suggestions []Suggestion // that are open, oldest first
	Open        int          // all suggestions that are open
	Failures    int          // runs of the command that failed since the last success

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
func (b *Inbox) TakeNotification(ctx context.Context, r NotificationRules, now time.Time) (*Notification, error) {
	const isNew = `decided_at IS NULL AND notified_at IS NULL`
	var n *Notification
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		taken := Notification{leasedUntil: now.Add(r.Lease).Truncate(time.Microsecond)} // as Postgres stores it
		err := tx.QueryRow(ctx, `
			SELECT failures FROM submission_notifier
			WHERE (due_at <= $1 OR due_at > $2) AND EXISTS (SELECT FROM inbox WHERE `+isNew+`)
			FOR UPDATE SKIP LOCKED`, now, now.Add(clockError)).Scan(&taken.Failures)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err == nil {
			taken.Submissions, err = read(ctx, tx, submissions, scanSubmission, isNew+
				` AND (probe_result IS NOT NULL OR received_at <= $1)`+order+` LIMIT $2`, now.Add(-r.Probe), r.Most)
		}
		if err == nil {
			taken.Suggestions, err = read(ctx, tx, suggestions, scanSuggestion, isNew+order+` LIMIT $1`, r.Most)
		}
		if err != nil || len(taken.Submissions)+len(taken.Suggestions) == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE submission_notifier SET due_at = $1`, taken.leasedUntil); err != nil {
			return err
		}
		n = &taken
		return tx.QueryRow(ctx, `
			SELECT count(*) FILTER (WHERE kind = 'submission'), count(*) FILTER (WHERE kind = 'suggestion')
			FROM inbox WHERE decided_at IS NULL`).Scan(&n.Waiting, &n.Open)
	})
	if err != nil {
		return nil, fmt.Errorf("take new submissions and suggestions: %w", err)
	}
	return n, nil
}

// FinishNotification stores the result of a notification, and when the next one may follow. If the lease expired and
// another process notifies now, it does not end that process's lease.
func (b *Inbox) FinishNotification(ctx context.Context, n *Notification, succeeded bool, now, next time.Time) error {
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		failures := n.Failures + 1
		if succeeded {
			failures = 0
			var ids []uuid.UUID
			for i := range n.Submissions {
				ids = append(ids, n.Submissions[i].ID)
			}
			for i := range n.Suggestions {
				ids = append(ids, n.Suggestions[i].ID)
			}
			if _, err := tx.Exec(ctx, `UPDATE inbox SET notified_at = $2 WHERE id = ANY ($1)`, ids, now); err != nil {
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
