package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"tollbook/site/postgres"
	"tollbook/site/postgres/ledger"
	"tollbook/site/postgres/migration"
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
		conn := postgrestest.Connect(t, dsn)
		if _, err := conn.Exec(t.Context(), `UPDATE tollbook_schema SET version = 999, program = nullif($1, '')`,
			tc.program); err != nil {
			t.Fatal(err)
		}
		_, err := postgres.Open(t.Context(), dsn)
		if !errors.Is(err, migration.ErrNewerSchema) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Open of a newer schema = %v, want ErrNewerSchema and %q", err, tc.want)
		}
		if _, err := postgres.PlanMigration(t.Context(), dsn); !errors.Is(err, migration.ErrNewerSchema) {
			t.Errorf("PlanMigration of a newer schema = %v, want ErrNewerSchema", err)
		}
	}
}

// TestMigrationIsSaid checks that the plan for a database names each migration with its text, that Open says the same
// lines, and that the database then has the program's version.
func TestMigrationIsSaid(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	conn := postgrestest.Connect(t, dsn)
	if err := migration.To(t.Context(), conn, 1); err != nil {
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
	conn := postgrestest.Connect(t, dsn)
	if _, err := conn.Exec(t.Context(), `
		CREATE TABLE schema_version (version integer NOT NULL); INSERT INTO schema_version VALUES (23);
		CREATE TABLE services (slug text); INSERT INTO services VALUES ('acme')`); err != nil {
		t.Fatal(err)
	}
	const relations = `SELECT relname || ' ' || relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
		UNION ALL SELECT slug FROM services ORDER BY 1`
	before := texts(t, conn, relations)
	_, err := postgres.Open(t.Context(), dsn)
	if !errors.Is(err, migration.ErrOlderSchema) || !strings.Contains(err.Error(), "`tollbook export`") ||
		!strings.Contains(err.Error(), "`tollbook import`") {
		t.Errorf("Open of an older schema = %v, want ErrOlderSchema", err)
	}
	if _, err := postgres.Inspect(t.Context(), dsn); !errors.Is(err, migration.ErrOlderSchema) {
		t.Errorf("Inspect of an older schema = %v, want ErrOlderSchema", err)
	}
	if diff := cmp.Diff(before, texts(t, conn, relations)); diff != "" {
		t.Errorf("the older database (-before +after):\n%s", diff)
	}
}

func TestMigrateDownAndUp(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Connect(t, template.Database(t))
	if err := migration.To(t.Context(), conn, 0); err != nil {
		t.Fatalf("migrate down: %v", err)
	}
	var left int
	if err := conn.QueryRow(t.Context(),
		`SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r','p')
			AND relname <> 'tollbook_schema' AND relname NOT LIKE 'river\_%'`).Scan(&left); err != nil || left != 0 {
		t.Errorf("after migrating down: %d tables left, error %v", left, err)
	}
	if err := migration.To(t.Context(), conn, -1); err != nil {
		t.Errorf("migrate up again: %v", err)
	}
}

// TestInboxDownAndUp checks that the tables of schema 8 have the same rows after the migration that joined them was
// taken back.
func TestInboxDownAndUp(t *testing.T) {
	t.Parallel()
	conn := postgrestest.Connect(t, restoreKept(t, 8))
	columns := tableColumns(t, conn)
	read := func() (rows []string) {
		for _, table := range []string{"submissions", "suggestions", "rechecks", "audit"} {
			rows = append(append(rows, table), tableRows(t, conn, table, columns[table])...)
		}
		return rows
	}
	before := read()
	for _, schema := range []int32{9, 8, 9, 8} {
		if err := migration.To(t.Context(), conn, schema); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Errorf("rows (-before +after):\n%s", diff)
	}
}

// isVolatile reports whether a table has other rows after an upgrade, or has rows only while a worker runs.
func isVolatile(table string) bool {
	return slices.Contains([]string{"tollbook_schema", "river_migration", "river_leader", "river_notification"}, table)
}

// tableColumns returns the columns of each table, sorted. Partitions are left out: their rows are those of the table.
func tableColumns(t *testing.T, conn *pgx.Conn) map[string][]string {
	t.Helper()
	columns := map[string][]string{}
	for _, line := range texts(t, conn, `
		SELECT relname || ' ' || attname FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND attnum > 0
			AND NOT attisdropped
		ORDER BY 1`) {
		table, column, _ := strings.Cut(line, " ")
		columns[table] = append(columns[table], column)
	}
	return columns
}

// tableRows returns the rows of some columns of a table, or of a query in parentheses, as JSON, sorted.
func tableRows(t *testing.T, conn *pgx.Conn, table string, columns []string) []string {
	t.Helper()
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = pgx.Identifier{c}.Sanitize()
	}
	return texts(t, conn, `SELECT to_jsonb(r)::text FROM (SELECT `+strings.Join(quoted, ", ")+` FROM `+
		table+` AS t) r ORDER BY 1`)
}

// knownSince is the first schema whose hours and days have rows without a check.
const knownSince = 11

// moved contains a query for the former rows of each table that a migration or Open changed.
var moved = map[string]string{
	// of hours and days whose state is known by an earlier check, too
	"check_hours": `(SELECT * FROM check_hours WHERE checks > 0)`,
	"check_days":  `(SELECT * FROM check_days WHERE checks > 0)`,
	"settings":    `(SELECT * FROM settings WHERE name <> 'host_form')`,
	"submissions": `(SELECT id, received_at, client, idempotency_key, content_hash, body->>'url' AS url, domain,
		body->>'email' AS email, body->>'service_name' AS service_name, body->>'description' AS description,
		body->>'website_url' AS website_url, body->>'category' AS category, body->'endpoints' AS endpoints,
		body->>'notes' AS notes, state, decided_at, reason, service_id, probe_due_at, probe_result, notified_at,
		probe_grade FROM inbox WHERE kind = 'submission')`,
	"suggestions": `(SELECT id, received_at, client, idempotency_key, content_hash, body->>'text' AS text,
		body->>'category' AS category, body->>'email' AS email, decided_at AS closed_at,
		nullif(decided_by, '') AS closed_by, notified_at FROM inbox WHERE kind = 'suggestion')`,
	"rechecks": `(SELECT service_id, received_at AS requested_at, client FROM inbox WHERE kind = 'recheck')`,
}

// TestUpgradeKeepsFacts checks that Open upgrades a database of each released schema, that every row then is as the
// program of that schema stored it, and that a build can read it.
func TestUpgradeKeepsFacts(t *testing.T) {
	t.Parallel()
	for schema := 1; schema <= keptSchemas(t); schema++ {
		t.Run(strconv.Itoa(schema), func(t *testing.T) {
			t.Parallel()
			dsn := restoreKept(t, schema)
			conn := postgrestest.Connect(t, dsn)
			columns, before := tableColumns(t, conn), map[string][]string{}
			for table, names := range columns {
				before[table] = tableRows(t, conn, table, names)
				if len(before[table]) == 0 && !isVolatile(table) {
					t.Errorf("the kept database of schema %d has no row in %s", schema, table)
				}
			}
			plan, err := postgres.PlanMigration(t.Context(), dsn)
			if err != nil || int(plan.Schema) != schema {
				t.Fatalf("the plan is %+v (%v), want one from schema %d", plan, err, schema)
			}
			db, err := postgres.Open(t.Context(), dsn)
			if err != nil {
				t.Fatalf("open a database of schema %d: %v", schema, err)
			}
			defer db.Close()
			for table, names := range columns {
				if isVolatile(table) {
					continue
				}
				now := table
				hasKnown := schema >= knownSince && (table == "check_hours" || table == "check_days")
				if query := moved[table]; query != "" && !hasKnown {
					now = query
				}
				if diff := cmp.Diff(before[table], tableRows(t, conn, now, names)); diff != "" {
					t.Errorf("rows of %s after the upgrade (-before +after):\n%s", table, diff)
				}
			}
			facts := readFacts(t, db)
			var slugs []string
			for _, s := range facts.Services {
				slugs = append(slugs, s.Slug)
				if s.TotalChecks == 0 {
					t.Errorf("%s has no checks", s.Slug)
				}
			}
			want := []string{"firefly-embeddings", "lockkeeper-rpc", "service-one", "tidewater-weather"}
			if diff := cmp.Diff(want, slugs); diff != "" {
				t.Errorf("services (-want +got):\n%s", diff)
			}
		})
	}
}

// readFacts returns what a build reads.
func readFacts(t *testing.T, db *postgres.DB) (f *postgres.Facts) {
	t.Helper()
	now := time.Now()
	if err := db.SealLogs(t.Context(), now, time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := db.Read(t.Context(), func(r *postgres.Reader) (err error) {
		f, err = r.Facts(t.Context(), now, time.Minute)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestUpgradeDeletesUnpublishableSettlements checks that settlements of years that no build can publish, which schema 7
// accepted, are deleted with all that they added to sums. The rest is as if they had never been read.
func TestUpgradeDeletesUnpublishableSettlements(t *testing.T) {
	t.Parallel()
	const solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"
	settlement := func(block int64, at time.Time, payer, payee string) ledger.Settlement {
		return ledger.Settlement{Network: solana, Block: block, Time: at, Transaction: fmt.Sprintf("sig%d", block),
			LogIndex: 2001, Method: "spl", Facilitator: "acme", Settler: "s1", Token: "usdc", Payer: payer,
			Payee: payee, Amount: strconv.FormatInt(1000*block, 10)}
	}
	year := func(n int) time.Time { return time.Date(n, 6, 1, 12, 0, 0, 0, time.UTC) }
	upgraded := func(lies ...ledger.Settlement) (rows []string) {
		dsn := template.Database(t)
		db, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		f := facilitator("acme", "s1")
		f.Settlers[0].Network = solana
		if _, err := db.ImportFacilitators(t.Context(), []ledger.Facilitator{f}); err != nil {
			t.Fatal(err)
		}
		walks, err := db.Walks(t.Context(), solana)
		if err != nil {
			t.Fatal(err)
		}
		was, is := walks[0], walks[0]
		is.Newest, is.Before, is.NewestSlot, is.NewestTime = "sig9", "sig7", 90, new(start)
		if _, err := db.CommitWalk(t.Context(), solana, was, is, []ledger.Settlement{
			settlement(1, start, "p", "q"), settlement(2, start.Add(time.Hour), "q", "q"),
			settlement(3, start.Add(48*time.Hour), "p", "r")}); err != nil {
			t.Fatal(err)
		}
		if len(lies) > 0 {
			later := is
			later.Before, later.NewestTime = "sig6", new(year(290_000))
			if _, err := db.CommitWalk(t.Context(), solana, is, later, lies); err != nil {
				t.Fatal(err)
			}
		}
		conn := postgrestest.Connect(t, dsn)
		for _, schema := range []int32{7, -1} {
			if err := migration.To(t.Context(), conn, schema); err != nil {
				t.Fatal(err)
			}
		}
		columns := tableColumns(t, conn)
		for _, table := range []string{"settlements", "token_totals", "token_hours", "token_days", "token_payers",
			"settler_days", "payee_days", "payee_totals", "payer_days", "amount_days", "authorization_days"} {
			rows = append(append(rows, table), tableRows(t, conn, table, columns[table])...)
		}
		if n := texts(t, conn, `SELECT count(*)::text FROM walks WHERE newest_at < '9999-01-01'`); n[0] != "1" {
			t.Errorf("%s walks have a time that can be published, want 1", n[0])
		}
		return rows
	}
	honest := upgraded()
	if len(honest) < 25 {
		t.Fatalf("%d rows: the test proves little", len(honest))
	}
	got := upgraded(settlement(4, year(10_000), "p", "q"), settlement(5, year(30_000), "new", "r"),
		settlement(6, year(290_000), "new", "newer"), settlement(7, year(290_000), "q", "q"))
	if diff := cmp.Diff(honest, got); diff != "" {
		t.Errorf("rows (-honest +with lies)\n%s", diff)
	}
}
