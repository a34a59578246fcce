package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/site/postgres/migration"
)

// Condition describes a database to an operator.
type Condition struct {
	Server       string // its version: "16.4"
	Schema       int32  // version of the schema, 0 where there is none yet
	UseProgram   string // what to do if the schema is newer than NewestSchema
	NewestSchema int32  // newest version that this program knows
	Bytes        int64
	Sample       bool          // it contains a demo
	Identity     string        // as DB.Identity; "" with a schema from before it
	ClockAhead   time.Duration // of the server's clock relative to ours
	WriteError   error         // why nothing can be written; nil if writing works
	Overdue      int           // services whose visit was due more than OverdueAfter ago
	OldestDue    *time.Time    // when the first of them was due; nil without one
}

// OverdueAfter is how long after it was due a visit is overdue: four times the time between two visits.
const OverdueAfter = time.Hour

// Inspect reads the condition of a database without changing it: it migrates nothing, and rolls back the row that it
// writes as a test.
func Inspect(ctx context.Context, dsn string) (c Condition, err error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return c, errors.New("read the database's connection string: it is not a Postgres URL or keyword string")
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return c, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := checkPooling(ctx, conn, config); err != nil {
		return c, err
	}
	var program string
	if c.Schema, program, err = migration.ReadSchema(ctx, conn); err != nil {
		return c, err
	}
	c.UseProgram = migration.AdviseProgram(program)
	c.NewestSchema = migration.NewestSchema()
	var clock time.Time
	began := time.Now()
	err = conn.QueryRow(ctx, `
		SELECT split_part(current_setting('server_version'), ' ', 1), clock_timestamp(),
			pg_database_size(current_database())`).Scan(&c.Server, &clock, &c.Bytes)
	if err != nil {
		return c, fmt.Errorf("read the server's version: %w", err)
	}
	c.ClockAhead = clock.Sub(began.Add(time.Since(began) / 2))
	if c.Schema > 0 {
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM settings WHERE name = 'source' AND value <> '')`).
			Scan(&c.Sample); err != nil {
			return c, fmt.Errorf("read settings: %w", err)
		}
	}
	if c.Schema >= identitySchema {
		if c.Identity, err = readIdentity(ctx, conn); err != nil {
			return c, err
		}
		if err := conn.QueryRow(ctx, `SELECT count(*), min(next_check_at) FROM service_states WHERE next_check_at < $1`,
			clock.Add(-OverdueAfter)).Scan(&c.Overdue, &c.OldestDue); err != nil {
			return c, fmt.Errorf("count overdue visits: %w", err)
		}
	}
	c.WriteError = tryWrite(ctx, conn, c.Schema > 0)
	return c, ctx.Err()
}

// tryWrite writes a row, or creates a table if there is no schema, and rolls it back.
func tryWrite(ctx context.Context, conn *pgx.Conn, migrated bool) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx))
	if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '2s'`); err != nil {
		return err
	}
	if migrated {
		_, err = tx.Exec(ctx,
			`INSERT INTO settings (name, value) VALUES ('doctor', '') ON CONFLICT (name) DO UPDATE SET value = ''`)
	} else {
		_, err = tx.Exec(ctx, `CREATE TABLE doctor (one integer)`)
	}
	return err
}

// Size returns the size of the database in bytes.
func (db *DB) Size(ctx context.Context) (n int64, err error) {
	if err := db.pool.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&n); err != nil {
		return 0, fmt.Errorf("read the size of the database: %w", err)
	}
	return n, nil
}
