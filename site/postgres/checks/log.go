package checks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// LogFacts is what a build needs of one log of checks.
type LogFacts struct {
	First  int64 // number of the oldest stored row
	Sealed int64 // number of the first row after the sealed hours
	Next   int64 // number of the next row
	// the newest rows, oldest first: from the block of Sealed on, at least tailRows; the last row has number Next-1
	Tail   []Check
	Blocks []LogBlock // full blocks of sealed hours that are stored, ascending
}

// LogBlock says in which hour the last row of a full block is.
type LogBlock struct {
	Block int64
	Hour  time.Time
}

// tailRows is the longest default window of a log of checks.
const tailRows = 50

// checkScan scans rows of checkColumns. It interns texts, because many rows contain the same few.
type checkScan struct {
	Check
	texts rows.Intern
}

func newCheckScan() *checkScan { return &checkScan{texts: rows.Intern{}} }

func (s *checkScan) columns() []any {
	return []any{&s.ServiceID, &s.CheckedAt, (*[16]byte)(&s.ID), &s.Counted, &s.Status, &s.IsUp, &s.StatusCode,
		&s.ResponseTimeMS, &s.EndpointsFound, &s.ErrorMessage, &s.ConsecutiveFailures, &s.UncountedReason,
		&s.IntervalS, &s.Vantage}
}

// row returns the check that was scanned.
func (s *checkScan) row() Check {
	c := s.Check
	c.Status, c.ErrorMessage = s.texts.Pointer(c.Status), s.texts.Pointer(c.ErrorMessage)
	c.UncountedReason, c.Vantage = s.texts.Pointer(c.UncountedReason), s.texts.Pointer(c.Vantage)
	s.Check = Check{}
	return c
}

// readLog reads the log of all services, with rows before cutoff.
func (r *LogReader) readLog(ctx context.Context, cutoff time.Time, f *DirectoryFacts) error {
	sealed, keptSince, err := r.seal(ctx)
	if err != nil || sealed.IsZero() {
		return err
	}
	if err := r.readPositions(ctx, keptSince, []int64{0}, func(int64) *LogFacts { return &f.Log }); err != nil {
		return err
	}
	if err := r.tx.QueryRow(ctx, `SELECT first_retained FROM log_seal`).Scan(&f.Log.First); err != nil {
		return err
	}
	if f.Log.First > f.Log.Sealed {
		return fmt.Errorf("log_seal: the oldest stored check has number %d, but only %d are sealed", f.Log.First,
			f.Log.Sealed)
	}
	s := newCheckScan()
	return r.each(ctx, `
		SELECT `+checkColumns+` FROM checks
		WHERE checked_at >= $1 AND (number >= $2 OR number IS NULL AND checked_at < $3)
		ORDER BY checked_at, id`, s.columns(), func() { f.Log.add(s.row(), sealed) },
		f.Log.tailSince(), f.Log.Sealed-f.Log.tailRows(), cutoff)
}

// readServiceLogs reads the logs of single services up to now in the same way, except for First, which readDays sets.
func (r *LogReader) readServiceLogs(ctx context.Context, now, sealed, keptSince time.Time, at *Index) error {
	if sealed.IsZero() {
		return nil
	}
	if err := r.readPositions(ctx, keptSince, at.ids, func(id int64) *LogFacts {
		return &at.services[id].Log
	}); err != nil {
		return err
	}
	since, first := make([]time.Time, len(at.ids)), make([]int64, len(at.ids))
	for i, id := range at.ids {
		l := &at.services[id].Log
		since[i], first[i] = l.tailSince(), l.Sealed-l.tailRows()
	}
	s := newCheckScan()
	return r.each(ctx, `
		SELECT c.* FROM unnest($1::bigint[], $2::timestamptz[], $3::bigint[]) AS u (service, since, first), LATERAL (
			SELECT `+checkColumns+` FROM checks
			WHERE service_id = u.service AND checked_at >= u.since
				AND (service_number >= u.first OR service_number IS NULL AND checked_at <= $4)
			ORDER BY checked_at, id OFFSET 0
		) AS c`, s.columns(), func() {
		c := s.row()
		at.services[c.ServiceID].Log.add(c, sealed)
	}, at.ids, since, first, now)
}

// add appends the next row. Rows of sealed hours are numbered already.
func (l *LogFacts) add(c Check, sealed time.Time) {
	l.Tail = append(l.Tail, c)
	if !c.CheckedAt.Before(sealed) {
		l.Next++
	}
}

// tailRows returns how many of the newest rows of sealed hours the log needs.
func (l *LogFacts) tailRows() int64 { return max(l.Sealed%site.BlockSize, tailRows) }

// tailSince returns an hour before which none of these rows is: the last row of the block before the last full one is
// not among them. It is zero without such a block.
func (l *LogFacts) tailSince() time.Time {
	if n := len(l.Blocks); n > 1 {
		return l.Blocks[n-2].Hour
	}
	return time.Time{}
}

// seal returns up to when hours are sealed, and since when checks are stored. Both are zero before the first check.
func (r *LogReader) seal(ctx context.Context) (through, keptSince time.Time, err error) {
	err = r.tx.QueryRow(ctx, `SELECT through, retained_since FROM log_seal`).Scan(&through, &keptSince)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, time.Time{}, nil
	}
	return through, keptSince, err
}

// readPositions sets Sealed, Next and Blocks of the logs of services as of the sealed hours, 0 being the log of all.
func (r *LogReader) readPositions(ctx context.Context, keptSince time.Time, ids []int64,
	log func(int64) *LogFacts) error {
	var id, rows int64
	err := r.each(ctx, `SELECT service_id, rows FROM log_positions WHERE service_id = ANY($1)`, []any{&id, &rows},
		func() {
			log(id).Sealed, log(id).Next = rows, rows
		}, ids)
	if err != nil {
		return err
	}
	var b LogBlock
	return r.each(ctx,
		`SELECT service_id, block, hour FROM log_blocks WHERE service_id = ANY($1) AND hour >= $2
			ORDER BY service_id, block`,
		[]any{&id, &b.Block, &b.Hour}, func() { log(id).Blocks = append(log(id).Blocks, b) }, ids, keptSince)
}
