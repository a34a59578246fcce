// Package migration owns the versions of the database's schema: it plans and runs the migrations to the newest one, of
// our tables and of River's. It must never know what a table means.
package migration

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// ErrNewerSchema says that a newer Tollbook migrated the database. This program must not write to it.
var ErrNewerSchema = errors.New("the database has a newer schema than this program knows")

// ErrOlderSchema says that a Tollbook from before the baseline migration made the database. It is left unchanged.
var ErrOlderSchema = errors.New(
	"the database was made by an older tollbook and cannot be read: run `tollbook export` with that program, " +
		"then `tollbook import` with this one into an empty database or data folder")

//go:embed *.sql
var migrations embed.FS

// versionTable contains the version of the schema, and from schema 3 on the version of the program that migrated it.
// Programs from before the baseline had schema_version.
const versionTable = "tollbook_schema"

// Step is a migration: one step from a schema to the next.
type Step struct {
	Name string `json:"name"` // its file without .sql, or "jobs" for the tables of River
	Text string `json:"text"` // what it does, in lines; the first comment of its file
}

// Plan says what Migrate does to a database.
type Plan struct {
	Schema     int32  `json:"schema"`  // version of the database's schema; 0 if it is empty
	Program    string `json:"program"` // version of the Tollbook that migrated it; "" if that was not recorded
	Newest     int32  `json:"newest"`  // version that this program needs
	Migrations []Step `json:"migrations"`
	InUse      bool   `json:"in_use"` // whether another program of Tollbook is connected
}

// NewPlan returns the plan for an empty database.
func NewPlan() (Plan, error) {
	p := Plan{Migrations: []Step{}}
	return p, p.addMigrations()
}

// ReadPlan returns what Migrate would do to a database, and changes nothing. It returns ErrNewerSchema or
// ErrOlderSchema if Migrate would.
func ReadPlan(ctx context.Context, pool *pgxpool.Pool, conn *pgx.Conn) (Plan, error) {
	p := Plan{Migrations: []Step{}}
	var err error
	if p.Schema, p.Program, err = ReadSchema(ctx, conn); err != nil {
		return p, err
	}
	if err := p.addMigrations(); err != nil {
		return p, err
	}
	if p.Schema > p.Newest {
		return p, newerSchema("schema", int(p.Schema), int(p.Newest), p.Program)
	}
	_, have, newest, err := jobVersions(ctx, pool)
	if err != nil {
		return p, err
	}
	if have > newest {
		return p, newerSchema("job tables", have, newest, p.Program)
	}
	if have < newest {
		p.Migrations = append(p.Migrations, Step{"jobs",
			fmt.Sprintf("The tables of River, the queue of jobs, from version %d to %d.", have, newest)})
	}
	return p, nil
}

// addMigrations sets the newest schema, and adds the migrations that lead to it.
func (p *Plan) addMigrations() error {
	files, err := fs.Glob(migrations, "*.sql") // sorted
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	p.Newest = int32(len(files))
	for _, file := range files[min(int(p.Schema), len(files)):] {
		text, err := migrations.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a migration: %w", err)
		}
		name := strings.TrimSuffix(file, ".sql")
		p.Migrations = append(p.Migrations, Step{name, firstComment(string(text))})
	}
	return nil
}

// firstComment returns the lines of the comment that a file begins with.
func firstComment(sql string) string {
	var lines []string
	for line := range strings.Lines(sql) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "--")
		if !ok {
			break
		}
		lines = append(lines, strings.TrimPrefix(text, " "))
	}
	return strings.Join(lines, "\n")
}

// newerSchema returns ErrNewerSchema with the program that can read it.
func newerSchema(what string, have, newest int, program string) error {
	return fmt.Errorf("%w (its %s has version %d, this program %d): %s", ErrNewerSchema, what, have, newest,
		AdviseProgram(program))
}

// AdviseProgram says which program to use for a database that a newer program has migrated; "" if it is not recorded.
func AdviseProgram(program string) string {
	if program == "" {
		return "use a newer tollbook"
	}
	return "use tollbook " + program + ", which migrated it, or a newer one"
}

// ReadSchema returns the version of a database's schema, 0 for none, and of the program that migrated it. It returns
// ErrOlderSchema if a program from before the baseline made the tables.
func ReadSchema(ctx context.Context, conn *pgx.Conn) (version int32, program string, err error) {
	var older, migrated bool
	err = conn.QueryRow(ctx, `
		SELECT to_regclass('schema_version') IS NOT NULL AND to_regclass($1) IS NULL, to_regclass($1) IS NOT NULL`,
		versionTable).Scan(&older, &migrated)
	if err == nil && migrated {
		err = conn.QueryRow(ctx, `SELECT version, coalesce(to_jsonb(s) ->> 'program', '') FROM `+versionTable+` s`).
			Scan(&version, &program)
	}
	if err != nil {
		return 0, "", fmt.Errorf("read the version of the schema: %w", err)
	}
	if older {
		return 0, "", ErrOlderSchema
	}
	return version, program, nil
}

// Options are the settings of Migrate.
type Options struct {
	Program string       // version of the program, which is stored with the schema; "" stores none
	Say     func(string) // called with a line before each migration; nil for none
}

// Migrate brings a database to the newest schema, and says each step before it begins. It returns ErrNewerSchema or
// ErrOlderSchema, and changes nothing, if it cannot.
func Migrate(ctx context.Context, pool *pgxpool.Pool, o Options) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Release()
	plan, err := ReadPlan(ctx, pool, conn.Conn())
	if err != nil {
		return err
	}
	if err := migrateTo(ctx, conn.Conn(), -1, plan.announcer(o.Say)); err != nil {
		return err
	}
	if plan.Schema < plan.Newest && o.Program != "" {
		// A crash here leaves no program: a message about a newer schema then names none.
		if _, err := conn.Exec(ctx, `UPDATE `+versionTable+` SET program = $1`, o.Program); err != nil {
			return fmt.Errorf("record the version of this program: %w", err)
		}
	}
	return migrateJobs(ctx, pool, conn.Conn(), plan, o.Say)
}

// announcer returns a function that says which migration begins. The tables of an empty database need no line.
func (p Plan) announcer(say func(string)) func(sequence int32, name, direction, sql string) {
	return func(sequence int32, _, _, _ string) {
		if say != nil && p.Schema > 0 {
			say(p.Migrations[sequence-p.Schema-1].Line())
		}
	}
}

// Line returns a migration as a line of a log.
func (m Step) Line() string {
	return fmt.Sprintf("migrating the database, %s: %s", m.Name, strings.Join(strings.Fields(m.Text), " "))
}

// To brings a database up or down to a version of the schema; -1 is the newest.
func To(ctx context.Context, conn *pgx.Conn, version int32) error {
	return migrateTo(ctx, conn, version, nil)
}

func migrateTo(ctx context.Context, conn *pgx.Conn, version int32,
	onStart func(sequence int32, name, direction, sql string)) error {
	m, err := migrate.NewMigrator(ctx, conn, versionTable)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	m.OnStart = onStart
	if err := m.LoadMigrations(migrations); err != nil {
		return fmt.Errorf("load migrations: %w", err)
	}
	if version < 0 {
		version = int32(len(m.Migrations))
	}
	if err := m.MigrateTo(ctx, version); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// jobVersions returns how many versions of River's schema a database and this program have.
func jobVersions(ctx context.Context, pool *pgxpool.Pool) (m *rivermigrate.Migrator[pgx.Tx], have, newest int,
	err error) {
	m, err = rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, 0, 0, fmt.Errorf("prepare migrations of jobs: %w", err)
	}
	versions, err := m.ExistingVersions(ctx)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("read the schema version of jobs: %w", err)
	}
	return m, len(versions), len(m.AllVersions()), nil
}

// migrateJobs brings the tables of River to River's newest schema.
func migrateJobs(ctx context.Context, pool *pgxpool.Pool, conn *pgx.Conn, plan Plan, say func(string)) error {
	m, have, newest, err := jobVersions(ctx, pool)
	if err != nil || have >= newest {
		return err
	}
	if say != nil && plan.Schema > 0 {
		say(plan.Migrations[len(plan.Migrations)-1].Line())
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('tollbook jobs'))`); err != nil {
		return fmt.Errorf("lock migrations of jobs: %w", err)
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil) // River skips what another process migrated meanwhile
	_, unlock := conn.Exec(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(hashtext('tollbook jobs'))`)
	if err := cmp.Or(err, unlock); err != nil {
		return fmt.Errorf("migrate jobs: %w", err)
	}
	return nil
}

// NewestSchema returns the newest version of the schema that this program knows.
func NewestSchema() int32 {
	files, _ := fs.Glob(migrations, "*.sql") // the pattern is well-formed
	return int32(len(files))
}
