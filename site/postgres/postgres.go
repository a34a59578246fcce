// Package postgres stores the directory in Postgres: connection pool, services, sites, jobs, and
// the build's consistent read. All SQL of the program is in this folder.
//
// It owns the tables that its subpackages assessments, checks, consent, inbox, ledger, polls and sources do not own.
// It must never judge: status, grades and shares are the builder's. Folder private runs Tollbook's own server if no
// DATABASE_URL names one.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/consent"
	"tollbook/site/postgres/inbox"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/migration"
	"tollbook/site/postgres/polls"
	"tollbook/site/postgres/sources"
)

// ErrNotFound says that a row does not exist.
var ErrNotFound = ledger.ErrNotFound

// DB is a migrated database.
type DB struct {
	*checks.Store
	*consent.Permissions
	*inbox.Inbox
	*ledger.DB
	*polls.Tables
	Sources     *sources.Store
	Assessments *checks.AssessmentStore
	pool        *pgxpool.Pool
}

// Options are the settings of Open.
type Options struct {
	Connections int32        // that the program uses at once, some of them for long; 0 is the default
	Program     string       // version of the program, which is stored with the schema; "" stores none
	Say         func(string) // called with a line before each migration; nil for none
}

// Open connects and migrates. If two programs open one database at once, the second waits for the first.
func Open(ctx context.Context, dsn string) (*DB, error) { return OpenFor(ctx, dsn, Options{}) }

// OpenFor opens a database for a program with other needs than the default ones.
func OpenFor(ctx context.Context, dsn string, o Options) (*DB, error) {
	pool, err := newPool(ctx, dsn, applicationName, o)
	if err != nil {
		return nil, err
	}
	if err := migration.Migrate(ctx, pool, migration.Options{Program: o.Program, Say: o.Say}); err != nil {
		pool.Close()
		return nil, err
	}
	db := &DB{checks.New(pool), consent.New(pool), inbox.New(pool), ledger.New(pool), polls.New(pool),
		sources.New(pool), checks.NewAssessments(pool), pool}
	if err := db.normalizeHosts(ctx, time.Now()); err != nil {
		pool.Close()
		return nil, err
	}
	return db, nil
}

// applicationName names the program's connections in pg_stat_activity.
const applicationName = "tollbook"

// newPool connects to a database. It returns ErrPooling for one that cannot keep what belongs to a connection.
func newPool(ctx context.Context, dsn, name string, o Options) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// pgx redacts the password in its own errors, but not in a string that it cannot parse
		return nil, errors.New("read the database's connection string: it is not a Postgres URL or keyword string")
	}
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.ConnConfig.RuntimeParams["application_name"] = name
	config.MaxConns = max(config.MaxConns, o.Connections)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	conn, err := pool.Acquire(ctx)
	if err == nil {
		err = checkPooling(ctx, conn.Conn(), config.ConnConfig)
		conn.Release()
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return pool, nil
}

// PlanMigration returns what Open would do to a database, and changes nothing. It returns
// migration.ErrNewerSchema or ErrOlderSchema if Migrate would.
func PlanMigration(ctx context.Context, dsn string) (migration.Plan, error) {
	pool, err := newPool(ctx, dsn, "tollbook migrate", Options{})
	if err != nil {
		return migration.Plan{}, err
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return migration.Plan{}, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Release()
	p, err := migration.ReadPlan(ctx, pool, conn.Conn())
	if err != nil {
		return p, err
	}
	if err := conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = $1)`, applicationName).
		Scan(&p.InUse); err != nil {
		return p, fmt.Errorf("look for other programs: %w", err)
	}
	return p, nil
}

// Reset closes every connection that is not in use, and each other one after its use. It is for a server that has ended
// and runs again.
func (db *DB) Reset() { db.pool.Reset() }

// Close waits for queries in flight and closes every connection.
func (db *DB) Close() { db.pool.Close() }

// Transact runs f in one transaction; an error rolls all of it back.
func (db *DB) Transact(ctx context.Context, f func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db.pool, f)
}

// violatedConstraint returns the constraint of a unique violation, "" for any other error.
func violatedConstraint(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "23505" {
		return e.ConstraintName
	}
	return ""
}

// Setting returns a setting of the directory itself, "" if it was never set.
func (db *DB) Setting(ctx context.Context, name string) (string, error) {
	var v string
	err := db.pool.QueryRow(ctx, `SELECT value FROM settings WHERE name = $1`, name).Scan(&v)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read setting %s: %w", name, err)
	}
	return v, nil
}

// SetSetting stores a setting of the directory itself.
func (db *DB) SetSetting(ctx context.Context, name, value string) error {
	_, err := db.pool.Exec(ctx,
		`INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		name, value)
	if err != nil {
		return fmt.Errorf("store setting %s: %w", name, err)
	}
	return nil
}
