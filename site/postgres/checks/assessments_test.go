package checks_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tollbook/site"
	"tollbook/site/postgres"
	"tollbook/site/postgres/checks"
	"tollbook/site/postgres/postgrestest"
)

var template = postgrestest.New(func(ctx context.Context, dsn string) error {
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	var list []postgres.Listing
	for _, slug := range []string{"acme", "bolt"} {
		list = append(list, postgres.Listing{Slug: slug, Name: slug, Description: slug,
			BaseURL: "https://" + slug + ".example", Category: "Data", Source: "submitted",
			CreatedAt: noon, Interval: 15 * time.Minute})
	}
	return db.AddListings(ctx, list)
})

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func open(t *testing.T) (*postgres.DB, *pgx.Conn) {
	t.Helper()
	dsn := template.Database(t)
	db, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, postgrestest.Connect(t, dsn)
}

// published returns what a snapshot says of a service whose only failed checks are those named.
func published(id int64, grade string, failed ...string) checks.Published {
	p := checks.Published{Assessment: checks.Assessment{ServiceID: id, Grade: grade, Checks: 14,
		Failed: failed, RiskLevel: "clean", MinPriceUSD: new("0.01"), ResponseP95MS: new(120), Methodology: 1},
		Why: grade + ": why"}
	for _, id := range failed {
		p.Reasons = append(p.Reasons, id+" fails")
	}
	return p
}

// record records a snapshot and checks the number of change records.
func record(t *testing.T, db *postgres.DB, at time.Time, want int, list ...checks.Published) {
	t.Helper()
	got, err := db.Assessments.Record(t.Context(), at, list)
	if err != nil || got != want {
		t.Errorf("record at %s: %d change records (%v), want %d", at.Format(time.DateTime), got, err, want)
	}
}

// texts returns the rows of a query with one column.
func texts(t *testing.T, conn *pgx.Conn, sql string) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

const (
	allRows = `SELECT service_id || ' ' || day || ' ' || grade || ' ' || failed::text FROM assessments
		ORDER BY service_id, day`
	allChanges = `SELECT service_id || ' ' || to_char(observed_at, 'DD HH24:MI') || ' ' || type || ' ' || summary::text
		FROM changes ORDER BY id`
)

// TestDays checks that a day has what its last build published, that a day that is over stays, and that an older build
// or the same one records nothing.
func TestDays(t *testing.T) {
	t.Parallel()
	db, conn := open(t)
	record(t, db, noon, 0, published(1, "A"), published(2, "C", "payto_shape"))
	record(t, db, noon.Add(15*time.Minute), 0, published(1, "A", "scheme_declared"), published(2, "C", "payto_shape"))
	record(t, db, noon.Add(15*time.Minute), 0, published(1, "F", "payload_captured"))
	record(t, db, noon.Add(14*time.Minute), 0, published(1, "F", "payload_captured"))
	record(t, db, noon.Add(24*time.Hour), 0, published(1, "A"))
	record(t, db, noon, 0, published(1, "F", "payload_captured"))
	want := []string{"1 2026-11-20 A {scheme_declared}", "1 2026-11-21 A {}", "2 2026-11-20 C {payto_shape}"}
	if diff := cmp.Diff(want, texts(t, conn, allRows)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	day := noon.Truncate(24 * time.Hour)
	first := published(1, "A", "scheme_declared").Assessment
	second := published(2, "C", "payto_shape").Assessment
	first.Day, second.Day, first.RiskFlags, second.RiskFlags = day, day, []string{}, []string{}
	by, err := checks.ReadAssessments(t.Context(), conn, []int64{1, 2}, day.AddDate(0, 0, 1))
	if diff := cmp.Diff(map[int64][]checks.Assessment{1: {first}, 2: {second}}, by); diff != "" || err != nil {
		t.Errorf("a day: %v (-want +got):\n%s", err, diff)
	}
	days, err := checks.ReadAssessmentDays(t.Context(), conn, day.AddDate(0, 0, 2))
	if diff := cmp.Diff([]time.Time{day, day.AddDate(0, 0, 1)}, days); diff != "" || err != nil {
		t.Errorf("days: %v (-want +got):\n%s", err, diff)
	}
	if days, err = checks.ReadAssessmentDays(t.Context(), conn, day); len(days) > 0 || err != nil {
		t.Errorf("days before the first: %v, %v", days, err)
	}
	if err := db.EraseService(t.Context(), "acme", "anna", "", noon); err != nil {
		t.Fatal(err)
	}
	record(t, db, noon.Add(25*time.Hour), 1, published(1, "A"), published(2, "A"))
	if diff := cmp.Diff(want[2:], texts(t, conn, allRows)[:1]); diff != "" {
		t.Errorf("rows after the erasure (-want +got):\n%s", diff)
	}
}

// TestGradeChanges checks when a change of a grade gives a record, and what it says.
func TestGradeChanges(t *testing.T) {
	t.Parallel()
	db, conn := open(t)
	otherRules := published(1, "B", "payto_shape")
	otherRules.Methodology = 2
	for _, step := range []struct {
		about   string
		minutes int
		next    checks.Published
		want    int
	}{
		{"no response so far", 0, published(1, "unknown"), 0},
		{"the first grade", 15, published(1, "C", "payto_shape", "price_sane"), 0},
		{"another check fails", 30, published(1, "C", "payto_shape", "asset_declared"), 0},
		{"one check passes, another fails", 45, published(1, "A", "payto_shape", "scheme_declared"), 1},
		{"back within an hour", 60, published(1, "C", "payto_shape", "asset_declared"), 0},
		{"as the record says", 75, published(1, "A", "payto_shape", "scheme_declared"), 0},
		{"again within the hour", 90, published(1, "F", "payload_captured"), 0},
		{"still so after the hour", 105, published(1, "F", "payload_captured"), 1},
		{"unknown again", 240, published(1, "unknown"), 0},
		{"other rules", 255, otherRules, 0},
		{"the same by these rules", 270, otherRules, 0},
	} {
		t.Log(step.about)
		record(t, db, noon.Add(time.Duration(step.minutes)*time.Minute), step.want, step.next)
	}
	want := []string{
		`1 20 12:45 grade_changed {"reason": "A: why", "newGrade": "A", "oldGrade": "C", "checksFailed": ` +
			`[{"id": "scheme_declared", "reason": "scheme_declared fails"}], "checksPassed": ` +
			`[{"id": "asset_declared", "reason": "asset_declared fails"}]}`,
		`1 20 13:45 grade_changed {"reason": "F: why", "newGrade": "F", "oldGrade": "A", "checksFailed": ` +
			`[{"id": "payload_captured", "reason": "payload_captured fails"}], "checksPassed": ` +
			`[{"id": "payto_shape", "reason": "payto_shape fails"}, {"id": "scheme_declared", "reason": ` +
			`"scheme_declared fails"}]}`,
	}
	if diff := cmp.Diff(want, texts(t, conn, allChanges)); diff != "" {
		t.Errorf("change records (-want +got):\n%s", diff)
	}
}

// TestVerdictChanges checks when a change of a verdict gives a record, and what it says.
func TestVerdictChanges(t *testing.T) {
	t.Parallel()
	db, conn := open(t)
	verdict := func(level string) checks.Published {
		p := published(1, "A")
		p.Verdict, p.Advice = &level, []site.AdviceReason{{Code: "why_" + level, Text: "Why.", Link: "/#why"}}
		return p
	}
	otherRules := verdict("good")
	otherRules.Methodology = 2
	for _, step := range []struct {
		about   string
		minutes int
		next    checks.Published
		want    int
	}{
		{"a service of an older program, without a verdict", 0, published(1, "A"), 0},
		{"nothing known", 15, verdict("unknown"), 0},
		{"the first verdict", 30, verdict("good"), 0},
		{"worse", 45, verdict("do_not_pay"), 1},
		{"another one within an hour", 60, verdict("caution"), 0},
		{"as the record says", 75, verdict("do_not_pay"), 0},
		{"unknown again", 120, verdict("unknown"), 0},
		{"better than in the last record", 135, verdict("caution"), 1},
		{"other rules", 300, otherRules, 0},
		{"the same by these rules", 315, otherRules, 0},
	} {
		t.Log(step.about)
		record(t, db, noon.Add(time.Duration(step.minutes)*time.Minute), step.want, step.next)
	}
	reasons := func(level string) string {
		return `"reasons": [{"code": "why_` + level + `", "link": "/#why", "text": "Why.", "since": null, "values": null}]`
	}
	want := []string{
		`1 20 12:45 verdict_changed {` + reasons("do_not_pay") + `, "new_verdict": "do_not_pay", "old_verdict": "good"}`,
		`1 20 14:15 verdict_changed {` + reasons("caution") + `, "new_verdict": "caution", "old_verdict": "do_not_pay"}`,
	}
	if diff := cmp.Diff(want, texts(t, conn, allChanges)); diff != "" {
		t.Errorf("change records (-want +got):\n%s", diff)
	}
	got := texts(t, conn, `SELECT day || ' ' || verdict FROM assessments WHERE service_id = 1`)
	if diff := cmp.Diff([]string{"2026-11-20 good"}, got); diff != "" {
		t.Errorf("recorded days (-want +got):\n%s", diff)
	}
}

// TestBuildersAtOnce checks that several builders that finish at once record each change once.
func TestBuildersAtOnce(t *testing.T) {
	t.Parallel()
	db, conn := open(t)
	record(t, db, noon, 0, published(1, "C", "payto_shape"), published(2, "A"))
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			at := noon.Add(time.Duration(i) * time.Second).Add(time.Hour)
			if _, err := db.Assessments.Record(t.Context(), at, []checks.Published{published(1, "A"),
				published(2, "F", "payload_captured")}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := texts(t, conn, `SELECT service_id || ' ' || count(*) FROM changes GROUP BY service_id ORDER BY 1`)
	if diff := cmp.Diff([]string{"1 1", "2 1"}, got); diff != "" {
		t.Errorf("records by service (-want +got):\n%s", diff)
	}
}

// TestSize reports how large a row is, and checks that a row that is the same is not rewritten.
func TestSize(t *testing.T) {
	t.Parallel()
	db, conn := open(t)
	if _, err := conn.Exec(t.Context(), `
		INSERT INTO services (slug, name, description, base_url, category, source, created_at)
		SELECT 's' || n, '', '', 'https://s' || n || '.example', '', '', now() FROM generate_series(3, 2000) AS n`,
	); err != nil {
		t.Fatal(err)
	}
	var list []checks.Published
	for i := int64(1); i <= 2000; i++ {
		p := published(i, "A", []string{"scheme_declared", "network_caip2"}[:i%3]...)
		p.RiskFlags = []string{"young_domain", "probe_failing"}[:i%2]
		list = append(list, p)
	}
	for day := range 10 {
		record(t, db, noon.AddDate(0, 0, day), 0, list...)
		record(t, db, noon.AddDate(0, 0, day).Add(time.Hour), 0, list...)
	}
	for _, line := range texts(t, conn, `SELECT 'bytes a row: table ' || pg_table_size('assessments') / count(*) ||
		', with indexes ' || pg_total_relation_size('assessments') / count(*) FROM assessments`) {
		t.Log(line)
	}
	if got := texts(t, conn, `SELECT count(*)::text FROM assessments WHERE xmin = (SELECT xmin FROM assessments
		WHERE day = '2026-11-20' LIMIT 1)`); fmt.Sprint(got) != "[2000]" {
		t.Errorf("rows of the first day that its first build wrote: %s, want all 2000", got)
	}
}
