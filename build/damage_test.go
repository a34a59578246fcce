package build_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tollbook/build"
	"tollbook/cmd/bench/crowd"
	"tollbook/crawl/sample"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/site/postgres"
	"tollbook/site/postgres/load"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/routes"
	"tollbook/site/testgate"
)

// damagedTemplate contains a small directory with a row in every table that a build reads.
var damagedTemplate = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := crowd.Load(ctx, db, crowd.Options{Services: 6, Seed: 1, Moment: moment.Add(-time.Hour),
		Days: 40}); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
		INSERT INTO changes (service_id, type, observed_at, summary, old_snapshot, new_snapshot)
		SELECT service, type, timestamptz '2026-11-20 12:20Z' - n * interval '3 hours', summary, '[]', '[]'
		FROM (SELECT min(id) FROM services UNION SELECT max(id) FROM services) AS s (service),
			generate_series(0, 60) AS n,
			(VALUES ('price_changed', '{"priceChanges":[{"endpoint":"GET /x","network":"eip155:8453",
				"assetName":"USDC","oldPrice":"1","newPrice":"2"}]}'::jsonb),
				('payto_changed', '{"payToAdded":[],"payToRemoved":[],"payToChanges":[{"endpoint":"GET /x",
				"network":"eip155:8453","oldPayTo":"0x1","newPayTo":"0x2"}]}'::jsonb)) AS kinds (type, summary);
		UPDATE services SET verified_at = '2026-11-01';
		INSERT INTO audit (at, actor, action, service_id, detail)
			SELECT verified_at, 'owner', 'verify', id, '' FROM services;
		INSERT INTO removed_services (slug, removed_at) VALUES ('gone', '2026-11-01');
		INSERT INTO syntheses (service_id, input_hash, model_id, prompt_version, asked_at, answer)
			SELECT id, 'x', 'model', '1', '2026-11-19', '{}' FROM services;
		INSERT INTO sender_days (chain_id, day, sender, token, payments, amount, recipients)
			SELECT id, '2026-11-19', '0x1', '0x2', 1, 1, 1 FROM chains;
		INSERT INTO tokens (network, address, symbol, decimals, usd) VALUES ('eip155:8453', '0x7', 'TEST', 6, true);
		INSERT INTO responses (endpoint_id, conclusive, received_at, method, url, status_code, header, body, truncated,
				tls_verified, exchange, sha256)
			SELECT id, true, '2026-11-20 12:29Z', 'GET', 'https://acme.example/x', 500, '{"X":["y"]}', '', false, true,
				'{"class":"failed"}', '' FROM endpoints
			ON CONFLICT DO NOTHING;
		UPDATE endpoints SET offers = '[{"protocol":"mpp","scheme":"charge","network":"eip155:4217",
			"currency":"0x20c0000000000000000000000000000000000000","amount":"10000","recipient":"0x1"}]';
		INSERT INTO offer_sets SELECT id, '2026-11-01', '2026-11-10', offers FROM endpoints;
		INSERT INTO assessments SELECT id, day, 'C', 14, '{payto_shape}', 'warning', '{probe_failing}', 0.01, 120, 1,
			'caution'
			FROM services, generate_series(date '2026-11-01', '2026-11-20', '1 day') AS day;
		INSERT INTO grade_baselines SELECT id, 'C', '{payto_shape}', '{not an address}', 1, '2026-11-19' FROM services;
		INSERT INTO verdict_baselines SELECT id, 'caution', 1, '2026-11-19' FROM services;
		INSERT INTO assessment_seal (recorded_at) VALUES ('2026-11-20 12:00Z');
		INSERT INTO recipient_checks SELECT DISTINCT network_caip2, asset, pay_to, false, 'no_account',
			timestamptz '2026-11-20 12:00Z' FROM prices WHERE until IS NULL AND network_caip2 IS NOT NULL;
		INSERT INTO opt_outs VALUES ('gone.example', '2026-11-01', '2026-11-20', 'https://gone.example/robots.txt',
			'2026-11-21');
		INSERT INTO facilitator_polls SELECT id, 'https://f.example', '2026-11-20 12:00Z', '2026-11-20 12:15Z', 0,
			'answered', 200, '', '2026-11-20 12:00Z', '{bazaar}' FROM facilitators;
		INSERT INTO facilitator_poll_days SELECT id, '2026-11-20', 'supported', 'answered', 2, 1800, '{20,30}'
			FROM facilitators;
		INSERT INTO facilitator_kinds SELECT id, 2, 'exact', 'eip155:8453', '', '2026-11-01', '2026-11-20 12:00Z'
			FROM facilitators;
		INSERT INTO facilitator_signers SELECT id, 'eip155:*', '0x000000000000000000000000000000000000c0de', 'signers',
			'2026-11-01', '2026-11-20 12:00Z' FROM facilitators;
		INSERT INTO sources (name, kind, address, enabled, due_at, accepted_pull, held_pull)
			VALUES ('index', 'x402-discovery', 'https://index.example', true, '2026-11-20 18:00Z', 1, 2);
		INSERT INTO source_pulls SELECT id, n, '2026-11-20 11:59Z', '2026-11-20 12:00Z',
			CASE n WHEN 1 THEN 'accepted' ELSE 'held' END, '', 200, 1, 100, '\x00', 7, 0
			FROM sources, generate_series(1, 2) AS n;
		INSERT INTO source_resources SELECT sources.id, regexp_replace(base_url, '^https?://', '') || path, method, '',
			'2026-11-01', NULL, false
			FROM sources, services JOIN endpoints ON service_id = services.id ON CONFLICT DO NOTHING;
		INSERT INTO voids (change_id, starts_at, ends_at, voided_at, actor, reason, checks, services)
			VALUES (nextval(pg_get_serial_sequence('removed_services', 'id')), '2026-11-01', '2026-11-02', '2026-11-03',
				'anna', 'our line was down', 5, 2);
		INSERT INTO vantages VALUES ('ams', '2026-11-20 12:00Z'), ('fra', '2026-11-20 12:00Z');
		INSERT INTO place_findings SELECT id, 'ams', '2026-11-20 12:00Z', false, 'timeout' FROM services;
		INSERT INTO place_findings SELECT id, 'fra', '2026-11-20 12:00Z', true, NULL FROM services;
		INSERT INTO place_terms (endpoint_id, vantage, fingerprint, signed, terms, first_at, last_at, times)
			SELECT id, place, place || repeat('0', 61), false, '[{"network": "eip155:8453", "amount": "1", "pay_to": "0x1"}]',
				'2026-11-20 10:00Z', '2026-11-20 12:00Z', 3 FROM endpoints, unnest(ARRAY['ams', 'fra']) AS place`)
	if err != nil {
		return err
	}
	return db.SealLogs(ctx, moment, 2*time.Minute)
})

// notRead lists the tables that no build reads.
var notRead = []string{
	"banned_senders", "change_baselines", "hosts", "identity", "inbox", "publications", "range_authorizations", "range_senders", "ranges",
	"rdap_bootstrap", "robots", "settlements", "source_hosts", "source_staged", "steps", "submission_probes",
	"synthesis_days", "synthesis_failures", "synthesis_inputs", "tollbook_schema",
}

// sharedTables lists the tables whose rows belong to no service. A damaged row there may fail the build.
var sharedTables = []string{
	"accounts", "amount_days", "assessment_seal", "authorization_days", "chains", "facilitator_kinds",
	"facilitator_poll_days", "facilitator_polls", "facilitator_signers", "facilitator_tokens", "facilitators",
	"log_seal", "opt_outs",
	"payee_days", "payee_totals", "payer_days", "recipient_checks", "removed_services", "voids", "scan_settlers", "scans", "sender_days", "settings",
	"settlers", "source_pulls", "source_resources", "sources", "token_days", "token_hours", "token_payers",
	"token_totals", "tokens", "vantages", "walks",
}

// usualDamage lists the columns that are damaged even if not all tests were asked for.
var usualDamage = []string{
	"change_blocks.hour", "changes.observed_at", "check_days.histogram", "check_hours.hour", "envelopes.header",
	"payee_days.amount", "prices.amount", "prices.extra", "services.category", "services.created_at",
}

// damages lists, by type of a column, values that a table may accept and that no fact should have, as SQL.
var damages = map[string][]string{
	"timestamp with time zone": {`'-infinity'`, `'infinity'`, `'20000-01-01'`, `'0044-03-15 BC'`},
	"date":                     {`'-infinity'`, `'infinity'`, `'20000-01-01'`},
	"interval":                 {`'-1 day'`, `'178000000 years'`},
	"numeric":                  {`'NaN'`, `'Infinity'`, `1e1000`, `0.5`, `-1`},
	"integer":                  {`2147483647`, `-2147483648`},
	"smallint":                 {`32767`, `-32768`},
	"bigint":                   {`9223372036854775807`, `-9223372036854775808`},
	"text":                     {`E'\u202e\x01\x1b[31m'`, `''`, `repeat('x', 100000)`, `'{"a":'`, `'http://[::1'`},
	"jsonb": {`'7'`, `'null'`, `'"text"'`, `'[]'`, `'{"a":{"b":[7]}}'`, `'[[1],{"x":null}]'`,
		`'[null]'`},
	"bytea":   {`'\x00ff'`, `''`},
	"uuid":    {`'00000000-0000-0000-0000-000000000000'`},
	"ARRAY":   {`'{NULL}'`, `'{}'`},
	"boolean": {`true`, `false`},
}

// column is a column of a table.
type column struct {
	table, name, kind string
	nullable          bool
}

// readColumns lists the columns of all tables that a build may read.
func readColumns(t *testing.T, conn *pgx.Conn) []column {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT c.table_name::text, column_name::text, data_type::text, is_nullable = 'YES'
		FROM information_schema.columns c JOIN pg_class ON oid = c.table_name::regclass AND relkind = 'r'
		WHERE table_schema = 'public' AND c.table_name NOT LIKE 'river_%' AND c.table_name <> ALL($1)
		ORDER BY 1, ordinal_position`, notRead)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (c column, err error) {
		return c, r.Scan(&c.table, &c.name, &c.kind, &c.nullable)
	})
	if err != nil || len(list) < 200 {
		t.Fatalf("%d columns: %v", len(list), err)
	}
	return list
}

// damage is a value that the last row of a table gets in one column.
type damage struct{ table, column, value string }

func (d damage) String() string { return d.table + "." + d.column + " = " + d.value }

// do writes the value. It returns false if the schema refuses it.
func (d damage) do(t *testing.T, conn *pgx.Conn) bool {
	t.Helper()
	table, column := pgx.Identifier{d.table}.Sanitize(), pgx.Identifier{d.column}.Sanitize()
	var row string
	if err := conn.QueryRow(t.Context(), `SELECT ctid::text FROM `+table+` ORDER BY ctid DESC LIMIT 1`).
		Scan(&row); err != nil {
		t.Fatalf("no row of %s to damage: %v", d.table, err)
	}
	_, err := conn.Exec(t.Context(), `UPDATE `+table+` SET `+column+` = `+d.value+` WHERE ctid = $1::text::tid`, row)
	if err != nil && !errors.As(err, new(*pgconn.PgError)) {
		t.Fatalf("%s: %v", d, err)
	}
	return err == nil
}

// permittedDamages lists what the schema permits of the damages of each table.
func permittedDamages(t *testing.T, conn *pgx.Conn) (list []damage) {
	t.Helper()
	for _, c := range readColumns(t, conn) {
		if !testgate.Everything() && !slices.Contains(usualDamage, c.table+"."+c.name) {
			continue
		}
		values := slices.Clone(damages[c.kind])
		if len(values) == 0 {
			t.Fatalf("no values for the type %s", c.kind)
		}
		if c.nullable {
			values = append(values, `NULL`)
		}
		for _, value := range values {
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := (damage{c.table, c.name, value}); d.do(t, conn) {
				list = append(list, d)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return list
}

// noticedDamage lists the damages that a build notices, and what it does then.
const noticedDamage = "testdata/damage.txt"

// What a build does about a damaged row, in noticedDamage.
const (
	setsAside = "a service is set aside"
	fails     = "the build fails"
)

// TestDamagedRows damages a row of each table, in each column and in every way that the schema permits, and builds. The
// build must succeed and keep every service. Only a row that belongs to no service may fail it, with an error that
// names the table. Each damage that a build notices has a build of its own. The others share builds, up to one of each
// table, and must not be noticed there either.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	dsn := damagedTemplate.Database(t)
	before := tempDir(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	o := options(moment.Add(time.Minute))
	o.Expand = output.ExpandNone
	run(t, db, before, o)
	db.Close()
	data, err := os.ReadFile(noticedDamage)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{} // what a build does, by damage
	for line := range strings.Lines(string(data)) {
		is, does, _ := strings.Cut(strings.TrimSpace(line), ": ")
		want[is] = does
	}

	var mu sync.Mutex
	noticed := map[string]bool{} // lines of noticedDamage
	var examine func(t *testing.T, list []damage)
	examine = func(t *testing.T, list []damage) {
		does := buildDamaged(t, before, list...)
		if n := len(list); n > 1 {
			if does != "" { // which of them?
				examine(t, list[:n/2])
				examine(t, list[n/2:])
			}
			return
		}
		is := list[0].String()
		if does != "" {
			mu.Lock()
			noticed[is+": "+does+"\n"] = true
			mu.Unlock()
		}
		if does != want[is] && !*build.Update {
			t.Errorf("%s: got %q, want %q", is, does, want[is])
		}
	}
	var builds [][]damage
	var groups [][]damage
	shared := map[string]int{} // groups with a damage of the table
	permitted := map[string]bool{}
	for _, d := range permittedDamages(t, postgrestest.Connect(t, dsn)) {
		permitted[d.String()] = true
		if want[d.String()] != "" {
			builds = append(builds, []damage{d})
			continue
		}
		n := shared[d.table]
		shared[d.table]++
		if n == len(groups) {
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], d)
	}
	for is := range want {
		if !permitted[is] && testgate.Everything() && !*build.Update {
			t.Errorf("%s: the schema refuses it; delete the line of %s", is, noticedDamage)
		}
	}
	for _, list := range append(builds, groups...) {
		t.Run(fmt.Sprintf("%s and %d more", list[0], len(list)-1), func(t *testing.T) {
			t.Parallel()
			examine(t, list)
		})
	}
	t.Cleanup(func() { // after all subtests
		if *build.Update && testgate.Everything() {
			text := strings.Join(slices.Sorted(maps.Keys(noticed)), "")
			if err := os.WriteFile(noticedDamage, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
}

// buildDamaged builds the directory once more, after some damages, and returns what the build does about them.
func buildDamaged(t *testing.T, before string, list ...damage) string {
	t.Helper()
	dsn := damagedTemplate.Database(t)
	conn := postgrestest.Connect(t, dsn)
	for _, d := range list {
		if !d.do(t, conn) {
			t.Fatalf("%s: the schema refuses it together with %v", d, list)
		}
	}
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir := tempDir(t)
	if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := options(moment.Add(2 * time.Minute))
	o.Expand = output.ExpandNone
	report, err := build.Run(t.Context(), db, folder, o)
	switch {
	case err != nil && len(list) == 1 && !(slices.Contains(sharedTables, list[0].table) &&
		strings.Contains(err.Error(), list[0].table)):
		t.Errorf("%s: %v", list[0], err)
		return fails
	case err != nil:
		return fails
	case len(report.SetAside) > 1 && len(list) == 1:
		t.Errorf("%v: set aside %+v, want one service at most", list, report.SetAside)
	}
	slugs := readIndex(t, dir).Slugs
	for _, slug := range readIndex(t, before).Slugs {
		if !slices.Contains(slugs, slug) {
			t.Errorf("%v: %s is no longer listed", list, slug)
		}
	}
	if len(report.SetAside) > 0 {
		return setsAside
	}
	return ""
}

// readIndex reads the index of the current snapshot.
func readIndex(t *testing.T, dir string) routes.Index {
	t.Helper()
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	c, err := folder.Checkpoint()
	if err != nil {
		t.Fatal(err)
	}
	z, err := archive.OpenZipFile(filepath.Join(dir, "snapshots", c.Snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var index routes.Index
	readJSON(t, z, routes.IndexFile, &index)
	return index
}

// demoTemplate contains what a demo begins with.
var demoTemplate = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := load.Sample(ctx, db, sample.Notice, sample.Listings(moment, 0), sample.Histories(moment)); err != nil {
		return err
	}
	if _, err := db.ImportFacilitators(ctx, sample.Facilitators(moment)); err != nil {
		return err
	}
	return sample.WritePolls(ctx, db, moment)
})

// TestHealthyRowsAreNotAccused checks that no row of a new database or of a loaded one counts as damaged, and that a
// build that cannot write its files names no rows at all, even damaged ones.
func TestHealthyRowsAreNotAccused(t *testing.T) {
	t.Parallel()
	testgate.All(t)
	for name, dsn := range map[string]string{"new": postgrestest.NewDatabase(t), "loaded": damagedTemplate.Database(t),
		"demo's": demoTemplate.Database(t)} {
		db, err := postgres.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if list := db.FindDamage(t.Context()); len(list) > 0 {
			t.Errorf("a %s database: %v", name, list)
		}
		conn := postgrestest.Connect(t, dsn)
		if _, err := conn.Exec(t.Context(), `UPDATE service_states SET last_checked_at = 'infinity'`); err != nil {
			t.Fatal(err)
		}
		list := db.FindDamage(t.Context())
		if damaged := name != "new"; damaged != (len(list) > 0) {
			t.Errorf("a %s database with infinite times: %v", name, list)
		}
		dir := tempDir(t)
		folder, err := output.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, "snapshots")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "snapshots"), nil, 0o600); err != nil { // no folder can be there
			t.Fatal(err)
		}
		_, err = build.Run(t.Context(), db, folder, options(moment.Add(time.Minute)))
		if !errors.As(err, new(*fs.PathError)) || strings.Contains(err.Error(), "damaged") {
			t.Errorf("a build of a %s database without a place for its files: %v", name, err)
		}
		for _, err := range []error{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC},
			fmt.Errorf("create a file: %w", syscall.EROFS), &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}} {
			if postgres.MayBeDamage(err) {
				t.Errorf("%v may come from a stored value", err)
			}
		}
	}
	if !postgres.MayBeDamage(errors.New("encode time: the year 10000 has not four digits")) {
		t.Error("an error of a value does not")
	}
}
