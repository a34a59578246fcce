package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// Ban says that nothing is taken any more from the network that sent a submission. The network itself is not known: a
// keyed hash of it is stored.
type Ban struct {
	SubmissionID uuid.UUID `json:"submission_id"`
	BannedAt     time.Time `json:"banned_at"`
	Actor        string    `json:"actor"`
	Reason       string    `json:"reason,omitempty"`
}

// ErrNoSender says that the sender of a message is not known any more.
var ErrNoSender = errors.New("its sender is not known any more: the message was imported, or its sender was erased")

// BanSender bans the sender of a submission. It returns site.ErrNotFound for an id that no submission has, and
// ErrNoSender. A sender that is banned already stays as it is.
func (b *Inbox) BanSender(ctx context.Context, ban Ban) error {
	var network []byte
	err := b.pool.QueryRow(ctx, `SELECT network FROM inbox WHERE kind = 'submission' AND id = $1`, ban.SubmissionID).
		Scan(&network)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = site.ErrNotFound
	case err == nil && len(network) == 0:
		err = ErrNoSender
	case err == nil:
		_, err = b.pool.Exec(ctx, `
			INSERT INTO banned_senders (network, submission_id, banned_at, actor, reason) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT DO NOTHING`, network, ban.SubmissionID, ban.BannedAt, ban.Actor, ban.Reason)
	}
	if err != nil {
		return fmt.Errorf("ban the sender of submission %s: %w", ban.SubmissionID, err)
	}
	return nil
}

// UnbanSender ends the ban that names a submission, and returns site.ErrNotFound if there is none.
func (b *Inbox) UnbanSender(ctx context.Context, submission uuid.UUID) error {
	tag, err := b.pool.Exec(ctx, `DELETE FROM banned_senders WHERE submission_id = $1`, submission)
	if err == nil && tag.RowsAffected() == 0 {
		err = site.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("end the ban of the sender of submission %s: %w", submission, err)
	}
	return nil
}

// Bans returns all bans, the oldest first.
func (b *Inbox) Bans(ctx context.Context) ([]Ban, error) {
	result, err := b.pool.Query(ctx,
		`SELECT submission_id, banned_at, actor, reason FROM banned_senders ORDER BY banned_at, submission_id`)
	if err != nil {
		return nil, fmt.Errorf("read bans: %w", err)
	}
	list, err := pgx.CollectRows(result, pgx.RowToStructByPos[Ban])
	if err != nil {
		return nil, fmt.Errorf("read bans: %w", err)
	}
	return list, nil
}
