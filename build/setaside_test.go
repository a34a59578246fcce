package build_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tollbook/build"
	"tollbook/output"
	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/postgrestest"
)

// TestSetAside damages the records of one service. Its files and its row must stay as they were, while others change.
// The same facts and the same previous snapshot must give the same bytes, and a mended service is judged again.
func TestSetAside(t *testing.T) {
	t.Parallel()
	dsn := damagedTemplate.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn := postgrestest.Connect(t, dsn)
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	at := func(minutes int) build.Options {
		o := options(moment.Add(time.Duration(minutes) * time.Minute))
		o.Program = "this one"
		return o
	}
	exec(`INSERT INTO failure_runs (service_id, first_at, began_at, last_at, checks, longest_gap, ended_at, by_day)
		SELECT s.id, t, t, t + interval '5 minutes', 2, 300000, t + interval '10 minutes', false
		FROM (SELECT id FROM services ORDER BY slug LIMIT 1 OFFSET 2) AS s,
			generate_series(timestamptz '` + moment.Add(-90*time.Hour).Format(time.RFC3339) + `', '` +
		moment.Add(-60*time.Hour).Format(time.RFC3339) + `', interval '1 hour') AS t`)
	one, two, none := tempDir(t), tempDir(t), tempDir(t)
	first := run(t, db, one, at(1))
	run(t, db, two, at(1))
	slug := readIndex(t, one).Slugs[2]
	other := readIndex(t, one).Slugs[0]
	before := readSums(t, one, first.Snapshot)

	exec(`ALTER TABLE envelopes ADD kept jsonb; UPDATE envelopes SET kept = header;
		UPDATE services SET name = 'Other' WHERE slug = '` + other + `';
		UPDATE envelopes SET header = '7' WHERE endpoint_id = (SELECT e.id FROM endpoints e
			JOIN services s ON s.id = service_id JOIN envelopes v ON v.endpoint_id = e.id WHERE slug = '` + slug + `'
			LIMIT 1)`)
	second := run(t, db, one, at(2))
	again := run(t, db, two, at(2))
	after := readSums(t, one, second.Snapshot)
	if diff := cmp.Diff(after, readSums(t, two, again.Snapshot)); diff != "" {
		t.Errorf("the same facts and previous snapshot (-one +two):\n%s", diff)
	}
	if n := checkIncidentPages(t, one, second.Snapshot, slug); n <= site.ServiceIncidents {
		t.Errorf("%d incidents of the damaged service are listed; want more than its detail has", n)
	}
	index := readIndex(t, one)
	if len(index.SetAside) != 1 || index.SetAside[0].Slug != slug || !slices.Contains(index.Slugs, slug) ||
		!strings.Contains(index.SetAside[0].Reason, "header") || !cmp.Equal(second.SetAside, index.SetAside) {
		t.Errorf("the index says %+v, the report %+v", index.SetAside, second.SetAside)
	}
	same := 0
	for name, sum := range before {
		if strings.Contains(name, slug) {
			if same++; after[name] != sum {
				t.Errorf("%s of the damaged service has changed", name)
			}
		}
	}
	if same < 20 || after["v1/services/"+other+".json"] == before["v1/services/"+other+".json"] {
		t.Errorf("%d files of the damaged service stay; want 20, and a new file of %s", same, other)
	}

	third := run(t, db, one, at(3))
	if want := site.NewTime(moment.Add(2 * time.Minute)); len(third.SetAside) != 1 || third.SetAside[0].Since != want {
		t.Errorf("a minute later %+v, want one since %s", third.SetAside, want)
	}
	if alone := run(t, db, none, at(3)); slices.Contains(readIndex(t, none).Slugs, slug) || len(alone.SetAside) != 1 {
		t.Errorf("without a previous snapshot %s is listed, or not reported: %+v", slug, alone.SetAside)
	}
	exec(`UPDATE envelopes SET header = kept`)
	if mended := run(t, db, one, at(4)); len(mended.SetAside) != 0 || len(readIndex(t, one).SetAside) != 0 {
		t.Errorf("the mended service is set aside: %+v", mended.SetAside)
	}

	exec(`UPDATE envelopes SET header = '7'`)
	folder, err := output.OpenFolder(one)
	if err != nil {
		t.Fatal(err)
	}
	current, _ := folder.Checkpoint()
	_, err = build.Run(t.Context(), db, folder, at(5))
	if err == nil || !strings.Contains(err.Error(),
		"of 6 services are damaged, and a build sets aside up to 1 of them") {
		t.Errorf("a build of a directory with damage everywhere: %v", err)
	}
	if now, _ := folder.Checkpoint(); now.Snapshot != current.Snapshot {
		t.Errorf("current is %s, want %s", now.Snapshot, current.Snapshot)
	}
}

// checkIncidentPages checks that each incident of a snapshot has its page and its JSON file, and returns how many are of
// a service.
func checkIncidentPages(t *testing.T, dir, id, slug string) (count int) {
	t.Helper()
	data, err := openZip(t, dir, id).ReadFile("v1/incidents.json")
	var list site.List[site.Incident, site.PaginationMeta]
	if err != nil || json.Unmarshal(data, &list) != nil {
		t.Fatalf("read the incidents: %v", err)
	}
	files := readSums(t, dir, id)
	for _, x := range list.Data {
		if x.ID == nil || files["incidents/"+*x.ID+".html"] == "" || files["v1/incidents/"+*x.ID+".json"] == "" {
			t.Errorf("the incident of %s at %s has no page", x.Slug, x.StartedAt)
		}
		if x.Slug == slug {
			count++
		}
	}
	return count
}
