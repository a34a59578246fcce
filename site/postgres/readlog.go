package postgres

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// LogFacts is what a build needs of one log of checks.
type LogFacts struct {
	First  int64      // number of the oldest row kept
	Sealed int64      // number of the first row after the sealed hours
	Next   int64      // number that the next row will take
	Tail   []Check    // the newest rows, oldest first, the last being Next-1: from the block of Sealed on, and tailRows at least
	Blocks []LogBlock // filled in sealed hours and kept, ascending
}

// LogBlock is the place of a full block: the hour of its last row.
type LogBlock struct {
	Block int64
	Hour  time.Time
}

// tailRows is the longest default window of a log of checks.
const tailRows = 50

// checkSelect are the columns of checks in the order of Check's fields.
const checkSelect = `service_id, checked_at, id, counted, status, is_up, status_code, response_time_ms, endpoints_found,
	error_message, consecutive_failures`

// scan is where the columns of checkSelect go. An id goes in as its bytes: it would be written as text and read again.
func (c *Check) scan() []any {
	return []any{&c.ServiceID, &c.CheckedAt, (*[16]byte)(&c.ID), &c.Counted, &c.Status, &c.IsUp, &c.StatusCode, &c.ResponseTimeMS, &c.EndpointsFound,
		&c.ErrorMessage, &c.ConsecutiveFailures}
}

// readLog reads the log of all services, with rows before cutoff.
func (r *Reader) readLog(ctx context.Context, cutoff time.Time, f *Facts) error {
	sealed, keptSince, err := r.seal(ctx)
	if err != nil || sealed.IsZero() {
		return err
	}
	if err := r.readPlaces(ctx, keptSince, []int64{0}, func(int64) *LogFacts { return &f.Log }); err != nil {
		return err
	}
	if err := r.tx.QueryRow(ctx, `SELECT first_kept FROM log_seal`).Scan(&f.Log.First); err != nil {
		return err
	}
	open, err := r.openChecks(ctx, sealed)
	if err != nil {
		return err
	}
	var recent []Check
	for _, c := range open {
		if c.CheckedAt.Before(cutoff) {
			recent = append(recent, c)
		}
	}
	slices.SortFunc(recent, compareRows)
	if f.Log.Tail, err = r.newest(ctx, sealed, keptSince, time.Minute, 0, f.Log.Sealed%site.BlockSize+tailRows); err != nil {
		return err
	}
	f.Log.Tail = append(f.Log.Tail, recent...)
	f.Log.Next += int64(len(recent))
	return nil
}

// readServiceLogs reads the same of the logs of single services, but for First, which their days say. Checks of open hours are in no
// roll-up, so that it adds them to the days, which are read before: those too that are not in a log yet.
func (r *Reader) readServiceLogs(ctx context.Context, now, cutoff, sealed, keptSince time.Time, at *places) error {
	if sealed.IsZero() {
		return nil
	}
	if err := r.readPlaces(ctx, keptSince, at.ids, func(id int64) *LogFacts { return &at.services[id].Log }); err != nil {
		return err
	}
	if err := r.readSealedTails(ctx, cutoff, sealed, at); err != nil {
		return err
	}
	open, err := r.openChecks(ctx, sealed)
	if err != nil {
		return err
	}
	for _, id := range at.ids {
		s := at.services[id]
		var days []Rollup
		for _, c := range openOf(open, id) {
			if c.CheckedAt.Before(cutoff) {
				s.Log.Tail = append(s.Log.Tail, c)
				s.Log.Next++
			}
			days = dayRollups.add(days, c)
		}
		for _, d := range days {
			s.addDay(now, d)
		}
	}
	return nil
}

// readSealedTails reads the rows of sealed hours that the logs of services need, the newest first of each.
func (r *Reader) readSealedTails(ctx context.Context, cutoff, sealed time.Time, at *places) error {
	rows := make([]int64, len(at.ids))
	for i, id := range at.ids {
		rows[i] = at.services[id].Log.Sealed%site.BlockSize + tailRows
	}
	var c Check
	err := r.each(ctx, `
		SELECT c.* FROM unnest($1::bigint[], $2::bigint[]) u (service, rows), LATERAL (
			SELECT `+checkSelect+` FROM checks WHERE service_id = u.service AND checked_at < $3 ORDER BY checked_at DESC, id DESC LIMIT u.rows
		) c`, c.scan(),
		func() {
			if c.CheckedAt.Before(cutoff) {
				l := &at.services[c.ServiceID].Log
				l.Tail = append(l.Tail, c)
			}
		}, at.ids, rows, sealed)
	for _, id := range at.ids {
		slices.Reverse(at.services[id].Log.Tail)
	}
	return err
}

// openChecks are the checks of hours that are not sealed, by service, read once.
func (r *Reader) openChecks(ctx context.Context, sealed time.Time) ([]Check, error) {
	if r.open == nil && !sealed.IsZero() {
		open, err := r.checks(ctx, `SELECT `+checkSelect+` FROM checks WHERE checked_at >= $1`, sealed)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(open, func(a, b Check) int { return cmp.Or(cmp.Compare(a.ServiceID, b.ServiceID), compareRows(a, b)) })
		r.open = append([]Check{}, open...) // at its length, and not nil: there may be none
	}
	return r.open, nil
}

// openOf are those of a service among checks by service.
func openOf(list []Check, service int64) []Check {
	find := func(of int64) int {
		n, _ := slices.BinarySearchFunc(list, of, func(c Check, of int64) int { return cmp.Compare(c.ServiceID, of) })
		return n
	}
	return list[find(service):find(service+1)]
}

// compareRows orders checks as logs do.
func compareRows(a, b Check) int {
	return cmp.Or(a.CheckedAt.Compare(b.CheckedAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// seal is up to when hours are sealed, and since when checks are kept; zero before the first check.
func (r *Reader) seal(ctx context.Context) (through, keptSince time.Time, err error) {
	err = r.tx.QueryRow(ctx, `SELECT through, kept_since FROM log_seal`).Scan(&through, &keptSince)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, time.Time{}, nil
	}
	return through, keptSince, err
}

// readPlaces fills Sealed, Next (as of the seal) and Blocks of the logs of these services, 0 being all of them.
func (r *Reader) readPlaces(ctx context.Context, keptSince time.Time, ids []int64, log func(int64) *LogFacts) error {
	var id, sealed int64
	err := r.each(ctx, `SELECT service_id, rows FROM log_positions WHERE service_id = ANY($1)`, []any{&id, &sealed},
		func() { log(id).Sealed, log(id).Next = sealed, sealed }, ids)
	if err != nil {
		return err
	}
	var b LogBlock
	return r.each(ctx, `SELECT service_id, block, hour FROM log_blocks WHERE service_id = ANY($1) AND hour >= $2 ORDER BY service_id, block`,
		[]any{&id, &b.Block, &b.Hour}, func() { log(id).Blocks = append(log(id).Blocks, b) }, ids, keptSince)
}

// newest reads n checks of all services before t, oldest first: the newest but for some. No index has them in order, so
// that it looks back as far as they may be expected first, then further, until keptSince.
func (r *Reader) newest(ctx context.Context, t, keptSince time.Time, back time.Duration, but, n int64) ([]Check, error) {
	for ; ; back *= 4 {
		since := t.Add(-back)
		all := !since.After(keptSince)
		if all {
			since = time.Time{}
		}
		c, err := r.checks(ctx, `SELECT `+checkSelect+` FROM checks WHERE checked_at >= $1 AND checked_at < $2
			ORDER BY checked_at DESC, id DESC OFFSET $3 LIMIT $4`, since, t, but, n)
		if err != nil || all || int64(len(c)) == n {
			slices.Reverse(c)
			return c, err
		}
	}
}

func (r *Reader) checks(ctx context.Context, sql string, args ...any) (list []Check, err error) {
	var c Check
	if err := r.each(ctx, sql, c.scan(), func() { list = append(list, c) }, args...); err != nil {
		return nil, fmt.Errorf("read checks: %w", err)
	}
	return list, nil
}

// PackBlock is one full block of an hour's pack.
type PackBlock struct {
	ServiceID int64 // 0 for the log of all services
	Block     int64
	First     int64   // number of Rows[0]
	Rows      []Check // oldest first
}

// Pack reads the blocks that the checks of a sealed hour filled, by service and block, and does with each what is to be done:
// all of them are more than else is in memory.
func (r *Reader) Pack(ctx context.Context, hour time.Time, do func(PackBlock) error) error {
	if err := r.globalBlocks(ctx, hour, do); err != nil {
		return fmt.Errorf("read pack %s: %w", site.PackHour(hour), err)
	}
	if err := r.serviceBlocks(ctx, hour, do); err != nil {
		return fmt.Errorf("read pack %s: %w", site.PackHour(hour), err)
	}
	return nil
}

// globalBlocks reads the hour's blocks of the log of all services: they follow one another.
func (r *Reader) globalBlocks(ctx context.Context, hour time.Time, do func(PackBlock) error) error {
	var first, last, after int64
	err := r.tx.QueryRow(ctx, `
		SELECT min(block), max(block), min(rows_after) FROM log_blocks WHERE hour = $1 AND service_id = 0 HAVING count(*) > 0`, hour,
	).Scan(&first, &last, &after)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	_, keptSince, err := r.seal(ctx)
	if err != nil {
		return err
	}
	rows, err := r.newest(ctx, hour.Add(time.Hour), keptSince, 75*time.Minute, after, (last-first+1)*site.BlockSize)
	if err != nil {
		return err
	}
	oldest := (last+1)*site.BlockSize - int64(len(rows)) // number of rows[0]
	for block := first; block <= last; block++ {
		from := max(block*site.BlockSize, oldest)
		if end := (block + 1) * site.BlockSize; from < end {
			if err := do(PackBlock{Block: block, First: from, Rows: rows[from-oldest : end-oldest]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// serviceBlocks reads the hour's blocks of the services' own logs.
func (r *Reader) serviceBlocks(ctx context.Context, hour time.Time, do func(PackBlock) error) error {
	var b PackBlock
	var block int64
	var c Check
	rows, err := r.tx.Query(ctx, `
		SELECT b.block, c.* FROM log_blocks b, LATERAL (
			SELECT `+checkSelect+` FROM checks WHERE service_id = b.service_id AND checked_at < $2
			ORDER BY checked_at DESC, id DESC OFFSET b.rows_after LIMIT $3
		) c
		WHERE b.hour = $1 AND b.service_id <> 0
		ORDER BY b.service_id, b.block, c.checked_at, c.id`, hour, hour.Add(time.Hour), site.BlockSize)
	if err != nil {
		return err
	}
	done := func() error {
		if len(b.Rows) == 0 {
			return nil
		}
		b.First = (b.Block+1)*site.BlockSize - int64(len(b.Rows))
		return do(b)
	}
	_, err = pgx.ForEachRow(rows, append([]any{&block}, c.scan()...), func() error {
		if b.ServiceID != c.ServiceID || b.Block != block {
			if err := done(); err != nil {
				return err
			}
			b = PackBlock{ServiceID: c.ServiceID, Block: block, Rows: make([]Check, 0, site.BlockSize)}
		}
		b.Rows = append(b.Rows, c)
		return nil
	})
	if err != nil {
		return err
	}
	return done()
}

// PackHours lists the hours that have full blocks and are kept, oldest first. Those of change records are kept for good.
func (r *Reader) PackHours(ctx context.Context) ([]time.Time, error) {
	rows, err := r.tx.Query(ctx, `
		SELECT hour FROM log_blocks WHERE hour >= (SELECT kept_since FROM log_seal)
		UNION SELECT hour FROM change_blocks
		ORDER BY hour`)
	if err != nil {
		return nil, fmt.Errorf("read pack hours: %w", err)
	}
	hours, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return nil, fmt.Errorf("read pack hours: %w", err)
	}
	return hours, nil
}
