package output

import (
	"context"
	"log/slog"
	"time"
)

// Steps logs the steps of a command on a publication: a line when each has ended, with its counts and the time since the
// step before.
type Steps struct {
	logger *slog.Logger
	began  time.Time
}

// NewSteps returns the steps that begin now. A nil logger logs none.
func NewSteps(logger *slog.Logger) *Steps {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Steps{logger, time.Now()}
}

// Done logs that a step has ended, with counts as pairs of names and numbers.
func (s *Steps) Done(ctx context.Context, step string, counts ...any) {
	now := time.Now()
	s.logger.InfoContext(ctx, step, append(counts, "ms", now.Sub(s.began).Milliseconds())...)
	s.began = now
}
