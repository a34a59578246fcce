package postgres

import (
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

// readLogs reads the log of all services and of each, with rows before cutoff.
func (r *Reader) readLogs(ctx context.Context, cutoff time.Time, f *Facts, at map[int64]*ServiceFacts) error {
	var sealed, keptSince time.Time
	err := r.tx.QueryRow(ctx, `SELECT through, kept_since FROM log_seal`).Scan(&sealed, &keptSince)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil // never a check
	}
	if err != nil {
		return err
	}
	log := func(id int64) *LogFacts {
		if id == 0 {
			return &f.Log
		}
		if s := at[id]; s != nil {
			return &s.Log
		}
		return nil
	}
	if err := r.readPlaces(ctx, keptSince, log); err != nil {
		return err
	}
	recent, err := r.checks(ctx, `SELECT `+checkSelect+` FROM checks WHERE checked_at >= $1 AND checked_at < $2 ORDER BY checked_at, id`, sealed, cutoff)
	if err != nil {
		return err
	}
	if f.Log.Tail, err = r.before(ctx, sealed, f.Log.Sealed%site.BlockSize+tailRows); err != nil {
		return err
	}
	older, err := r.checks(ctx, `
		SELECT c.* FROM services s LEFT JOIN log_positions p ON p.service_id = s.id, LATERAL (
			SELECT `+checkSelect+` FROM checks WHERE service_id = s.id AND checked_at < $1
			ORDER BY checked_at DESC, id DESC LIMIT coalesce(p.rows, 0) % $2 + $3
		) c ORDER BY service_id, checked_at, id`, sealed, site.BlockSize, tailRows)
	if err != nil {
		return err
	}
	for _, c := range older {
		l := log(c.ServiceID)
		l.Tail = append(l.Tail, c)
	}
	f.Log.Tail = append(f.Log.Tail, recent...)
	f.Log.Next += int64(len(recent))
	for _, c := range recent {
		if l := log(c.ServiceID); l != nil {
			l.Tail = append(l.Tail, c)
			l.Next++
		}
	}
	return nil
}

// readPlaces fills First, Sealed, Next (as of the seal) and Blocks.
func (r *Reader) readPlaces(ctx context.Context, keptSince time.Time, log func(int64) *LogFacts) error {
	rows, err := r.tx.Query(ctx, `
		SELECT p.service_id, p.rows, coalesce(d.rows, 0)::bigint FROM log_positions p LEFT JOIN (
			SELECT coalesce(service_id, 0) AS service_id, sum(checks) AS rows FROM check_days WHERE day < $1
			GROUP BY GROUPING SETS ((service_id), ())
		) d USING (service_id)`, keptSince)
	if err != nil {
		return err
	}
	var id, sealed, first int64
	if _, err := pgx.ForEachRow(rows, []any{&id, &sealed, &first}, func() error {
		if l := log(id); l != nil {
			l.First, l.Sealed, l.Next = first, sealed, sealed
		}
		return nil
	}); err != nil {
		return err
	}
	rows, err = r.tx.Query(ctx, `SELECT service_id, block, hour FROM log_blocks WHERE hour >= $1 ORDER BY service_id, block`, keptSince)
	if err != nil {
		return err
	}
	var b LogBlock
	_, err = pgx.ForEachRow(rows, []any{&id, &b.Block, &b.Hour}, func() error {
		if l := log(id); l != nil {
			l.Blocks = append(l.Blocks, b)
		}
		return nil
	})
	return err
}

// before reads the newest n checks of all services before t, oldest first.
func (r *Reader) before(ctx context.Context, t time.Time, n int64) ([]Check, error) {
	c, err := r.checks(ctx, `SELECT `+checkSelect+` FROM checks WHERE checked_at < $1 ORDER BY checked_at DESC, id DESC LIMIT $2`, t, n)
	slices.Reverse(c)
	return c, err
}

func (r *Reader) checks(ctx context.Context, sql string, args ...any) ([]Check, error) {
	rows, err := r.tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read checks: %w", err)
	}
	c, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Check])
	if err != nil {
		return nil, fmt.Errorf("read checks: %w", err)
	}
	return c, nil
}

// PackBlock is one full block of an hour's pack.
type PackBlock struct {
	ServiceID int64 // 0 for the log of all services
	Block     int64
	First     int64   // number of Rows[0]
	Rows      []Check // oldest first
}

// Pack reads the blocks that the checks of a sealed hour filled, by service and block.
func (r *Reader) Pack(ctx context.Context, hour time.Time) ([]PackBlock, error) {
	all, err := r.globalBlocks(ctx, hour)
	if err != nil {
		return nil, fmt.Errorf("read pack %s: %w", site.PackHour(hour), err)
	}
	each, err := r.serviceBlocks(ctx, hour)
	if err != nil {
		return nil, fmt.Errorf("read pack %s: %w", site.PackHour(hour), err)
	}
	return append(all, each...), nil
}

// globalBlocks reads the hour's blocks of the log of all services: they follow one another.
func (r *Reader) globalBlocks(ctx context.Context, hour time.Time) ([]PackBlock, error) {
	var first, last, after int64
	err := r.tx.QueryRow(ctx, `
		SELECT min(block), max(block), min(rows_after) FROM log_blocks WHERE hour = $1 AND service_id = 0 HAVING count(*) > 0`, hour,
	).Scan(&first, &last, &after)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := r.checks(ctx, `SELECT `+checkSelect+` FROM checks WHERE checked_at < $1
		ORDER BY checked_at DESC, id DESC OFFSET $2 LIMIT $3`, hour.Add(time.Hour), after, (last-first+1)*site.BlockSize)
	if err != nil {
		return nil, err
	}
	slices.Reverse(rows)
	oldest := (last+1)*site.BlockSize - int64(len(rows)) // number of rows[0]
	var blocks []PackBlock
	for block := first; block <= last; block++ {
		from := max(block*site.BlockSize, oldest)
		if end := (block + 1) * site.BlockSize; from < end {
			blocks = append(blocks, PackBlock{Block: block, First: from, Rows: rows[from-oldest : end-oldest]})
		}
	}
	return blocks, nil
}

// serviceBlocks reads the hour's blocks of the services' own logs.
func (r *Reader) serviceBlocks(ctx context.Context, hour time.Time) ([]PackBlock, error) {
	rows, err := r.tx.Query(ctx, `
		SELECT b.block, c.* FROM log_blocks b, LATERAL (
			SELECT `+checkSelect+` FROM checks WHERE service_id = b.service_id AND checked_at < $2
			ORDER BY checked_at DESC, id DESC OFFSET b.rows_after LIMIT $3
		) c
		WHERE b.hour = $1 AND b.service_id <> 0
		ORDER BY b.service_id, b.block, c.checked_at, c.id`, hour, hour.Add(time.Hour), site.BlockSize)
	if err != nil {
		return nil, err
	}
	type placed struct {
		Block int64
		Check
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[placed])
	if err != nil {
		return nil, err
	}
	var blocks []PackBlock
	for _, p := range found {
		n := len(blocks)
		if n == 0 || blocks[n-1].ServiceID != p.ServiceID || blocks[n-1].Block != p.Block {
			blocks = append(blocks, PackBlock{ServiceID: p.ServiceID, Block: p.Block})
			n++
		}
		b := &blocks[n-1]
		b.Rows = append(b.Rows, p.Check)
		b.First = (b.Block+1)*site.BlockSize - int64(len(b.Rows))
	}
	return blocks, nil
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
