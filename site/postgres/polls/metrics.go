package polls

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// state is what the newest polls of a facilitator say.
type state struct {
	FacilitatorID string
	AnsweredAt    *time.Time // of the newest answer that was read; nil for none
	Failures      int        // polls in a row that had no answer
}

// WritePollMetrics writes when each facilitator last answered, and how many polls failed since, in the text format of
// Prometheus. It omits both if the database does not answer, because unknown is not zero.
func (t *Tables) WritePollMetrics(ctx context.Context, w io.Writer) error {
	rows, err := t.pool.Query(ctx, `
		SELECT p.facilitator_id, p.answered_at, p.failures
		FROM facilitator_polls p JOIN facilitators f ON f.id = p.facilitator_id AND f.facilitator_url = p.url
		ORDER BY p.facilitator_id COLLATE "C"`)
	if err != nil {
		return nil
	}
	states, err := pgx.CollectRows(rows, pgx.RowToStructByPos[state])
	if err != nil {
		return nil
	}
	const answered, failures = "tollbook_facilitator_last_answer_timestamp_seconds", "tollbook_facilitator_failures"
	b := bufio.NewWriter(w)
	head := func(name, help string) { fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name) }
	label := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	head(answered, "When a facilitator last said what it settles, in seconds since 1970.")
	for _, s := range states {
		if s.AnsweredAt != nil {
			fmt.Fprintf(b, "%s{facilitator=\"%s\"} %d\n", answered, label.Replace(s.FacilitatorID),
				s.AnsweredAt.Unix())
		}
	}
	head(failures, "Polls of a facilitator in a row that had no answer.")
	for _, s := range states {
		fmt.Fprintf(b, "%s{facilitator=\"%s\"} %d\n", failures, label.Replace(s.FacilitatorID), s.Failures)
	}
	return b.Flush()
}
