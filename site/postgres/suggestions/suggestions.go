// Package suggestions stores what readers suggest to the operator of a directory.
//
// It owns the table suggestions. It must never know how a suggestion is sent, or publish one.
package suggestions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tollbook/site"
	"tollbook/site/postgres/rows"
	"tollbook/site/suggestion"
)

// ErrNotFound says that no suggestion has this id.
var ErrNotFound = errors.New("no such suggestion")

// ClosedError says that a suggestion was closed already.
type ClosedError struct {
	At time.Time
	By string
}

func (e *ClosedError) Error() string {
	return fmt.Sprintf("it was closed on %s by %s", e.At.UTC().Format("2006-01-02 15:04 UTC"), e.By)
}

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
	if _, err := suggestion.Read(data); err != nil {
		return err
	}
	if (s.ClosedAt == nil) != (s.ClosedBy == nil) || s.ClosedBy != nil && strings.ContainsRune(*s.ClosedBy, 0) {
		return errors.New("a suggestion must have both closed_at and closed_by, without NUL bytes, or neither")
	}
	return nil
}

// Store stores suggestions.
type Store struct{ pool *pgxpool.Pool }

// New returns the store of the database that a pool is connected to.
func New(pool *pgxpool.Pool) *Store { return &Store{pool} }

const columns = `id, received_at, text, category, email, closed_at, closed_by FROM suggestions`

func scan(row pgx.CollectableRow) (s Suggestion, err error) {
	err = row.Scan(&s.ID, &s.ReceivedAt, &s.Text, &s.Category, &s.Email, &s.ClosedAt, &s.ClosedBy)
	return s, err
}

// List reads the suggestions in a state, or all for "", oldest first.
func (s *Store) List(ctx context.Context, state string) ([]Suggestion, error) {
	return Read(ctx, s.pool, state)
}

// Read reads the suggestions in a state, or all for "", oldest first.
func Read(ctx context.Context, q rows.Querier, state string) ([]Suggestion, error) {
	result, err := q.Query(ctx, `SELECT `+columns+`
		WHERE $1 IN ('', CASE WHEN closed_at IS NULL THEN 'open' ELSE 'closed' END) ORDER BY received_at, id`, state)
	if err != nil {
		return nil, fmt.Errorf("read suggestions: %w", err)
	}
	list, err := pgx.CollectRows(result, scan)
	if err != nil {
		return nil, fmt.Errorf("read suggestions: %w", err)
	}
	return list, nil
}

// One reads a suggestion, or returns ErrNotFound.
func (s *Store) One(ctx context.Context, id uuid.UUID) (Suggestion, error) {
	row, err := s.pool.Query(ctx, `SELECT `+columns+` WHERE id = $1`, id)
	if err != nil {
		return Suggestion{}, fmt.Errorf("read suggestion %s: %w", id, err)
	}
	one, err := pgx.CollectExactlyOneRow(row, scan)
	if errors.Is(err, pgx.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return Suggestion{}, fmt.Errorf("read suggestion %s: %w", id, err)
	}
	return one, nil
}

// Close closes a suggestion. It returns ErrNotFound or *ClosedError if there is no such open suggestion.
func (s *Store) Close(ctx context.Context, id uuid.UUID, actor string, now time.Time) error {
	tag, err := s.pool.Exec(ctx,
		`UPDATE suggestions SET closed_at = $2, closed_by = $3 WHERE id = $1 AND closed_at IS NULL`, id, now, actor)
	if err != nil {
		return fmt.Errorf("close suggestion %s: %w", id, err)
	}
	if tag.RowsAffected() > 0 {
		return nil
	}
	one, err := s.One(ctx, id)
	if err != nil {
		return err
	}
	return &ClosedError{At: *one.ClosedAt, By: *one.ClosedBy}
}

// Count counts the suggestions by state, with every state.
func (s *Store) Count(ctx context.Context) (map[string]int, error) {
	var open, closed int
	err := s.pool.QueryRow(ctx,
		`SELECT count(*) FILTER (WHERE closed_at IS NULL), count(closed_at) FROM suggestions`).Scan(&open, &closed)
	if err != nil {
		return nil, fmt.Errorf("count suggestions: %w", err)
	}
	return map[string]int{site.SuggestionOpen: open, site.SuggestionClosed: closed}, nil
}

// HasNew is a condition that is true if the operator's command has not run for an open suggestion.
const HasNew = `EXISTS (SELECT FROM suggestions WHERE closed_at IS NULL AND notified_at IS NULL)`

// ReadNew reads the open suggestions for which the operator's command has not run, oldest first and at most so many,
// and counts all that are open.
func ReadNew(ctx context.Context, tx pgx.Tx, most int) (list []Suggestion, open int, err error) {
	result, err := tx.Query(ctx, `SELECT `+columns+` WHERE closed_at IS NULL AND notified_at IS NULL
		ORDER BY received_at, id LIMIT $1`, most)
	if err == nil {
		list, err = pgx.CollectRows(result, scan)
	}
	if err == nil {
		err = tx.QueryRow(ctx, `SELECT count(*) FROM suggestions WHERE closed_at IS NULL`).Scan(&open)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read new suggestions: %w", err)
	}
	return list, open, nil
}

// MarkNotified stores that the operator's command has run for suggestions.
func MarkNotified(ctx context.Context, tx pgx.Tx, list []Suggestion, now time.Time) error {
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	if _, err := tx.Exec(ctx, `UPDATE suggestions SET notified_at = $2 WHERE id = ANY ($1)`, ids, now); err != nil {
		return fmt.Errorf("mark suggestions as notified: %w", err)
	}
	return nil
}

// Restore inserts suggestions of another database. Their senders become unknown and count for no client.
func Restore(ctx context.Context, tx pgx.Tx, list []Suggestion) error {
	batch := &pgx.Batch{}
	for _, s := range list {
		batch.Queue(`
			INSERT INTO suggestions (id, received_at, client, content_hash, text, category, email, closed_at, closed_by)
			VALUES ($1, $2, '', $3, $4, $5, $6, $7, $8)`,
			s.ID, s.ReceivedAt, hash(s.Suggestion), s.Text, s.Category, s.Email, s.ClosedAt, s.ClosedBy)
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("restore suggestions: %w", err)
	}
	return nil
}
