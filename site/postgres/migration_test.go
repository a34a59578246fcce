package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
)

// TestOpenNewerSchema checks that a database that a newer program has migrated is refused, with that program's version.
func TestOpenNewerSchema(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ program, want string }{
		{"v9.0.0", "use tollbook v9.0.0, which migrated it, or a newer one"},
		{"", "use a newer tollbook"},
	} {
		dsn := template.Database(t)
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(t.Context(), `UPDATE tollbook_schema SET version = 999, program = nullif($1, '')`,
			tc.program); err != nil {
			t.Fatal(err)
		}
		_, err = postgres.Open(t.Context(), dsn)
		if !errors.Is(err, postgres.ErrNewerSchema) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Open of a newer schema = %v, want ErrNewerSchema and %q", err, tc.want)
		}
		if _, err := postgres.PlanMigration(t.Context(), dsn); !errors.Is(err, postgres.ErrNewerSchema) {
			t.Errorf("PlanMigration of a newer schema = %v, want ErrNewerSchema", err)
		}
	}
}

// TestMigrationIsSaid checks that the plan for a database names each migration with its text, that Open says the same
// lines, and that the database then has the program's version.
func TestMigrationIsSaid(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := postgres.MigrateTo(t.Context(), conn, 1); err != nil {
		t.Fatal(err)
	}
	migrateJobsDown(t, dsn)
	plan, err := postgres.PlanMigration(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Schema != 1 || plan.InUse || len(plan.Migrations) != int(plan.Newest) { // those after the first, and jobs
		t.Errorf("the plan is %+v, want all migrations from schema 1", plan)
	}
	var want, said []string
	for _, m := range plan.Migrations {
		if m.Text == "" {
			t.Errorf("migration %s says nothing: its file must begin with a comment", m.Name)
		}
		want = append(want, m.Line())
	}
	if n := texts(t, conn, `SELECT version::text FROM tollbook_schema`); n[0] != "1" {
		t.Errorf("after a plan the schema is %s, want 1", n)
	}
	for range 2 { // the second Open has nothing to migrate
		db, err := postgres.OpenFor(t.Context(), dsn, postgres.Options{Program: "v1.2.3",
			Say: func(line string) { said = append(said, line) }})
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("what Open says of its migrations (-want +got):\n%s", diff)
	}
	if plan, err = postgres.PlanMigration(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	if plan.Schema != plan.Newest || plan.Program != "v1.2.3" || len(plan.Migrations) != 0 {
		t.Errorf("after the migration the plan is %+v, want the newest schema, v1.2.3 and no migration", plan)
	}
}

// migrateJobsDown takes back the newest migration of River's tables.
func migrateJobsDown(t *testing.T, dsn string) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Migrate(t.Context(), rivermigrate.DirectionDown, nil); err != nil {
		t.Fatal(err)
	}
}

// TestOpenRefusesOlderSchema checks that the database of a program from before the baseline is refused with an error
// that says how to migrate.
func TestOpenRefusesOlderSchema(t *testing.T) {
	t.Parallel()
	dsn := postgrestest.NewDatabase(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), `
		CREATE TABLE schema_version (version integer NOT NULL); INSERT INTO schema_version VALUES (23);
		CREATE TABLE services (slug text); INSERT INTO services VALUES ('acme')`); err != nil {
		t.Fatal(err)
	}
	const relations = `SELECT relname || ' ' || relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT slug FROM services ORDER BY 1`
	before := texts(t, conn, relations)
	_, err = postgres.Open(t.Context(), dsn)
	if !errors.Is(err, postgres.ErrOlderSchema) || !strings.Contains(err.Error(), "`tollbook export`") ||
		!strings.Contains(err.Error(), "`tollbook import`") {
		t.Errorf("Open of an older schema = %v, want ErrOlderSchema", err)
	}
	if _, err := postgres.Inspect(t.Context(), dsn); !errors.Is(err, postgres.ErrOlderSchema) {
		t.Errorf("Inspect of an older schema = %v, want ErrOlderSchema", err)
	}
	if diff := cmp.Diff(before, texts(t, conn, relations)); diff != "" {
		t.Errorf("the older database (-before +after):\n%s", diff)
	}
}

func TestMigrateDownAndUp(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), template.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := postgres.MigrateTo(t.Context(), conn, 0); err != nil {
		t.Fatalf("migrate down: %v", err)
	}
	var left int
	if err := conn.QueryRow(t.Context(),
		`SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r','p')
			AND relname <> 'tollbook_schema' AND relname NOT LIKE 'river\_%'`).Scan(&left); err != nil || left != 0 {
		t.Errorf("after migrating down: %d tables left, error %v", left, err)
	}
	if err := postgres.MigrateTo(t.Context(), conn, -1); err != nil {
		t.Errorf("migrate up again: %v", err)
	}
}

// TestUpgradeKeepsFacts checks that Open upgrades a database of each earlier version of the schema, and that a build
// then reads the facts that were stored before.
func TestUpgradeKeepsFacts(t *testing.T) {
	t.Parallel()
	for version := int32(1); version < 3; version++ {
		dsn := template.Database(t)
		db, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		due := acme(t, db)[0]
		for i := range 2 {
			v := visit(due, start.Add(time.Duration(i)*time.Minute))
			v.Check.Counted = i > 0
			if err := db.RecordVisits(t.Context(), []postgres.Visit{v}); err != nil {
				t.Fatal(err)
			}
		}
		before := readFacts(t, db)
		db.Close()
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		if err := postgres.MigrateTo(t.Context(), conn, version); err != nil {
			t.Fatalf("migrate down to version %d: %v", version, err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if db, err = postgres.Open(t.Context(), dsn); err != nil {
			t.Fatalf("open a database of version %d: %v", version, err)
		}
		after := readFacts(t, db)
		db.Close()
		if n := before.Services[0].TotalChecks; n != 2 {
			t.Fatalf("%d checks, want 2", n)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("upgrade from version %d (-before +after):\n%s", version, diff)
		}
	}
}
