package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tollbook/site/postgres/rows"
)

// DamagedService is a service with a row that cannot be read.
type DamagedService struct {
	ID         int64
	Slug, Name string
	Err        error // says which table was read, and what is wrong
}

// DamagedServices is an error: some services cannot be read. The facts of all others were read.
type DamagedServices []DamagedService

func (d DamagedServices) Error() string {
	texts := make([]string, len(d))
	for i, s := range d {
		texts[i] = s.Slug + ": " + s.Err.Error()
	}
	return fmt.Sprintf("%d damaged services: %s", len(d), strings.Join(texts, "; "))
}

// Unwrap returns the errors of the services.
func (d DamagedServices) Unwrap() []error {
	list := make([]error, len(d))
	for i, s := range d {
		list[i] = s.Err
	}
	return list
}

// Isolate calls read for all services. If that fails because of what is stored, it calls read for each half of them,
// and so on, until it has found the damaged services. Their facts are as before. It returns a DamagedServices error for
// them, and any other error at once. read gets services[from:to].
func (r *Reader) Isolate(ctx context.Context, services []ServiceFacts, read func(from, to int) error) error {
	var damaged DamagedServices
	var isolate func(from, to int) error
	isolate = func(from, to int) error {
		if from == to {
			return nil
		}
		before := slices.Clone(services[from:to])
		err := r.attempt(ctx, func() error { return read(from, to) })
		if err == nil || !r.isDamage(ctx, err) {
			return err
		}
		copy(services[from:to], before)
		if to-from == 1 {
			s := &services[from].Service
			damaged = append(damaged, DamagedService{s.ID, s.Slug, s.Name, err})
			return nil
		}
		middle := (from + to) / 2
		if err := isolate(from, middle); err != nil {
			return err
		}
		return isolate(middle, to)
	}
	if err := isolate(0, len(services)); err != nil {
		return err
	}
	if len(damaged) > 0 {
		return damaged
	}
	return nil
}

// isolate is Isolate for a read that needs no places.
func (r *Reader) isolate(ctx context.Context, services []ServiceFacts, read func([]ServiceFacts) error) error {
	return r.Isolate(ctx, services, func(from, to int) error { return read(services[from:to]) })
}

// attempt calls read within a savepoint, because a statement that fails would end the transaction. It returns a panic
// as an error.
func (r *Reader) attempt(ctx context.Context, read func() error) error {
	if _, err := r.tx.Exec(ctx, `SAVEPOINT attempt`); err != nil {
		return fmt.Errorf("set savepoint: %w", err)
	}
	end := `RELEASE SAVEPOINT attempt`
	err := func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("read facts: panic: %v", v)
			}
		}()
		return read()
	}()
	if err != nil {
		end = `ROLLBACK TO SAVEPOINT attempt`
	}
	if _, failed := r.tx.Exec(ctx, end); failed != nil && err == nil {
		return fmt.Errorf("release savepoint: %w", failed)
	}
	return err
}

// isDamage reports whether an error may come from a stored value: the server still answers, and has not reported that
// it is short of anything or shuts down.
func (r *Reader) isDamage(ctx context.Context, err error) bool {
	if ctx.Err() != nil || r.tx.Conn().IsClosed() {
		return false
	}
	return MayBeDamage(err)
}

// MayBeDamage reports whether an error may come from a stored value: no file, disk, connection or server was at fault.
func MayBeDamage(err error) bool {
	var of *pgconn.PgError
	if errors.As(err, &of) {
		return !slices.Contains([]string{"08", "25", "40", "53", "57", "58"}, of.Code[:min(2, len(of.Code))])
	}
	var net net.Error
	return !errors.As(err, new(syscall.Errno)) && !errors.As(err, new(*fs.PathError)) && !errors.As(err, &net) &&
		!errors.As(err, new(*pgconn.ConnectError))
}

// readServices reads the rows of all services, by slug. A damaged service has its ID, slug and name alone.
func (r *Reader) readServices(ctx context.Context) ([]ServiceFacts, error) {
	var list []ServiceFacts
	var s Service
	err := rows.Each(ctx, r.tx, `
		SELECT id, slug, name FROM services WHERE listing_state <> 'hidden' ORDER BY slug`,
		[]any{&s.ID, &s.Slug, &s.Name},
		func() { list = append(list, ServiceFacts{Service: s}) })
	if err != nil {
		return nil, fmt.Errorf("read services: %w", err)
	}
	return list, r.isolate(ctx, list, func(part []ServiceFacts) error {
		ids, by := make([]int64, len(part)), make(map[int64]*ServiceFacts, len(part))
		for i := range part {
			ids[i], by[part[i].ID] = part[i].ID, &part[i]
		}
		stored, err := services(ctx, r.tx, `SELECT `+serviceColumns+` FROM `+serviceRows+` WHERE id = ANY($1)`, ids)
		if err != nil {
			return err
		}
		for _, s := range stored {
			by[s.ID].Service = s
		}
		if len(stored) < len(part) {
			return errors.New("read services: no row in service_states")
		}
		return nil
	})
}

// Damage is a stored value that no program can have meant: a time before 1970 or after 9999, or a number that is none
// or has more than 78 digits, which no amount has.
type Damage struct {
	Table string
	Key   string // the row's primary key, as in "service_id 7, day 2026-11-20"
	Value string // as in "last_at is infinity"
}

func (d Damage) String() string { return d.Table + " (" + d.Key + "): " + d.Value }

// FindDamage limits.
const (
	damageTime    = 20 * time.Second // of the search
	damagePerScan = 3                // rows of one table
)

// FindDamage returns rows with such values, to tell an operator which row of a table makes a build fail. It looks only
// for a while, and ignores errors: another error is being reported.
func (db *DB) FindDamage(ctx context.Context) (list []Damage) {
	ctx, cancel := context.WithTimeout(ctx, damageTime)
	defer cancel()
	// Columns that may be infinite have that as their default, such as -infinity before the first check: a default is no
	// damage. Settlements are many, and no build reads them.
	var table, values string
	var keys []string
	var scans []func()
	err := rows.Each(ctx, db.pool, `
		SELECT c.relname,
			coalesce((SELECT array_agg(k.attname::text) FROM pg_index i JOIN pg_attribute k ON k.attrelid = c.oid
				AND k.attnum = ANY(i.indkey) WHERE i.indrelid = c.oid AND i.indisprimary), '{}'),
			string_agg(format(CASE WHEN a.atttypid = 'numeric'::regtype
				THEN 'CASE WHEN (x.%1$I::text IN (''NaN'', ''Infinity'', ''-Infinity'') OR abs(x.%1$I) >= 1e78)'
				ELSE 'CASE WHEN x.%1$I NOT BETWEEN ''1970-01-01'' AND ''9999-12-31''' END
				|| coalesce(' AND x.%1$I IS DISTINCT FROM (' || replace(pg_get_expr(d.adbin, d.adrelid), '%', '%%') || ')', '')
				|| ' THEN ''%1$s is '' || left(x.%1$I::text, 80) END', a.attname), ', ')
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
			LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname NOT LIKE 'river%'
			AND c.relname <> 'settlements'
			AND a.atttypid = ANY(ARRAY['timestamptz', 'date', 'numeric']::regtype[])
		GROUP BY c.oid, c.relname ORDER BY c.relname`, []any{&table, &keys, &values}, func() {
		table, keys, values := table, slices.Clone(keys), values
		scans = append(scans, func() {
			d := Damage{Table: table}
			_ = rows.Each(ctx, db.pool, `
				SELECT key, value FROM (
					SELECT (SELECT string_agg(k.key || ' ' || k.value, ', ') FROM jsonb_each_text(to_jsonb(x)) AS k
						WHERE k.key = ANY($1)) AS key, concat_ws(', ', `+values+`) AS value
					FROM `+pgx.Identifier{table}.Sanitize()+` AS x
					WHERE concat_ws('', `+values+`) <> '' LIMIT $2
				) AS y`, []any{&d.Key, &d.Value}, func() { list = append(list, d) }, keys, damagePerScan)
		})
	})
	if err != nil {
		return nil
	}
	for _, scan := range scans {
		scan()
	}
	return list
}
