package crowd

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build"
	"tollbook/crawl"
	"tollbook/output"
	"tollbook/output/archive"
	"tollbook/render"
	"tollbook/site/leaktest"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/x402"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func options(services int) Options {
	return Options{Services: services, Seed: 7, Moment: Moment, Days: 10, Raw: 1}
}

func crowdOf(t *testing.T, o Options) *crowd {
	t.Helper()
	facilitators, err := crawl.ShippedFacilitators()
	if err != nil {
		t.Fatal(err)
	}
	return newCrowd(o, facilitators)
}

// TestSameService checks that a service depends on seed and number alone, not on the size of the directory.
func TestSameService(t *testing.T) {
	t.Parallel()
	small, large := crowdOf(t, options(200)), crowdOf(t, options(1_000_000))
	accounts := settlers(small.tokens)
	other := options(200)
	other.Seed++
	another := crowdOf(t, other)
	same := 0
	for k := range 2 * block {
		one, two := small.trade(accounts), large.trade(accounts)
		a, b := small.make(k), large.make(k)
		one.of(a)
		two.of(b)
		if !reflect.DeepEqual(a.is, b.is) { // cmp takes a hundred times as long
			t.Fatalf("service %d of 200 and of a million (-200 +million):\n%s", k, cmp.Diff(a.is, b.is))
		}
		if !reflect.DeepEqual(one.list, two.list) {
			t.Fatalf("what service %d was paid, of 200 and of a million (-200 +million):\n%s", k,
				cmp.Diff(one.list, two.list))
		}
		if reflect.DeepEqual(a.is, another.make(k).is) {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d services are the same with another seed", same)
	}
}

// TestShapes checks the proportions of the crowd, and reads every response.
func TestShapes(t *testing.T) {
	t.Parallel()
	const n = 1000
	c := crowdOf(t, Options{Services: n, Seed: 1, Moment: Moment, Days: 3})
	slugs, status, networks, endpoints := map[string]bool{}, map[string]int{}, map[string]int{}, 0
	for k := range n {
		s := c.make(k)
		slugs[s.is.Slug] = true
		endpoints += len(s.is.Endpoints)
		if s.is.LastStatus != nil {
			status[*s.is.LastStatus]++
		}
		for _, r := range s.rails {
			networks[r.id]++
			for number := range 2 {
				if err := x402.CheckAddress(r.id, s.payTo(r, number)); err != nil {
					t.Errorf("recipient %s on %s: %v", s.payTo(r, number), r.id, err)
				}
			}
		}
		for _, e := range s.is.Envelopes {
			a := x402.Capture(x402.Answer{Status: e.StatusCode, Header: e.Header, Body: e.Body, URL: e.URL})
			if a.Envelope == nil || !a.Envelope.Accepts[0].Usable() {
				t.Errorf("%s: nobody can pay its response: %s %s", e.URL, e.Header, e.Body)
			}
		}
	}
	if len(slugs) != n {
		t.Errorf("%d slugs for %d services", len(slugs), n)
	}
	between := func(what string, got, low, high int) {
		if got < low || got > high {
			t.Errorf("%s: %d of %d services, want %d to %d", what, got, n, low, high)
		}
	}
	between("online", status["online"], n*75/100, n*88/100)
	between("degraded", status["degraded"], n*4/100, n*12/100)
	between("offline", status["offline"], n*6/100, n*14/100)
	between("on Base", networks["eip155:8453"], n*55/100, n*75/100)
	between("endpoints", endpoints, 2*n, 5*n)
}

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	db.Close()
	return nil
})

// agree contains queries that count rows that disagree with their sums, or names without their object.
var agree = map[string]string{
	"check_days": `
		SELECT count(*) FROM (
			SELECT service_id, checked_at::date, count(*), count(*) FILTER (WHERE counted),
				count(*) FILTER (WHERE counted AND is_up),
				count(response_time_ms) FILTER (WHERE counted),
					coalesce(sum(response_time_ms) FILTER (WHERE counted), 0) FROM checks
						WHERE checked_at < (SELECT through FROM log_seal) GROUP BY 1, 2
			EXCEPT SELECT service_id, day, checks, counted, up, timed, response_ms FROM check_days) x`,
	"check_hours": `
		SELECT count(*) FROM (
			SELECT service_id, date_trunc('hour', checked_at), count(*), count(*) FILTER (WHERE counted),
				count(*) FILTER (WHERE counted AND is_up) FROM checks
					WHERE checked_at < (SELECT through FROM log_seal) GROUP BY 1, 2
			EXCEPT SELECT service_id, hour, checks, counted, up FROM check_hours) x`,
	"histograms": `SELECT count(*) FROM check_days WHERE timed <> (SELECT sum(n) FROM unnest(histogram) n)
		OR array_length(histogram, 1) <> 64`,
	"last visits": `
		SELECT count(*) FROM service_states s
			WHERE last_checked_at IS DISTINCT FROM (SELECT max(checked_at) FROM checks WHERE service_id = s.service_id)
			AND last_checked_at >= (SELECT retained_since FROM log_seal)`,
	"positions": `
		SELECT count(*) FROM log_positions p
			WHERE rows <> (SELECT sum(checks) FROM check_days d WHERE p.service_id IN (0, d.service_id))`,
	"numbers of checks": `
		SELECT count(*) FROM (
			SELECT number, max(number) OVER () - count(*) OVER () + row_number() OVER (ORDER BY checked_at,
				id) AS counted, service_number,
				max(service_number) OVER s - count(*) OVER s + row_number() OVER (PARTITION BY service_id
					ORDER BY checked_at, id) AS counted_of_service
			FROM checks WHERE checked_at < (SELECT through FROM log_seal) WINDOW s AS (PARTITION BY service_id)
		) c WHERE number IS DISTINCT FROM counted OR service_number IS DISTINCT FROM counted_of_service`,
	"payee_days": `
		SELECT count(*) FROM (
			SELECT payee_id, token_id, settled_at::date, count(*), sum(amount), min(settled_at), max(settled_at)
				FROM settlements GROUP BY 1, 2, 3
			EXCEPT SELECT payee_id, token_id, day, settlements, amount, first_at, last_at FROM payee_days) x`,
	"payee_totals": `
		SELECT count(*) FROM (
			SELECT payee_id, token_id, count(*), sum(amount), min(settled_at), max(settled_at) FROM settlements
				GROUP BY 1, 2
			EXCEPT SELECT * FROM payee_totals) x`,
	"payer_days": `
		SELECT count(*) FROM (
			SELECT settled_at::date, token_id, payee_id, payer_id, count(*), sum(amount) FROM settlements
				GROUP BY 1, 2, 3, 4
			EXCEPT SELECT * FROM payer_days) x`,
	"amount_days": `
		SELECT count(*) FROM (
			SELECT settled_at::date, token_id, payee_id, amount, count(*) FROM settlements GROUP BY 1, 2, 3, 4
			EXCEPT SELECT * FROM amount_days) x`,
	"token_days": `
		SELECT count(*) FROM (
			SELECT token_id, settled_at::date, count(*), sum(amount), count(*) FILTER (WHERE payer_id = payee_id),
				coalesce(sum(amount) FILTER (WHERE payer_id = payee_id), 0), max(settled_at) FROM settlements
					GROUP BY 1, 2
			EXCEPT SELECT * FROM token_days) x`,
	"token_hours": `
		SELECT count(*) FROM (
			SELECT token_id, date_trunc('hour', settled_at), count(*), sum(amount) FROM settlements
			WHERE settled_at >= timestamptz '2026-11-13' GROUP BY 1, 2
			EXCEPT SELECT * FROM token_hours) x`,
	"token_totals": `
		SELECT count(*) FROM (
			SELECT token_id, count(*), sum(amount), count(DISTINCT payer_id), min(settled_at)::date, max(settled_at)
				FROM settlements GROUP BY 1
			EXCEPT SELECT * FROM token_totals) x`,
	"token_payers": `
		SELECT count(*) FROM (
			SELECT token_id, payer_id, max(settled_at)::date FROM settlements GROUP BY 1, 2
			EXCEPT SELECT * FROM token_payers) x`,
	"authorization_days": `
		SELECT count(*) FROM (
			SELECT s.chain_id, f.token, settled_at::date, count(*) FROM settlements s
				JOIN facilitator_tokens f ON f.id = token_id
				WHERE method = 'eip3009' GROUP BY 1, 2, 3
			EXCEPT SELECT chain_id, token, day, attributed FROM authorization_days) x`,
	"accounts": `
		SELECT count(*) FROM (SELECT settler_id AS id FROM settlements UNION SELECT payer_id FROM settlements UNION
			SELECT payee_id FROM settlements) u
		WHERE id NOT IN (SELECT id FROM accounts)`,
	"settlers": `
		SELECT count(*) FROM settlements s JOIN accounts a ON a.id = settler_id JOIN chains c ON c.id = chain_id
			JOIN facilitator_tokens f ON f.id = token_id
		WHERE NOT EXISTS (SELECT FROM settlers l WHERE l.network = c.network AND l.address = a.address
			AND l.facilitator_id = f.facilitator_id)`,
	"recipients": `
		SELECT count(DISTINCT payee_id) FROM settlements s JOIN accounts a ON a.id = payee_id
			JOIN chains c ON c.id = chain_id
		WHERE NOT EXISTS (SELECT FROM prices WHERE pay_to = a.address AND network_caip2 = c.network)`,
	"orphans": `
		SELECT (SELECT count(*) FROM endpoints WHERE service_id NOT IN (SELECT id FROM services))
			+ (SELECT count(*) FROM prices WHERE endpoint_id NOT IN (SELECT id FROM endpoints))
			+ (SELECT count(*) FROM envelopes WHERE endpoint_id NOT IN (SELECT id FROM endpoints))
			+ (SELECT count(*) FROM responses WHERE endpoint_id NOT IN (SELECT id FROM endpoints))
			+ (SELECT count(*) FROM check_days WHERE service_id NOT IN (SELECT id FROM services))
			+ (SELECT count(*) FROM change_log WHERE change_id NOT IN (SELECT id FROM changes))`,
	"open hours": `SELECT count(*) FROM check_hours WHERE hour >= (SELECT through FROM log_seal)`,
	"newest checks": `
		SELECT count(*) FROM service_states s 
			WHERE newest_check_at < (SELECT max(checked_at) FROM checks WHERE service_id = s.service_id)`,
	"states": `SELECT count(*) FROM services FULL JOIN service_states ON service_id = id WHERE id IS NULL
		OR service_id IS NULL`,
	"numbers": `SELECT count(*) FROM (SELECT nextval(pg_get_serial_sequence('services', 'id')) AS id) n
		WHERE id <= (SELECT max(id) FROM services)`,
}

// TestLoad fills a database. The sums match their rows, the directory builds, and the result verifies.
func TestLoad(t *testing.T) {
	t.Parallel()
	dsn := template.Database(t)
	db, err := postgres.OpenFor(t.Context(), dsn, postgres.Options{Connections: Connections()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	report, err := Load(t.Context(), db, options(200))
	if err != nil {
		t.Fatal(err)
	}
	if report.Services != 200 || report.Rows < 200*50 {
		t.Errorf("loaded %+v", report)
	}
	conn := postgrestest.Connect(t, dsn+"&timezone=UTC")
	for what, sql := range agree {
		var off int64
		if err := conn.QueryRow(t.Context(), sql).Scan(&off); err != nil {
			t.Errorf("%s: %v", what, err)
		} else if off > 0 {
			t.Errorf("%s: %d rows disagree", what, off)
		}
	}
	var settlements, changes int
	if err := conn.QueryRow(t.Context(),
		`SELECT (SELECT count(*) FROM settlements), (SELECT count(*) FROM changes WHERE number IS NOT NULL)`).
		Scan(&settlements, &changes); err != nil {
		t.Fatal(err)
	}
	if settlements < 200 || changes < 20 {
		t.Errorf("%d settlements and %d numbered changes", settlements, changes)
	}
	if _, err := Load(t.Context(), db, options(200)); !errors.Is(err, postgres.ErrNotEmpty) {
		t.Errorf("a second load: %v", err)
	}

	dir := filepath.Join(t.TempDir(), "public")
	folder, err := output.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	built, err := build.Run(t.Context(), db, folder, build.Options{
		Now: Moment, Every: 15 * time.Minute, LogDelay: LogDelay, Expand: output.ExpandNone,
		Site: render.Site{BaseURL: "https://tollbook.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if built.Services != 200 || built.Packs == 0 {
		t.Errorf("built %+v", built)
	}
	if visited, err := Visit(t.Context(), db, 200, 1, Moment.Add(time.Minute)); err != nil || visited < 10 ||
		visited > 14 {
		t.Errorf("visited %d of 200: %v", visited, err)
	}
	z, err := archive.OpenZipFile(filepath.Join(dir, "snapshots", built.Snapshot+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := archive.Verify(t.Context(), z, ""); err != nil {
		t.Error(err)
	}
}
