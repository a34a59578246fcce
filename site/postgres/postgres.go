// Package postgres stores the directory in Postgres: connection pool, migrations, services, sites, submissions, jobs,
// and the build's consistent read. All SQL of the program is in this folder.
//
// It owns the tables that its rooms checks and ledger do not own. It must never judge: status, grades and shares are
// the builder's. Folder private runs Tollbook's own server if no DATABASE_URL names one.
package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"

	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/ledger"
)

// ErrNewerSchema says that a newer Tollbook migrated the database. This program must not write to it.
var ErrNewerSchema = errors.New("the database has a newer schema than this program knows")

// ErrOlderSchema says that a Tollbook from before the baseline migration made the database. It is left unchanged.
var ErrOlderSchema = errors.New(
	"the database was made by an older tollbook and cannot be read: run `tollbook export` with that program, " +
		"then `tollbook import` with this one into an empty database or data folder")

// ErrNotFound says that a row does not exist.
var ErrNotFound = ledger.ErrNotFound

//go:embed migrations/*.sql
var migrations embed.FS

// DB is a migrated database.
type DB struct {
	*checks.Store
	*ledger.DB
	pool *pgxpool.Pool
}

// Open connects and migrates. If two programs open one database at once, the second waits for the first.
func Open(ctx context.Context, dsn string) (*DB, error) { return OpenFor(ctx, dsn, 0) }

// OpenFor opens a database for a program that uses up to so many connections at once, some of them for long.
func OpenFor(ctx context.Context, dsn string, connections int32) (*DB, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// pgx redacts the password in its own errors, but not in a string that it cannot parse
		return nil, errors.New("read the database's connection string: it is not a Postgres URL or keyword string")
	}
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	config.ConnConfig.RuntimeParams["application_name"] = "tollbook"
	config.MaxConns = max(config.MaxConns, connections)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := Migrate(ctx, pool); err != nil {
		pool.Close()
		return nil, err
	}
	return &DB{checks.New(pool), ledger.New(pool), pool}, nil
}

// Close waits for queries in flight and closes every connection.
func (db *DB) Close() { db.pool.Close() }

// Migrate brings a database to the newest schema. It returns ErrNewerSchema or ErrOlderSchema, and changes nothing, if
// it cannot.
func Migrate(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Release()
	if err := MigrateTo(ctx, conn.Conn(), -1); err != nil {
		return err
	}
	return migrateJobs(ctx, pool, conn.Conn())
}

// MigrateTo brings a database up or down to a version of the schema; -1 is the newest.
func MigrateTo(ctx context.Context, conn *pgx.Conn, version int32) error {
	if older, err := isOlder(ctx, conn); err != nil {
		return err
	} else if older {
		return ErrOlderSchema
	}
	m, err := migrate.NewMigrator(ctx, conn, versionTable)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	sub, _ := fs.Sub(migrations, "migrations") // the embedded folder exists
	if err := m.LoadMigrations(sub); err != nil {
		return fmt.Errorf("load migrations: %w", err)
	}
	have, err := m.GetCurrentVersion(ctx)
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	newest := int32(len(m.Migrations))
	if have > newest {
		return fmt.Errorf("%w (it has version %d, this program %d): use a newer tollbook", ErrNewerSchema, have, newest)
	}
	if version < 0 {
		version = newest
	}
	if err := m.MigrateTo(ctx, version); err != nil {
		return fmt.Errorf("migrate database: %w", err)
	}
	return nil
}

// versionTable contains the version of the schema. Programs from before the baseline had schema_version.
const versionTable = "tollbook_schema"

// isOlder reports whether a program from before the baseline made the tables of a database.
func isOlder(ctx context.Context, conn *pgx.Conn) (older bool, err error) {
	err = conn.QueryRow(ctx, `SELECT to_regclass('schema_version') IS NOT NULL AND to_regclass($1) IS NULL`,
		versionTable).Scan(&older)
	if err != nil {
		return false, fmt.Errorf("look for an older schema: %w", err)
	}
	return older, nil
}

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
