package checks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"tollbook/site/postgres/rows"
)

// PublishedRow is a row of the log of all checks, or of that of all changes, in a snapshot.
type PublishedRow struct {
	ID   uuid.UUID `db:"id,uuid"`        // of a check; zero for a change
	Slug string    `db:"slug,text"`      // of its service
	Type string    `db:"type,text"`      // of a change
	At   time.Time `db:"at,timestamptz"` // in whole milliseconds
}

// FindLost returns the times of published rows that the database does not have, oldest first. Only a database that was
// restored from a back-up lacks any. A row with one damaged column is not lost. Checks that are no longer retained, and
// changes of services that are not listed any more, are left out.
func (r *LogReader) FindLost(ctx context.Context, checks, changes []PublishedRow) ([]time.Time, error) {
	from, args := rows.Unnest(checks)
	lost, err := rows.Column[time.Time](ctx, r.tx, `
		SELECT at FROM `+from+`
		WHERE at >= (SELECT coalesce(max(retained_since), '-infinity') FROM log_seal) AND NOT EXISTS (
			SELECT FROM checks c WHERE c.id = v.id
				AND c.checked_at >= (SELECT min(at) FROM `+from+`) - interval '1 second'
		) AND NOT EXISTS (
			SELECT FROM checks c JOIN services s ON s.id = c.service_id
			WHERE s.slug = v.slug AND c.checked_at >= v.at AND c.checked_at < v.at + interval '1 millisecond'
		)`, args...)
	if err != nil {
		return nil, fmt.Errorf("find published checks: %w", err)
	}
	from, args = rows.Unnest(changes)
	more, err := rows.Column[time.Time](ctx, r.tx, `
		SELECT at FROM `+from+` JOIN services s USING (slug)
		WHERE NOT EXISTS (
			SELECT FROM changes c WHERE c.service_id = s.id AND (c.type = v.type AND NOT isfinite(c.observed_at)
				OR c.observed_at >= v.at AND c.observed_at < v.at + interval '1 millisecond')
		)`, args...)
	if err != nil {
		return nil, fmt.Errorf("find published changes: %w", err)
	}
	lost = append(lost, more...)
	slices.SortFunc(lost, time.Time.Compare)
	return lost, nil
}
