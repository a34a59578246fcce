package build_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tollbook/build"
	"tollbook/cmd/bench/crowd"
	"tollbook/output"
	"tollbook/site/listing"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
	"tollbook/site/testgate"
)

// crowdTemplate contains a small generated directory with facts of every kind.
var crowdTemplate = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = crowd.Load(ctx, db, crowd.Options{Services: 60, Seed: 3, Moment: moment, Days: 40})
	return err
})

// buildPair builds the same directory in two folders: one incrementally, the other without a previous snapshot.
type buildPair struct {
	t                    *testing.T
	db                   *postgres.DB
	conn                 *pgx.Conn
	incremental, nothing string
	o                    build.Options
	last                 map[string]string // sums of the last snapshot's files
}

func newBuildPair(t *testing.T) *buildPair {
	dsn := crowdTemplate.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	conn := postgrestest.Connect(t, dsn)
	o := options(moment.Add(time.Minute))
	o.Expand, o.Program = output.ExpandNone, "this one"
	return &buildPair{t: t, db: db, conn: conn, incremental: tempDir(t), nothing: tempDir(t), o: o}
}

// build builds both a minute later. Their zips must be equal.
func (w *buildPair) build(about string) (r build.Report, changed func(slug string) bool) {
	w.t.Helper()
	w.o.Now = w.o.Now.Add(time.Minute)
	o := w.o
	o.Program = ""
	want := run(w.t, w.db, w.nothing, o)
	got := run(w.t, w.db, w.incremental, w.o)
	if want.Copied != 0 {
		w.t.Fatalf("%s: a build without a Program copied %d services", about, want.Copied)
	}
	a, b := readSums(w.t, w.nothing, want.Snapshot), readSums(w.t, w.incremental, got.Snapshot)
	for name, sum := range a {
		if b[name] != sum {
			w.t.Errorf("%s: %s differs from a build without a previous snapshot", about, name)
		}
	}
	if len(a) != len(b) || !bytes.Equal(w.zip(w.nothing, want), w.zip(w.incremental, got)) {
		w.t.Fatalf("%s: the snapshots %s and %s differ", about, want.Snapshot, got.Snapshot)
	}
	before := w.last
	w.last = b
	return got, func(slug string) bool {
		own := func(files map[string]string) map[string]string {
			files = maps.Clone(files)
			maps.DeleteFunc(files, func(name, _ string) bool {
				return !strings.HasPrefix(name, "services/"+slug) && !strings.HasPrefix(name, "v1/services/"+slug)
			})
			return files
		}
		return !maps.Equal(own(before), own(b))
	}
}

func (w *buildPair) zip(dir string, r build.Report) []byte {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "snapshots", r.Snapshot+".zip"))
	if err != nil {
		w.t.Fatal(err)
	}
	return data
}

// subject is a service with facts of every kind, except changes.
type subject struct {
	ID   int64
	Slug string
}

// listSubjects returns n subjects on different domains, those with changes first.
func (w *buildPair) listSubjects(n int) []subject {
	w.t.Helper()
	rows, err := w.conn.Query(w.t.Context(), `
		SELECT min(s.id), min(s.slug)
		FROM services s JOIN site_facts f ON f.service_id = s.id JOIN domain_facts USING (domain)
		WHERE EXISTS (
			SELECT FROM endpoints e JOIN prices p ON p.endpoint_id = e.id JOIN envelopes v ON v.endpoint_id = e.id
			WHERE e.service_id = s.id AND p.until IS NULL)
		GROUP BY domain HAVING count(*) = 1
		ORDER BY min((SELECT count(*) FROM changes WHERE service_id = s.id)) DESC, domain LIMIT $1`, n)
	if err != nil {
		w.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[subject])
	if err != nil || len(list) < n {
		w.t.Fatalf("%d services have facts of every kind, want %d: %v", len(list), n, err)
	}
	return list
}

// TestIncrementalBuild changes each kind of fact, of one service each, and then some other inputs one by one, all of
// them when every test runs. Each incremental build must equal a build without a previous snapshot. The files of the
// changed services must show the change. The rendered files of other services must be copied, unless the change
// concerns all.
func TestIncrementalBuild(t *testing.T) {
	t.Parallel()
	testgate.NotShort(t)
	w := newBuildPair(t)
	if r, _ := w.build("the first"); r.Copied != 0 {
		t.Errorf("the first build copied %d services", r.Copied)
	}
	services, _ := w.build("a minute later")
	if services.Copied != services.Services {
		t.Errorf("a minute later %d services of %d were copied", services.Copied, services.Services)
	}
	const endpoint = `(
		SELECT e.id FROM endpoints e JOIN prices p ON p.endpoint_id = e.id AND until IS NULL
		JOIN envelopes v ON v.endpoint_id = e.id
		WHERE service_id = $1 ORDER BY e.id LIMIT 1)`
	facts := []struct{ about, sql string }{
		{"a change", `UPDATE changes SET summary = '{}' WHERE service_id = $1`},
		{"a name", `UPDATE services SET name = name || ' II' WHERE id = $1`},
		{"a description", `UPDATE services SET description = 'Other words.' WHERE id = $1`},
		{"a website", `UPDATE services SET website_url = 'https://other.example' WHERE id = $1`},
		{"a proof of control", `UPDATE services SET verified_at = '2026-11-20 12:00Z' WHERE id = $1`},
		{"what an endpoint is for", `UPDATE endpoints SET description = 'Another purpose.' WHERE id = ` + endpoint},
		{"a verdict", `UPDATE endpoints SET verdict = 'broken' WHERE id = ` + endpoint},
		{"when an endpoint was paid last",
			`UPDATE endpoints SET last_paid_at = last_paid_at - interval '1 hour' WHERE id = ` + endpoint},
		{"a price", `UPDATE prices SET amount = amount + 7 WHERE until IS NULL AND endpoint_id = ` + endpoint},
		{"an answer", `UPDATE envelopes SET status_code = 200 WHERE endpoint_id = ` + endpoint},
		{"checks of a day", `UPDATE check_days SET up = up - 1 WHERE service_id = $1 AND day = '2026-11-12'`},
		{"how long a check took",
			`UPDATE checks SET response_time_ms = response_time_ms + 1
			WHERE service_id = $1 AND service_number = (
				SELECT max(service_number) FROM checks WHERE service_id = $1 AND response_time_ms IS NOT NULL)`},
		{"a document", `UPDATE site_facts SET robots = NOT coalesce(robots, false) WHERE service_id = $1`},
		{"a registrar",
			`UPDATE domain_facts SET registrar = 'Another'
			WHERE domain = (SELECT domain FROM site_facts WHERE service_id = $1)`},
		{"a domain's age",
			`UPDATE domain_facts SET created_at = created_at - interval '30 hours'
			WHERE domain = (SELECT domain FROM site_facts WHERE service_id = $1)`},
		{"a category",
			`UPDATE services SET category = (
				SELECT max(category) FROM services
				WHERE category <> (SELECT category FROM services WHERE id = $1)) WHERE id = $1`},
	}
	of := w.listSubjects(len(facts))
	for i, fact := range facts {
		done, err := w.conn.Exec(t.Context(), fact.sql, of[i].ID)
		if err != nil || done.RowsAffected() == 0 {
			t.Fatalf("%s: %d rows changed, %v", fact.about, done.RowsAffected(), err)
		}
	}
	r, changed := w.build("facts")
	if r.Copied == 0 || r.Copied > r.Services-len(facts) {
		t.Errorf("after %d facts %d services of %d were copied", len(facts), r.Copied, r.Services)
	}
	for i, fact := range facts {
		if !changed(of[i].Slug) {
			t.Errorf("%s: no file of %s changed", fact.about, of[i].Slug)
		}
	}

	sql := func(text string) func() error {
		return func() error {
			done, err := w.conn.Exec(t.Context(), text)
			if err == nil && done.RowsAffected() == 0 {
				err = errors.New("no row changed")
			}
			return err
		}
	}
	others := []struct {
		about  string
		change func() error
		all    bool // nothing is copied
	}{
		{"visits", func() error {
			_, err := crowd.Visit(t.Context(), w.db, 60, 1, w.o.Now)
			return err
		}, false},
		{"settlements", sql(`UPDATE payee_days SET settlements = settlements + 1`), false},
		{"buyers", sql(`DELETE FROM payer_days WHERE day > '2026-11-01'`), false},
		{"a new service", func() error {
			return w.db.AddListings(t.Context(),
				[]postgres.Listing{{Slug: "acme", Name: "Acme", Description: "d", BaseURL: "https://acme.test",
					Category: "Other", Source: "imported:file",
					CreatedAt: w.o.Now, Endpoints: []postgres.ListedEndpoint{{Method: "GET", Path: "/a"}}}})
		}, false},
		{"an erased service", func() error {
			return w.db.EraseService(t.Context(), of[0].Slug, "anna", "", w.o.Now)
		}, false},
		{"facilitators' names", sql(`UPDATE facilitators SET name = name || ' & Co'`), true},
		{"the title", func() error { w.o.Site.Title = "Another"; return nil }, true},
		{"the program", func() error { w.o.Program = "another"; return nil }, true},
		{"free hosts and the time to the next build", func() (err error) {
			w.o.Every = time.Hour
			w.o.FreeHosts, err = listing.FreeHosts{}.With([]byte("acme.test\n"))
			return err
		}, false},
		{"an hour", func() error { w.o.Now = w.o.Now.Add(time.Hour); return nil }, false},
		{"another day", func() error { w.o.Now = w.o.Now.Add(12 * time.Hour); return nil }, true},
		{"a clock that was set back", func() error { w.o.Now = w.o.Now.Add(-3 * time.Minute); return nil }, false},
		{"weeks", func() error { w.o.Now = w.o.Now.AddDate(0, 0, 15); return nil }, true},
	}
	if !testgate.Everything() {
		others = others[:2]
	}
	for _, test := range others {
		if err := test.change(); err != nil {
			t.Fatalf("%s: %v", test.about, err)
		}
		r, _ := w.build(test.about)
		if test.all && r.Copied > 0 || !test.all && r.Copied == 0 {
			t.Errorf("%s: %d services of %d were copied", test.about, r.Copied, r.Services)
		}
	}
}
