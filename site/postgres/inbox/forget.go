package inbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// addressRetention is how long after the decision about a message its sender's e-mail address is stored.
const addressRetention = 90 * 24 * time.Hour

// withoutSender are assignments that leave nothing of a message's sender: the address, the notes, the hashes of the client
// and that of the whole message, which would let an address be guessed.
const withoutSender = `
	body = CASE WHEN body ? 'notes' THEN body || '{"email": "", "notes": ""}' ELSE body || '{"email": ""}' END,
	client = '', network = '', idempotency_key = NULL, content_hash = ''`

// Forgotten counts the messages of a sender.
type Forgotten struct {
	Erased  int `json:"erased"`  // messages that led to no listing
	Emptied int `json:"emptied"` // approved submissions, without their sender from then on
}

// Sent counts the messages with an e-mail address, in any case, that Forget erases or empties.
func (b *Inbox) Sent(ctx context.Context, email string) (f Forgotten, err error) {
	err = b.pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE state <> 'approved'), count(*) FILTER (WHERE state = 'approved')
		FROM inbox WHERE lower(body->>'email') = lower($1)`, email).Scan(&f.Erased, &f.Emptied)
	if err != nil {
		return f, fmt.Errorf("count the messages of a sender: %w", err)
	}
	return f, nil
}

// Forget erases all messages with an e-mail address, in any case. Of approved submissions it erases the sender alone,
// because a service is listed by them.
func (b *Inbox) Forget(ctx context.Context, email string) (f Forgotten, err error) {
	err = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		erased, err := tx.Exec(ctx, `DELETE FROM inbox WHERE lower(body->>'email') = lower($1) AND state <> 'approved'`, email)
		if err != nil {
			return err
		}
		emptied, err := tx.Exec(ctx, `UPDATE inbox SET`+withoutSender+` WHERE lower(body->>'email') = lower($1)`, email)
		f = Forgotten{int(erased.RowsAffected()), int(emptied.RowsAffected())}
		return err
	})
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget a sender: %w", err)
	}
	return f, nil
}

// RetainSenders erases the senders of messages that were decided about more than addressRetention ago.
func RetainSenders(ctx context.Context, tx pgx.Tx, now time.Time) error {
	_, err := tx.Exec(ctx, `UPDATE inbox SET`+withoutSender+` WHERE decided_at < $1 AND body->>'email' <> ''`,
		now.Add(-addressRetention))
	return err
}
