package polls

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// State is what the newest polls of a facilitator say.
type State struct {
	FacilitatorID string
	AnsweredAt    *time.Time // of the newest answer that was read; nil for none
	Failures      int        // polls in a row that had no answer
}

// PollStates returns the state of each facilitator that was ever polled at its present URL.
func (t *Tables) PollStates(ctx context.Context) ([]State, error) {
	rows, err := t.pool.Query(ctx, `
		SELECT p.facilitator_id, p.answered_at, p.failures
		FROM facilitator_polls p JOIN facilitators f ON f.id = p.facilitator_id AND f.facilitator_url = p.url
		ORDER BY p.facilitator_id COLLATE "C"`)
	if err != nil {
		return nil, fmt.Errorf("read the state of polls: %w", err)
	}
	states, err := pgx.CollectRows(rows, pgx.RowToStructByPos[State])
	if err != nil {
		return nil, fmt.Errorf("read the state of polls: %w", err)
	}
	return states, nil
}
