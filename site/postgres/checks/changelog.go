package checks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site"
)

// sealChanges numbers the records before upTo that have no number yet, in every log that contains them. A block belongs
// to the pack of the hour of its last row. If its records are older than the sealed hours, which happens when numbering
// starts, it belongs to the first hour sealed now, whose pack is not written yet.
func sealChanges(ctx context.Context, tx pgx.Tx, through, upTo time.Time) error {
	_, err := tx.Exec(ctx, `
		WITH fresh AS (
			SELECT c.id, c.observed_at, l.service_id, l.type
			FROM changes c, LATERAL (VALUES (0::bigint, ''), (0, c.type), (c.service_id, ''),
				(c.service_id, c.type)) AS l (service_id, type)
			WHERE c.number IS NULL AND c.observed_at < $2
		), numbered AS (
			SELECT f.*, coalesce(p.rows, 0) - 1 + row_number() OVER (PARTITION BY f.service_id, f.type
				ORDER BY f.observed_at, f.id) AS number
			FROM fresh f LEFT JOIN change_positions p USING (service_id, type)
		), entered AS (
			INSERT INTO change_log (service_id, type, number, change_id) SELECT service_id, type, number, id
				FROM numbered
		), named AS (
			UPDATE changes c SET number = n.number FROM numbered n WHERE n.id = c.id AND n.service_id = 0
				AND n.type = ''
		), filled AS (
			INSERT INTO change_blocks (service_id, type, block, hour)
			SELECT service_id, type, number / $3, greatest(date_trunc('hour', observed_at), $1) FROM numbered
				WHERE number % $3 = $3 - 1
		), begun AS (
			INSERT INTO change_days (service_id, type, day, first)
			SELECT service_id, type, observed_at::date, min(number) FROM numbered GROUP BY 1, 2, 3
			ON CONFLICT DO NOTHING
		)
		INSERT INTO change_positions (service_id, type, rows)
		SELECT service_id, type, max(number) + 1 FROM numbered GROUP BY 1, 2
		ON CONFLICT (service_id, type) DO UPDATE SET rows = excluded.rows`, through, upTo, int64(site.BlockSize))
	if err != nil {
		return fmt.Errorf("number changes: %w", err)
	}
	return nil
}

// ChangeLogFacts is what a build needs of one log of change records. Numbers start at 0, and rows are never deleted.
type ChangeLogFacts struct {
	Type   string      // "" for all types
	From   int64       // number of the oldest row in Facts.Changes; later rows follow without a gap
	Sealed int64       // number of the first row after the sealed hours
	Next   int64       // number of the next row
	Blocks []LogBlock  // filled in sealed hours, ascending
	Days   []ChangeDay // UTC days of the last site.ChangeDays that have rows, oldest first
}

// ChangeDay says where a UTC day starts in a log.
type ChangeDay struct {
	Day   time.Time
	First int64 // number of its first row
}

// changeTail is how many of the newest rows of each log are read at least. The feeds need that many.
const changeTail = site.FeedEntries

// changeLogs finds the facts of a log while it is read.
type changeLogs map[changeLogKey]*ChangeLogFacts

type changeLogKey struct {
	service int64 // 0 for all
	kind    string
}

func (l changeLogs) of(service int64, kind string) *ChangeLogFacts {
	k := changeLogKey{service, kind}
	if l[k] == nil {
		l[k] = &ChangeLogFacts{Type: kind}
	}
	return l[k]
}

// open adds a record without a number to the log of a service, or of all services, and to the log of its type.
func (l changeLogs) open(of int64, c Change) {
	day := c.ObservedAt.UTC().Truncate(24 * time.Hour)
	for _, f := range []*ChangeLogFacts{l.of(of, ""), l.of(of, c.Type)} {
		if n := len(f.Days); n == 0 || f.Days[n-1].Day.Before(day) {
			f.Days = append(f.Days, ChangeDay{day, f.Next})
		}
		f.Next++
	}
}

// readChangeLogs reads the logs of all services, with the rows of their open blocks and newest windows.
func (r *LogReader) readChangeLogs(ctx context.Context, now, cutoff time.Time, f *DirectoryFacts) (err error) {
	logs := changeLogs{}
	f.Changes, err = r.readChangeRows(ctx, now, cutoff, []int64{0}, logs)
	for _, l := range logs {
		f.ChangeLogs = append(f.ChangeLogs, *l)
	}
	sortChangeLogs(f.ChangeLogs)
	return err
}

// readServiceChangeLogs reads the logs of single services in the same way.
func (r *LogReader) readServiceChangeLogs(ctx context.Context, now, cutoff time.Time, at *Index) error {
	logs := changeLogs{}
	rows, err := r.readChangeRows(ctx, now, cutoff, at.ids, logs)
	if err != nil {
		return err
	}
	for _, c := range rows {
		at.services[c.ServiceID].Records = append(at.services[c.ServiceID].Records, c)
	}
	for k, l := range logs {
		at.services[k.service].ChangeLogs = append(at.services[k.service].ChangeLogs, *l)
	}
	for _, s := range at.services {
		sortChangeLogs(s.ChangeLogs)
	}
	return nil
}

// readChangeRows reads the logs of services, 0 being the log of all, with rows before cutoff. It returns the rows that
// the logs need, oldest first.
func (r *LogReader) readChangeRows(ctx context.Context, now, cutoff time.Time, ids []int64, logs changeLogs) ([]Change,
	error) {
	if err := r.readChangePositions(ctx, now, ids, logs); err != nil {
		return nil, err
	}
	var changes []Change
	var number *int64
	var c Change
	columns := c.scan()
	if ids[0] == 0 {
		columns = c.scanAny()
	}
	err := r.each(ctx, `
		SELECT number, service_id, type, observed_at, summary, old_snapshot, new_snapshot FROM changes JOIN (
			SELECT id FROM changes WHERE number IS NULL AND observed_at < $1 AND (0 = ANY($4) OR service_id = ANY($4))
			UNION SELECT change_id FROM change_positions p JOIN change_log l
			ON l.service_id = p.service_id AND l.type = p.type
				AND l.number >= least(p.rows / $2 * $2, greatest(p.rows, 0) - $3)
			WHERE p.service_id = ANY($4)
		) wanted USING (id)
		ORDER BY number NULLS LAST, observed_at, id`, append([]any{&number}, columns...),
		func() {
			c.cut()
			changes = append(changes, c)
			if number == nil {
				of := c.ServiceID
				if ids[0] == 0 {
					of = 0
				}
				logs.open(of, c)
			}
		}, cutoff, int64(site.BlockSize), int64(changeTail), ids)
	if err != nil {
		return nil, err
	}
	for _, l := range logs {
		l.From = max(0, min(l.Sealed/site.BlockSize*site.BlockSize, l.Sealed-changeTail))
	}
	return changes, nil
}

// sortChangeLogs sorts the log of all types first, then the others in the order of site.ChangeTypes.
func sortChangeLogs(logs []ChangeLogFacts) {
	slices.SortFunc(logs, func(a, b ChangeLogFacts) int {
		return slices.Index(site.ChangeTypes, a.Type) - slices.Index(site.ChangeTypes, b.Type)
	})
}

// readChangePositions sets Sealed, Next, Blocks and Days as of the sealed hours.
func (r *LogReader) readChangePositions(ctx context.Context, now time.Time, ids []int64, logs changeLogs) error {
	var id, n int64
	var kind string
	var t time.Time
	err := r.each(ctx, `SELECT service_id, type, rows FROM change_positions WHERE service_id = ANY($1)`,
		[]any{&id, &kind, &n}, func() {
			l := logs.of(id, kind)
			l.Sealed, l.Next = n, n
		}, ids)
	if err != nil {
		return err
	}
	err = r.each(ctx,
		`SELECT service_id, type, block, hour FROM change_blocks WHERE service_id = ANY($1) ORDER BY service_id, type,
			block`,
		[]any{&id, &kind, &n, &t}, func() {
			l := logs.of(id, kind)
			l.Blocks = append(l.Blocks, LogBlock{n, t})
		}, ids)
	if err != nil {
		return err
	}
	oldest := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-site.ChangeDays)
	return r.each(ctx,
		`SELECT service_id, type, day::timestamptz, first FROM change_days WHERE service_id = ANY($1) AND day >= $2
			ORDER BY service_id, type, day`,
		[]any{&id, &kind, &t, &n}, func() {
			l := logs.of(id, kind)
			l.Days = append(l.Days, ChangeDay{t, n})
		}, ids, oldest)
}
