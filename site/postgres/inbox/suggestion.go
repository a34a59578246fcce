package inbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/message"
	"tollbook/site/postgres/rows"
)

// Suggestion is a suggestion as it is stored, without its sender.
type Suggestion struct {
	ID         uuid.UUID `json:"id"`
	ReceivedAt time.Time `json:"received_at"`
	site.Suggestion
	ClosedAt *time.Time `json:"closed_at"` // nil while it is open
	ClosedBy *string    `json:"closed_by"`
}

// State returns site.SuggestionOpen or site.SuggestionClosed.
func (s *Suggestion) State() string {
	if s.ClosedAt != nil {
		return site.SuggestionClosed
	}
	return site.SuggestionOpen
}

// Check returns why a suggestion of another database cannot be restored.
func (s *Suggestion) Check() error {
	data, err := json.Marshal(s.Suggestion)
	if err != nil {
		return err
	}
	if _, err := message.ReadSuggestion(data); err != nil {
		return err
	}
	if (s.ClosedAt == nil) != (s.ClosedBy == nil) || s.ClosedBy != nil && strings.ContainsRune(*s.ClosedBy, 0) {
		return errors.New("a suggestion must have both closed_at and closed_by, without NUL bytes, or neither")
	}
	return nil
}

// ReceiveSuggestion stores a suggestion. If the client sent it before under the same key, or anybody sent the same text
// within site.SuggestionRepeat, it returns the stored one. Besides errors of the database it returns
// site.ErrNoDatabase, site.ErrKeyReused and *site.SubmissionLimitError.
func (b *Inbox) ReceiveSuggestion(ctx context.Context, r site.IncomingSuggestion) (site.SuggestionResult, error) {
	m := &entry{kind: suggestions, id: uuid.New(), at: r.At.Truncate(time.Millisecond), // as the response has it
		key: r.Key, hash: hashSuggestion(r.Suggestion), body: r.Suggestion, state: site.SuggestionOpen}
	find := func(tx pgx.Tx) error { return findText(ctx, tx, m, r) }
	repeated, err := b.receive(ctx, m, r.Client, r.MaxOpen, find, pass)
	if err != nil {
		return site.SuggestionResult{}, err
	}
	return site.SuggestionResult{SuggestionID: m.id.String(), ReceivedAt: site.NewTime(m.at), Repeated: repeated}, nil
}

// hashSuggestion returns the hash of a suggestion as it was sent.
func hashSuggestion(s site.Suggestion) []byte {
	h := sha256.New()
	for _, text := range []string{s.Text, s.Category, s.Email} { // none contains a NUL
		h.Write(append([]byte(text), 0))
	}
	return h.Sum(nil)
}

// findText returns errRepeated if a suggestion with the same text is stored. If that has no e-mail address, it gets the
// one that was sent now.
func findText(ctx context.Context, tx pgx.Tx, m *entry, r site.IncomingSuggestion) error {
	err := tx.QueryRow(ctx, `
		UPDATE inbox SET body = CASE coalesce(body->>'email', '')
			WHEN '' THEN body || jsonb_build_object('email', $3::text) ELSE body END
		WHERE id = (SELECT id FROM inbox WHERE kind = 'suggestion' AND md5(body->>'text') = md5($1)
			AND body->>'text' = $1 AND received_at > $2 ORDER BY received_at, id LIMIT 1)
		RETURNING id, received_at`, r.Text, m.at.Add(-site.SuggestionRepeat), r.Email).Scan(&m.id, &m.at)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return errRepeated
}

func scanSuggestion(row pgx.CollectableRow) (s Suggestion, err error) {
	var by string
	err = row.Scan(&s.ID, &s.ReceivedAt, &s.Suggestion, nil, &s.ClosedAt, &by, nil, nil, nil, nil, nil)
	if s.ClosedAt != nil {
		s.ClosedBy = &by
	}
	return s, err
}

// Suggestions reads the suggestions in a state, or all for "", oldest first.
func (b *Inbox) Suggestions(ctx context.Context, state string) ([]Suggestion, error) {
	return ReadSuggestions(ctx, b.pool, state)
}

// ReadSuggestions reads the suggestions in a state, or all for "", oldest first.
func ReadSuggestions(ctx context.Context, q rows.Querier, state string) ([]Suggestion, error) {
	return read(ctx, q, suggestions, scanSuggestion, `$1 IN ('', state)`+order, state)
}

// Suggestion reads a suggestion, or returns site.ErrNotFound.
func (b *Inbox) Suggestion(ctx context.Context, id uuid.UUID) (Suggestion, error) {
	return readOne(ctx, b.pool, suggestions, scanSuggestion, id)
}

// CloseSuggestion closes a suggestion. It returns site.ErrNotFound or *DecidedError if there is no such open one.
func (b *Inbox) CloseSuggestion(ctx context.Context, id uuid.UUID, actor string, now time.Time) error {
	err := pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if err := lockUndecided(ctx, tx, suggestions, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE inbox SET state = 'closed', decided_at = $2, decided_by = $3 WHERE id = $1`, id,
			now, actor)
		return err
	})
	if err != nil {
		return fmt.Errorf("close suggestion %s: %w", id, err)
	}
	return nil
}

// RestoreSuggestions inserts suggestions of another database. Their senders become unknown and count for no client.
func RestoreSuggestions(ctx context.Context, tx pgx.Tx, list []Suggestion) error {
	for _, s := range list {
		m := &entry{kind: suggestions, id: s.ID, at: s.ReceivedAt, client: []byte{},
			hash: hashSuggestion(s.Suggestion), body: s.Suggestion, state: s.State(), decidedAt: s.ClosedAt}
		if s.ClosedBy != nil {
			m.decidedBy = *s.ClosedBy
		}
		if err := insert(ctx, tx, m); err != nil {
			return fmt.Errorf("suggestion %s: %w", s.ID, err)
		}
	}
	return nil
}
