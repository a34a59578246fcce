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
	newest, err := r.newest(ctx, sealed, keptSince, time.Minute, f.Log.tailRows())
	if err != nil {
		return err
	}
	n := min(len(newest.rows), int(f.Log.tailRows()))
	if f.Log.Tail, err = newest.unpack(len(newest.rows)-n, n, len(open)); err != nil {
		return err
	}
	for _, c := range open {
		if c.CheckedAt.Before(cutoff) {
			f.Log.Tail = append(f.Log.Tail, c)
		}
	}
	recent := f.Log.Tail[n:]
	slices.SortFunc(recent, compareRows)
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
	open, err := r.openChecks(ctx, sealed)
	if err != nil {
		return err
	}
	windows := windowsOf(now)
	if err := r.readSealed(ctx, windows, sealed, open, at); err != nil {
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
			s.addDay(windows, d)
		}
	}
	return nil
}

// readSealed reads of the sealed hours of services what their logs need, leaves room for their open checks behind it, and adds up those
// of the day that is open. What is sealed is in the log, also where a clock was put back since.
func (r *Reader) readSealed(ctx context.Context, windows dayWindows, sealed time.Time, open []Check, at *places) error {
	today := sealed.UTC().Truncate(24 * time.Hour)
	since := make([]time.Time, len(at.ids))
	for i, id := range at.ids {
		if since[i] = at.services[id].Log.tailSince(); today.Before(since[i]) {
			since[i] = today
		}
	}
	u := unpacker{once{}}
	var tail []Check
	var days []Rollup
	var of int64
	keep := func() {
		if len(tail) > 0 {
			l := &at.services[of].Log
			tail = tail[max(0, len(tail)-int(l.tailRows())):]
			l.Tail = append(make([]Check, 0, len(tail)+len(openOf(open, of))), tail...)
			tail = tail[:0]
		}
		for _, d := range days {
			at.services[of].addDay(windows, d)
		}
		days = days[:0]
	}
	err := servicePacks(ctx, r.tx, servicesSince, func(p *checkPack) error {
		if p.service != of {
			keep()
			of = p.service
		}
		if !p.hour.Before(today) {
			days = dayRollups.addPack(days, p)
		}
		return u.each(p, func(c Check) { tail = append(tail, c) })
	}, at.ids, since, sealed)
	keep()
	return err
}

// servicesSince chooses the packs of services, each since its own hour, before an hour: of one service after another, by hour.
const servicesSince = `
	SELECT p.service_id, p.hour, p.checks, p.texts FROM unnest($1::bigint[], $2::timestamptz[]) u (service, since), LATERAL (
		SELECT * FROM check_packs WHERE service_id = u.service AND hour >= u.since AND hour < $3 ORDER BY hour OFFSET 0
	) p`

// tailRows is how many of the newest rows of sealed hours a log needs.
func (l *LogFacts) tailRows() int64 { return max(l.Sealed%site.BlockSize, tailRows) }

// tailSince is an hour before which there is none of these rows: the last row of the block before the last full one is not among
// them. It is zero where none is told of.
func (l *LogFacts) tailSince() time.Time {
	if n := len(l.Blocks); n > 1 {
		return l.Blocks[n-2].Hour
	}
	return time.Time{}
}

// openChecks are the checks of hours that are not sealed, by service, read once.
func (r *Reader) openChecks(ctx context.Context, sealed time.Time) ([]Check, error) {
	if r.open == nil && !sealed.IsZero() {
		var open []Check
		u := unpacker{once{}}
		err := batches(ctx, r.tx, `WHERE hour >= $1`, func(p *checkPack) error {
			return u.each(p, func(c Check) { open = append(open, c) })
		}, sealed)
		if err != nil {
			return nil, fmt.Errorf("read checks: %w", err)
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
	places := logPlaces{}
	if err := places.read(ctx, r.tx, ids); err != nil {
		return err
	}
	for _, id := range ids {
		l := log(id)
		l.Sealed = *places.of(id)
		l.Next = l.Sealed
	}
	var id int64
	var b LogBlock
	return r.each(ctx, `SELECT service_id, block, hour FROM log_blocks WHERE service_id = ANY($1) AND hour >= $2 ORDER BY service_id, block`,
		[]any{&id, &b.Block, &b.Hour}, func() { log(id).Blocks = append(log(id).Blocks, b) }, ids, keptSince)
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
	wanted := (last-first+1)*site.BlockSize + after
	newest, err := r.newest(ctx, hour.Add(time.Hour), keptSince, 61*time.Minute, wanted) // the hour, and some rows of the one before
	if err != nil {
		return err
	}
	oldest := (last+1)*site.BlockSize + after - int64(len(newest.rows)) // number of newest.rows[0]
	for block := first; block <= last; block++ {
		from := max(block*site.BlockSize, oldest)
		if end := (block + 1) * site.BlockSize; from < end {
			rows, err := newest.unpack(int(from-oldest), int(end-from), 0)
			if err != nil {
				return err
			}
			if err := do(PackBlock{Block: block, First: from, Rows: rows}); err != nil {
				return err
			}
		}
	}
	return nil
}

// serviceBlocks reads the hour's blocks of the services' own logs.
func (r *Reader) serviceBlocks(ctx context.Context, hour time.Time, do func(PackBlock) error) error {
	type placed struct {
		block int64
		after int // rows of the hour after it
	}
	blocks := map[int64][]placed{}
	var ids []int64
	var since []time.Time // hour of the last row of the block before, where it is kept
	var service int64
	var f placed
	var before *time.Time
	err := r.each(ctx, `
		SELECT b.service_id, b.block, b.rows_after, before.hour FROM log_blocks b
		LEFT JOIN log_blocks before ON before.service_id = b.service_id AND before.block = b.block - 1
		WHERE b.hour = $1 AND b.service_id <> 0 ORDER BY b.service_id, b.block`,
		[]any{&service, &f.block, &f.after, &before}, func() {
			if before == nil {
				before = new(time.Time)
			}
			if blocks[service] == nil {
				ids, since = append(ids, service), append(since, *before)
			}
			blocks[service] = append(blocks[service], f)
		}, hour)
	if err != nil {
		return err
	}
	u := unpacker{once{}}
	var rows []Check // of one service
	done := func() error {
		for _, f := range blocks[service] {
			end := len(rows) - f.after
			if end <= 0 {
				continue
			}
			of := slices.Clone(rows[max(0, end-site.BlockSize):end])
			if err := do(PackBlock{ServiceID: service, Block: f.block, First: (f.block+1)*site.BlockSize - int64(len(of)), Rows: of}); err != nil {
				return err
			}
		}
		rows = rows[:0]
		return nil
	}
	service = 0
	err = servicePacks(ctx, r.tx, servicesSince, func(p *checkPack) error {
		if p.service != service {
			if err := done(); err != nil {
				return err
			}
			service = p.service
		}
		return u.each(p, func(c Check) { rows = append(rows, c) })
	}, ids, since, hour.Add(time.Hour))
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
