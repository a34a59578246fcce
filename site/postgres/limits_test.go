package postgres_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"tollbook/site"
	"tollbook/site/change"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

// TestRetainTerms checks that services lose the oldest of their former prices and offers if they have too many of them
// or too many bytes, and that others lose nothing.
func TestRetainTerms(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if err := db.AddListings(t.Context(), []postgres.Listing{listing("many"), listing("large"), listing("ordinary"),
		listing("offers")}); err != nil {
		t.Fatal(err)
	}
	conn := postgrestest.Connect(t, dsn)
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []struct {
		slug       string
		sets, rows int // of each endpoint
		extra      int // bytes of each row
	}{{"many", 600, 50, 20}, {"large", 450, 10, 4000}, {"ordinary", 200, 50, 20}} {
		exec(`
			INSERT INTO prices (endpoint_id, since, until, position, scheme, network, asset, pay_to, amount, extra,
				x402_version)
			SELECT e.id, $2::timestamptz + n * interval '1 minute',
				CASE WHEN n < $3 THEN $2::timestamptz + (n + 1) * interval '1 minute' END, p, 'exact', 'base', 'a', 'b',
				n, repeat('x', $5), 1
			FROM endpoints e JOIN services s ON s.id = service_id, generate_series(1, $3) AS n, generate_series(1, $4) AS p
			WHERE slug = $1`, s.slug, start, s.sets, s.rows, s.extra)
	}
	exec(`
		INSERT INTO offer_sets (endpoint_id, since, until, offers)
		SELECT e.id, $1::timestamptz + n * interval '1 minute',
			CASE WHEN n < 400 THEN $1::timestamptz + (n + 1) * interval '1 minute' END,
			jsonb_build_array(jsonb_build_object('asset', (SELECT string_agg(md5(n || ' ' || i), '')
				FROM generate_series(1, 1000) AS i)))
		FROM endpoints e JOIN services s ON s.id = service_id, generate_series(1, 400) AS n WHERE slug = 'offers'`, start)
	for range 2 {
		if err := db.Retain(t.Context(), start.AddDate(0, 0, 1)); err != nil {
			t.Fatal(err)
		}
	}
	rows := map[string]string{} // by service
	var slug, text string
	r, err := conn.Query(t.Context(), `
		SELECT slug, count(DISTINCT (endpoint_id, since)) || ' sets from ' || min(since)::time || ', ' ||
			count(*) || ' rows, ' || count(*) FILTER (WHERE until IS NULL) || ' current' FROM (
			SELECT endpoint_id, since, until FROM prices UNION ALL SELECT endpoint_id, since, until FROM offer_sets
		) AS p JOIN endpoints e ON e.id = endpoint_id JOIN services s ON s.id = service_id GROUP BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
		if err := r.Scan(&slug, &text); err != nil {
			t.Fatal(err)
		}
		rows[slug] = text
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{
		"ordinary": "400 sets from 10:01:00, 20000 rows, 100 current",
		"many":     "1002 sets from 11:40:00, 50100 rows, 100 current",
		"large":    "410 sets from 14:06:00, 4100 rows, 20 current",
		"offers":   "524 sets from 12:19:00, 524 rows, 2 current",
	}, rows); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// TestLargeStoredRecords checks that records of older programs, which have megabytes, are read in the size of records
// of today, with their place in the log, and that other records are read as they are.
func TestLargeStoredRecords(t *testing.T) {
	t.Parallel()
	db := open(t)
	due := acme(t, db)
	var summary site.PriceSummary
	var entries []site.SnapshotEntry
	for i := range 3000 {
		summary.PriceChanges = append(summary.PriceChanges, site.PriceChange{Endpoint: "GET /a", OldPrice: "1",
			NewPrice: fmt.Sprint(i)})
		entries = append(entries, site.SnapshotEntry{Endpoint: "GET /a", Price: fmt.Sprint(i),
			Extra: new(strings.Repeat("x", 900))})
	}
	encoded := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	v := visit(due[0], start)
	v.Changes = []checks.Change{record(due[0].ID, site.PriceChanged, start.Add(-3*time.Hour), 1),
		{ServiceID: due[0].ID, Type: site.PriceChanged, ObservedAt: start.Add(-2 * time.Hour), Summary: encoded(summary),
			OldSnapshot: []byte(`[]`), NewSnapshot: encoded(entries)},
		record(due[0].ID, site.PriceChanged, start, 2)}
	v.Check.ID = uuid.New()
	if err := db.RecordVisits(t.Context(), []checks.Visit{v}); err != nil {
		t.Fatal(err)
	}
	var f *postgres.Facts
	if err := db.Read(t.Context(), func(r *postgres.Reader) (err error) {
		f, err = r.Facts(t.Context(), start.Add(time.Hour), 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string][]checks.Change{"all": f.Changes, "of the service": f.Services[0].Records} {
		if len(list) != 3 || numberOf(t, list[0]) != 1 || numberOf(t, list[2]) != 2 {
			t.Fatalf("%s: %d records; want three in their order", name, len(list))
		}
		if n := list[1].Size(); n > change.MaxRecord || n < change.MaxRecord/2 {
			t.Errorf("%s: the record has %d bytes; want some %d", name, n, change.MaxRecord)
		}
		var got site.PriceSummary
		if err := json.Unmarshal(list[1].Summary, &got); err != nil || got.Omitted == nil ||
			got.Omitted.Differences != 3000-len(got.PriceChanges) || len(got.PriceChanges) == 0 {
			t.Errorf("%s: %d differences, omitted %+v, error %v; want 3,000 in all", name, len(got.PriceChanges),
				got.Omitted, err)
		}
	}
	bytes, err := db.RecordedBytes(t.Context(), due[0].ID, start.Add(-time.Hour))
	small := record(0, "", start, 2)
	if want := int64(small.Size()); err != nil || bytes != want {
		t.Errorf("%d bytes within an hour, error %v; want %d", bytes, err, want)
	}
}

// TestMigrationShortensRecords checks that the migration to schema 8 shortens the change records of megabytes that
// older programs stored, and that it changes no other record.
func TestMigrationShortensRecords(t *testing.T) {
	t.Parallel()
	dsn := restoreKept(t, 6)
	conn := postgrestest.Connect(t, dsn)
	if _, err := conn.Exec(t.Context(), `
		INSERT INTO changes (service_id, type, observed_at, summary, old_snapshot, new_snapshot)
		SELECT 1, type, '2026-11-01', jsonb_build_object('priceChanges', list, 'payToAdded', list, 'x', 1), old, list
		FROM (SELECT jsonb_agg(md5(n::text)) AS list FROM generate_series(1, 2000) AS n) AS l,
			(VALUES ('price_changed', '[1, 2]'), ('price_changed', '"damaged"'), ('listed', '[]')) AS v (type, old_text),
			LATERAL (SELECT old_text::jsonb AS old) AS o`); err != nil {
		t.Fatal(err)
	}
	const others = `SELECT to_jsonb(c)::text FROM changes c WHERE observed_at <> '2026-11-01' ORDER BY 1`
	before := texts(t, conn, others)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	if diff := cmp.Diff(before, texts(t, conn, others)); diff != "" || len(before) == 0 {
		t.Errorf("other records (-before +after):\n%s", diff)
	}
	got := texts(t, conn, `
		SELECT type || ' ' || jsonb_array_length(summary->'priceChanges') || ' ' ||
			jsonb_array_length(summary->'payToAdded') || ' ' || coalesce(summary->>'omitted', '-') || ' ' ||
			(summary->>'x') || ' ' || old_snapshot::text || ' ' || jsonb_array_length(new_snapshot)
		FROM changes WHERE observed_at = '2026-11-01' ORDER BY id`)
	want := []string{
		`price_changed 3 3 {"entries": 2002, "differences": 1997} 1 [] 0`,
		`price_changed 3 3 {"entries": 2000, "differences": 1997} 1 [] 0`,
		`listed 2000 2000 - 1 [] 2000`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("large records (-want +got):\n%s", diff)
	}
}
