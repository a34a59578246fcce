package checks

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres/rows"
)

// PackBlock is one full block of an hour's pack.
type PackBlock struct {
	ServiceID int64 // 0 for the log of all services
	Block     int64
	First     int64   // number of Rows[0]
	Rows      []Check // oldest first
}

// Pack reads the blocks that the checks of a sealed hour filled, by service and block, and calls do with each, because
// all of them would not fit into memory.
func (r *LogReader) Pack(ctx context.Context, hour time.Time, do func(PackBlock) error) error {
	_, keptSince, err := r.seal(ctx)
	if err == nil {
		err = r.packOfAll(ctx, hour, keptSince, do)
	}
	if err == nil {
		// The rows of a block follow the last row of the previous block.
		err = r.eachBlock(ctx, do, `
			SELECT log, service_number, `+checkColumns+` FROM (
				SELECT b.service_id AS log, b.block, coalesce(before.hour, $3) AS since
				FROM log_blocks b LEFT JOIN log_blocks before ON before.service_id = b.service_id
					AND before.block = b.block - 1
				WHERE b.hour = $1 AND b.service_id <> 0
			) AS b, LATERAL (
				SELECT * FROM checks
				WHERE service_id = log AND checked_at >= since AND checked_at < $1::timestamptz + interval '1 hour'
					AND service_number >= block * $2 AND service_number < (block + 1) * $2
				OFFSET 0
			) AS c
			ORDER BY log, service_number`, hour, int64(site.BlockSize), keptSince)
	}
	if err != nil {
		return fmt.Errorf("read pack %s: %w", site.PackHour(hour), err)
	}
	return nil
}

// packOfAll reads the hour's blocks of the log of all services. They are consecutive.
func (r *LogReader) packOfAll(ctx context.Context, hour, keptSince time.Time, do func(PackBlock) error) error {
	var first, last *int64
	var since *time.Time
	err := r.tx.QueryRow(ctx, `
		SELECT min(b.block), max(b.block), min(before.hour) FROM log_blocks b LEFT
			JOIN log_blocks before ON before.service_id = 0 AND before.block = b.block - 1
		WHERE b.hour = $1 AND b.service_id = 0`, hour).Scan(&first, &last, &since)
	if err != nil || first == nil {
		return err
	}
	if since == nil || since.Before(keptSince) {
		since = &keptSince
	}
	return r.eachBlock(ctx, do, `
		SELECT 0, number, `+checkColumns+` FROM checks
		WHERE checked_at >= $1 AND checked_at < $2 AND number >= $3 AND number < $4 ORDER BY number`,
		*since, hour.Add(time.Hour), *first*site.BlockSize, (*last+1)*site.BlockSize)
}

// eachBlock groups the rows of a query by log and block. Its columns are the service of the log (0 for all), the
// number, and checkColumns.
func (r *LogReader) eachBlock(ctx context.Context, do func(PackBlock) error, sql string, args ...any) error {
	var b PackBlock
	var service, number int64
	s := newCheckScan()
	rows, err := r.tx.Query(ctx, sql, args...)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, append([]any{&service, &number}, s.columns()...), func() error {
		block := number / site.BlockSize
		if len(b.Rows) > 0 && (b.ServiceID != service || b.Block != block) {
			if err := do(b); err != nil {
				return err
			}
			b = PackBlock{}
		}
		if len(b.Rows) == 0 {
			b = PackBlock{ServiceID: service, Block: block, First: number, Rows: make([]Check, 0, site.BlockSize)}
		}
		b.Rows = append(b.Rows, s.row())
		return nil
	})
	if err == nil && len(b.Rows) > 0 {
		err = do(b)
	}
	return err
}

// PackHours lists the stored hours that have full blocks, oldest first. Hours with blocks of change records are never
// deleted.
func (r *LogReader) PackHours(ctx context.Context) ([]time.Time, error) {
	hours, err := rows.Column[time.Time](ctx, r.tx, `
		SELECT hour FROM log_blocks WHERE hour >= (SELECT retained_since FROM log_seal)
			AND hour < (SELECT through FROM log_seal)
		UNION SELECT hour FROM change_blocks WHERE hour >= 'epoch' AND hour < (SELECT through FROM log_seal)
		ORDER BY hour`) // a damaged hour has no pack
	if err != nil {
		return nil, fmt.Errorf("read pack hours: %w", err)
	}
	return hours, nil
}

// ChangeBlock is one full block of change records of an hour's pack.
type ChangeBlock struct {
	ServiceID int64  // 0 for all services
	Type      string // "" for all types
	Block     int64
	Rows      []Change // oldest first: site.BlockSize of them
}

// ChangePack reads the blocks of change records of a sealed hour's pack, by service, type and block, and calls do with
// each.
func (r *LogReader) ChangePack(ctx context.Context, hour time.Time, do func(ChangeBlock) error) error {
	var b ChangeBlock
	var log, block int64
	var kind string
	var c Change
	rows, err := r.tx.Query(ctx, `
		SELECT b.service_id, b.type, b.block, c.service_id, c.type, c.observed_at, c.summary, c.old_snapshot,
			c.new_snapshot
		FROM change_blocks b
		JOIN change_log l ON l.service_id = b.service_id AND l.type = b.type AND l.number >= b.block * $2
			AND l.number < (b.block + 1) * $2
		JOIN changes c ON c.id = l.change_id
		WHERE b.hour = $1
		ORDER BY b.service_id, b.type, b.block, l.number`, hour, int64(site.BlockSize))
	done := func() error {
		if len(b.Rows) == 0 {
			return nil
		}
		return do(b)
	}
	if err == nil {
		_, err = pgx.ForEachRow(rows, append([]any{&log, &kind, &block}, c.scanAny()...), func() error {
			if b.ServiceID != log || b.Type != kind || b.Block != block {
				if err := done(); err != nil {
					return err
				}
				b = ChangeBlock{ServiceID: log, Type: kind, Block: block}
			}
			c.cut()
			b.Rows = append(b.Rows, c)
			return nil
		})
	}
	if err == nil {
		err = done()
	}
	if err != nil {
		return fmt.Errorf("read changes of pack %s: %w", site.PackHour(hour), err)
	}
	return nil
}
