package suggestions

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// lockSuggestions is the advisory lock of all suggestions, after those of submissions in package postgres.
const lockSuggestions = 402_004

// Receive stores a suggestion of a client, whose name is a keyed hash. If the client sent it before under the same key,
// or anybody sent the same text within site.SuggestionRepeat, it returns the stored one. Besides errors of the database
// it returns site.ErrKeyReused and *site.SubmissionLimitError. One lock orders all suggestions until the commit, so
// parallel requests cannot exceed a limit or store a text twice.
func (s *Store) Receive(ctx context.Context, client []byte, r site.IncomingSuggestion) (site.SuggestionResult, error) {
	r.At = r.At.Truncate(time.Millisecond) // as the response has it
	var result site.SuggestionResult
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::integer, 0)`, lockSuggestions); err != nil {
			return err
		}
		if result, err = findRepetition(ctx, tx, client, r); err != nil || result.Repeated {
			return err
		}
		if err := checkLimits(ctx, tx, client, r); err != nil {
			return err
		}
		result, err = insert(ctx, tx, client, r)
		return err
	})
	if err != nil {
		return site.SuggestionResult{}, fmt.Errorf("receive suggestion: %w", err)
	}
	return result, nil
}

// hash returns the hash of a suggestion as it was sent.
func hash(s site.Suggestion) []byte {
	h := sha256.New()
	for _, text := range []string{s.Text, s.Category, s.Email} { // none contains a NUL
		h.Write(append([]byte(text), 0))
	}
	return h.Sum(nil)
}

// findRepetition returns the suggestion that the client sent with the same key, or else one with the same text. If that
// has no e-mail address, it gets the one that was sent now.
func findRepetition(ctx context.Context, tx pgx.Tx, client []byte, r site.IncomingSuggestion) (site.SuggestionResult,
	error) {
	var id uuid.UUID
	var at time.Time
	var before []byte
	err := tx.QueryRow(ctx,
		`SELECT id, received_at, content_hash FROM suggestions WHERE client = $1 AND idempotency_key = nullif($2, '')`,
		client, r.Key).Scan(&id, &at, &before)
	if err == nil && !bytes.Equal(before, hash(r.Suggestion)) {
		return site.SuggestionResult{}, site.ErrKeyReused
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = tx.QueryRow(ctx, `
			UPDATE suggestions SET email = CASE email WHEN '' THEN $3 ELSE email END
			WHERE id = (SELECT id FROM suggestions WHERE md5(text) = md5($1) AND text = $1 AND received_at > $2
				ORDER BY received_at, id LIMIT 1)
			RETURNING id, received_at`, r.Text, r.At.Add(-site.SuggestionRepeat), r.Email).Scan(&id, &at)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return site.SuggestionResult{}, nil
	}
	return site.SuggestionResult{SuggestionID: id.String(), ReceivedAt: site.NewTime(at), Repeated: true}, err
}

// checkLimits refuses a client that sent the maximum number of suggestions in the last hour, and any suggestion while
// the maximum number is open.
func checkLimits(ctx context.Context, tx pgx.Tx, client []byte, r site.IncomingSuggestion) error {
	var sent, open int
	var oldest *time.Time // of the newest ones that reach the limit
	err := tx.QueryRow(ctx, `
		SELECT count(*), min(received_at), (SELECT count(*) FROM (
			SELECT FROM suggestions WHERE closed_at IS NULL LIMIT $4) AS open)
		FROM (SELECT received_at FROM suggestions WHERE client = $1 AND received_at > $2
			ORDER BY received_at DESC LIMIT $3) AS recent`,
		client, r.At.Add(-time.Hour), site.SuggestionsPerHour, r.MaxOpen).Scan(&sent, &oldest, &open)
	switch {
	case err != nil:
		return err
	case sent >= site.SuggestionsPerHour:
		return &site.SubmissionLimitError{
			Message: fmt.Sprintf("%d suggestions an hour are taken from one address; Retry-After says when the next is",
				site.SuggestionsPerHour),
			RetryAfter: oldest.Add(time.Hour).Sub(r.At),
		}
	case r.MaxOpen > 0 && open >= r.MaxOpen:
		return &site.SubmissionLimitError{
			Message:    fmt.Sprintf("%d suggestions are open already; more are taken when some are closed", r.MaxOpen),
			RetryAfter: time.Hour,
		}
	}
	return nil
}

func insert(ctx context.Context, tx pgx.Tx, client []byte, r site.IncomingSuggestion) (site.SuggestionResult, error) {
	id := uuid.New()
	_, err := tx.Exec(ctx, `
		INSERT INTO suggestions (id, received_at, client, idempotency_key, content_hash, text, category, email)
		VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8)`,
		id, r.At, client, r.Key, hash(r.Suggestion), r.Text, r.Category, r.Email)
	return site.SuggestionResult{SuggestionID: id.String(), ReceivedAt: site.NewTime(r.At)}, err
}
