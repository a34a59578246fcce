package checks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// Check is one visit to a service.
type Check struct {
	ServiceID      int64     `db:"service_id,bigint"`
	CheckedAt      time.Time `db:"checked_at,timestamptz"` // when the visit ended
	ID             uuid.UUID `db:"id,uuid"`
	Counted        bool      `db:"counted,boolean"` // conclusive
	Status         *string   `db:"status,text"`     // of this visit, or of the last conclusive one before it; nil before the first
	IsUp           bool      `db:"is_up,boolean"`
	StatusCode     *int      `db:"status_code,integer"`
	ResponseTimeMS *int      `db:"response_time_ms,integer"`
	EndpointsFound int       `db:"endpoints_found,integer"`
	ErrorMessage   *string   `db:"error_message,text"`
	// after this visit
	ConsecutiveFailures int `db:"consecutive_failures,integer"`
	// why the visit does not count, see site.NoEndpoints; nil if it counts
	UncountedReason *string `db:"uncounted_reason,text"`
	// seconds until the next visit as it is planned after this one, without its random part; 0 if unknown
	IntervalS int     `db:"interval_s,integer"`
	Vantage   *string `db:"vantage,text"` // name of the place that made it; nil for the place without a name
}

// checkColumns are the columns of checks in the order of Check's fields.
var checkColumns = rows.Columns[Check]()

// recordChecks stores the checks that are not stored yet, and returns which of the list these are. It modifies the
// list.
func recordChecks(ctx context.Context, tx pgx.Tx, checks []*Check) (fresh []bool, err error) {
	if len(checks) == 0 {
		return nil, nil
	}
	b := &pgx.Batch{}
	through := queueSealed(b)
	voided := queueVoids(b, slices.MinFunc(checks, func(a, b *Check) int { return a.CheckedAt.Compare(b.CheckedAt) }).CheckedAt)
	suspect := queueSuspects(b, checks)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("read log seal, and services with checks of the time: %w", err)
	}
	sealed := through()
	if sealed == nil {
		if sealed, err = startLogs(ctx, tx, checks); err != nil {
			return nil, err
		}
	}
	stored, err := storedChecks(ctx, tx, checks, suspect())
	if err != nil {
		return nil, err
	}
	checks, fresh = excludeStored(checks, stored)
	for _, c := range checks {
		if c.Counted && voided(c) {
			c.Counted, c.UncountedReason = false, new(site.VoidCheck)
		}
	}
	moveLate(checks, *sealed)
	b = &pgx.Batch{}
	queueChecks(b, checks)
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return nil, fmt.Errorf("store checks: %w", err)
	}
	return fresh, nil
}

// queueSealed queues a query for the time up to which hours are sealed; answer returns nil before the first check.
// Until the transaction ends, no hour is sealed.
func queueSealed(b *pgx.Batch) (answer func() *time.Time) {
	var sealed *time.Time
	b.Queue(`SELECT through FROM log_seal FOR SHARE`).Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, []any{&sealed}, func() error { return nil })
		return err
	})
	return func() *time.Time { return sealed }
}

// excludeStored returns the checks that are not in stored, each once, and reports for each element of the list whether
// it is among them. It modifies the list.
func excludeStored(checks []*Check, stored map[uuid.UUID]bool) ([]*Check, []bool) {
	fresh := make([]bool, len(checks))
	seen := make(map[uuid.UUID]bool, len(checks))
	list := checks[:0]
	for i, c := range checks {
		if stored[c.ID] || seen[c.ID] {
			continue
		}
		seen[c.ID], fresh[i] = true, true
		list = append(list, c)
	}
	return list, fresh
}

// queueChecks inserts checks of open hours that are not stored yet. Their days must have partitions.
func queueChecks(b *pgx.Batch, checks []*Check) {
	if len(checks) == 0 {
		return
	}
	list := make([]Check, len(checks))
	for i, c := range checks {
		list[i] = *c
	}
	from, args := rows.Unnest(list)
	b.Queue(`INSERT INTO checks (`+checkColumns+`) SELECT * FROM `+from+` ON CONFLICT DO NOTHING`, args...)
}

// moveLate moves checks of sealed hours to the first time that is not sealed, because sealed hours accept no rows. Such
// checks came hours late, or a clock was ahead and was set back. No check is lost.
func moveLate(checks []*Check, sealed time.Time) {
	for i, c := range checks {
		if c.CheckedAt.Before(sealed) {
			late := *c
			late.CheckedAt = sealed
			checks[i] = &late
		}
	}
}

// queueSuspects queues a query for the services with a stored check that is not older than one in the list. There are
// hardly any.
func queueSuspects(b *pgx.Batch, checks []*Check) (answer func() []int64) {
	type check struct {
		ServiceID int64     `db:"service_id,bigint"`
		CheckedAt time.Time `db:"checked_at,timestamptz"`
	}
	list := make([]check, len(checks))
	for i, c := range checks {
		list[i] = check{c.ServiceID, c.CheckedAt}
	}
	var suspect []int64
	from, args := rows.Unnest(list)
	b.Queue(`
		SELECT DISTINCT s.service_id FROM `+from+` JOIN service_states s USING (service_id)
		WHERE s.newest_check_at >= v.checked_at`, args...).Query(func(rows pgx.Rows) (err error) {
		suspect, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return func() []int64 { return suspect }
}

// storedChecks returns which of the checks of these services are stored already: a worker that loses its connection
// after the commit sends them again. A stored check has the same time, or a later one if it came late.
func storedChecks(ctx context.Context, tx pgx.Tx, checks []*Check, of []int64) (map[uuid.UUID]bool, error) {
	stored := map[uuid.UUID]bool{}
	if len(of) == 0 {
		return stored, nil
	}
	slices.Sort(of)
	var ids [][16]byte
	var since time.Time
	for _, c := range checks {
		if _, ok := slices.BinarySearch(of, c.ServiceID); ok {
			if ids = append(ids, c.ID); since.IsZero() || c.CheckedAt.Before(since) {
				since = c.CheckedAt
			}
		}
	}
	rows, err := tx.Query(ctx, `SELECT id FROM checks WHERE service_id = ANY($1) AND checked_at >= $2 AND id = ANY($3)`,
		of, since.Truncate(time.Microsecond), ids)
	if err != nil {
		return nil, fmt.Errorf("find known checks: %w", err)
	}
	var id [16]byte
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		stored[id] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find known checks: %w", err)
	}
	return stored, nil
}
